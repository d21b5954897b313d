/* SPDX-License-Identifier: MIT */
/*
 * Sockets and pipes as Linux makes them, and options that it alone has. The proxy calls this under
 * its seccomp filter (proxy/linux/lock.c), which has to allow each system call made here.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/posix/native.h"
#include "os/socket.h"

enum { FREEBIND_6 = 78 }; /* IPV6_FREEBIND, Linux 4.15; not every C library has the name */

const int native_no_signal = MSG_NOSIGNAL;

int native_pipe(int ends[2], bool waits)
{
	return pipe2(ends, O_CLOEXEC | (waits ? 0 : O_NONBLOCK));
}

int native_socket(int family, int type, bool waits)
{
	return socket(family, type | SOCK_CLOEXEC | (waits ? 0 : SOCK_NONBLOCK), 0);
}

int native_accept(int listener, struct sockaddr *from, socklen_t *size)
{
	return accept4(listener, from, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

bool native_peer_user(int fd, uint64_t *uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	*uid = peer.uid;
	return true;
}

ssize_t socket_discard(int fd, void *scratch, size_t bytes)
{
	return recv(fd, scratch, bytes, MSG_DONTWAIT | MSG_TRUNC);
}

void socket_prepare_local(int fd)
{
	static const char reno[] = "reno"; /* every kernel has it, for everybody */

	socket_prepare(fd);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof(reno) - 1);
}

void socket_allow_any_address(int fd, bool is_v4)
{
	const int on = 1;

	(void)setsockopt(fd, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_FREEBIND : FREEBIND_6,
			 &on, sizeof(on));
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
	scoped_fd own = socket_open(true, true);
	uint64_t here = own >= 0 ? network_of(own) : 0;

	return here == 0 || network_of(fd) == here;
}
