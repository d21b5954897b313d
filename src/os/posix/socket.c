/* SPDX-License-Identifier: MIT */
/*
 * See socket.h. The proxy calls this under its filter (proxy/linux/lock.c), which has to allow each
 * system call made here.
 */
#include "os/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "os/fd.h"
#include "os/posix/native.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static void read_address(const union address *a, struct os_address *out)
{
	*out = (struct os_address){ .port = 0 };
	if (a->any.sa_family == AF_INET6) {
		memcpy(out->ip.bytes, &a->v6.sin6_addr, sizeof(out->ip.bytes));
		out->port = ntohs(a->v6.sin6_port);
		out->interface = a->v6.sin6_scope_id;
		return;
	}
	memcpy(out->ip.bytes, mapped, sizeof(mapped));
	memcpy(out->ip.bytes + sizeof(mapped), &a->v4.sin_addr, sizeof(a->v4.sin_addr));
	out->port = ntohs(a->v4.sin_port);
}

/* The length of what was written. */
static socklen_t write_address(union address *a, const struct os_address *from)
{
	memset(a, 0, sizeof(*a));
	if (ip_is_v4(&from->ip)) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(from->port);
		memcpy(&a->v4.sin_addr, from->ip.bytes + sizeof(mapped), sizeof(a->v4.sin_addr));
		return sizeof(a->v4);
	}
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons(from->port);
	a->v6.sin6_scope_id = from->interface;
	memcpy(&a->v6.sin6_addr, from->ip.bytes, sizeof(from->ip.bytes));
	return sizeof(a->v6);
}

int socket_open(bool is_v4, bool is_stream)
{
	return native_socket(is_v4 ? AF_INET : AF_INET6, is_stream ? SOCK_STREAM : SOCK_DGRAM,
			     false);
}

int socket_connect(int fd, const struct os_address *to)
{
	union address a;
	socklen_t size = write_address(&a, to);

	return connect(fd, &a.any, size);
}

int socket_bind(int fd, const struct os_address *to)
{
	union address a;
	socklen_t size = write_address(&a, to);

	return bind(fd, &a.any, size);
}

int socket_listen(int fd, int backlog)
{
	return listen(fd, backlog);
}

int socket_open_listener(const struct os_address *at, bool only_v6, int backlog)
{
	const int on = 1;
	bool is_v4 = ip_is_v4(&at->ip);
	int fd = socket_open(is_v4, true);

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (is_v4 || !only_v6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
	    socket_bind(fd, at) == 0 && listen(fd, backlog) == 0)
		return fd;
	fd_done(&fd);
	return -errno;
}

int socket_accept(int listener, struct os_address *from)
{
	union address a;
	socklen_t size = sizeof(a);
	int fd = native_accept(listener, from ? &a.any : NULL, from ? &size : NULL);

	if (fd < 0)
		return -errno;
	if (from)
		read_address(&a, from);
	return fd;
}

int socket_get_address(int fd, struct os_address *out)
{
	union address a;
	socklen_t size = sizeof(a);

	if (getsockname(fd, &a.any, &size) < 0)
		return -1;
	read_address(&a, out);
	return 0;
}

int socket_take_error(int fd)
{
	int os_error = 0;
	socklen_t size = sizeof(os_error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &os_error, &size) < 0 ? errno : os_error;
}

/* ---- Bytes ----------------------------------------------------------------------------- */

ssize_t socket_send(int fd, const void *data, size_t bytes)
{
	return send(fd, data, bytes, MSG_DONTWAIT | native_no_signal);
}

ssize_t socket_receive(int fd, void *data, size_t room)
{
	return recv(fd, data, room, MSG_DONTWAIT);
}

ssize_t socket_peek(int fd, void *data, size_t room)
{
	return recv(fd, data, room, MSG_DONTWAIT | MSG_PEEK);
}

ssize_t socket_send_parts(int fd, const struct socket_part *parts, size_t count)
{
	struct iovec vector[SOCKET_MAX_PARTS];
	struct msghdr message = { .msg_iov = vector };

	/* Its type differs: glibc has size_t, musl int. */
	message.msg_iovlen = (__typeof__(message.msg_iovlen))count;
	for (size_t i = 0; i < count; i++)
		/* The kernel only reads it. */
		vector[i] = (struct iovec){ (void *)(uintptr_t)parts[i].data, parts[i].bytes };
	return sendmsg(fd, &message, MSG_DONTWAIT | native_no_signal);
}

int socket_shut_down(int fd)
{
	return shutdown(fd, SHUT_WR);
}

bool socket_wait(int fd, bool for_writing, int timeout_ms)
{
	struct pollfd ready = { .fd = fd, .events = for_writing ? POLLOUT : POLLIN };

	return poll(&ready, 1, timeout_ms) > 0;
}

/* ---- Options --------------------------------------------------------------------------- */

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

void socket_set_nonblocking(int fd)
{
	(void)fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
}

void socket_prepare(int fd)
{
	(void)set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	(void)set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

void socket_limit_buffers(int fd, uint32_t bytes)
{
	const int half = (int)(bytes / 2); /* the kernel doubles it */

	(void)set_option(fd, SOL_SOCKET, SO_RCVBUF, half);
	(void)set_option(fd, SOL_SOCKET, SO_SNDBUF, half);
}

void socket_allow_reuse(int fd)
{
	(void)set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
}

void socket_reset_on_close(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

uint32_t socket_find_interface(const char *name)
{
	return if_nametoindex(name);
}

/* ---- Datagrams ------------------------------------------------------------------------- */

struct sender {
	struct sockaddr_storage peer;
	socklen_t peer_bytes;
	bool has_v4, has_v6;
	struct in_pktinfo v4;
	struct in6_pktinfo v6;
};
_Static_assert(sizeof(struct sender) <= sizeof(struct socket_sender), "a sender has no room");

void socket_note_senders(int fd)
{
	/* The first fails on a socket of IPv4. */
	if (set_option(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) < 0)
		(void)set_option(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

/* There is one: each socket asks for that of its family only. */
static void read_control(struct msghdr *message, struct sender *out)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);

	if (c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		memcpy(&out->v4, CMSG_DATA(c), sizeof(out->v4));
		out->v4.ipi_spec_dst = out->v4.ipi_addr;
		out->v4.ipi_ifindex = 0;
		out->has_v4 = true;
	} else if (c && c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
		memcpy(&out->v6, CMSG_DATA(c), sizeof(out->v6));
		out->v6.ipi6_ifindex = 0;
		out->has_v6 = true;
	}
}

ssize_t socket_receive_from(int fd, void *data, size_t room, struct socket_sender *from)
{
	union {
		struct cmsghdr aligned;
		char room[256];
	} control;
	struct sender sender = { .has_v4 = false };
	struct iovec part = { data, room };
	struct msghdr message = { .msg_name = &sender.peer,
				  .msg_namelen = sizeof(sender.peer),
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t got = recvmsg(fd, &message, MSG_DONTWAIT);

	if (got < 0)
		return -1;
	sender.peer_bytes = message.msg_namelen;
	read_control(&message, &sender);
	memcpy(from->bytes, &sender, sizeof(sender));
	return got;
}

ssize_t socket_send_back(int fd, const void *data, size_t bytes, const struct socket_sender *to)
{
	union {
		struct cmsghdr aligned;
		char room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = { .room = { 0 } };
	struct sender s;
	struct iovec part = { (void *)(uintptr_t)data, bytes };
	struct msghdr message = { .msg_name = &s.peer, .msg_iov = &part, .msg_iovlen = 1 };

	memcpy(&s, to->bytes, sizeof(s));
	message.msg_namelen = s.peer_bytes;
	if (s.has_v4 || s.has_v6) {
		size_t info_bytes = s.has_v6 ? sizeof(s.v6) : sizeof(s.v4);
		struct cmsghdr *c;

		message.msg_control = &control;
		message.msg_controllen = (socklen_t)CMSG_SPACE(info_bytes);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = s.has_v6 ? IPPROTO_IPV6 : IPPROTO_IP;
		c->cmsg_type = s.has_v6 ? IPV6_PKTINFO : IP_PKTINFO;
		c->cmsg_len = (socklen_t)CMSG_LEN(info_bytes);
		memcpy(CMSG_DATA(c), s.has_v6 ? (const void *)&s.v6 : &s.v4, info_bytes);
	}
	return sendmsg(fd, &message, MSG_DONTWAIT | native_no_signal);
}
