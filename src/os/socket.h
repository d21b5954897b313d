/* SPDX-License-Identifier: MIT */
/*
 * TCP and UDP sockets. They are non-blocking and close-on-exec, and no call here waits, unless its
 * comment says so. None raises SIGPIPE.
 *
 * Unless a comment says otherwise, a call that fails returns -1 and sets errno, on every system to
 * the POSIX numbers: EAGAIN when it would have to wait, EINPROGRESS while a connection is being made.
 */
#pragma once

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/ip.h"
#include "base/macros.h"

struct os_address {
	struct ip ip;
	uint16_t port;
	uint32_t interface; /* of a link-local IPv6 address, see socket_find_interface(); else 0 */
};

int socket_open(bool is_v4, bool is_stream);
int socket_connect(int fd, const struct os_address *to) NONNULL;
int socket_bind(int fd, const struct os_address *to) NONNULL;
int socket_listen(int fd, int backlog);

/*
 * A stream socket that listens there; with `only_v6`, one of [::] leaves IPv4 to others. Or -errno.
 */
int socket_open_listener(const struct os_address *at, bool only_v6, int backlog) NONNULL;

/* The connection, or -errno. `from` may be NULL. */
int socket_accept(int listener, struct os_address *from);

/* The local address. */
int socket_get_address(int fd, struct os_address *out) NONNULL;

/* The error that is pending on the socket, which this clears; 0: none. */
int socket_take_error(int fd);

ssize_t socket_send(int fd, const void *data, size_t bytes) NONNULL;
ssize_t socket_receive(int fd, void *data, size_t room) NONNULL;
ssize_t socket_peek(int fd, void *data, size_t room) NONNULL; /* leaves the bytes where they are */

/* Removes `bytes` that were peeked at; what is in `scratch` (as large) then does not matter. */
ssize_t socket_discard(int fd, void *scratch, size_t bytes) NONNULL;

enum { SOCKET_MAX_PARTS = 2 };
struct socket_part {
	const void *data;
	size_t bytes;
};
ssize_t socket_send_parts(int fd, const struct socket_part *parts, size_t count) NONNULL;

/* Says that nothing more will be sent. */
int socket_shut_down(int fd);

/* Waits, at most `timeout_ms`, until it can be written to or read from. False: it can't. */
bool socket_wait(int fd, bool for_writing, int timeout_ms);

/* ---- Options --------------------------------------------------------------------------- */

void socket_set_nonblocking(int fd); /* one that another process has made */

/* Small messages are sent without delay, and dead peers are noticed. */
void socket_prepare(int fd);

/*
 * The same for one whose peers can only be on this machine. The host's congestion control may pace
 * what it sends for the sake of a network (BBR does), and on one machine that only takes time.
 */
void socket_prepare_local(int fd);

/* Limits what the kernel buffers for it to about that many bytes each way. */
void socket_limit_buffers(int fd, uint32_t bytes);

/* A listener may be bound where connections of an earlier one still end. */
void socket_allow_reuse(int fd);

/* It may be bound to an address that no interface has. */
void socket_allow_any_address(int fd, bool is_v4);

/* Closing it sends a reset, so that the peer can't take what came for the whole. */
void socket_reset_on_close(int fd);

/* Whether it is of the network that this process is in. True when that can't be told. */
bool socket_is_of_host(int fd);

/* The number of a network interface; 0: there is none of that name. */
uint32_t socket_find_interface(const char *name) NONNULL;

/* ---- Datagrams that are answered from the address they were sent to ------------------- */

/* Who sent a datagram, and to which local address. Only the system knows what is inside. */
struct socket_sender {
	alignas(8) unsigned char bytes[192];
};

void socket_note_senders(int fd); /* before the first datagram comes */
ssize_t socket_receive_from(int fd, void *data, size_t room, struct socket_sender *from) NONNULL;
ssize_t socket_send_back(int fd, const void *data, size_t bytes, const struct socket_sender *to)
	NONNULL;
