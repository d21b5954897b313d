/* SPDX-License-Identifier: MIT */
/*
 * Channels between two processes of Cordon's (os/fd_pass.h): a connection on the loopback, of which each process has one
 * end. A descriptor that goes over one is a socket that Windows copies for the process at the other end.
 *
 * SECURITY: both ends are made by one process, which takes a connection only if it comes from its own socket. The end that
 * goes to another process is copied into that process, not connected to by a name or a port.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* A socket, as a process can take it that Windows has copied it for; only Windows knows what is inside. */
enum { FD_PASS_SOCKET_BYTES = 1024 };
struct fd_pass_socket {
	unsigned char bytes[FD_PASS_SOCKET_BYTES];
};

/* Copies the socket for a process. The original has to stay open until that one has taken it. 0 or -errno. */
int fd_pass_copy(int fd, uint32_t process, struct fd_pass_socket *out) MUST_CHECK NONNULL;

/* From now on what is sent over this end is for that process. */
void fd_pass_set_process(int channel, uint32_t process);

/* The end of a channel that another process has copied for this one. The descriptor, or -errno. */
int fd_pass_take(const struct fd_pass_socket *copy) MUST_CHECK NONNULL;
