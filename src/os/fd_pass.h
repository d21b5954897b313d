/* SPDX-License-Identifier: MIT */
/*
 * Messages, and descriptors with them, between two processes of Cordon's. They are sent with
 * sendmsg(), because sandboxes around this process (codex's) forbid sendto(), which is what send()
 * calls. Async-signal-safe, and no thread is cancelled in it.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"

enum { FD_PASS_MAX = 64 };

/* A flag: fail with EAGAIN instead of waiting. */
enum { FD_PASS_NO_WAIT = 0x40 };

/* Opens a channel that preserves message boundaries, close-on-exec. 0 or -errno. */
int fd_pass_open(int ends[2], int flags) MUST_CHECK NONNULL;

/* Sends a message without descriptors over any socket: as send(), including `flags`; no SIGPIPE. */
ssize_t fd_pass_tell(int channel, const void *data, size_t bytes, int flags) NONNULL;

/*
 * Receives the next message, without descriptors. Returns its whole length, even if only `room`
 * bytes were copied; 0 at the end; -1 and errno, EAGAIN instead of waiting.
 */
ssize_t fd_pass_hear(int channel, void *data, size_t room) NONNULL;

/*
 * Sends `bytes` of `data` and `count` descriptors (1 to FD_PASS_MAX) in one message over a unix
 * socket that preserves message boundaries. `flags` as for sendmsg(); no SIGPIPE. 0 or -errno.
 */
int fd_pass_send(int channel, void *data, size_t bytes, const int *fds, size_t count, int flags)
	MUST_CHECK NONNULL;

/*
 * Receives the next message, without descriptors, and the pid of its sender, which the kernel
 * vouches for. Its length, 0 at the end, or -errno. Needs a call of fd_pass_ask_sender() before the
 * message is sent, and undoes that.
 */
ssize_t fd_pass_receive_from(int channel, void *data, size_t room, pid_t *sender)
	MUST_CHECK NONNULL;
int fd_pass_ask_sender(int channel) MUST_CHECK; /* 0 or -errno */

/*
 * Receives the next message: its length, 0 at the end, or -errno; EMSGSIZE for one longer than
 * `room`. `*count` is how many descriptors there is room for, and afterwards how many came,
 * close-on-exec. They come all or not at all: if one has no room, or exceeds this process's limit,
 * all are closed.
 */
ssize_t fd_pass_receive(int channel, void *data, size_t room, int *fds, size_t *count)
	MUST_CHECK NONNULL;
