/* SPDX-License-Identifier: MIT */
/* See open.h. */
#include "tools/open.h"

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
#include "tools/walk.h"

enum {
	MAX_LINKS = 40,
	SHOWN_BYTES = 512,
	WALK_FLAGS = O_PATH | O_NOFOLLOW | O_CLOEXEC,
	READ_FLAGS = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC,
	READ_TRIES = 3,
};

#define SHOWN(s) utf8_show((s), (char[SHOWN_BYTES]){ 0 }, SHOWN_BYTES)

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

static void fill_facts(const struct stat *st, struct file_facts *out)
{
	*out = (struct file_facts){
		.type = S_ISREG(st->st_mode)   ? FILE_REGULAR
			: S_ISDIR(st->st_mode) ? FILE_DIRECTORY
			: S_ISLNK(st->st_mode) ? FILE_LINK
					       : FILE_OTHER,
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
		.changed_ns = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec,
		.mode = st->st_mode & 07777,
		.owner = st->st_uid,
		.group = st->st_gid,
		.link_count = st->st_nlink,
	};
}

int open_look(int fd, struct file_facts *out)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	fill_facts(&st, out);
	return 0;
}

int open_look_at(int directory, const char *name, struct file_facts *out)
{
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	fill_facts(&st, out);
	return 0;
}

int open_below(int directory, const char *name, bool is_directory)
{
	return open_exactly(directory, name,
			    (uint64_t)READ_FLAGS | (is_directory ? O_DIRECTORY : 0u));
}

void open_done(const struct opened *o)
{
	fd_done(&o->fd);
	fd_done(&o->directory);
}

/* ---- Where a path leads -------------------------------------------------------------------------- */

struct walk {
	struct call *call;
	struct str path; /* canonical so far */
	struct str rest; /* that is still to be walked */
	int fd;		 /* O_PATH, of `path` */
	unsigned links;
	bool is_missing;
	int why; /* errno of what ended it early */
};

static int reopen(struct walk *w, struct str path)
{
	int fd = open_exactly(AT_FDCWD, path.p, WALK_FLAGS);

	if (fd < 0)
		return fd;
	fd_close(&w->fd);
	w->fd = fd;
	w->path = path;
	return 0;
}

/* What is left is missing, or can't be looked at: it is taken as it is written. */
static int give_up(struct walk *w, struct str name, int why, struct err *e)
{
	scoped_buf rest = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	buf_add(&rest, name);
	buf_add_char(&rest, '/');
	buf_add(&rest, w->rest);
	if (buf_check(&rest, e) < 0 ||
	    path_plain(w->call->a, w->path, buf_str(&rest), &w->path, e) < 0)
		return err_result(e);
	w->rest = STR_EMPTY;
	w->is_missing = true;
	w->why = why;
	fd_close(&w->fd);
	return 0;
}

static int follow(struct walk *w, int link, struct str name, struct err *e)
{
	scoped_buf target = BUF_INIT((size_t)8 * PATH_MAX_BYTES);
	char text[PATH_MAX_BYTES];
	struct str next;
	ssize_t length;

	if (++w->links > MAX_LINKS)
		return call_refuse(w->call, REFUSAL_INVALID, "'%s' is a loop of links",
				   SHOWN(w->path));
	/* SECURITY: what a link of /proc leads to is not what its text says. */
	if (is_of_kernel(link))
		return give_up(w, name, EACCES, e);
	/* A link in a denied directory leads nowhere, also where the kernel would follow it (P8). */
	if (scope_access(w->call->scope, w->path) == ACCESS_DENY)
		return give_up(w, name, EACCES, e);
	length = readlinkat(link, "", text, sizeof(text));
	if (length <= 0 || (size_t)length >= sizeof(text))
		return give_up(w, name, length < 0 ? errno : ENAMETOOLONG, e);
	buf_add(&target, (struct str){ text, (size_t)length });
	buf_add_char(&target, '/');
	buf_add(&target, w->rest);
	if (buf_check(&target, e) < 0 || arena_copy(w->call->a, buf_str(&target), &next, e) < 0)
		return err_result(e);
	w->rest = next;
	if (text[0] != '/')
		return 0;
	return reopen(w, STR("/")) < 0 ? give_up(w, STR("."), errno, e) : 0;
}

static int enter(struct walk *w, struct str name, struct err *e)
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
		return give_up(w, name, errno, e);
	if (open_look(fd, &facts) < 0) {
		fd_done(&fd);
		return give_up(w, name, EIO, e);
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

static int go_up(struct walk *w, struct str name, struct err *e)
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
	return r < 0 ? give_up(w, name, -r, e) : 0;
}

/* Component by component; with links, and with "..". */
static int walk_slowly(struct walk *w, struct err *e)
{
	int r = reopen(w, STR("/"));

	if (r < 0)
		return FAIL_SYS(e, -r, "can't open '/'");
	while (w->rest.len && !w->is_missing) {
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

static bool has_dots(struct str path)
{
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name))
		if (str_is(name, ".."))
			return true;
	return false;
}

/* Most paths have no links: one call shows it. */
static int walk(struct walk *w, struct str path, struct err *e)
{
	struct file_facts facts;
	struct str plain;
	int fd;

	if (path_plain(w->call->a, STR("/"), path, &plain, e) < 0) {
		err_clear(e);
		return call_refuse(w->call, REFUSAL_INVALID, "'%s' is no path that can be used",
				   SHOWN(path));
	}
	fd = has_dots(path) ? -1 : open_exactly(AT_FDCWD, plain.p, WALK_FLAGS);
	/* With O_PATH and O_NOFOLLOW a link at the end is opened itself. */
	if (fd >= 0 && (open_look(fd, &facts) < 0 || facts.type == FILE_LINK))
		fd_close(&fd);
	if (fd < 0) {
		w->rest = path;
		return walk_slowly(w, e);
	}
	w->fd = fd;
	w->path = plain;
	return 0;
}

/* ---- What is there ----------------------------------------------------------------------------------- */

static int refuse_errno(struct call *call, struct str path, int number)
{
	switch (number) {
	case ENOENT:
	case ENOTDIR:
		return call_refuse(call, REFUSAL_NOT_FOUND, "there is no '%s'", SHOWN(path));
	case ELOOP:
		return call_refuse(call, REFUSAL_CONFLICT,
				   "'%s' was replaced by a link while it was opened", SHOWN(path));
	case ENAMETOOLONG:
		return call_refuse(call, REFUSAL_INVALID, "the path is too long");
	case EACCES:
	case EPERM:
	case EROFS:
		(void)call_refuse(call, REFUSAL_VIOLATION, "'%s' can't be opened: %s", SHOWN(path),
				  "the permissions of the file, or the sandbox, forbid it");
		call->refusal.rule = STR("permissions of the host");
		return CALL_REFUSED;
	default:
		return call_refuse(call, REFUSAL_CONFLICT, "'%s' can't be opened (error %d)",
				   SHOWN(path), number);
	}
}

static int refuse_type(struct call *call, const struct opened *o, const char *what)
{
	return call_refuse(call, REFUSAL_INVALID, "'%s' is %s", SHOWN(o->path), what);
}

int open_guards(struct call *call, struct str path, struct str *why, struct err *e)
{
	int r = scope_guards(call->a, call->scope, path, why, e);
	bool is_ignored = false;

	if (r || call->scope->guard.allows_ignored)
		return r;
	if (walk_is_ignored(call->a, call->scope, path, &is_ignored, e) < 0) {
		if (e->code != ERR_LIMIT && e->code != ERR_SYNTAX)
			return err_result(e);
		err_clear(e);
		*why = STR("an ignore file or the index of its repository can't be read");
		return 1;
	}
	if (is_ignored)
		*why = STR("git ignores it; files.ignored = \"allow\" opens such files for the "
			   "file tools");
	return is_ignored;
}

/*
 * No grant is for what is missing (P11), so the directory that it would be made in is named.
 * SECURITY: only where the policy lets it be seen that the path is missing; and never a home or "/".
 */
static int violates(struct call *call, struct str path, enum access wanted, struct err *e)
{
	const struct scope *scope = call->scope;
	struct refusal *refusal = &call->refusal;
	int r = call_violates(call, path, wanted, e);

	while (r == CALL_REFUSED && scope_access(scope, refusal->opens) >= ACCESS_READ) {
		int fd = open_exactly(AT_FDCWD, refusal->opens.p, (uint64_t)WALK_FLAGS);

		if (fd >= 0)
			(void)close(fd);
		if (fd != -ENOENT && fd != -ENOTDIR)
			break;
		if (arena_copy(call->a, path_parent(refusal->opens), &refusal->opens, e) < 0)
			return err_result(e);
	}
	if (r == CALL_REFUSED && refusal->grant_path.len && refusal->opens.len > 1 &&
	    !(scope->home.len && path_is_under(scope->home, refusal->opens)))
		refusal->grant_path = refusal->opens;
	return r;
}

/* SECURITY: what is not allowed is a violation before anything else is said of it. */
static int judge(struct call *call, struct opened *o, enum open_purpose purpose, struct err *e)
{
	enum access wanted = purpose == OPEN_EDIT ? ACCESS_WRITE : ACCESS_READ;
	struct str why;
	int r;

	o->access = scope_access(call->scope, o->path);
	if (o->access < wanted)
		return violates(call, o->path, wanted, e);
	if (purpose != OPEN_EDIT)
		return 0;
	r = open_guards(call, o->path, &why, e);
	if (r <= 0)
		return r;
	(void)call_refuse(call, REFUSAL_VIOLATION, "'%s' is not changed: %.*s", SHOWN(o->path),
			  (int)why.len, why.p);
	call->refusal.rule = why;
	return CALL_REFUSED;
}

static int open_directory(struct call *call, struct opened *o, struct err *e)
{
	struct str above;
	int fd;

	if (o->path.len <= 1)
		return 0;
	if (arena_copy(call->a, path_name(o->path), &o->name, e) < 0 ||
	    arena_copy(call->a, path_parent(o->path), &above, e) < 0)
		return err_result(e);
	fd = open_exactly(AT_FDCWD, above.p, (uint64_t)WALK_FLAGS | O_DIRECTORY);
	if (fd >= 0)
		o->directory = fd;
	else if (fd != -ENOENT && fd != -ENOTDIR)
		return refuse_errno(call, o->path, -fd);
	return 0;
}

/* The walk found `walked`, an O_PATH descriptor: is it something for this purpose? */
static int check_type(struct call *call, const struct opened *o, enum open_purpose purpose)
{
	switch (o->facts.type) {
	case FILE_REGULAR:
		return purpose == OPEN_LIST ? refuse_type(call, o, "no directory") : 0;
	case FILE_DIRECTORY:
		return purpose == OPEN_READ || purpose == OPEN_EDIT
			       ? refuse_type(call, o, "a directory")
			       : 0;
	case FILE_MISSING:
	case FILE_LINK:
	case FILE_OTHER:
		break;
	}
	return purpose == OPEN_LOOK
		       ? 0
		       : refuse_type(call, o, "no regular file, but a pipe, socket or device");
}

static int open_found(struct call *call, struct opened *o, int walked, enum open_purpose purpose)
{
	struct file_facts now;
	int fd;

	if (purpose == OPEN_LOOK) {
		o->fd = walked;
		return 0;
	}
	if (o->directory >= 0)
		fd = open_below(o->directory, o->name.p, purpose == OPEN_LIST);
	else
		fd = open_exactly(AT_FDCWD, o->path.p, (uint64_t)READ_FLAGS);
	if (fd < 0)
		return refuse_errno(call, o->path, -fd);
	o->fd = fd;
	if (open_look(fd, &now) < 0 || now.device != o->facts.device ||
	    now.inode != o->facts.inode || now.type != o->facts.type)
		return call_refuse(call, REFUSAL_CONFLICT, "'%s' was replaced while it was opened",
				   SHOWN(o->path));
	o->facts = now;
	return 0;
}

static int open_walked(struct call *call, struct walk *w, enum open_purpose purpose,
		       struct opened *o, struct err *e)
{
	o->path = w->path;
	o->name = STR_EMPTY;
	if (judge(call, o, purpose, e) < 0)
		return call_result(call, e);
	if (w->fd >= 0 && is_of_kernel(w->fd)) {
		(void)call_refuse(call, REFUSAL_VIOLATION,
				  "'%s' is in a file system of the kernel, where no tool works",
				  SHOWN(o->path));
		call->refusal.rule = STR("no tool works in file systems of the kernel");
		return CALL_REFUSED;
	}
	if (w->fd >= 0 && open_look(w->fd, &o->facts) < 0)
		return refuse_errno(call, o->path, EIO);
	if (w->fd < 0 && ((purpose != OPEN_LOOK && purpose != OPEN_EDIT) || w->why != ENOENT))
		return refuse_errno(call, o->path, w->why);
	if (w->fd >= 0 && check_type(call, o, purpose) < 0)
		return CALL_REFUSED;
	if (purpose != OPEN_READ && open_directory(call, o, e) < 0)
		return call_result(call, e);
	if (w->fd < 0)
		return 0;
	if (open_found(call, o, w->fd, purpose) < 0)
		return CALL_REFUSED;
	if (o->fd == w->fd)
		w->fd = -1;
	return 0;
}

static int find_start(struct call *call, struct str path, struct str *out, struct err *e)
{
	scoped_buf whole = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	if (!path.len)
		return call_refuse(call, REFUSAL_INVALID, "the path is empty");
	if (str_has_nul(path))
		return call_refuse(call, REFUSAL_INVALID, "the path has a NUL in it");
	if (path.len >= PATH_MAX_BYTES)
		return call_refuse(call, REFUSAL_INVALID, "the path is longer than %d bytes",
				   PATH_MAX_BYTES - 1);
	if (path.p[0] == '/') {
		*out = path;
		return 0;
	}
	if (!call->scope->roots.count)
		return call_refuse(call, REFUSAL_INVALID,
				   "there is no project, so the path has to "
				   "be absolute");
	buf_add(&whole, call->scope->roots.items[0].path);
	buf_add_char(&whole, '/');
	buf_add(&whole, path);
	return buf_check(&whole, e) < 0 ? err_result(e)
					: arena_copy(call->a, buf_str(&whole), out, e);
}

int open_path(struct call *call, struct str path, enum open_purpose purpose, struct opened *out,
	      struct err *e)
{
	struct walk w = { .call = call, .path = STR_EMPTY, .rest = STR_EMPTY, .fd = -1 };
	struct opened o = OPENED_NONE;
	struct str whole;
	int r = find_start(call, path, &whole, e);

	if (r == 0)
		r = walk(&w, whole, e);
	if (r == 0)
		r = open_walked(call, &w, purpose, &o, e);
	fd_done(&w.fd);
	if (r < 0) {
		open_done(&o);
		return r;
	}
	*out = o;
	return 0;
}

int open_find(struct call *call, struct str path, struct str *out, struct err *e)
{
	struct walk w = { .call = call, .path = STR_EMPTY, .rest = STR_EMPTY, .fd = -1 };
	struct str whole;
	int r = find_start(call, path, &whole, e);

	if (r == 0)
		r = walk(&w, whole, e);
	fd_done(&w.fd);
	if (r == 0)
		*out = w.path;
	return r;
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

static int refuse_too_large(struct call *call, const struct opened *o, size_t max_bytes)
{
	return call_refuse(call, REFUSAL_TOO_LARGE, "'%s' is larger than %zu bytes", SHOWN(o->path),
			   max_bytes);
}

static int read_once(struct call *call, const struct opened *o, size_t max_bytes, struct buf *out,
		     struct err *e)
{
	char block[16 << 10];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(o->fd, block, sizeof(block), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return FAIL_SYS(e, errno, "can't read '%s'", SHOWN(o->path));
		if (n == 0)
			return buf_check(out, e);
		if ((uint64_t)at + (uint64_t)n > max_bytes)
			return refuse_too_large(call, o, max_bytes);
		buf_add(out, (struct str){ block, (size_t)n });
		at += n;
	}
}

int open_read_all(struct call *call, const struct opened *o, size_t max_bytes, struct str *out,
		  struct err *e)
{
	for (int i = 0; i < READ_TRIES; i++) {
		scoped_buf text = BUF_INIT(max_bytes + 1);
		struct file_facts before, after;
		int r;

		if (open_look(o->fd, &before) < 0)
			return refuse_errno(call, o->path, EIO);
		/* Not only when it was read so far: it may be a hole. */
		if (before.size > max_bytes)
			return refuse_too_large(call, o, max_bytes);
		r = read_once(call, o, max_bytes, &text, e);
		if (r < 0)
			return r;
		if (open_look(o->fd, &after) < 0 || after.size != text.len ||
		    after.modified_ns != before.modified_ns)
			continue;
		return arena_copy(call->a, buf_str(&text), out, e);
	}
	return call_refuse(call, REFUSAL_CONFLICT, "'%s' changes while it is read", SHOWN(o->path));
}

/* ---- Parents ----------------------------------------------------------------------------------------------- */

static int make_one(struct call *call, struct str path, int above, const char *name, int *out,
		    struct err *e)
{
	int fd;

	if (scope_access(call->scope, path) < ACCESS_WRITE)
		return violates(call, path, ACCESS_WRITE, e);
	if (mkdirat(above, name, 0777) < 0 && errno != EEXIST)
		return refuse_errno(call, path, errno);
	fd = open_exactly(above, name, (uint64_t)WALK_FLAGS | O_DIRECTORY);
	if (fd < 0)
		return refuse_errno(call, path, -fd);
	*out = fd;
	return 0;
}

int open_make_parents(struct call *call, struct opened *o, struct err *e)
{
	struct str parent = path_parent(o->path);
	struct str name;
	size_t at = 0;
	int fd;

	if (o->directory >= 0)
		return 0;
	fd = open_exactly(AT_FDCWD, "/", (uint64_t)WALK_FLAGS | O_DIRECTORY);
	while (fd >= 0 && path_next(parent, &at, &name)) {
		char text[PATH_MAX_COMPONENT + 1] = "";
		int next, r = 0;

		memcpy(text, name.p, MIN_OF(name.len, sizeof(text) - 1));
		next = open_exactly(fd, text, (uint64_t)WALK_FLAGS | O_DIRECTORY);
		if (next == -ENOENT)
			r = make_one(call, str_first(parent, at), fd, text, &next, e);
		else if (next < 0)
			r = refuse_errno(call, str_first(parent, at), -next);
		fd_done(&fd);
		if (r < 0)
			return r;
		fd = next;
	}
	if (fd < 0)
		return refuse_errno(call, parent, -fd);
	o->directory = fd;
	return 0;
}
