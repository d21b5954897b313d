/* SPDX-License-Identifier: MIT */
/* See changed_file.h. */
#include "os/changed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"

static struct os_version version_of(const struct stat *st)
{
	return (struct os_version){ .inode = st->st_ino,
				    .bytes = (uint64_t)st->st_size,
				    .seconds = st->st_mtim.tv_sec,
				    .nanoseconds = st->st_mtim.tv_nsec };
}

static bool is_same(const struct os_version *a, const struct os_version *b)
{
	return a->inode == b->inode && a->bytes == b->bytes && a->seconds == b->seconds &&
	       a->nanoseconds == b->nanoseconds;
}

static size_t read_all(int fd, char *out, size_t room)
{
	size_t len = 0;
	ssize_t got = 1;

	while (len < room && got > 0) {
		got = read(fd, out + len, room - len);
		if (got > 0)
			len += (size_t)got;
	}
	return len;
}

enum os_change os_read_changed(const char *path, struct os_version *seen, char *out, size_t room,
			       size_t *len)
{
	struct os_version now;
	struct stat st;
	scoped_fd fd = -1;

	if (stat(path, &st) < 0) {
		if (errno != ENOENT)
			return OS_SAME;
		*seen = (struct os_version){ .inode = 0 };
		return OS_GONE;
	}
	now = version_of(&st);
	if (is_same(seen, &now) || !S_ISREG(st.st_mode))
		return OS_SAME;
	/* O_NONBLOCK, because the file may have been replaced by something that blocks. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return OS_SAME;
	*len = read_all(fd, out, room);
	*seen = version_of(&st);
	return OS_NEW;
}
