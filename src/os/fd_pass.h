/* SPDX-License-Identifier: MIT */
/*
 * Messages from one process of Cordon's to another, and descriptors, each time with a message
 * that says what they are. All by sendmsg() and recvmsg(): foreign sandboxes around this
 * process refuse sendto() (codex does), which is what send() is. Async-signal-safe, and no thread is cancelled in it.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"

enum { FD_PASS_MAX = 64 };

/* As a flag: fail with EAGAIN instead of waiting. */
enum { FD_PASS_NO_WAIT = 0x40 };

/* A channel that keeps messages apart, close-on-exec, for processes of this user. 0 or -errno. */
int fd_pass_open(int ends[2], int flags) MUST_CHECK NONNULL;

/*
 * A message without descriptors, over any socket: as send(), `flags` included; no SIGPIPE.
 */
ssize_t fd_pass_tell(int channel, const void *data, size_t bytes, int flags) NONNULL;

/*
 * The next message that has come, without descriptors: its whole length, even when only `room` of it
 * were taken; 0 at the end; -1 and errno, EAGAIN instead of waiting.
 */
ssize_t fd_pass_hear(int channel, void *data, size_t room) NONNULL;

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
