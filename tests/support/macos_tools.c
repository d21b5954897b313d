/* SPDX-License-Identifier: MIT */
/*
 * src/tools/macos/way.c and names.c on Linux: the two calls of macOS that they need, made from others. With these
 * files in the place of src/tools/linux/, the tests of the file tools try the code of macOS.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "os/fd.h"
#include "os/kernel_file.h"
#include "tools/posix/native.h"

/* One component; with O_PATH a link would be opened itself, which O_NOFOLLOW_ANY refuses. */
static int open_step(int directory, const char *name, int flags)
{
	struct stat st;
	int fd = openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC);
	int error = errno;

	if (fd < 0 && error == ENOTDIR && fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		return -ELOOP;
	return fd < 0 ? -error : fd;
}

/* O_NOFOLLOW_ANY: each component is opened in the one before it. */
int tools_open_plain(int directory, const char *path, int flags)
{
	scoped_fd above = -1;

	if (path[0] == '/') {
		above = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		directory = above;
	}
	for (;;) {
		char name[PATH_MAX_COMPONENT + 1] = ".";
		size_t length;
		int next;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length >= sizeof(name))
			return -ENAMETOOLONG;
		if (length) {
			memcpy(name, path, length);
			name[length] = '\0';
		}
		path += length;
		if (!path[strspn(path, "/")])
			return open_step(directory, name, flags);
		next = open_step(directory, name, O_PATH | O_DIRECTORY);
		if (next < 0)
			return next;
		fd_close(&above);
		above = directory = next;
	}
}

bool tools_is_of_kernel(const char *path)
{
	scoped_fd fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && os_is_of_kernel(fd);
}
