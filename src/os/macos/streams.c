/* SPDX-License-Identifier: MIT */
/* See streams.h: what macOS has other calls for than Linux. */
#include "os/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/random.h"
#include "os/write_signals.h"

enum { NAME_TRIES = 16 };

/*
 * A file that has lost its name: there is no memory that can be read like one. The second descriptor
 * can only read.
 */
static int make_file(int *reader)
{
	char path[PATH_MAX];

	for (int i = 0; i < NAME_TRIES; i++) {
		size_t size = confstr(_CS_DARWIN_USER_TEMP_DIR, path, sizeof(path));
		uint64_t chance;
		int fd, r = os_random(&chance, sizeof(chance));

		if (r < 0 || size == 0 || size > sizeof(path) - 32)
			return r < 0 ? r : -ENOENT;
		(void)snprintf(path + size - 1, sizeof(path) - size, "/cordon-%016llx",
			       (unsigned long long)chance);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			return -errno;
		*reader = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		(void)unlink(path);
		if (*reader >= 0)
			return fd;
		fd_close(&fd);
		return -errno;
	}
	return -EEXIST;
}

int os_open_text(const void *data, size_t bytes)
{
	struct os_write_signals signals;
	int reader = -1, error = 0;
	int fd = make_file(&reader);
	size_t done = 0;

	if (fd < 0)
		return fd;
	os_write_signals_block(&signals);
	while (done < bytes && !error) {
		ssize_t n = pwrite(fd, (const char *)data + done, bytes - done, (off_t)done);

		error = n < 0 ? errno : n == 0 ? EIO : 0;
		done += n > 0 ? (size_t)n : 0;
	}
	os_write_signals_restore(&signals);
	fd_close(&fd);
	if (error)
		fd_close(&reader);
	return error ? -error : reader;
}

ssize_t os_write_some(int fd, const void *data, size_t bytes)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	if (poll(&room, 1, 0) == 0)
		return -EAGAIN;
	/* A pipe that can be written at all takes this much without waiting. */
	n = write(fd, data, MIN_OF(bytes, (size_t)PIPE_BUF));
	return n < 0 ? -errno : n;
}
