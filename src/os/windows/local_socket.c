/* SPDX-License-Identifier: MIT */
/* See local_socket.h. Sockets with a path are not built for Windows in this version; -ENOTSUP says so. */
#include "os/local_socket.h"

#include <errno.h>

int local_socket_connect(const char *path, int timeout_ms)
{
	(void)path;
	(void)timeout_ms;
	return -ENOTSUP;
}

int local_socket_take(int fd)
{
	(void)fd;
	return -ENOTSUP;
}

bool local_socket_is_trusted(int fd, uint64_t *uid)
{
	(void)fd;
	*uid = 0;
	return false;
}

int local_socket_talk(const char *path, struct str message, struct buf *answer)
{
	(void)path;
	(void)message;
	(void)answer;
	return -ENOTSUP;
}

int local_socket_reach(const char *path)
{
	(void)path;
	return -ENOTSUP;
}

int local_socket_say(int fd, struct str message)
{
	(void)fd;
	(void)message;
	return -ENOTSUP;
}

int local_socket_hear(int fd, struct buf *answer)
{
	(void)fd;
	(void)answer;
	return -ENOTSUP;
}

int local_socket_await(int fd, int other, unsigned char *byte)
{
	(void)fd;
	(void)other;
	(void)byte;
	return -ENOTSUP;
}
