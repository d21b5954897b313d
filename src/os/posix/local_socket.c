/* SPDX-License-Identifier: MIT */
/* See local_socket.h. */
#include "os/local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/loop.h"
#include "os/posix/native.h"

enum { RETRY_MS = 10, TALK_PATIENCE_MS = 5000, LENGTH_BYTES = 4 };

/*
 * Without blocking the kernel says EAGAIN while the server's queue is full, and there is nothing to
 * wait for.
 */
static int connect_within(int fd, const struct sockaddr_un *to, int timeout_ms)
{
	const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000L };
	uint64_t end_ms = loop_now() + (uint64_t)timeout_ms;

	while (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (loop_now() >= end_ms)
			return -ETIMEDOUT;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int local_socket_connect(const char *path, int timeout_ms)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	scoped_fd held = -1;
	int r = native_find_socket(path, &to, &held);
	int fd;

	if (r < 0)
		return r;
	fd = native_socket(AF_UNIX, SOCK_STREAM, false);
	if (fd < 0)
		return -errno;
	r = connect_within(fd, &to, timeout_ms);
	if (r == 0)
		return fd;
	fd_close(&fd);
	return r;
}

int local_socket_take(int fd)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);
	int type = 0, copy;
	socklen_t type_size = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) < 0)
		return -errno;
	if (type != SOCK_STREAM)
		return -EPROTOTYPE;
	if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0)
		return -errno;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
		int error = errno;

		fd_close(&copy);
		return -error;
	}
	return copy;
}

bool local_socket_is_trusted(int fd, uint64_t *uid)
{
	*uid = UINT64_MAX;
	return native_peer_user(fd, uid) && (*uid == 0 || *uid == geteuid());
}

/* ---- One message, one answer ----------------------------------------------------------------- */

static int send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = fd_pass_tell(fd, data, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int receive_all(int fd, char *data, size_t size)
{
	while (size) {
		ssize_t n = read(fd, data, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int receive_answer(int fd, struct buf *answer)
{
	unsigned char head[LENGTH_BYTES];
	char part[4096];
	uint32_t left = 0;
	int r = receive_all(fd, (char *)head, sizeof(head));

	for (size_t i = 0; i < sizeof(head); i++)
		left |= (uint32_t)head[i] << (8 * i);
	if (r == 0 && left > answer->max)
		r = -EPROTO;
	while (r == 0 && left) {
		size_t size = MIN_OF((size_t)left, sizeof(part));

		r = receive_all(fd, part, size);
		if (r == 0)
			buf_add(answer, (struct str){ part, size });
		left -= (uint32_t)size;
	}
	return r == 0 && answer->failed != ERR_OK ? -EPROTO : r;
}

int local_socket_reach(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = native_socket(AF_UNIX, SOCK_STREAM, true);
	int r;

	if (fd < 0)
		return -errno;
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	r = connect_within(fd, &to, TALK_PATIENCE_MS);
	if (r == 0)
		return fd;
	fd_close(&fd);
	return r;
}

int local_socket_say(int fd, struct str message)
{
	char head[LENGTH_BYTES];
	int r;

	for (size_t i = 0; i < sizeof(head); i++)
		head[i] = (char)(message.len >> (8 * i) & 0xff);
	r = send_all(fd, head, sizeof(head));
	return r == 0 ? send_all(fd, message.p, message.len) : r;
}

int local_socket_hear(int fd, struct buf *answer)
{
	return receive_answer(fd, answer);
}

int local_socket_talk(const char *path, struct str message, struct buf *answer)
{
	scoped_fd fd = local_socket_reach(path);
	int r = fd < 0 ? fd : local_socket_say(fd, message);

	return r == 0 ? receive_answer(fd, answer) : r;
}

int local_socket_await(int fd, int other, unsigned char *byte)
{
	struct pollfd wait[2] = { { .fd = fd, .events = POLLIN },
				  { .fd = other, .events = POLLIN } };
	ssize_t n;

	while (poll(wait, COUNT_OF(wait), -1) < 0)
		if (errno != EINTR)
			return -errno;
	if (!wait[1].revents)
		return 0;
	*byte = 0;
	do
		n = read(other, byte, 1);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 1;
}
