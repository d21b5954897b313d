/* SPDX-License-Identifier: MIT */
/* See way.h: O_PATH descriptors, and openat2() that follows no link. */
#include "tools/posix/way.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"

enum {
	WALK_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	READ_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC,
};

/* Of the file systems whose files the kernel makes up; linux/magic.h has most. */
static const uint32_t kernel_systems[] = {
	PROC_SUPER_MAGIC,
	SYSFS_MAGIC,
	DEBUGFS_MAGIC,
	TRACEFS_MAGIC,
	CGROUP_SUPER_MAGIC,
	CGROUP2_SUPER_MAGIC,
	SECURITYFS_MAGIC,
	BPF_FS_MAGIC,
	DEVPTS_SUPER_MAGIC,
	SELINUX_MAGIC,
	SMACK_MAGIC,
	PSTOREFS_MAGIC,
	EFIVARFS_MAGIC,
	NSFS_MAGIC,
	BINFMTFS_MAGIC,
	BINDERFS_SUPER_MAGIC,
	0x62656570 /* configfs */,
	0x19800202 /* mqueue */,
	0xabba1974 /* xenfs */,
	0x65735543 /* fusectl */,
	0x50494446 /* pidfs */,
};

static bool is_of_kernel(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < COUNT_OF(kernel_systems); i++)
		if ((uint32_t)fs.f_type == kernel_systems[i])
			return true;
	return false;
}

bool way_is_of_kernel(const struct way *w)
{
	return is_of_kernel(w->fd);
}

/* ---- System calls ------------------------------------------------------------------------------ */

/* Opens one component; a link is -ELOOP, also with O_PATH. */
static int open_step(int directory, const char *name, int flags)
{
	struct stat st;
	int fd = openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC);
	int failed = fd < 0 ? -errno : 0;

	/* With O_DIRECTORY a link is "not a directory". */
	if (failed == -ENOTDIR && fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(st.st_mode))
		return -ELOOP;
	if (failed)
		return failed;
	if ((flags & O_PATH) && (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode))) {
		fd_done(&fd);
		return -ELOOP;
	}
	return fd;
}

/*
 * For where openat2() can't be had. That is so in Cordon's own sandboxes, whose filter can't look into
 * its arguments. Each component is opened in the directory that the one before it has opened.
 */
static int open_in_steps(int directory, const char *path, int flags)
{
	const int pass_flags = O_PATH | O_DIRECTORY;
	int at = directory, fd = -1;

	if (path[0] == '/') {
		fd = open_step(AT_FDCWD, "/", pass_flags);
		if (fd < 0)
			return fd;
		at = fd;
	}
	for (path += strspn(path, "/");; path += strspn(path, "/")) {
		char name[PATH_MAX_COMPONENT + 1] = ".";
		size_t length = strcspn(path, "/");
		bool is_last = path[length + strspn(path + length, "/")] == '\0';
		int next = -ENAMETOOLONG;

		if (length < sizeof(name)) {
			memcpy(name, length ? path : ".", length ? length : 1);
			name[length ? length : 1] = '\0';
			next = open_step(at, name, is_last ? flags : pass_flags);
		}
		fd_done(&fd);
		if (is_last || next < 0)
			return next;
		at = fd = next;
		path += length;
	}
}

static int open_exactly(int directory, const char *path, uint64_t flags)
{
	/* What is not there stays so: a search opens every file. */
	static bool has_openat2 = true;
	struct open_how how = { .flags = flags,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	long fd = has_openat2 ? syscall(SYS_openat2, directory, path, &how, sizeof(how)) : -1;

	if (!has_openat2 || (fd < 0 && errno == ENOSYS)) {
		has_openat2 = false;
		return open_in_steps(directory, path, (int)flags);
	}
	return fd < 0 ? -errno : (int)fd;
}

int way_open(int directory, const char *path, enum way_open how)
{
	static const uint64_t flags[] = {
		[WAY_FOR_NAMES] = (uint64_t)WALK_FLAGS | O_DIRECTORY,
		[WAY_TO_LIST] = (uint64_t)READ_FLAGS | O_DIRECTORY,
		[WAY_TO_READ] = (uint64_t)READ_FLAGS,
	};

	return open_exactly(directory, path, flags[how]);
}

int way_look(const char *path)
{
	int fd = open_exactly(AT_FDCWD, path, (uint64_t)WALK_FLAGS);

	fd_done(&fd);
	return fd < 0 ? fd : 0;
}

/* openat2() has followed no link, so `path` is where it was. */
int way_ask_back(struct call *call, int fd, struct str path, struct str *out, struct err *e)
{
	(void)call;
	(void)fd;
	(void)e;
	*out = path;
	return 0;
}

/* ---- Where a path leads -------------------------------------------------------------------------- */

static int reopen(struct way *w, struct str path)
{
	int fd = open_exactly(AT_FDCWD, path.p, WALK_FLAGS);

	if (fd < 0)
		return fd;
	fd_close(&w->fd);
	w->fd = fd;
	w->path = path;
	return 0;
}

static int follow(struct way *w, int link, struct str name, struct err *e)
{
	char text[PATH_MAX_BYTES];
	bool is_absolute = false;
	ssize_t length;
	int r;

	/* SECURITY: what a link of /proc leads to is not what its text says. */
	if (is_of_kernel(link))
		return way_give_up(w, name, EACCES, e);
	length = readlinkat(link, "", text, sizeof(text));
	if (length <= 0 || (size_t)length >= sizeof(text))
		return way_give_up(w, name, length < 0 ? errno : ENAMETOOLONG, e);
	r = way_follow(w, name, (struct str){ text, (size_t)length }, &is_absolute, e);
	if (r < 0 || !is_absolute)
		return r;
	r = reopen(w, STR("/"));
	return r < 0 ? way_give_up(w, STR("."), -r, e) : 0;
}

static int enter(struct way *w, struct str name, struct err *e)
{
	char text[PATH_MAX_COMPONENT + 1];
	struct file_facts facts;
	struct str path;
	int fd;

	if (name.len >= sizeof(text))
		return call_refuse(w->call, REFUSAL_INVALID, "a name in the path is too long");
	memcpy(text, name.p, name.len);
	text[name.len] = '\0';
	if (path_join(w->call->a, w->path, name, &path, e) < 0)
		return err_result(e);
	fd = openat(w->fd, text, WALK_FLAGS);
	if (fd < 0)
		return way_give_up(w, name, errno, e);
	if (open_look(fd, &facts) < 0) {
		fd_done(&fd);
		return way_give_up(w, name, EIO, e);
	}
	if (facts.type == FILE_LINK) {
		int r = follow(w, fd, name, e);

		fd_done(&fd);
		return r;
	}
	fd_close(&w->fd);
	w->fd = fd;
	w->path = path;
	return 0;
}

static int go_up(struct way *w, struct str name, struct err *e)
{
	struct file_facts facts;
	struct str above;
	int r;

	if (arena_copy(w->call->a, path_parent(w->path), &above, e) < 0)
		return err_result(e);
	/* A file has no "..". */
	r = open_look(w->fd, &facts);
	if (r == 0)
		r = facts.type == FILE_DIRECTORY ? reopen(w, above) : -ENOTDIR;
	return r < 0 ? way_give_up(w, name, -r, e) : 0;
}

/* Component by component; with links, and with "..". */
static int walk_slowly(struct way *w, struct err *e)
{
	int r = reopen(w, STR("/"));

	if (r < 0)
		return FAIL_SYS(e, -r, "can't open '/'");
	while (w->rest.len && !w->why) {
		struct str name = str_first(w->rest, str_find(w->rest, '/'));

		w->rest = str_from(w->rest, name.len + 1);
		if (!name.len || str_is(name, "."))
			continue;
		r = str_is(name, "..") ? go_up(w, name, e) : enter(w, name, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Most paths have no links: one call shows it. */
static int walk(struct way *w, struct str path, struct err *e)
{
	struct str plain;
	int fd;

	if (path_plain(w->call->a, STR("/"), path, &plain, e) < 0) {
		err_clear(e);
		return call_refuse(w->call, REFUSAL_INVALID, "'%s' is no path that can be used",
				   utf8_show(path, (char[WAY_SHOWN_BYTES]){ 0 }, WAY_SHOWN_BYTES));
	}
	fd = way_has_dots(path) ? -1 : open_exactly(AT_FDCWD, plain.p, WALK_FLAGS);
	/* With O_PATH and O_NOFOLLOW a link at the end is opened itself. */
	if (fd >= 0 && (open_look(fd, &w->facts) < 0 || w->facts.type == FILE_LINK))
		fd_close(&fd);
	if (fd < 0) {
		w->rest = path;
		return walk_slowly(w, e);
	}
	w->fd = fd;
	w->path = plain;
	return 0;
}

int way_find(struct way *w, struct str path, struct err *e)
{
	int r = walk(w, path, e);

	w->is_there = r == 0 && w->fd >= 0;
	if (w->is_there && open_look(w->fd, &w->facts) < 0) {
		w->is_there = false;
		w->why = EIO;
	}
	return r;
}
