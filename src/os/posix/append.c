/* SPDX-License-Identifier: MIT */
/* See append.h. */
#include "os/append.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/posix/native.h"
#include "os/posix/path.h"
#include "os/write_signals.h"

int os_append_open(struct str path, int *out, struct err *e)
{
	struct c_path place;
	int fd;

	if (c_path_init(&place, path, e) < 0)
		return err_result(e);
	/* Not blocking: it would wait for ever for the reader of a named pipe. */
	fd = open(place.text,
		  O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		  0600);
	if (fd < 0 && errno == ELOOP)
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED,
				  "this is a symbolic link, which is not followed");
	if (fd < 0)
		return FAIL_SYS(e, errno, "can't open it for writing");
	if (fcntl(fd, F_SETFL, O_APPEND) < 0) {
		int error = errno;

		fd_close(&fd);
		return FAIL_SYS(e, error, "can't write to it");
	}
	*out = fd;
	return 0;
}

int os_append_take(int fd, int *out, struct err *e)
{
	int flags = fcntl(fd, F_GETFL);
	int copy;

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return FAIL(e, ERR_ARGUMENT, "descriptor %d is not open for writing", fd);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
		int error = errno;

		fd_close(&copy);
		return FAIL_SYS(e, error, "can't copy descriptor %d", fd);
	}
	*out = copy;
	return 0;
}

struct str os_append_path(int fd, char *room, size_t size)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return STR_EMPTY;
	n = native_fd_path(fd, room, size);
	return n > 0 && (size_t)n < size && room[0] == '/' ? (struct str){ room, (size_t)n }
							   : STR_EMPTY;
}

int os_append(int fd, struct str bytes)
{
	struct os_write_signals signals;
	int error = 0;

	os_write_signals_block(&signals);
	while (bytes.len > 0 && !error) {
		ssize_t n = write(fd, bytes.p, bytes.len);

		if (n > 0) {
			bytes = str_from(bytes, (size_t)n);
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd ready = { .fd = fd, .events = POLLOUT };

			if (poll(&ready, 1, -1) < 0 && errno != EINTR)
				error = errno;
		} else if (n < 0 && errno != EINTR) {
			error = errno;
		}
	}
	os_write_signals_restore(&signals);
	return -error;
}
