/* SPDX-License-Identifier: MIT */
/* See socket.h. */
#include "os/socket.h"

#include <errno.h>

#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"
#include "os/windows/net.h"

#include <iphlpapi.h>

/* A macro of COM, which that header brings along. */
#undef interface

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static BOOL CALLBACK start(INIT_ONCE *once, void *result, void **context)
{
	WSADATA data;

	(void)once;
	(void)context;
	*(int *)result = WSAStartup(MAKEWORD(2, 2), &data);
	return *(int *)result == 0;
}

int net_start(void)
{
	static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
	int result = 0;

	return InitOnceExecuteOnce(&once, start, &result, NULL) ? 0
								: -error_number((uint32_t)result);
}

static int fail(void)
{
	return error_set((uint32_t)WSAGetLastError());
}

static int check(int result)
{
	return result == SOCKET_ERROR ? fail() : result;
}

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
static int write_address(union address *a, const struct os_address *from)
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

static int set_option(int fd, int level, int name, int value)
{
	return check(
		setsockopt(handle_socket(fd), level, name, (const char *)&value, sizeof(value)));
}

static int add(SOCKET s)
{
	u_long on = 1;

	if (ioctlsocket(s, (long)FIONBIO, &on) != 0) {
		int number = error_number((uint32_t)WSAGetLastError());

		(void)closesocket(s);
		errno = number;
		return -1;
	}
	return handle_add_socket(s);
}

int socket_open(bool is_v4, bool is_stream)
{
	int r = net_start();
	SOCKET s;

	if (r < 0) {
		errno = -r;
		return -1;
	}
	s = WSASocketW(is_v4 ? AF_INET : AF_INET6, is_stream ? SOCK_STREAM : SOCK_DGRAM, 0, NULL, 0,
		       WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
	return s == INVALID_SOCKET ? fail() : add(s);
}

int socket_connect(int fd, const struct os_address *to)
{
	union address a;
	int size = write_address(&a, to);

	if (connect(handle_socket(fd), &a.any, size) == 0)
		return 0;
	if (WSAGetLastError() != WSAEWOULDBLOCK)
		return fail();
	errno = EINPROGRESS;
	return -1;
}

int socket_bind(int fd, const struct os_address *to)
{
	union address a;
	int size = write_address(&a, to);

	return check(bind(handle_socket(fd), &a.any, size));
}

int socket_listen(int fd, int backlog)
{
	return check(listen(handle_socket(fd), backlog));
}

/*
 * SECURITY: on Windows SO_REUSEADDR would let two sockets have one port, and the other be somebody else's. An
 * exclusive one is what a listener elsewhere is.
 */
int socket_open_listener(const struct os_address *at, bool only_v6, int backlog)
{
	bool is_v4 = ip_is_v4(&at->ip);
	int fd = socket_open(is_v4, true);
	int number;

	if (fd >= 0 && set_option(fd, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1) == 0 &&
	    (is_v4 || set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, only_v6) == 0) &&
	    socket_bind(fd, at) == 0 && socket_listen(fd, backlog) == 0)
		return fd;
	number = errno;
	handle_close(fd);
	return -number;
}

int socket_accept(int listener, struct os_address *from)
{
	union address a;
	int size = sizeof(a), fd;
	SOCKET s = accept(handle_socket(listener), &a.any, &size);

	if (s == INVALID_SOCKET)
		return -error_number((uint32_t)WSAGetLastError());
	fd = add(s);
	if (fd < 0)
		return -errno;
	if (from)
		read_address(&a, from);
	return fd;
}

int socket_get_address(int fd, struct os_address *out)
{
	union address a;
	int size = sizeof(a);

	if (getsockname(handle_socket(fd), &a.any, &size) != 0)
		return fail();
	read_address(&a, out);
	return 0;
}

int socket_take_error(int fd)
{
	int code = 0, size = sizeof(code);

	if (getsockopt(handle_socket(fd), SOL_SOCKET, SO_ERROR, (char *)&code, &size) != 0)
		code = WSAGetLastError();
	return code ? error_number((uint32_t)code) : 0;
}

/* ---- Bytes ----------------------------------------------------------------------------- */

static int size_of(size_t bytes)
{
	return (int)MIN_OF(bytes, (size_t)1 << 30);
}

ssize_t socket_send(int fd, const void *data, size_t bytes)
{
	return check(send(handle_socket(fd), data, size_of(bytes), 0));
}

ssize_t socket_receive(int fd, void *data, size_t room)
{
	return check(recv(handle_socket(fd), data, size_of(room), 0));
}

ssize_t socket_peek(int fd, void *data, size_t room)
{
	return check(recv(handle_socket(fd), data, size_of(room), MSG_PEEK));
}

ssize_t socket_discard(int fd, void *scratch, size_t bytes)
{
	return socket_receive(fd, scratch, bytes);
}

ssize_t socket_send_parts(int fd, const struct socket_part *parts, size_t count)
{
	WSABUF vector[SOCKET_MAX_PARTS];
	DWORD sent = 0;

	for (size_t i = 0; i < count; i++)
		/* It is only read. */
		vector[i] = (WSABUF){ .len = (ULONG)size_of(parts[i].bytes),
				      .buf = (char *)(uintptr_t)parts[i].data };
	if (WSASend(handle_socket(fd), vector, (DWORD)count, &sent, 0, NULL, NULL) != 0)
		return fail();
	return (ssize_t)sent;
}

int socket_shut_down(int fd)
{
	return check(shutdown(handle_socket(fd), SD_SEND));
}

bool socket_wait(int fd, bool for_writing, int timeout_ms)
{
	WSAPOLLFD ready = { .fd = handle_socket(fd),
			    .events = for_writing ? POLLWRNORM : POLLRDNORM };

	return WSAPoll(&ready, 1, timeout_ms) > 0;
}

/* ---- Options --------------------------------------------------------------------------- */

void socket_set_nonblocking(int fd)
{
	u_long on = 1;

	(void)ioctlsocket(handle_socket(fd), (long)FIONBIO, &on);
}

void socket_prepare(int fd)
{
	(void)set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	(void)set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

void socket_prepare_local(int fd)
{
	socket_prepare(fd);
}

void socket_limit_buffers(int fd, uint32_t bytes)
{
	(void)set_option(fd, SOL_SOCKET, SO_RCVBUF, (int)bytes);
	(void)set_option(fd, SOL_SOCKET, SO_SNDBUF, (int)bytes);
}

/* Connections that still end keep no port here: nothing is to be allowed. */
void socket_allow_reuse(int fd)
{
	(void)fd;
}

void socket_allow_any_address(int fd, bool is_v4)
{
	(void)fd;
	(void)is_v4;
}

void socket_reset_on_close(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	(void)setsockopt(handle_socket(fd), SOL_SOCKET, SO_LINGER, (const char *)&at_once,
			 sizeof(at_once));
}

bool socket_is_of_host(int fd)
{
	(void)fd;
	return true;
}

uint32_t socket_find_interface(const char *name)
{
	return if_nametoindex(name);
}

/* ---- Datagrams: only for a sandbox with a network of its own, which Windows has not ------------------ */

void socket_note_senders(int fd)
{
	(void)fd;
}

ssize_t socket_receive_from(int fd, void *data, size_t room, struct socket_sender *from)
{
	(void)fd;
	(void)data;
	(void)room;
	(void)from;
	errno = ENOTSUP;
	return -1;
}

ssize_t socket_send_back(int fd, const void *data, size_t bytes, const struct socket_sender *to)
{
	(void)fd;
	(void)data;
	(void)bytes;
	(void)to;
	errno = ENOTSUP;
	return -1;
}
