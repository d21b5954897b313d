/* SPDX-License-Identifier: MIT */
/* See replace.h. */
#include "tools/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "os/posix/native.h"
#include "tools/posix/native.h"

enum {
	LOCK_TRIES = 200,
	LOCK_PAUSE_US = 5000,
	SHOWN_BYTES = 512,
	VERSION_HASH_DIGITS = 32,
	/* How coarse the times of files may be. */
	RACY_NS = 50 * 1000 * 1000,
	MODE_KEPT = 01777,
};

#define SHOWN(s) utf8_show((s), (char[SHOWN_BYTES]){ 0 }, SHOWN_BYTES)

/* ---- Versions ---------------------------------------------------------------------------------- */

static size_t print_facts(const struct file_facts *f, char out[EDIT_VERSION_BYTES])
{
	int n = snprintf(out, EDIT_VERSION_BYTES, "%llx-%llx-%llx-%llx",
			 (unsigned long long)f->inode, (unsigned long long)f->size,
			 (unsigned long long)f->modified_ns, (unsigned long long)f->changed_ns);

	return n < 0 ? 0 : (size_t)n;
}

static void add_hash(struct str content, size_t at, char out[EDIT_VERSION_BYTES])
{
	char hash[SHA256_HEX_BYTES];

	sha256_hex(content, hash);
	(void)snprintf(out + at, EDIT_VERSION_BYTES - at, "-%.*s", VERSION_HASH_DIGITS, hash);
}

static bool is_racy(const struct file_facts *f)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - f->changed_ns < RACY_NS;
}

void edit_version(const struct file_facts *facts, struct str content, char out[EDIT_VERSION_BYTES])
{
	size_t at = print_facts(facts, out);

	if (is_racy(facts))
		add_hash(content, at, out);
}

bool edit_is_version(const struct file_facts *facts, struct str content, struct str version)
{
	char now[EDIT_VERSION_BYTES];
	size_t at = print_facts(facts, now);

	if (version.len > at)
		add_hash(content, at, now);
	return str_is(version, now);
}

/* ---- Refusals ------------------------------------------------------------------------------------ */

static int refuse_changed(const struct edit *x)
{
	return call_refuse(x->call, REFUSAL_CONFLICT,
			   "'%s' was changed by somebody else; nothing was written, read it again",
			   SHOWN(x->at.path));
}

static int refuse_write(const struct edit *x, int number)
{
	if (number == EACCES || number == EPERM || number == EROFS) {
		(void)call_refuse(x->call, REFUSAL_VIOLATION,
				  "'%s' can't be written: the permissions of the host, or the "
				  "sandbox, forbid it",
				  SHOWN(x->at.path));
		x->call->refusal.rule = STR("permissions of the host");
		return CALL_REFUSED;
	}
	if (number == ENOSPC || number == EDQUOT || number == EFBIG)
		return call_refuse(x->call, REFUSAL_TOO_LARGE,
				   "'%s' was not written: there is no room for it; it is as it was",
				   SHOWN(x->at.path));
	if (number == EBUSY)
		return call_refuse(
			x->call, REFUSAL_CONFLICT,
			"'%s' can't be written: another process holds the temporary file "
			"of an edit beside it",
			SHOWN(x->at.path));
	if (number == ETXTBSY)
		return call_refuse(x->call, REFUSAL_CONFLICT,
				   "'%s' is a program that runs, so it can't be written",
				   SHOWN(x->at.path));
	return call_refuse(x->call, REFUSAL_CONFLICT, "'%s' can't be written (error %d)",
			   SHOWN(x->at.path), number);
}

/* ---- Locks ------------------------------------------------------------------------------------------ */

/* A directory that can't be read can't be locked; then the temporary file alone keeps edits apart. */
static int lock_directory(struct edit *x)
{
	struct timespec pause = { .tv_nsec = (long)LOCK_PAUSE_US * 1000 };

	if (x->at.directory < 0 || (x->beside && x->beside->lock >= 0))
		return 0;
	x->lock = open_below(x->at.directory, ".", true);
	for (int i = 0; x->lock >= 0 && i < LOCK_TRIES; i++) {
		if (flock(x->lock, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK)
			break;
		x->call->would_wait = x->call->must_not_wait;
		if (x->call->would_wait)
			break;
		(void)nanosleep(&pause, NULL);
	}
	if (x->lock >= 0 && errno == EWOULDBLOCK)
		return call_refuse(x->call, REFUSAL_CONFLICT,
				   "another process edits files in the directory of '%s'",
				   SHOWN(x->at.path));
	fd_close(&x->lock);
	return 0;
}

/* What a killed process has left; nobody writes it now, unless it is locked. */
static int remove_leftover(const struct edit *x)
{
	int old = open_below(x->at.directory, EDIT_TEMPORARY, false);
	int r = 0;

	if (old == -ENOENT)
		return 0;
	if (old >= 0 && flock(old, LOCK_EX | LOCK_NB) < 0)
		r = -EBUSY;
	else if (unlinkat(x->at.directory, EDIT_TEMPORARY, 0) < 0 && errno != ENOENT)
		r = -errno;
	fd_done(&old);
	return r;
}

/* ---- Beginning ----------------------------------------------------------------------------------------- */

/* By now the lock is held: what was opened before may have been replaced. */
static int open_again(struct edit *x, struct err *e)
{
	struct file_facts facts;
	int fd;

	fd_close(&x->at.fd);
	x->at.facts = (struct file_facts){ .type = FILE_MISSING };
	if (x->at.directory < 0)
		return 0;
	if (open_look_at(x->at.directory, x->at.name.p, &facts) < 0)
		return errno == ENOENT ? 0 : refuse_write(x, errno);
	if (facts.type != FILE_REGULAR)
		return refuse_changed(x);
	fd = open_below(x->at.directory, x->at.name.p, false);
	if (fd < 0)
		return refuse_write(x, -fd);
	x->at.fd = fd;
	if (open_read_all(x->call, &x->at, EDIT_MAX_BYTES, &x->content, e) < 0)
		return call_result(x->call, e);
	if (open_look(fd, &x->at.facts) < 0 || x->at.facts.type != FILE_REGULAR)
		return refuse_changed(x);
	return 0;
}

int edit_begin(struct call *call, struct str path, struct str if_version, struct edit *out,
	       struct err *e)
{
	out->call = call;
	out->content = STR_EMPTY;
	if (open_path(call, path, OPEN_EDIT, &out->at, e) < 0 || lock_directory(out) < 0 ||
	    open_again(out, e) < 0)
		return call_result(call, e);
	if (if_version.len &&
	    (out->at.fd < 0 || !edit_is_version(&out->at.facts, out->content, if_version)))
		return refuse_changed(out);
	return 0;
}

/* ---- Staging -------------------------------------------------------------------------------------------- */

static bool may_write_directory(const struct edit *x)
{
	return scope_access(x->call->scope, path_parent(x->at.path)) == ACCESS_WRITE;
}

int edit_stage(struct edit *x, struct str content, struct err *e)
{
	if (x->at.directory < 0) {
		if (open_make_parents(x->call, &x->at, e) < 0 || lock_directory(x) < 0)
			return call_result(x->call, e);
	}
	if (!may_write_directory(x)) {
		if (x->at.fd < 0)
			return call_violates(x->call, path_parent(x->at.path), ACCESS_WRITE, e);
		x->in_place = true;
	}
	x->new_content = content;
	x->is_staged = true;
	x->made_file = x->at.fd < 0;
	return 0;
}

int edit_stage_delete(struct edit *x, struct err *e)
{
	if (x->at.fd < 0)
		return call_refuse(x->call, REFUSAL_NOT_FOUND, "there is no '%s'",
				   SHOWN(x->at.path));
	if (!may_write_directory(x))
		return call_violates(x->call, path_parent(x->at.path), ACCESS_WRITE, e);
	x->is_staged = x->deletes = true;
	return 0;
}

/* ---- What the new file takes over -------------------------------------------------------------------- */

/* Whether the new file has all of the old one's that it should have. */
static bool take_over(const struct edit *x, int to)
{
	const struct file_facts *old = &x->at.facts;
	struct file_facts now;

	if (open_look(to, &now) < 0)
		return false;
	if ((now.owner != old->owner || now.group != old->group) &&
	    fchown(to, old->owner, old->group) < 0)
		return false;
	return tools_copy_attributes(x->call, x->at.fd, to) &&
	       fchmod(to, old->mode & MODE_KEPT) == 0;
}

/* ---- Writing ------------------------------------------------------------------------------------------- */

static int write_all(int fd, struct str content)
{
	size_t at = 0;

	while (at < content.len) {
		ssize_t n = pwrite(fd, content.p + at, content.len - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return 0;
}

static bool is_same(const struct file_facts *a, const struct file_facts *b)
{
	return a->type == b->type && a->device == b->device && a->inode == b->inode &&
	       a->size == b->size && a->modified_ns == b->modified_ns;
}

/*
 * Both change places in one step, so that what was there can be looked at when nobody can replace it any
 * more: neither a link nor a file that somebody has put there meanwhile is lost.
 */
static int exchange(struct edit *x)
{
	struct file_facts old;
	int r = native_rename(x->at.directory, EDIT_TEMPORARY, x->at.name.p, RENAME_BOTH);

	if (r == -ENOSYS) {
		if (open_look_at(x->at.directory, x->at.name.p, &old) < 0 ||
		    !is_same(&old, &x->at.facts))
			return refuse_changed(x);
		return native_rename(x->at.directory, EDIT_TEMPORARY, x->at.name.p, RENAME_ANYWAY);
	}
	if (r == -ENOENT)
		return refuse_changed(x);
	if (r < 0)
		return r;
	if (open_look_at(x->at.directory, EDIT_TEMPORARY, &old) < 0 ||
	    !is_same(&old, &x->at.facts)) {
		/* If the new one is gone by now, what was taken has its name to itself. */
		if (native_rename(x->at.directory, EDIT_TEMPORARY, x->at.name.p, RENAME_BOTH) ==
		    -ENOENT)
			(void)!native_rename(x->at.directory, EDIT_TEMPORARY, x->at.name.p,
					     RENAME_FRESH);
		return refuse_changed(x);
	}
	return 0;
}

/* 0, CALL_REFUSED, or -errno: then nothing has changed. */
static int put_in_place(struct edit *x)
{
	int r;

	if (x->at.fd >= 0)
		return exchange(x);
	r = native_rename(x->at.directory, EDIT_TEMPORARY, x->at.name.p, RENAME_FRESH);
	if (r == -ENOSYS)
		r = linkat(x->at.directory, EDIT_TEMPORARY, x->at.directory, x->at.name.p, 0) < 0
			    ? -errno
			    : 0;
	return r == -EEXIST ? refuse_changed(x) : r;
}

static int make_temporary(const struct edit *x)
{
	/* Nobody else may read it before it has the mode of the file. */
	mode_t mode = x->at.fd >= 0 ? 0600 : 0666;
	int r = remove_leftover(x);
	int fd;

	if (r < 0)
		return r;
	fd = openat(x->at.directory, EDIT_TEMPORARY,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		fd_done(&fd);
		return -EBUSY;
	}
	return fd;
}

enum { TRY_IN_PLACE = -2000 };

static int write_beside(struct edit *x)
{
	int fd = make_temporary(x);
	int r;

	if (fd < 0)
		return x->at.fd >= 0 && (fd == -EACCES || fd == -EPERM || fd == -EROFS)
			       ? TRY_IN_PLACE
			       : fd;
	r = x->at.fd >= 0 && !take_over(x, fd) ? TRY_IN_PLACE : write_all(fd, x->new_content);
	/* A file that was renamed must not be empty after a crash. */
	if (r == 0)
		r = tools_sync(fd);
	if (r == 0)
		r = put_in_place(x);
	/* A mount point can't be exchanged. */
	if (r == -EBUSY && x->at.fd >= 0)
		r = TRY_IN_PLACE;
	(void)unlinkat(x->at.directory, EDIT_TEMPORARY, 0);
	fd_done(&fd);
	return r;
}

/* SECURITY: never through a hard link: the other name may be where nothing may be written. */
static int write_in_place(struct edit *x)
{
	struct file_facts now;
	int fd, r;

	if (x->at.facts.link_count > 1)
		return call_refuse(
			x->call, REFUSAL_VIOLATION,
			"'%s' has a second name (a hard link) and can only be written in "
			"place, which would change that as well",
			SHOWN(x->at.path));
	fd = openat(x->at.directory, x->at.name.p,
		    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (open_look(fd, &now) < 0 || !is_same(&now, &x->at.facts) || now.link_count > 1) {
		fd_done(&fd);
		return refuse_changed(x);
	}
	x->in_place = true;
	/* write() drops set-ID bits, but not for root. */
	r = now.mode & ~(uint32_t)MODE_KEPT && fchmod(fd, now.mode & MODE_KEPT) < 0 ? -errno : 0;
	if (r == 0)
		r = write_all(fd, x->new_content);
	if (r == 0 && ftruncate(fd, (off_t)x->new_content.len) < 0)
		r = -errno;
	if (r < 0) /* what was there comes back as far as it can */
		(void)(write_all(fd, x->content) == 0 && ftruncate(fd, (off_t)x->content.len) == 0);
	fd_done(&fd);
	return r;
}

/* Moved away first: then it can be seen which file that was. */
static int take_away(struct edit *x)
{
	struct file_facts old;
	int r = remove_leftover(x);

	if (r == 0)
		r = native_rename(x->at.directory, x->at.name.p, EDIT_TEMPORARY, RENAME_FRESH);
	/* The file system can't: remove_leftover() has seen to it that nothing is replaced. */
	if (r == -ENOSYS)
		r = native_rename(x->at.directory, x->at.name.p, EDIT_TEMPORARY, RENAME_ANYWAY);
	if (r == -ENOENT)
		return refuse_changed(x);
	if (r < 0)
		return r;
	if (open_look_at(x->at.directory, EDIT_TEMPORARY, &old) < 0 ||
	    !is_same(&old, &x->at.facts)) {
		(void)!native_rename(x->at.directory, EDIT_TEMPORARY, x->at.name.p, RENAME_FRESH);
		return refuse_changed(x);
	}
	return unlinkat(x->at.directory, EDIT_TEMPORARY, 0) < 0 ? -errno : 0;
}

static int write_new(struct edit *x)
{
	int r = x->in_place ? TRY_IN_PLACE : write_beside(x);

	return r == TRY_IN_PLACE ? write_in_place(x) : r;
}

/* What is there from now on is what an undo has to find. */
static int look_at_new(struct edit *x)
{
	int fd;

	fd_close(&x->at.fd);
	x->at.facts = (struct file_facts){ .type = FILE_MISSING };
	if (x->deletes)
		return 0;
	fd = open_below(x->at.directory, x->at.name.p, false);
	if (fd < 0 || open_look(fd, &x->at.facts) < 0) {
		fd_done(&fd);
		return refuse_changed(x);
	}
	x->at.fd = fd;
	return 0;
}

int edit_commit(struct edit *x, struct err *e)
{
	int r;

	if (!x->is_staged)
		return FAIL(e, ERR_INTERNAL, "an edit was committed that was not staged");
	r = x->deletes ? take_away(x) : write_new(x);
	if (r == CALL_REFUSED)
		return r;
	if (r < 0)
		return refuse_write(x, -r);
	x->is_committed = true;
	return look_at_new(x);
}

/* SECURITY: attributes of a file that was deleted are gone: it comes back with its mode alone. */
int edit_undo(struct edit *x, struct err *e)
{
	struct str old = x->content;
	bool was_new = x->made_file;

	if (!x->is_committed)
		return 0;
	if (was_new) {
		if (edit_stage_delete(x, e) < 0)
			return call_result(x->call, e);
	} else {
		x->deletes = false;
		if (edit_stage(x, old, e) < 0)
			return call_result(x->call, e);
	}
	x->is_committed = false;
	return edit_commit(x, e);
}

void edit_end(const struct edit *x)
{
	open_done(&x->at);
	fd_done(&x->lock);
}
