/* SPDX-License-Identifier: MIT */
/* See streams.h. */
#include "os/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A pipe that can be written at all takes this much without waiting. */
enum { WRITE_BYTES = 4096 };

bool os_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

int os_open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int os_open_output(int *read_end, int *write_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		int code = errno;

		close(ends[0]);
		close(ends[1]);
		return -code;
	}
	*read_end = ends[0];
	*write_end = ends[1];
	return 0;
}

ssize_t os_read_output(int fd, void *data, size_t room)
{
	ssize_t n;

	do
		n = read(fd, data, room);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

size_t os_count_output(int fd)
{
	int waiting = 0;

	return ioctl(fd, FIONREAD, &waiting) < 0 || waiting < 0 ? 0 : (size_t)waiting;
}

ssize_t os_write_some(int fd, const void *data, size_t bytes)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	if (poll(&room, 1, 0) == 0)
		return -EAGAIN;
	n = write(fd, data, MIN_OF(bytes, (size_t)WRITE_BYTES));
	return n < 0 ? -errno : n;
}
