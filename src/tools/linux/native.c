/* SPDX-License-Identifier: MIT */
/* See tools/posix/native.h. */
#include "tools/posix/native.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "backend/bwrap/bwrap.h"
#include "tools/worker.h"

enum { XATTR_NAMES_BYTES = 16 << 10, XATTR_VALUE_BYTES = 64 << 10 };

/* ---- What a new file takes over ------------------------------------------------------------------- */

/* Not these: write() drops the first, and the others are about the content. */
static bool is_dropped(const char *name)
{
	return strcmp(name, "security.capability") == 0 || strcmp(name, "security.ima") == 0 ||
	       strcmp(name, "security.evm") == 0;
}

/*
 * SECURITY: a directory may give new files an ACL of their own, which the old file need not have. It would
 * let in others than the old one did.
 */
static bool drop_inherited_acl(int from, int to)
{
	static const char acl[] = "system.posix_acl_access";

	if (fgetxattr(from, acl, NULL, 0) >= 0 || fgetxattr(to, acl, NULL, 0) < 0)
		return true;
	return fremovexattr(to, acl) == 0;
}

/* The label of a security module: a new file has its own where this one can't be set. */
static bool may_be_lost(const char *name)
{
	return strncmp(name, "security.", 9) == 0;
}

static bool copy_xattr(int from, int to, const char *name, char *value)
{
	ssize_t n = fgetxattr(from, name, value, XATTR_VALUE_BYTES);

	if (n < 0)
		return may_be_lost(name);
	return fsetxattr(to, name, value, (size_t)n, 0) == 0 || may_be_lost(name);
}

bool tools_copy_attributes(struct call *call, int from, int to)
{
	struct err ignored = ERR_INIT;
	char list[XATTR_NAMES_BYTES];
	ssize_t n = flistxattr(from, list, sizeof(list));
	char *value;

	if (!drop_inherited_acl(from, to))
		return false;
	if (n == 0 || (n < 0 && (errno == ENOTSUP || errno == ENOSYS)))
		return true;
	value = n < 0 ? NULL : arena_alloc(call->a, XATTR_VALUE_BYTES, &ignored);
	if (!value)
		return false;
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(list + at) + 1)
		if (!is_dropped(list + at) && !copy_xattr(from, to, list + at, value))
			return false;
	return true;
}

int tools_sync(int fd)
{
	return fdatasync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* ---- The worker ------------------------------------------------------------------------------------- */

int tools_make_line(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;
}

bool tools_is_for_names(int flags)
{
	return flags & O_PATH;
}

const char *const tools_worker_argv[] = { WORKER_NAME, NULL };

int tools_find_worker(struct arena *a, struct str *out, struct err *e)
{
	bool is_this;

	return bwrap_find_cordon(a, out, &is_this, e);
}
