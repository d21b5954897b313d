/* SPDX-License-Identifier: MIT */
/*
 * See placeholder.h; the mark is os/linux/mark.h's.
 *
 * What makes it safe between runs that start and end at any time:
 * - Whoever wants a placeholder looks again, after it has a lock, whether the path
 *   still names the locked inode.
 * - Whoever removes one has the exclusive lock on that inode, so nobody else has any.
 * - What was created but not finished is finished by who created it, under its
 *   shared lock, or by someone else who has the exclusive one. Nobody else takes
 *   a shared lock before it is finished.
 * - Nothing waits for a lock: it is tried again, and not for ever.
 *
 * The modification time of the directory around it changes when a placeholder
 * comes and goes. It is not set back: that could hide a change of someone else
 * at the same moment from make or git.
 */
#include "supervise/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "os/linux/mark.h"
#include "os/quiet.h"

enum {
	HOLD_TRIES = 500, /* with the pauses, about two seconds */
	HOLD_MAX_PAUSE_US = 5000,
};

struct shown {
	char text[512];
};

static const char *show(struct shown *out, const char *path)
{
	return utf8_show(str_of(path), out->text, sizeof(out->text));
}

/* ---- Where it is to stand ---------------------------------------------------- */

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The directory that holds `path` (plain), opened without following any link; -1 with errno. */
static int open_parent(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	UNINITIALIZED char parent[PATH_MAX_BYTES];
	size_t len = (size_t)(last_name(path) - path);

	if (len == 0 || len >= sizeof(parent)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(parent, path, len);
	parent[len] = '\0'; /* behind the slash, which does no harm */
	return (int)syscall(SYS_openat2, AT_FDCWD, parent, &how, sizeof(how));
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether `name` in `dir` is what is open as `fd`; then `*st` is about it. */
static bool is_still_there(int dir, const char *name, int fd, struct stat *st)
{
	struct stat named;

	return fstat(fd, st) == 0 && fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       is_same(&named, st);
}

static int remove_name(int dir, const char *name, const struct stat *st)
{
	return unlinkat(dir, name, S_ISDIR(st->st_mode) ? AT_REMOVEDIR : 0);
}

/* A command may have closed the directory to everyone, which is its owner's to undo. */
static void remove_from_closed(int dir, const char *name, const struct stat *st)
{
	int fd = (int)syscall(SYS_openat, dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	struct stat closed;

	if (fd >= 0 && fstat(fd, &closed) == 0 && closed.st_uid == geteuid() &&
	    fchmod(fd, (closed.st_mode & 07777) | S_IRWXU) == 0) {
		(void)remove_name(dir, name, st);
		(void)fchmod(fd, closed.st_mode & 07777);
	}
	fd_done(&fd);
}

/* ---- Letting go --------------------------------------------------------------- */

/* A directory knows where it is, also after what is above it was renamed. */
static int open_holder(const struct held *h, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return (int)syscall(SYS_openat, h->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	return open_parent(h->path);
}

/*
 * When several release at once, each gives up its own lock as it asks for the
 * exclusive one; the last to ask gets it.
 */
static bool release_one(struct held *h)
{
	const char *name = last_name(h->path);
	struct stat st;
	int dir = -1;
	bool is_stuck;

	if (h->fd < 0)
		return true;
	errno = 0;
	if (flock(h->fd, LOCK_EX | LOCK_NB) == 0 && fstat(h->fd, &st) == 0)
		dir = open_holder(h, &st);
	is_stuck = dir < 0 && errno == EMFILE;
	if (dir >= 0 && is_still_there(dir, name, h->fd, &st) && mark_of(&st) != MARK_NONE &&
	    remove_name(dir, name, &st) < 0 && errno == EACCES)
		remove_from_closed(dir, name, &st);
	fd_done(&dir);
	/* A child that was forked meanwhile may have a copy of the descriptor: unlock it too. */
	(void)flock(h->fd, LOCK_UN);
	fd_close(&h->fd);
	return !is_stuck;
}

void placeholders_release(struct placeholders *held)
{
	bool is_stuck = false;

	for (size_t i = held->count; i > 0; i--)
		is_stuck |= !release_one(&held->items[i - 1]);
	/* The first may have had no descriptor to remove it by; now there are some. */
	if (is_stuck)
		placeholders_reclaim(held);
}

/* Takes hold of what is there, if it is what it has to be; only to release it. */
static void reclaim_one(struct held h)
{
	int dir = open_parent(h.path);
	struct stat st;

	if (dir >= 0 && fstatat(dir, last_name(h.path), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    mark_of(&st) != MARK_NONE)
		h.fd = (int)syscall(SYS_openat, dir, last_name(h.path),
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	fd_done(&dir);
	(void)release_one(&h);
}

void placeholders_reclaim(const struct placeholders *held)
{
	for (size_t i = held->count; i > 0; i--)
		if (held->items[i - 1].fd < 0)
			reclaim_one(held->items[i - 1]);
}

/* ---- Taking hold -------------------------------------------------------------- */

/* The directory that things are made in: for many placeholders in a row the same. */
struct spot {
	struct str path; /* borrowed; empty at first */
	int fd;
	struct stat st;
};

/* One that is being taken. */
struct taking {
	struct held *held;
	const struct placeholder *wanted;
	const struct spot *in;
	const char *name;
	int fd;
	struct stat st;
	bool was_made; /* by this process, just now */
};

enum outcome {
	OUTCOME_HELD,
	OUTCOME_NONE,	/* this user can't create anything there */
	OUTCOME_MADE,	/* something is there now: go on */
	OUTCOME_LOCKED, /* the lock is had: go on */
	OUTCOME_AGAIN,	/* another run is at it */
	OUTCOME_FAILED, /* the error is recorded */
};

static enum outcome fail_sys(const struct taking *t, int os_error, const char *what, struct err *e)
{
	struct shown shown;

	(void)FAIL_SYS(e, os_error, "%s '%s'", what, show(&shown, t->held->path));
	return OUTCOME_FAILED;
}

static enum outcome fail_other(const struct taking *t, const char *what, struct err *e)
{
	struct shown shown;

	(void)FAIL(e, ERR_POLICY, "'%s' %s", show(&shown, t->held->path), what);
	return OUTCOME_FAILED;
}

/*
 * The directory is this user's own, and closed: the command, who is the same user,
 * could open it and create there what it must not.
 */
static bool is_closed_by_owner(const struct taking *t)
{
	struct stat st;

	return fstat(t->in->fd, &st) == 0 && st.st_uid == geteuid();
}

static enum outcome fail_closed(const struct taking *t, struct err *e)
{
	return fail_other(
		t,
		"has to be kept from being created, but its directory, which is yours, is "
		"not writable now and a command could make it so: chmod u+w that directory "
		"first",
		e);
}

static enum outcome create(struct taking *t, struct err *e)
{
	int r;

	if (t->wanted->kind == PLACEHOLDER_DIR) {
		r = mkdirat(t->in->fd, t->name, MARK_DIR_MODE);
	} else {
		r = openat(t->in->fd, t->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			   MARK_FILE_MODE);
		fd_done(&r);
	}
	t->was_made = r >= 0;
	if (r >= 0 || errno == EEXIST)
		return OUTCOME_MADE;
	if (errno == EACCES && is_closed_by_owner(t))
		return fail_closed(t, e);
	if (errno == EACCES || errno == EPERM || errno == EROFS)
		return OUTCOME_NONE;
	return fail_sys(t, errno, "can't create the placeholder", e);
}

static enum outcome lock(struct taking *t, int operation, struct err *e)
{
	if (flock(t->fd, operation | LOCK_NB) == 0)
		return OUTCOME_LOCKED;
	return errno == EWOULDBLOCK ? OUTCOME_AGAIN
				    : fail_sys(t, errno, "can't lock the placeholder", e);
}

/* ---- Finishing what was created ------------------------------------------------ */

static bool has_wanted_kind(const struct taking *t)
{
	return S_ISDIR(t->st.st_mode) == (t->wanted->kind == PLACEHOLDER_DIR);
}

static bool has_wanted_content(const struct taking *t)
{
	struct str want = t->wanted->content;
	char content[MARK_FILE_BYTES];

	if (S_ISDIR(t->st.st_mode))
		return true;
	return (size_t)t->st.st_size == want.len &&
	       pread(t->fd, content, want.len, 0) == (ssize_t)want.len &&
	       memcmp(content, want.p, want.len) == 0;
}

static bool has_names(const struct taking *t)
{
	return S_ISDIR(t->st.st_mode) && mark_is_empty(t->fd) != 1;
}

static int write_content(const struct taking *t)
{
	struct str content = t->wanted->content;
	struct os_quiet quiet;
	ssize_t n;

	if (has_wanted_content(t))
		return 0;
	/*
	 * Not where it is empty: ext4 writes a file to disk as soon as it is closed when it
	 * was once truncated to nothing (auto_da_alloc), and its removal waits for that.
	 */
	if (t->st.st_size > 0 && ftruncate(t->fd, 0) < 0)
		return -1;
	os_quiet_begin(&quiet);
	n = pwrite(t->fd, content.p, content.len, 0);
	os_quiet_end(&quiet);
	return n == (ssize_t)content.len ? 0 : -1;
}

/*
 * No more open than the directory it is in, and that directory's owner's: who
 * works there has to be able to lock it, and to remove it.
 */
static int set_owner_and_mode(const struct taking *t)
{
	const struct stat *dir = &t->in->st;
	bool is_dir = S_ISDIR(t->st.st_mode);
	mode_t others = dir->st_mode & (is_dir ? 0055 : 0044);

	if (geteuid() == 0 && (dir->st_uid != t->st.st_uid || dir->st_gid != t->st.st_gid))
		(void)!fchown(t->fd, dir->st_uid, dir->st_gid); /* not where they are not mapped */
	return fchmod(t->fd, (t->st.st_mode & S_ISGID) | (is_dir ? 0700 : 0600) | others);
}

/* Makes what was born what it has to be; see above for which lock that needs. */
static enum outcome finish(struct taking *t, struct err *e)
{
	int os_error;

	if (write_content(t) == 0 && mark_set(t->fd) == 0 && set_owner_and_mode(t) == 0 &&
	    fstat(t->fd, &t->st) == 0) {
		if (mark_of(&t->st) == MARK_SET)
			return OUTCOME_LOCKED;
		errno = EOPNOTSUPP; /* the file system takes the mark and does not keep it */
	}
	os_error = errno;
	(void)remove_name(t->in->fd, t->name, &t->st);
	return fail_sys(t, os_error, "can't mark the placeholder", e);
}

/* What a run with another plan needs or, as it is not locked, left behind. */
static enum outcome replace(struct taking *t, struct err *e)
{
	if (flock(t->fd, LOCK_EX | LOCK_NB) < 0)
		return fail_other(t, "is in use by another run that needs something else there", e);
	if (is_still_there(t->in->fd, t->name, t->fd, &t->st) && mark_of(&t->st) != MARK_NONE &&
	    remove_name(t->in->fd, t->name, &t->st) < 0)
		return fail_sys(t, errno, "can't replace the placeholder", e);
	return OUTCOME_AGAIN;
}

/* ---- Taking hold of one --------------------------------------------------------- */

/* Opens it as what it seems to be. -1 with errno. */
static int open_seen(const struct taking *t, bool is_dir, bool is_finished)
{
	int flags = is_dir ? O_RDONLY | O_DIRECTORY : is_finished ? O_RDONLY : O_RDWR;

	return openat(t->in->fd, t->name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* What it is, now that it is locked. */
static enum mark mark_locked(struct taking *t)
{
	enum mark mark;

	if (!is_still_there(t->in->fd, t->name, t->fd, &t->st) || !has_wanted_kind(t))
		return MARK_NONE;
	mark = mark_of(&t->st);
	/* Where modes are not kept, only who made it knows what it is. */
	return mark == MARK_NONE && t->was_made && mark_could_be(&t->st) ? MARK_BIRTH : mark;
}

/* A directory is open to all from its birth on, but only its owner can finish it. */
static bool may_finish(const struct taking *t, bool is_exclusive)
{
	return t->was_made || (is_exclusive && (geteuid() == 0 || t->st.st_uid == geteuid()));
}

static enum outcome accept_locked(struct taking *t, bool is_exclusive, struct err *e)
{
	enum mark mark = mark_locked(t);

	if (mark == MARK_NONE || (mark == MARK_BIRTH && !may_finish(t, is_exclusive)))
		return OUTCOME_AGAIN;
	if (has_names(t))
		return fail_other(
			t, "was missing when the plan was made, and now something is in it", e);
	if (mark == MARK_BIRTH && finish(t, e) == OUTCOME_FAILED)
		return OUTCOME_FAILED;
	if (is_exclusive)
		return OUTCOME_MADE; /* from now on like any that is found */
	if (!has_wanted_content(t))
		return OUTCOME_AGAIN;
	t->held->fd = t->fd;
	t->held->device = t->st.st_dev;
	t->held->inode = t->st.st_ino;
	t->held->above_device = t->in->st.st_dev;
	t->held->above_inode = t->in->st.st_ino;
	t->fd = -1;
	return OUTCOME_HELD;
}

/* One that is open. `mark` is what it bore. */
static enum outcome take_open(struct taking *t, enum mark mark, struct err *e)
{
	bool is_exclusive = mark != MARK_SET && !t->was_made;
	enum outcome outcome;

	if (!t->was_made && (!has_wanted_kind(t) || (mark == MARK_SET && !has_wanted_content(t))))
		return replace(t, e);
	outcome = lock(t, is_exclusive ? LOCK_EX : LOCK_SH, e);
	return outcome == OUTCOME_LOCKED ? accept_locked(t, is_exclusive, e) : outcome;
}

static enum outcome attempt(struct taking *t, struct err *e)
{
	bool is_dir = t->wanted->kind == PLACEHOLDER_DIR;
	enum mark mark = MARK_BIRTH;
	enum outcome outcome = create(t, e);

	if (outcome != OUTCOME_MADE)
		return outcome;
	if (!t->was_made) {
		if (fstatat(t->in->fd, t->name, &t->st, AT_SYMLINK_NOFOLLOW) < 0)
			return OUTCOME_AGAIN;
		is_dir = S_ISDIR(t->st.st_mode);
		mark = mark_of(&t->st);
		if (mark == MARK_NONE)
			return fail_other(
				t, "was missing when the plan was made, and now it is not", e);
	}
	t->fd = open_seen(t, is_dir, mark == MARK_SET);
	if (t->fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return fail_sys(t, errno, "can't open the placeholder", e);
	if (t->fd < 0)
		return OUTCOME_AGAIN; /* gone, or another user's run has not finished it */
	outcome = take_open(t, mark, e);
	fd_close(&t->fd);
	return outcome;
}

static void pause_before(int next_try)
{
	long us = MIN_OF(10L << MIN_OF(next_try, 20), (long)HOLD_MAX_PAUSE_US);
	struct timespec time = { .tv_nsec = us * 1000 };

	nanosleep(&time, NULL);
}

static int take(struct taking *t, struct err *e)
{
	for (int tries = 0; tries < HOLD_TRIES; tries++) {
		enum outcome outcome = attempt(t, e);

		if (outcome == OUTCOME_FAILED) {
			/* Made, and then no descriptor was left to hold it by. */
			if (t->was_made && t->fd < 0)
				(void)unlinkat(t->in->fd, t->name,
					       t->wanted->kind == PLACEHOLDER_DIR ? AT_REMOVEDIR
										  : 0);
			return err_result(e);
		}
		if (outcome == OUTCOME_HELD || outcome == OUTCOME_NONE)
			return 0;
		if (outcome == OUTCOME_AGAIN)
			pause_before(tries);
	}
	(void)fail_sys(t, EBUSY, "another run does not let go of the placeholder", e);
	return err_result(e);
}

static void spot_done(struct spot *p)
{
	fd_close(&p->fd);
}

static int spot_find(struct spot *p, const char *path, struct err *e)
{
	struct str parent = path_parent(str_of(path));
	struct shown shown;

	if (p->fd >= 0 && str_eq(p->path, parent))
		return 0;
	spot_done(p);
	p->path = parent;
	p->fd = open_parent(path);
	if (p->fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return FAIL(e, ERR_POLICY, "'%s': a directory on the way was replaced",
			    show(&shown, path));
	if (p->fd < 0 || fstat(p->fd, &p->st) < 0)
		return FAIL_SYS(e, errno, "can't open the directory of '%s'", show(&shown, path));
	return 0;
}

static int held_init(struct arena *a, const struct placeholder *wanted, struct held *out,
		     struct err *e)
{
	struct str path;

	if (wanted->content.len > MARK_FILE_BYTES || str_has_nul(wanted->path))
		return FAIL(e, ERR_INTERNAL, "a placeholder that can't be made");
	if (arena_copy(a, wanted->path, &path, e) < 0)
		return err_result(e);
	*out = (struct held){ .wanted = wanted, .path = path.p, .fd = -1 };
	return 0;
}

int placeholders_prepare(struct arena *a, const struct plan *plan, struct placeholders *out,
			 struct err *e)
{
	struct placeholders held = { .count = plan->placeholders.count };

	held.items = arena_array(a, held.count + 1, sizeof(*held.items), e);
	if (!held.items)
		return err_result(e);
	for (size_t i = 0; i < held.count; i++)
		if (held_init(a, &plan->placeholders.items[i], &held.items[i], e) < 0)
			return err_result(e);
	*out = held;
	return 0;
}

int placeholders_take(struct placeholders *held, struct err *e)
{
	SCOPED(spot_done) struct spot in = { .fd = -1 };

	for (size_t i = 0; i < held->count; i++) {
		struct held *h = &held->items[i];
		struct taking t = { .held = h, .wanted = h->wanted, .in = &in, .fd = -1 };

		t.name = last_name(h->path);
		if (spot_find(&in, h->path, e) < 0 || take(&t, e) < 0) {
			spot_done(&in); /* to release takes a descriptor, too */
			placeholders_release(held);
			return err_result(e);
		}
	}
	return 0;
}
