/* SPDX-License-Identifier: MIT */
/* See streams.h. */
#include "os/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/posix/native.h"

bool os_is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

bool os_leads_to_program(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

int os_open_null(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int os_open_output(int *read_end, int *write_end)
{
	int ends[2];

	if (native_pipe(ends, true) < 0)
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
