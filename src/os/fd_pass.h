/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that go from one process to another, each time with a message that
 * says what they are. Async-signal-safe, and no thread is cancelled in it.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"

enum { FD_PASS_MAX = 64 };

/*
 * Sends `bytes` of `data`, and `count` descriptors (1 to FD_PASS_MAX) with them, over
 * a unix socket that keeps messages apart. `flags` as of sendmsg(); no SIGPIPE. 0 or
 * -errno.
 */
int fd_pass_send(int channel, void *data, size_t bytes, const int *fds, size_t count, int flags)
	MUST_CHECK NONNULL;

/*
 * The next message, without descriptors, and the process that sent it, as the kernel knows it.
 * Its length, 0 at the end, or -errno. Needs fd_pass_ask_sender() before it was sent, and
 * ends what that has begun.
 */
ssize_t fd_pass_receive_from(int channel, void *data, size_t room, pid_t *sender)
	MUST_CHECK NONNULL;
int fd_pass_ask_sender(int channel) MUST_CHECK; /* 0 or -errno */

/*
 * The next message: its length, 0 at the end, or -errno. `*count` is how many
 * descriptors there is room for, and then how many came, close-on-exec; what there
 * was no room for is closed.
 */
ssize_t fd_pass_receive(int channel, void *data, size_t room, int *fds, size_t *count)
	MUST_CHECK NONNULL;
