/* SPDX-License-Identifier: MIT */
/* Stream sockets between processes of this machine. The calls of socket.h move their bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"

/*
 * Connects to the socket at `path`, which may be longer than an address; a link at its end is not
 * followed. Waits, at most `timeout_ms`, for a server that is slow to accept. The connection,
 * close-on-exec, or -errno: ENOTSOCK, ECONNREFUSED without a server, ETIMEDOUT.
 */
int local_socket_connect(const char *path, int timeout_ms) MUST_CHECK NONNULL;

/*
 * A copy of a connected stream socket of this process. No program that this process executes gets
 * either of them, and nobody's file flags change. Or -errno: EBADF, ENOTSOCK, EPROTOTYPE for another
 * kind of socket, ENOTCONN.
 */
int local_socket_take(int fd) MUST_CHECK;

/* Whether the server behind a connection is this user's or root's; its user is in `*uid`. */
bool local_socket_is_trusted(int fd, uint64_t *uid) MUST_CHECK NONNULL;

/*
 * Connects to `path`, which need not be a file, sends a message and receives the answer, each behind
 * its length (4 bytes, little endian). Waits for as long as that takes. 0, or -errno: EPROTO for an
 * answer that has no such form or does not fit.
 */
int local_socket_talk(const char *path, struct str message, struct buf *answer) MUST_CHECK NONNULL;

/* The same in parts: the connection or -errno; then each 0 or -errno. */
int local_socket_reach(const char *path) MUST_CHECK NONNULL;
int local_socket_say(int fd, struct str message) MUST_CHECK;
int local_socket_hear(int fd, struct buf *answer) MUST_CHECK NONNULL;

/*
 * Waits until there is something to read from `fd`: 0; or from `other`, which may be -1: 1, with the
 * first byte there, or 0 at its end, in `*byte`. -errno.
 */
int local_socket_await(int fd, int other, unsigned char *byte) MUST_CHECK NONNULL;
