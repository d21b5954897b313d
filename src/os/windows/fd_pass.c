/* SPDX-License-Identifier: MIT */
/*
 * See fd_pass.h. A message is a frame: how many bytes it has, how many sockets, the bytes, and the sockets as Windows
 * describes them. Nothing is read beyond a frame, so that what is still there shows when the channel is polled.
 */
#include "os/windows/fd_pass.h"

#include <errno.h>

#include "base/mem.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/socket.h"
#include "os/windows/api.h"
#include "os/windows/error.h"
#include "os/windows/handle.h"
#include "os/windows/net.h"

enum {
	MAX_BYTES = 8 << 10, /* of a message */
	MAX_SOCKETS = 8,
	FRAME_BYTES = 8 + MAX_BYTES + MAX_SOCKETS * FD_PASS_SOCKET_BYTES,
};

_Static_assert(sizeof(WSAPROTOCOL_INFOW) <= FD_PASS_SOCKET_BYTES, "a socket fits");

struct frame {
	uint32_t bytes, sockets;
	unsigned char rest[FRAME_BYTES - 8];
};

struct channel {
	uint32_t process; /* at the other end; 0: unknown */
	size_t filled;	  /* of `heard` */
	struct frame heard;
};

/* ---- Making them ---------------------------------------------------------------------------------------- */

static int add_channel(SOCKET s)
{
	struct err e = ERR_INIT;
	struct channel *c = mem_new(sizeof(*c), &e);
	u_long on = 1;
	int fd;

	if (!c || ioctlsocket(s, (long)FIONBIO, &on) != 0) {
		(void)closesocket(s);
		mem_free(c);
		return -ENOMEM;
	}
	fd = handle_add_channel(s, c, mem_free);
	if (fd < 0)
		return -EMFILE;
	socket_prepare_local(fd);
	return fd;
}

static SOCKET open_socket(void)
{
	return WSASocketW(AF_INET, SOCK_STREAM, 0, NULL, 0,
			  WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
}

static bool is_same(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
}

/* Others may connect to it meanwhile: they are not the one that is looked for, and are closed. */
static SOCKET accept_from(SOCKET listener, const struct sockaddr_in *client)
{
	for (int i = 0; i < 64; i++) {
		struct sockaddr_in from = { .sin_port = 0 };
		int size = sizeof(from);
		SOCKET s = accept(listener, (struct sockaddr *)&from, &size);

		if (s == INVALID_SOCKET || is_same(&from, client))
			return s;
		(void)closesocket(s);
	}
	WSASetLastError(WSAECONNABORTED);
	return INVALID_SOCKET;
}

static bool connect_pair(SOCKET listener, SOCKET ends[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET }, own = { .sin_port = 0 };
	int size = sizeof(at), own_size = sizeof(own);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&at, size) != 0 || listen(listener, 8) != 0 ||
	    getsockname(listener, (struct sockaddr *)&at, &size) != 0 ||
	    connect(ends[0], (struct sockaddr *)&at, size) != 0 ||
	    getsockname(ends[0], (struct sockaddr *)&own, &own_size) != 0)
		return false;
	ends[1] = accept_from(listener, &own);
	return ends[1] != INVALID_SOCKET;
}

int fd_pass_open(int ends[2], int flags)
{
	SOCKET pair[2] = { INVALID_SOCKET, INVALID_SOCKET }, listener;
	int r = net_start();

	(void)flags;
	if (r < 0)
		return r;
	listener = open_socket();
	pair[0] = open_socket();
	if (listener == INVALID_SOCKET || pair[0] == INVALID_SOCKET ||
	    !connect_pair(listener, pair))
		r = -error_number((uint32_t)WSAGetLastError());
	if (listener != INVALID_SOCKET)
		(void)closesocket(listener);
	if (r < 0) {
		if (pair[0] != INVALID_SOCKET)
			(void)closesocket(pair[0]);
		return r;
	}
	ends[0] = add_channel(pair[0]);
	ends[1] = add_channel(pair[1]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return 0;
	fd_done(&ends[0]);
	fd_done(&ends[1]);
	return -EMFILE;
}

int fd_pass_copy(int fd, uint32_t process, struct fd_pass_socket *out)
{
	WSAPROTOCOL_INFOW info;

	if (WSADuplicateSocketW(handle_socket(fd), process, &info) != 0)
		return -error_number((uint32_t)WSAGetLastError());
	*out = (struct fd_pass_socket){ .bytes = { 0 } };
	memcpy(out->bytes, &info, sizeof(info));
	return 0;
}

static SOCKET open_copy(const struct fd_pass_socket *copy)
{
	WSAPROTOCOL_INFOW info;

	memcpy(&info, copy->bytes, sizeof(info));
	return WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &info, 0,
			  WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
}

int fd_pass_take(const struct fd_pass_socket *copy)
{
	int r = net_start();
	SOCKET s = r == 0 ? open_copy(copy) : INVALID_SOCKET;

	if (r < 0)
		return r;
	return s == INVALID_SOCKET ? -error_number((uint32_t)WSAGetLastError()) : add_channel(s);
}

static struct channel *channel_of(int fd)
{
	return handle_kind(fd) == HANDLE_SOCKET ? handle_object(fd) : NULL;
}

void fd_pass_set_process(int fd, uint32_t process)
{
	struct channel *c = channel_of(fd);

	if (c)
		c->process = process;
}

/* ---- Sending -------------------------------------------------------------------------------------------- */

/*
 * EAGAIN if it can't be begun. A frame that was begun is finished, however long the other process takes nothing: half of
 * one can't be taken back, and nobody else would send the rest. If that process ends, this fails.
 */
static int send_frame(int fd, const struct frame *frame, size_t bytes)
{
	const char *at = (const char *)frame;
	size_t sent = 0;

	while (sent < bytes) {
		ssize_t n = socket_send(fd, at + sent, bytes - sent);

		if (n >= 0)
			sent += (size_t)n;
		else if (errno != EAGAIN || sent == 0)
			return -errno;
		else
			(void)socket_wait(fd, true, -1);
	}
	return 0;
}

static int send_message(int fd, const void *data, size_t bytes, const int *fds, size_t count)
{
	struct channel *c = channel_of(fd);
	UNINITIALIZED struct frame frame;
	size_t at = bytes;

	if (!c)
		return -EBADF;
	if (bytes > MAX_BYTES || count > MAX_SOCKETS)
		return -EMSGSIZE;
	frame.bytes = (uint32_t)bytes;
	frame.sockets = (uint32_t)count;
	memcpy(frame.rest, data, bytes);
	for (size_t i = 0; i < count; i++, at += FD_PASS_SOCKET_BYTES) {
		struct fd_pass_socket copy;
		int r = c->process ? fd_pass_copy(fds[i], c->process, &copy) : -ENOTCONN;

		if (r < 0)
			return r;
		memcpy(frame.rest + at, &copy, sizeof(copy));
	}
	return send_frame(fd, &frame, 8 + at);
}

ssize_t fd_pass_tell(int channel, const void *data, size_t bytes, int flags)
{
	int r = send_message(channel, data, bytes, NULL, 0);

	(void)flags;
	if (r == 0)
		return (ssize_t)bytes;
	errno = -r;
	return -1;
}

int fd_pass_send(int channel, void *data, size_t bytes, const int *fds, size_t count, int flags)
{
	(void)flags;
	return send_message(channel, data, bytes, fds, count);
}

/* ---- Receiving ------------------------------------------------------------------------------------------ */

/* Up to `want` bytes of the frame: 1, 0 at the end of the channel, or -errno. */
static int fill(int fd, struct channel *c, size_t want)
{
	while (c->filled < want) {
		ssize_t n = socket_receive(fd, (char *)&c->heard + c->filled, want - c->filled);

		/* The other process has been ended: what it sent before was read. */
		if (n == 0 || (n < 0 && (errno == ECONNRESET || errno == ECONNABORTED)))
			return 0;
		if (n < 0)
			return -errno;
		c->filled += (size_t)n;
	}
	return 1;
}

/* The same for a whole frame. */
static int hear(int fd, struct channel **out)
{
	struct channel *c = channel_of(fd);
	int r;

	if (!c)
		return -EBADF;
	*out = c;
	r = fill(fd, c, 8);
	if (r <= 0)
		return r;
	/* SECURITY: the proxy reads untrusted bytes, and may send anything. */
	if (c->heard.bytes > MAX_BYTES || c->heard.sockets > MAX_SOCKETS)
		return -EBADMSG;
	r = fill(fd, c, 8 + c->heard.bytes + (size_t)c->heard.sockets * FD_PASS_SOCKET_BYTES);
	if (r > 0)
		c->filled = 0;
	return r;
}

/* SECURITY: sockets that nobody asked for are not opened. */
ssize_t fd_pass_hear(int channel, void *data, size_t room)
{
	struct channel *c = NULL;
	int r = hear(channel, &c);

	if (r > 0 && c->heard.sockets)
		r = -EBADMSG;
	if (r < 0) {
		errno = -r;
		return -1;
	}
	if (r == 0)
		return 0;
	memcpy(data, c->heard.rest, MIN_OF(room, (size_t)c->heard.bytes));
	return (ssize_t)c->heard.bytes;
}

static int take_sockets(const struct channel *c, int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct fd_pass_socket copy;
		SOCKET s;

		memcpy(&copy, c->heard.rest + c->heard.bytes + i * sizeof(copy), sizeof(copy));
		s = open_copy(&copy);
		fds[i] = s == INVALID_SOCKET ? -1 : handle_add_socket(s);
		if (fds[i] >= 0) {
			socket_set_nonblocking(fds[i]);
			continue;
		}
		while (i > 0)
			fd_done(&fds[--i]);
		return -EMFILE;
	}
	return 0;
}

ssize_t fd_pass_receive(int channel, void *data, size_t room, int *fds, size_t *count)
{
	struct channel *c = NULL;
	int r = hear(channel, &c);
	size_t most = *count;

	*count = 0;
	if (r <= 0)
		return r;
	if (c->heard.bytes > room || c->heard.sockets > most)
		return -EMSGSIZE;
	r = take_sockets(c, fds, c->heard.sockets);
	if (r < 0)
		return r;
	*count = c->heard.sockets;
	memcpy(data, c->heard.rest, c->heard.bytes);
	return (ssize_t)c->heard.bytes;
}
