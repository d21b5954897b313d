/* SPDX-License-Identifier: MIT */
/* See times.h. */
#include "os/times.h"

#include <fcntl.h>
#include <sys/stat.h>

bool os_look_times(const char *path, struct os_times *out)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return false;
	/* A file system that does not know it has the epoch, or -1. */
	*out = (struct os_times){ .change = st.st_ctim,
				  .birth = st.st_birthtimespec,
				  .has_birth = st.st_birthtimespec.tv_sec > 0 };
	return true;
}

bool os_look_stamp(int directory, const char *path, struct stamp *out)
{
	struct stat st;
	int r = path[0] ? fstatat(directory, path, &st, AT_SYMLINK_NOFOLLOW)
			: fstat(directory, &st);

	if (r < 0)
		return false;
	*out = (struct stamp){ .device = (uint64_t)st.st_dev,
			       .inode = st.st_ino,
			       .seconds = st.st_ctim.tv_sec,
			       .nanoseconds = (uint32_t)st.st_ctim.tv_nsec };
	return true;
}

/*
 * SECURITY: no stamp of a directory is trusted: nobody has shown that the volumes of macOS change it
 * with every name. So a cache that depends on one is never used.
 */
void os_take_stamp(int directory, struct os_stamp_kind *kind, struct stamp *out)
{
	(void)kind;
	if (!os_look_stamp(directory, "", out))
		*out = (struct stamp){ .inode = 0 };
	out->inode = 0;
}

bool os_look_stamp_of(const char *path, struct stamp *out)
{
	return os_look_stamp(AT_FDCWD, path, out);
}

void os_take_start(struct timespec *out)
{
	(void)clock_gettime(CLOCK_REALTIME, out);
}
