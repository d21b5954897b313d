/* SPDX-License-Identifier: MIT */
/*
 * How an operation on a denied path fails; see naming.h. What covers a denied directory can't be
 * searched, unless something below it is open: then the names on the way there exist, and
 * nothing else.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "linux/notify/naming.h"
#include "os/fd.h"

enum { SEARCHABLE = 0111 };

static bool is_read_only(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_flags & ST_RDONLY;
}

static bool is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Opens the nearest directory above a path that is there, and says how far above; -errno. */
static int open_above(const struct sandbox *sandbox, struct str path, int *levels)
{
	UNINITIALIZED char dir[PATH_MAX_BYTES];
	struct str at = path;
	int fd;

	*levels = -1;
	do {
		at = path_parent(at);
		memcpy(dir, at.p, at.len);
		dir[at.len] = '\0';
		fd = naming_open_inside(sandbox, dir);
		++*levels;
	} while (fd == -ENOENT && at.len > 1);
	return fd;
}

/* What is in its place has no rights, and its mount is read-only. */
static int cover_error(const struct naming_target *target, int dir, int file)
{
	switch (operation_change(target->operation)) {
	case CHANGE_ADD:
		if (target->is_unnamed)
			return is_directory(file) ? EROFS : 0;
		return EEXIST;
	case CHANGE_REMOVE:
		if (is_read_only(dir))
			return EROFS;
		return naming_fits(target->operation, is_directory(file)) ? EBUSY : 0;
	case CHANGE_METADATA:
		return EROFS;
	case CHANGE_CONTENT:
		if (is_directory(file))
			return 0;
		return target->truncates ? EROFS : EACCES;
	case CHANGE_NONE:
		break;
	}
	return EACCES;
}

bool naming_is_closed(const struct sandbox *sandbox, struct str path)
{
	int levels = 0;
	scoped_fd dir = open_above(sandbox, path, &levels);
	struct stat st;

	return dir < 0 || levels > 0 || fstat(dir, &st) < 0 || !(st.st_mode & SEARCHABLE);
}

int naming_denied_error(const struct sandbox *sandbox, struct str path,
			const struct naming_target *target)
{
	int levels = 0;
	scoped_fd dir = open_above(sandbox, path, &levels);
	scoped_fd file = -1;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || !(st.st_mode & SEARCHABLE))
		return EACCES;
	if (levels > 0)
		return ENOENT;
	file = naming_open_inside(sandbox, path.p);
	if (file >= 0)
		return cover_error(target, dir, file);
	if (target->is_unnamed)
		return ENOENT;
	if (!target->may_create && operation_change(target->operation) != CHANGE_REMOVE)
		return ENOENT;
	return is_read_only(dir) ? EROFS : 0;
}
