/* SPDX-License-Identifier: MIT */
/* See open.h. */
#include "tools/open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "tools/posix/way.h"
#include "tools/walk.h"

enum { READ_TRIES = 3 };

#define SHOWN(s) utf8_show((s), (char[WAY_SHOWN_BYTES]){ 0 }, WAY_SHOWN_BYTES)

/* ---- What is open --------------------------------------------------------------------------------- */

static void fill_facts(const struct stat *st, struct file_facts *out)
{
	*out = (struct file_facts){
		.type = S_ISREG(st->st_mode)   ? FILE_REGULAR
			: S_ISDIR(st->st_mode) ? FILE_DIRECTORY
			: S_ISLNK(st->st_mode) ? FILE_LINK
					       : FILE_OTHER,
		.device = (uint64_t)st->st_dev,
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
	return way_open(directory, name, is_directory ? WAY_TO_LIST : WAY_TO_READ);
}

void open_done(const struct opened *o)
{
	fd_done(&o->fd);
	fd_done(&o->directory);
}

/* ---- Where a path leads -------------------------------------------------------------------------- */

int way_give_up(struct way *w, struct str name, int why, struct err *e)
{
	scoped_buf rest = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	buf_add(&rest, name);
	buf_add_char(&rest, '/');
	buf_add(&rest, w->rest);
	if (buf_check(&rest, e) < 0 ||
	    path_plain(w->call->a, w->path, buf_str(&rest), &w->path, e) < 0)
		return err_result(e);
	w->rest = STR_EMPTY;
	w->why = why ? why : EIO;
	fd_close(&w->fd);
	return 0;
}

int way_follow(struct way *w, struct str name, struct str target, bool *is_absolute, struct err *e)
{
	scoped_buf rest = BUF_INIT((size_t)8 * PATH_MAX_BYTES);
	struct str next;

	if (++w->links > WAY_MAX_LINKS)
		return call_refuse(w->call, REFUSAL_INVALID, "'%s' is a loop of links",
				   SHOWN(w->path));
	/* A link in a denied directory leads nowhere, also where the kernel would follow it (P8). */
	if (scope_access(w->call->scope, w->path) == ACCESS_DENY)
		return way_give_up(w, name, EACCES, e);
	buf_add(&rest, target);
	buf_add_char(&rest, '/');
	buf_add(&rest, w->rest);
	if (buf_check(&rest, e) < 0 || arena_copy(w->call->a, buf_str(&rest), &next, e) < 0)
		return err_result(e);
	w->rest = next;
	*is_absolute = target.p[0] == '/';
	return 0;
}

bool way_has_dots(struct str path)
{
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name))
		if (str_is(name, ".."))
			return true;
	return false;
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
		int there = way_look(refusal->opens.p);

		if (there != -ENOENT && there != -ENOTDIR)
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

/*
 * SECURITY: what was opened may lie elsewhere by now than it was judged at, or have another spelling there: then that
 * place is judged as well.
 */
static int judge_again(struct call *call, int fd, struct str path, struct str below,
		       enum open_purpose purpose, struct err *e)
{
	struct opened other = OPENED_NONE;
	int r = way_ask_back(call, fd, path, &other.path, e);

	if (r < 0 || str_eq(other.path, path))
		return r;
	if (below.len && path_join(call->a, other.path, below, &other.path, e) < 0)
		return err_result(e);
	return judge(call, &other, purpose, e);
}

static int open_directory(struct call *call, struct opened *o, enum open_purpose purpose,
			  struct err *e)
{
	struct str above;
	int fd;

	if (o->path.len <= 1)
		return 0;
	if (arena_copy(call->a, path_name(o->path), &o->name, e) < 0 ||
	    arena_copy(call->a, path_parent(o->path), &above, e) < 0)
		return err_result(e);
	fd = way_open(AT_FDCWD, above.p, WAY_FOR_NAMES);
	if (fd >= 0) {
		o->directory = fd;
		return judge_again(call, fd, above, o->name, purpose, e);
	}
	/* Only who changes something needs it. */
	if (fd == -ENOENT || fd == -ENOTDIR ||
	    (purpose != OPEN_EDIT && (fd == -EACCES || fd == -EPERM)))
		return 0;
	return refuse_errno(call, o->path, -fd);
}

/* Is what was found something for this purpose? */
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

static int open_found(struct call *call, struct opened *o, enum open_purpose purpose, struct err *e)
{
	const enum way_open how = purpose == OPEN_LIST ? WAY_TO_LIST : WAY_TO_READ;
	struct file_facts now;
	int fd;

	if (o->directory >= 0)
		fd = way_open(o->directory, o->name.p, how);
	else
		fd = way_open(AT_FDCWD, o->path.p, how);
	if (fd < 0)
		return refuse_errno(call, o->path, -fd);
	o->fd = fd;
	if (open_look(fd, &now) < 0 || now.device != o->facts.device ||
	    now.inode != o->facts.inode || now.type != o->facts.type)
		return call_refuse(call, REFUSAL_CONFLICT, "'%s' was replaced while it was opened",
				   SHOWN(o->path));
	o->facts = now;
	return judge_again(call, fd, o->path, STR_EMPTY, purpose, e);
}

static int open_walked(struct call *call, struct way *w, enum open_purpose purpose,
		       struct opened *o, struct err *e)
{
	o->path = w->path;
	o->name = STR_EMPTY;
	if (judge(call, o, purpose, e) < 0)
		return call_result(call, e);
	if (w->is_there && way_is_of_kernel(w)) {
		(void)call_refuse(call, REFUSAL_VIOLATION,
				  "'%s' is in a file system of the kernel, where no tool works",
				  SHOWN(o->path));
		call->refusal.rule = STR("no tool works in file systems of the kernel");
		return CALL_REFUSED;
	}
	if (!w->is_there && ((purpose != OPEN_LOOK && purpose != OPEN_EDIT) || w->why != ENOENT))
		return refuse_errno(call, o->path, w->why);
	if (w->is_there)
		o->facts = w->facts;
	if (w->is_there && check_type(call, o, purpose) < 0)
		return CALL_REFUSED;
	if (purpose != OPEN_READ && open_directory(call, o, purpose, e) < 0)
		return call_result(call, e);
	if (w->is_there && purpose != OPEN_LOOK && open_found(call, o, purpose, e) < 0)
		return call_result(call, e);
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
	struct way w = WAY_NONE;
	struct opened o = OPENED_NONE;
	struct str whole;
	int r = find_start(call, path, &whole, e);

	w.call = call;
	if (r == 0)
		r = way_find(&w, whole, e);
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
	struct way w = WAY_NONE;
	struct str whole;
	int r = find_start(call, path, &whole, e);

	w.call = call;
	if (r == 0)
		r = way_find(&w, whole, e);
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

/* Makes one directory, `path`, in the one that is open as `above`, and opens it. */
static int make_one(struct call *call, struct str path, int above, struct str name, int *out,
		    struct err *e)
{
	char text[PATH_MAX_COMPONENT + 1] = "";
	int fd;

	memcpy(text, name.p, MIN_OF(name.len, sizeof(text) - 1));
	if (scope_access(call->scope, path) < ACCESS_WRITE)
		return violates(call, path, ACCESS_WRITE, e);
	if (mkdirat(above, text, 0777) < 0 && errno != EEXIST)
		return refuse_errno(call, path, errno);
	fd = way_open(above, text, WAY_FOR_NAMES);
	if (fd < 0)
		return refuse_errno(call, path, -fd);
	*out = fd;
	return 0;
}

/* The deepest directory on the way to `path` that is there; `*length` is how much of it. */
static int open_deepest(struct call *call, struct str path, int *out, size_t *length, struct err *e)
{
	for (;;) {
		struct str copy;
		int fd;

		if (arena_copy(call->a, path, &copy, e) < 0)
			return err_result(e);
		fd = way_open(AT_FDCWD, copy.p, WAY_FOR_NAMES);
		if (fd == -ENOENT && path.len > 1) {
			path = path_parent(path);
			continue;
		}
		if (fd < 0)
			return refuse_errno(call, path, -fd);
		*out = fd;
		*length = path.len;
		return judge_again(call, fd, copy, STR_EMPTY, OPEN_LOOK, e);
	}
}

int open_make_parents(struct call *call, struct opened *o, struct err *e)
{
	struct str parent = path_parent(o->path);
	scoped_fd fd = -1;
	struct str name;
	size_t at;

	if (o->directory >= 0)
		return 0;
	if (open_deepest(call, parent, &fd, &at, e) < 0)
		return call_result(call, e);
	while (path_next(parent, &at, &name)) {
		int next = -1;
		int r = make_one(call, str_first(parent, at), fd, name, &next, e);

		fd_close(&fd);
		if (r < 0)
			return r;
		fd = next;
	}
	o->directory = fd;
	fd = -1;
	return 0;
}
