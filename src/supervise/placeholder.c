/* SPDX-License-Identifier: MIT */
/*
 * See placeholder.h; the mark is os/linux/mark.h's.
 *
 * What makes it safe between runs that start and end at any time: whoever wants
 * a placeholder looks again, after it has the lock, whether the path still names
 * the locked inode; whoever removes one has the exclusive lock on that inode, so
 * nobody else has any. One that was created and not yet finished is finished by
 * whoever gets its exclusive lock first; shared locks are only taken on finished
 * ones. Nothing waits for a lock: it is tried again, and not for ever.
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
#include "os/linux/mark.h"

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

/* close() is where a thread can be cancelled, which the warden must not be. */
static void close_fd(int fd)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
}

static void fd_done(const int *fd)
{
	int saved = errno;

	close_fd(*fd);
	errno = saved;
}
#define scoped_fd SCOPED(fd_done) int

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
static void release_one(struct held *h)
{
	const char *name = last_name(h->path);
	struct stat st;
	int dir = -1;

	if (h->fd < 0)
		return;
	if (flock(h->fd, LOCK_EX | LOCK_NB) == 0 && fstat(h->fd, &st) == 0)
		dir = open_holder(h, &st);
	if (dir >= 0 && is_still_there(dir, name, h->fd, &st) && mark_of(&st) != MARK_NONE)
		(void)remove_name(dir, name, &st);
	close_fd(dir);
	/* A child that was forked meanwhile may have a copy of the descriptor: unlock it too. */
	(void)flock(h->fd, LOCK_UN);
	close_fd(h->fd);
	h->fd = -1;
}

void placeholders_release(struct placeholders *held)
{
	for (size_t i = held->count; i > 0; i--)
		release_one(&held->items[i - 1]);
}

/* ---- Taking hold -------------------------------------------------------------- */

/* One that is being taken. */
struct taking {
	struct held *held;
	const struct placeholder *wanted;
	const char *name;
	int dir;
	struct stat dir_stat;
	int fd;
	struct stat st;
	bool was_made; /* by this process: so it is known for what it is where modes are not kept */
};

enum outcome {
	OUTCOME_HELD,
	OUTCOME_NONE,	/* this user can't create anything there */
	OUTCOME_LOCKED, /* the lock is had, go on */
	OUTCOME_MADE,	/* go on with what is there now */
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

static enum outcome fail_filled(const struct taking *t, struct err *e)
{
	return fail_other(t, "was missing when the plan was made, and now something is in it", e);
}

static enum outcome create(struct taking *t, struct err *e)
{
	int r;

	if (t->wanted->kind == PLACEHOLDER_DIR) {
		r = mkdirat(t->dir, t->name, MARK_DIR_MODE);
	} else {
		r = openat(t->dir, t->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			   MARK_FILE_MODE);
		fd_done(&r);
	}
	if (r >= 0)
		return OUTCOME_MADE;
	if (errno == EEXIST)
		return OUTCOME_AGAIN;
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

	if (has_wanted_content(t))
		return 0;
	if (ftruncate(t->fd, 0) < 0)
		return -1;
	return pwrite(t->fd, content.p, content.len, 0) == (ssize_t)content.len ? 0 : -1;
}

/*
 * No more open than the directory it is in, and that directory's owner's: who
 * works there has to be able to lock it, and to remove it.
 */
static int set_owner_and_mode(const struct taking *t)
{
	const struct stat *dir = &t->dir_stat;
	bool is_dir = S_ISDIR(t->st.st_mode);
	mode_t others = dir->st_mode & (is_dir ? 0055 : 0044);

	if (geteuid() == 0 && (dir->st_uid != t->st.st_uid || dir->st_gid != t->st.st_gid))
		(void)!fchown(t->fd, dir->st_uid, dir->st_gid); /* not where they are not mapped */
	return fchmod(t->fd, (t->st.st_mode & S_ISGID) | (is_dir ? 0700 : 0600) | others);
}

/* Makes what was born what it has to be; the exclusive lock is had. */
static enum outcome complete(struct taking *t, struct err *e)
{
	if (!is_still_there(t->dir, t->name, t->fd, &t->st) ||
	    (t->was_made ? !mark_could_be(&t->st) : mark_of(&t->st) == MARK_NONE))
		return OUTCOME_AGAIN;
	if (has_names(t))
		return fail_filled(t, e);
	if (write_content(t) == 0 && mark_set(t->fd) == 0 && set_owner_and_mode(t) == 0 &&
	    fstat(t->fd, &t->st) == 0) {
		if (mark_of(&t->st) == MARK_SET)
			return lock(t, LOCK_SH, e);
		errno = EOPNOTSUPP; /* the file system takes the mark and does not keep it */
	}
	(void)fail_sys(t, errno, "can't mark the placeholder", e);
	(void)remove_name(t->dir, t->name, &t->st);
	return OUTCOME_FAILED;
}

/* What a run with another plan needs or, as it is not locked, left behind. */
static enum outcome replace(struct taking *t, struct err *e)
{
	if (flock(t->fd, LOCK_EX | LOCK_NB) < 0)
		return fail_other(t, "is in use by another run that needs something else there", e);
	if (is_still_there(t->dir, t->name, t->fd, &t->st) && mark_of(&t->st) != MARK_NONE &&
	    remove_name(t->dir, t->name, &t->st) < 0)
		return fail_sys(t, errno, "can't replace the placeholder", e);
	return OUTCOME_AGAIN;
}

/* ---- Taking hold of one --------------------------------------------------------- */

static int open_found(const struct taking *t, enum mark mark)
{
	bool is_written = mark != MARK_SET && !S_ISDIR(t->st.st_mode);

	return openat(t->dir, t->name,
		      (is_written ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Looks again, now that it is locked. */
static enum outcome accept_locked(struct taking *t, struct err *e)
{
	if (!is_still_there(t->dir, t->name, t->fd, &t->st) || mark_of(&t->st) != MARK_SET)
		return OUTCOME_AGAIN;
	if (has_names(t))
		return fail_filled(t, e);
	t->held->fd = t->fd;
	t->held->device = t->st.st_dev;
	t->held->inode = t->st.st_ino;
	t->fd = -1;
	return OUTCOME_HELD;
}

static enum outcome take_found(struct taking *t, enum mark mark, struct err *e)
{
	enum outcome outcome;

	if (!has_wanted_kind(t) || (mark == MARK_SET && !has_wanted_content(t)))
		return replace(t, e);
	outcome = lock(t, mark == MARK_SET ? LOCK_SH : LOCK_EX, e);
	if (outcome == OUTCOME_LOCKED && mark != MARK_SET)
		outcome = complete(t, e);
	return outcome == OUTCOME_LOCKED ? accept_locked(t, e) : outcome;
}

static enum outcome attempt(struct taking *t, struct err *e)
{
	enum outcome outcome;
	enum mark mark;

	if (fstatat(t->dir, t->name, &t->st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? create(t, e) : fail_sys(t, errno, "can't look at", e);
	mark = mark_of(&t->st);
	if (mark == MARK_NONE && !t->was_made)
		return fail_other(t, "was missing when the plan was made, and now it is not", e);
	t->fd = open_found(t, mark);
	if (t->fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return fail_sys(t, errno, "can't open the placeholder", e);
	if (t->fd < 0)
		return OUTCOME_AGAIN; /* gone, or another user's run has not finished it */
	outcome = take_found(t, mark, e);
	close_fd(t->fd);
	t->fd = -1;
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

		if (outcome == OUTCOME_FAILED)
			return err_result(e);
		if (outcome == OUTCOME_HELD || outcome == OUTCOME_NONE)
			return 0;
		t->was_made = outcome == OUTCOME_MADE;
		if (!t->was_made)
			pause_before(tries);
	}
	(void)fail_sys(t, EBUSY, "another run does not let go of the placeholder", e);
	return err_result(e);
}

static int hold_one(struct held *h, struct err *e)
{
	scoped_fd dir = open_parent(h->path);
	struct taking t = { .held = h, .wanted = h->wanted, .dir = dir, .fd = -1 };
	struct shown shown;

	if (dir < 0 && (errno == ELOOP || errno == ENOTDIR))
		return FAIL(e, ERR_POLICY,
			    "'%s' is no longer in a directory: a part of it was replaced",
			    show(&shown, h->path));
	if (dir < 0 || fstat(dir, &t.dir_stat) < 0)
		return FAIL_SYS(e, errno, "can't open the directory of '%s'",
				show(&shown, h->path));
	t.name = last_name(h->path);
	return take(&t, e);
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

int placeholders_hold(struct arena *a, const struct plan *plan, struct placeholders *out,
		      struct err *e)
{
	struct placeholders held = { .count = 0 };
	size_t count = plan->placeholders.count;

	held.items = arena_array(a, count + 1, sizeof(*held.items), e);
	if (!held.items)
		return err_result(e);
	for (; held.count < count; held.count++) {
		struct held *h = &held.items[held.count];

		if (held_init(a, &plan->placeholders.items[held.count], h, e) < 0 ||
		    hold_one(h, e) < 0) {
			placeholders_release(&held);
			return err_result(e);
		}
	}
	*out = held;
	return 0;
}
