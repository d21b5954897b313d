/* SPDX-License-Identifier: MIT */
/* See sockets.h. */
#include "proxy/sockets.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

#include "os/fd.h"

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

void address_read(const union address *a, struct ip *ip, uint16_t *port)
{
	if (a->any.sa_family == AF_INET6) {
		memcpy(ip->bytes, &a->v6.sin6_addr, sizeof(ip->bytes));
		*port = ntohs(a->v6.sin6_port);
		return;
	}
	memcpy(ip->bytes, mapped, sizeof(mapped));
	memcpy(ip->bytes + sizeof(mapped), &a->v4.sin_addr, sizeof(a->v4.sin_addr));
	*port = ntohs(a->v4.sin_port);
}

socklen_t address_write(union address *a, const struct ip *ip, uint16_t port)
{
	memset(a, 0, sizeof(*a));
	if (ip_is_v4(ip)) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(port);
		memcpy(&a->v4.sin_addr, ip->bytes + sizeof(mapped), sizeof(a->v4.sin_addr));
		return sizeof(a->v4);
	}
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = htons(port);
	memcpy(&a->v6.sin6_addr, ip->bytes, sizeof(ip->bytes));
	return sizeof(a->v6);
}

int socket_accept(int listener, union address *from)
{
	socklen_t size = sizeof(*from);
	int fd = accept4(listener, &from->any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void socket_prepare(int fd)
{
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

void socket_prepare_local(int fd)
{
	static const char reno[] = "reno"; /* every kernel has it, for everybody */

	socket_prepare(fd);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno) - 1);
}

void socket_limit_buffers(int fd, uint32_t bytes)
{
	const int half = (int)(bytes / 2); /* the kernel doubles it */

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &half, sizeof(half));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &half, sizeof(half));
}

/* 0: not known. Linux 5.14; not every C library has the name. */
static uint64_t network_of(int fd)
{
	enum { NETNS_COOKIE = 71 };
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, NETNS_COOKIE, &cookie, &size) < 0 ? 0 : cookie;
}

bool socket_is_of_host(int fd)
{
	scoped_fd own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t here = own >= 0 ? network_of(own) : 0;

	return here == 0 || network_of(fd) == here;
}
