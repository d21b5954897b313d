/* SPDX-License-Identifier: MIT */
/* See tools/posix/native.h. */
#include "tools/posix/native.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/os.h"
#include "tools/worker.h"

/* <sys/xattr.h>, which the headers that Cordon is compiled with for macOS lack. */
ssize_t fgetxattr(int fd, const char *name, void *value, size_t size, uint32_t position,
		  int options);
ssize_t flistxattr(int fd, char *names, size_t size, int options);
int fsetxattr(int fd, const char *name, const void *value, size_t size, uint32_t position,
	      int options);

enum { XATTR_NAMES_BYTES = 16 << 10, XATTR_VALUE_BYTES = 64 << 10 };

/* ---- Files ---------------------------------------------------------------------------------------- */

int tools_open_plain(int directory, const char *path, int flags)
{
	/* SECURITY: O_NOFOLLOW_ANY is about every component; macOS has it since 11. */
	int fd = openat(directory, path, flags | O_NOFOLLOW_ANY);

	return fd < 0 ? -errno : fd;
}

bool tools_is_of_kernel(const char *path)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return false;
	return strcmp(fs.f_fstypename, "devfs") == 0 || strcmp(fs.f_fstypename, "fdesc") == 0 ||
	       strcmp(fs.f_fstypename, "autofs") == 0;
}

/* What the system sets by itself, for files that come from elsewhere: it can't be set, and need not be. */
static bool may_be_lost(const char *name)
{
	static const char *const own[] = { "com.apple.quarantine", "com.apple.provenance",
					   "com.apple.macl", "com.apple.rootless" };

	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (strcmp(name, own[i]) == 0)
			return true;
	return false;
}

static bool copy_xattrs(struct call *call, int from, int to)
{
	struct err ignored = ERR_INIT;
	char list[XATTR_NAMES_BYTES];
	ssize_t n = flistxattr(from, list, sizeof(list), 0);
	char *value;

	if (n == 0 || (n < 0 && errno == ENOTSUP))
		return true;
	value = n < 0 ? NULL : arena_alloc(call->a, XATTR_VALUE_BYTES, &ignored);
	if (!value)
		return false;
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(list + at) + 1) {
		ssize_t size = fgetxattr(from, list + at, value, XATTR_VALUE_BYTES, 0, 0);

		if ((size < 0 || fsetxattr(to, list + at, value, (size_t)size, 0, 0) < 0) &&
		    !may_be_lost(list + at))
			return false;
	}
	return true;
}

/*
 * SECURITY: a directory may give new files a list of its own, which the old file need not have, so one that has none
 * gets an empty one.
 */
static bool copy_acl(int from, int to)
{
	acl_t acl = acl_get_fd_np(from, ACL_TYPE_EXTENDED);
	bool is_fine;

	if (!acl && errno == ENOTSUP)
		return true;
	if (!acl && errno == ENOENT)
		acl = acl_init(1);
	if (!acl)
		return false;
	is_fine = acl_set_fd_np(to, acl, ACL_TYPE_EXTENDED) == 0 || errno == ENOTSUP;
	(void)acl_free(acl);
	return is_fine;
}

bool tools_copy_attributes(struct call *call, int from, int to)
{
	return copy_acl(from, to) && copy_xattrs(call, from, to);
}

int tools_sync(int fd)
{
	return fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP ? -errno : 0;
}

/* Nothing on macOS makes placeholders. */
bool tools_is_placeholder_directory(int fd, uint64_t device)
{
	(void)fd;
	(void)device;
	return false;
}

bool tools_is_placeholder_socket(int directory, const char *name)
{
	(void)directory;
	(void)name;
	return false;
}

/* ---- The worker ------------------------------------------------------------------------------------- */

int tools_make_line(int ends[2])
{
	const int on = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return -errno;
	for (int i = 0; i < 2; i++)
		if (fcntl(ends[i], F_SETFD, FD_CLOEXEC) < 0 ||
		    setsockopt(ends[i], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on)) < 0) {
			int error = errno;

			fd_close(&ends[0]);
			fd_close(&ends[1]);
			return -error;
		}
	return 0;
}

bool tools_is_for_names(int flags)
{
	return flags & O_EVTONLY;
}

/* sandbox-exec has the path of the program in the place of the first word. */
const char *const tools_worker_argv[] = { WORKER_NAME, WORKER_NAME, NULL };

int tools_find_worker(struct arena *a, struct str *out, struct err *e)
{
	if (os_program_path(a, out, e) < 0)
		return err_result(e);
	return out->len ? 0
			: FAIL(e, ERR_SYS,
			       "the program of the file tools is gone: this one was removed or "
			       "replaced while it ran");
}
