/* SPDX-License-Identifier: MIT */
/* What the sandbox that this process is in lets it do with a file: the kernel knows. */
#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/path.h"
#include "tools/box.h"

static bool is_there(struct str path)
{
	return faccessat(AT_FDCWD, path.p, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool inside_lets(struct arena *a, struct str path, enum access access)
{
	const bool writes = access == ACCESS_WRITE;
	struct err ignored = ERR_INIT;
	struct str at;
	struct statfs fs;

	if (path_plain(a, STR("/"), path, &at, &ignored) < 0 || !str_eq(at, path))
		return false;
	/* Of a file that is to be made, the directory decides. */
	while (writes && at.len > 1 && !is_there(at))
		if (arena_copy(a, path_parent(at), &at, &ignored) < 0)
			return false;
	if (faccessat(AT_FDCWD, at.p, writes ? W_OK : R_OK, AT_EACCESS) < 0 ||
	    statfs(at.p, &fs) < 0)
		return false;
	/*
	 * SECURITY: what lies on a tmpfs may be another directory than outside (tmp = "private"), and /proc is
	 * another one.
	 */
	return fs.f_type != PROC_SUPER_MAGIC && fs.f_type != TMPFS_MAGIC;
}
