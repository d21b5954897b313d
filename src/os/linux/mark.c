/* SPDX-License-Identifier: MIT */
/* See linux/mark.h. Everything here is async-signal-safe. */
#include "os/linux/mark.h"

#include <dirent.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

static bool has_time(const struct stat *st)
{
	return st->st_mtim.tv_sec == MARK_SECONDS &&
	       (st->st_mtim.tv_nsec == MARK_NANOSECONDS || st->st_mtim.tv_nsec == 0);
}

/* The umask, and a set-group-ID directory, may have changed the rest. */
static bool has_mode(const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return (st->st_mode & 07777 & ~(S_ISGID | 0055U)) == (MARK_DIR_MODE & ~0055);
	return (st->st_mode & 07777 & ~0044U) == (MARK_FILE_MODE & ~0044);
}

bool mark_could_be(const struct stat *st)
{
	return S_ISDIR(st->st_mode) || S_ISSOCK(st->st_mode) ||
	       (S_ISREG(st->st_mode) && st->st_nlink == 1 && st->st_size <= MARK_FILE_BYTES);
}

enum mark mark_of(const struct stat *st)
{
	if (!mark_could_be(st))
		return MARK_NONE;
	if (S_ISSOCK(st->st_mode))
		return (st->st_mode & 07777) == MARK_SOCKET_MODE ? MARK_SET : MARK_NONE;
	if (has_mode(st))
		return MARK_BIRTH;
	return has_time(st) ? MARK_SET : MARK_NONE;
}

int mark_set(int fd)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { .tv_sec = MARK_SECONDS, .tv_nsec = MARK_NANOSECONDS } };

	return futimens(fd, times);
}

int mark_is_empty(int dir)
{
	_Alignas(struct entry) char space[512];

	for (;;) {
		long n = syscall(SYS_getdents64, dir, space, sizeof(space));

		if (n <= 0)
			return n < 0 ? -1 : 1;
		for (long at = 0; at < n;) {
			const struct entry *entry = (const void *)(space + at);

			if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
				return 0;
			at += entry->len;
		}
	}
}
