/* SPDX-License-Identifier: MIT */
/* Calls of Linux for files: renameat2(), openat2(), /proc/self/fd, extended attributes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/posix/native.h"

enum {
	XATTR_NAMES_BYTES = 4096,
	XATTR_VALUE_BYTES = 4096,
	OPEN_TRIES = 16,
};

const int native_open_directory = O_PATH | O_DIRECTORY | O_CLOEXEC;

int native_rename(int directory, const char *from, const char *to, enum native_rename how)
{
	static const unsigned flags[] = {
		[RENAME_ANYWAY] = 0, [RENAME_FRESH] = RENAME_NOREPLACE, [RENAME_BOTH] = RENAME_EXCHANGE
	};

	if (how == RENAME_ANYWAY)
		return renameat(directory, from, directory, to) < 0 ? -errno : 0;
	if (syscall(SYS_renameat2, directory, from, directory, to, flags[how]) == 0)
		return 0;
	/* EINVAL: the file system lacks that flag. */
	return errno == EINVAL ? -ENOSYS : -errno;
}

ssize_t native_fd_path(int fd, char *room, size_t size)
{
	char link[64];

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, room, size);
}

static int open_how(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags, .resolve = resolve };

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

/* The kernel returns another error if a link, or what is no directory, is on the way. */
bool native_is_missing(const char *path)
{
	scoped_fd fd = open_how(AT_FDCWD, path, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

	return fd < 0 && errno == ENOENT;
}

int native_open_beneath(int directory, const char *below, int flags)
{
	int fd = -1;

	/* EAGAIN: something was renamed meanwhile, and the kernel can't be sure; try again. */
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		fd = open_how(directory, below, (uint64_t)flags,
			      RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

bool native_is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

bool native_copy_attributes(int from, int to)
{
	char names[XATTR_NAMES_BYTES], value[XATTR_VALUE_BYTES];
	ssize_t n = flistxattr(from, names, sizeof(names));

	if (n < 0)
		return errno == ENOTSUP || errno == ENOSYS;
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
		ssize_t size = fgetxattr(from, names + at, value, sizeof(value));

		/* The label of a security module: a new file has its own where this one can't be set. */
		if ((size < 0 || fsetxattr(to, names + at, value, (size_t)size, 0) < 0) &&
		    strncmp(names + at, "security.", 9) != 0)
			return false;
	}
	return true;
}

int native_find_socket(const char *path, struct sockaddr_un *out, int *held)
{
	struct stat st;

	*held = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (*held < 0 || fstat(*held, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	/* What was looked at is what is connected to, and its path may be of any length. */
	(void)snprintf(out->sun_path, sizeof(out->sun_path), "/proc/self/fd/%d", *held);
	return 0;
}

int native_take_signal(const sigset_t *which)
{
	static const struct timespec at_once = { .tv_sec = 0 };
	int taken;

	do
		taken = sigtimedwait(which, NULL, &at_once);
	while (taken < 0 && errno == EINTR);
	return taken < 0 ? 0 : taken;
}
