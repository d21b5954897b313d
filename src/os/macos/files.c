/* SPDX-License-Identifier: MIT */
/* Calls of macOS for files: renameatx_np(), F_GETPATH, copyfile(). */
#include <copyfile.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/posix/native.h"

const int native_open_directory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

int native_rename(int directory, const char *from, const char *to, enum native_rename how)
{
	static const unsigned flags[] = {
		[RENAME_ANYWAY] = 0, [RENAME_FRESH] = RENAME_EXCL, [RENAME_BOTH] = RENAME_SWAP
	};

	if (renameatx_np(directory, from, directory, to, flags[how]) == 0)
		return 0;
	/* ENOTSUP: the volume can't. */
	return errno == ENOTSUP || errno == EINVAL ? -ENOSYS : -errno;
}

ssize_t native_fd_path(int fd, char *room, size_t size)
{
	char path[MAXPATHLEN];
	size_t len;

	if (fcntl(fd, F_GETPATH, path) < 0)
		return -1;
	len = strlen(path);
	memcpy(room, path, len < size ? len : size);
	return (ssize_t)(len < size ? len : size);
}

/* The kernel returns another error if a link, or what is no directory, is on the way. */
bool native_is_missing(const char *path)
{
	scoped_fd fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW_ANY);

	return fd < 0 && errno == ENOENT;
}

/* No call of macOS 11 follows links and stays below a directory. */
int native_open_beneath(int directory, const char *below, int flags)
{
	(void)directory;
	(void)below;
	(void)flags;
	errno = ENOSYS;
	return -1;
}

bool native_is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(3, 2);
}

bool native_copy_attributes(int from, int to)
{
	return fcopyfile(from, to, NULL, COPYFILE_XATTR | COPYFILE_ACL) == 0 || errno == ENOTSUP;
}

int native_find_socket(const char *path, struct sockaddr_un *out, int *held)
{
	struct stat st;
	int n;

	*held = -1;
	if (lstat(path, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	n = snprintf(out->sun_path, sizeof(out->sun_path), "%s", path);
	return n < 0 || (size_t)n >= sizeof(out->sun_path) ? -ENAMETOOLONG : 0;
}

int native_take_signal(const sigset_t *which)
{
	int taken = 0;
	sigset_t now;

	/* They are pending and blocked, so sigwait() does not wait. */
	for (int n = 1; n < NSIG; n++)
		if (sigismember(which, n) == 1 && sigpending(&now) == 0 &&
		    sigismember(&now, n) == 1)
			return sigwait(which, &taken) == 0 ? taken : 0;
	return 0;
}
