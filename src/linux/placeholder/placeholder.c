/* SPDX-License-Identifier: MIT */
/*
 * See placeholder.h; the mark is os/linux/mark.h's.
 *
 * Runs may start and end at any time. These rules make that safe:
 * - After a run has locked a placeholder, it checks that the path still names the locked inode.
 * - A run removes a placeholder only with the exclusive lock, so no other run uses it.
 * - The run that created a placeholder finishes it under a shared lock, or another run does so under
 *   the exclusive lock. No other run takes a shared lock before that.
 * - No run waits for a lock; it tries again, a limited number of times.
 *
 * Adding and removing a placeholder changes the modification time of its directory. Cordon does not
 * set it back: that could hide another program's change from make or git.
 */
#include "linux/placeholder/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "linux/placeholder/spellings.h"
#include "os/fd.h"
#include "os/linux/mark.h"
#include "os/write_signals.h"
#include "policy/metadata.h"

enum {
	HOLD_TRIES = 500, /* with the pauses, about two seconds */
	HOLD_MAX_PAUSE_US = 5000,
	MARK_TRIES = 5,
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

static int rename_to_free(int dir, const char *from, const char *to)
{
	struct stat st;
	int r = (int)syscall(SYS_renameat2, dir, from, dir, to, RENAME_NOREPLACE);

	/* Some file systems of the network have no such rename. */
	if (r == 0 || errno != EINVAL)
		return r;
	if (fstatat(dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return renameat(dir, from, dir, to);
}

/* The name that a file gets before it is removed. The next run removes one that was left. */
#define REMOVED_NAME ".cordon-removed"

static void finish_removal(int dir)
{
	struct stat st;

	if (fstatat(dir, REMOVED_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
	    mark_of(&st) != MARK_NONE)
		(void)unlinkat(dir, REMOVED_NAME, 0);
}

struct away {
	char name[sizeof(REMOVED_NAME) + 17];
};

/*
 * Renames the file before it is removed. SECURITY: a command could occupy the first name so that
 * placeholders stay; it can't guess the second, random one.
 */
static int move_away(int dir, const char *name, struct away *away)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[8];
	char *end;
	int r;

	memcpy(away->name, REMOVED_NAME, sizeof(REMOVED_NAME));
	r = rename_to_free(dir, name, away->name);
	if (r == 0 || errno != EEXIST)
		return r;
	finish_removal(dir);
	r = rename_to_free(dir, name, away->name);
	if (r == 0 || errno != EEXIST ||
	    syscall(SYS_getrandom, random, sizeof(random), 0) != (long)sizeof(random))
		return r;
	end = away->name + sizeof(REMOVED_NAME) - 1;
	*end++ = '-';
	for (size_t i = 0; i < sizeof(random); i++) {
		*end++ = digits[random[i] >> 4];
		*end++ = digits[random[i] & 15];
	}
	*end = '\0';
	return rename_to_free(dir, name, away->name);
}

/*
 * rmdir() removes only an empty directory. unlink() removes whatever has the name, perhaps a file that
 * another program has just renamed to it. So a file is first renamed, then checked, and put back if
 * it is not the placeholder.
 */
static int remove_name(int dir, const char *name, const struct stat *st)
{
	struct away away;
	struct stat moved;

	if (S_ISDIR(st->st_mode))
		return unlinkat(dir, name, AT_REMOVEDIR);
	if (move_away(dir, name, &away) < 0)
		return -1;
	/* What bears the mark is a placeholder, this one or another that is being removed. */
	if (fstatat(dir, away.name, &moved, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (!S_ISDIR(moved.st_mode) && mark_of(&moved) != MARK_NONE)
		return is_same(&moved, st) ? unlinkat(dir, away.name, 0) : 0;
	return rename_to_free(dir, away.name, name);
}

/* The command may have removed all permissions of the directory; its owner can restore them. */
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

/* Opens the parent; for a directory by "..", which works even after a rename above it. */
static int open_holder(const struct held *h, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return (int)syscall(SYS_openat, h->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	return open_parent(h->path);
}

/* If several runs release at once, each drops its lock as it asks; the last to ask gets it. */
static bool release_one(struct held *h)
{
	const char *name = last_name(h->path);
	struct stat st;
	int dir = -1;
	bool is_stuck;

	if (h->fd < 0)
		return true;
	h->is_there = false;
	errno = 0;
	if (flock(h->fd, LOCK_EX | LOCK_NB) == 0 && fstat(h->fd, &st) == 0)
		dir = open_holder(h, &st);
	is_stuck = dir < 0 && errno == EMFILE;
	if (dir >= 0 && is_still_there(dir, name, h->fd, &st) && mark_of(&st) != MARK_NONE &&
	    remove_name(dir, name, &st) < 0 && errno == EACCES)
		remove_from_closed(dir, name, &st);
	if (dir >= 0 && !S_ISDIR(st.st_mode))
		finish_removal(dir);
	fd_done(&dir);
	/* A child that was forked meanwhile may have a copy of the descriptor: unlock it too. */
	(void)flock(h->fd, LOCK_UN);
	fd_close(&h->fd);
	return !is_stuck;
}

/* ---- Sockets ------------------------------------------------------------------ */

static bool is_beside(const char *path, const char *other)
{
	return str_eq(path_parent(str_of(path)), path_parent(str_of(other)));
}

/* Whether what is open is the lock of a directory's sockets, and not a placeholder itself. */
static bool is_lock_of_sockets(const struct held *h)
{
	struct stat st;

	return h->fd >= 0 && h->wanted && h->wanted->kind == PLACEHOLDER_SOCKET &&
	       fstat(h->fd, &st) == 0 && S_ISDIR(st.st_mode);
}

/* With the exclusive lock: whatever is marked there is nobody's. */
static void remove_socket(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode) &&
	    mark_of(&st) != MARK_NONE && remove_name(dir, name, &st) < 0 && errno == EACCES)
		remove_from_closed(dir, name, &st);
}

/*
 * The directory that a lock is for: that of the .cordon that it is on, also when someone
 * removed that, or itself. It knows where it is, also after it was renamed.
 */
static int open_locked(const struct held *h)
{
	int dir = (int)syscall(SYS_openat, h->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	struct stat st, locked;

	if (dir < 0 || fstat(h->fd, &locked) < 0)
		return dir;
	if (locked.st_nlink == 0 ||
	    (fstatat(dir, METADATA_OWN, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&st, &locked)))
		return dir;
	fd_done(&dir);
	return (int)syscall(SYS_openat, h->fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

/* All sockets of one directory. False: no descriptor was left to do it by. */
static bool release_sockets(struct placeholders *held, struct held *first)
{
	bool is_stuck = false;
	int dir = -1;

	if (flock(first->fd, LOCK_EX | LOCK_NB) == 0) {
		dir = open_locked(first);
		is_stuck = dir < 0 && errno == EMFILE;
	}
	for (size_t i = 0; i < held->count; i++) {
		struct held *h = &held->items[i];

		if (h->wanted->kind != PLACEHOLDER_SOCKET || !is_beside(h->path, first->path))
			continue;
		if (h == first || h->fd < 0)
			h->is_there = false;
		if (dir >= 0)
			remove_socket(dir, last_name(h->path));
	}
	if (dir >= 0)
		finish_removal(dir);
	fd_done(&dir);
	/* As in release_one(). A placeholder whose lock it is asks for it again. */
	(void)flock(first->fd, LOCK_UN);
	fd_close(&first->fd);
	return !is_stuck;
}

void placeholders_release(struct placeholders *held)
{
	bool is_stuck = false;

	for (size_t i = 0; i < held->count; i++)
		if (is_lock_of_sockets(&held->items[i]))
			is_stuck |= !release_sockets(held, &held->items[i]);
	for (size_t i = held->count; i > 0; i--)
		is_stuck |= !release_one(&held->items[i - 1]);
	/* The first may have had no descriptor to remove it by; now there are some. */
	if (is_stuck)
		placeholders_reclaim(held);
}

/* What the sockets in a directory are locked by, opened; -1 with errno. */
static int open_lock(int dir)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = (int)syscall(SYS_openat, dir, METADATA_OWN, flags, 0);

	return fd >= 0 || errno == EMFILE ? fd : (int)syscall(SYS_openat, dir, ".", flags, 0);
}

static void reclaim_socket(int dir, const char *name)
{
	int fd = open_lock(dir);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		remove_socket(dir, name);
	fd_done(&fd);
}

/* Takes hold of what is there, if it is what it has to be; only to release it. */
static void reclaim_one(struct held h)
{
	int dir = open_parent(h.path);
	struct stat st;
	bool is_marked = dir >= 0 &&
			 fstatat(dir, last_name(h.path), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			 mark_of(&st) != MARK_NONE;

	if (dir >= 0 && h.wanted && h.wanted->kind != PLACEHOLDER_DIR)
		finish_removal(dir);
	if (is_marked && S_ISSOCK(st.st_mode))
		reclaim_socket(dir, last_name(h.path));
	else if (is_marked)
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
	bool is_checked;  /* for other spellings */
	bool is_replaced; /* what is there is not what the plan found */
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
	bool is_anew;  /* something else is there, which was not when the plan was made */
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

	(void)FAIL_CAUSE(e, CAUSE_PLACEHOLDER, "'%s' %s", show(&shown, t->held->path), what);
	return OUTCOME_FAILED;
}

static enum outcome fail_anew(struct taking *t, const char *what, struct err *e)
{
	t->is_anew = true;
	return fail_other(t, what, e);
}

/*
 * SECURITY: this user owns the directory but can't write it now. The command runs as the same user: it
 * could chmod the directory and create what it must not.
 */
static bool is_closed_by_owner(const struct taking *t)
{
	struct stat st;

	return fstat(t->in->fd, &st) == 0 && st.st_uid == geteuid() &&
	       (st.st_mode & (S_IWUSR | S_IXUSR)) != (S_IWUSR | S_IXUSR);
}

static enum outcome fail_closed(const struct taking *t, struct err *e)
{
	return fail_other(
		t,
		"can't be protected: you own its directory, which is not writable now, and the "
		"command could make it writable; run chmod u+w on that directory first",
		e);
}

/*
 * What stands there is another user's placeholder, in a directory that is not this user's to write: the
 * command can't make anything there, whether that one stays or goes.
 */
static bool is_others_matter(const struct taking *t)
{
	return faccessat(t->in->fd, ".", W_OK | X_OK, AT_EACCESS) < 0 && errno == EACCES &&
	       !is_closed_by_owner(t);
}

static enum outcome create(struct taking *t, struct err *e)
{
	int r;

	if (t->held->kind == PLACEHOLDER_DIR) {
		r = mkdirat(t->in->fd, t->name, MARK_DIR_MODE);
	} else {
		r = openat(t->in->fd, t->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			   MARK_FILE_MODE);
		fd_done(&r);
	}
	t->was_made = r >= 0;
	if (!t->was_made && errno == EEXIST && is_others_matter(t))
		return OUTCOME_NONE;
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
	return S_ISDIR(t->st.st_mode) == (t->held->kind == PLACEHOLDER_DIR);
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

static bool holds_anything(const struct taking *t)
{
	return S_ISDIR(t->st.st_mode) ? has_names(t) : t->st.st_size > 0;
}

static int write_content(const struct taking *t)
{
	struct str content = t->wanted->content;
	struct os_write_signals signals;
	ssize_t n;

	if (has_wanted_content(t))
		return 0;
	/*
	 * Not where it is empty: ext4 writes a file to disk as soon as it is closed when it
	 * was once truncated to nothing (auto_da_alloc), and its removal waits for that.
	 */
	if (t->st.st_size > 0 && ftruncate(t->fd, 0) < 0)
		return -1;
	os_write_signals_block(&signals);
	n = pwrite(t->fd, content.p, content.len, 0);
	os_write_signals_restore(&signals);
	return n == (ssize_t)content.len ? 0 : -1;
}

/*
 * Gives it at most the permissions of its directory, and the directory's owner, who has to be able to
 * lock and remove it.
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

/*
 * It has no mark although that was set: either the file system does not keep it (OUTCOME_MADE), or a
 * program on the host was quicker.
 */
static enum outcome find_use(const struct taking *t)
{
	if (t->st.st_nlink == 0)
		return OUTCOME_AGAIN; /* removed, as when a clone is deleted */
	if (!S_ISDIR(t->st.st_mode))
		return has_wanted_content(t) ? OUTCOME_MADE : OUTCOME_AGAIN; /* it is theirs */
	if (lseek(t->fd, 0, SEEK_SET) == 0 && mark_is_empty(t->fd) == 0)
		return OUTCOME_LOCKED; /* as when something comes into it later */
	return OUTCOME_MADE;
}

/* Makes what was born what it has to be; see above for which lock that needs. */
static enum outcome finish(struct taking *t, struct err *e)
{
	int os_error = 0;

	/* More than once, because whoever uses it for a moment takes the mark away. */
	for (int tries = 0; tries < MARK_TRIES; tries++) {
		enum outcome outcome;

		if (write_content(t) < 0 || mark_set(t->fd) < 0 || set_owner_and_mode(t) < 0 ||
		    fstat(t->fd, &t->st) < 0) {
			os_error = errno;
			break;
		}
		if (mark_of(&t->st) == MARK_SET)
			return OUTCOME_LOCKED;
		outcome = find_use(t);
		if (outcome != OUTCOME_MADE)
			return outcome;
		os_error = EOPNOTSUPP;
	}
	(void)remove_name(t->in->fd, t->name, &t->st);
	return fail_sys(t, os_error, "can't mark the placeholder", e);
}

/* Another run needs it, with another plan, or has left it behind unlocked. */
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
	if (mark != MARK_NONE || !t->was_made || !mark_could_be(&t->st))
		return mark;
	/*
	 * On a file system that keeps no modes, only the run that made it can recognise it; there one
	 * owner owns all files. SECURITY: root may work in another user's directory, and that user could
	 * put a file of root's in its place. So leave alone what the directory's owner does not own, and
	 * what is not empty.
	 */
	return t->st.st_uid == t->in->st.st_uid && !holds_anything(t) ? MARK_BIRTH : MARK_NONE;
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
	/* What comes into one that was made just now is covered, and stays when that is let go. */
	if (!t->was_made && has_names(t))
		return fail_anew(
			t, "was missing when the plan was made, and now something is in it", e);
	if (mark == MARK_BIRTH) {
		enum outcome outcome = finish(t, e);

		if (outcome != OUTCOME_LOCKED)
			return outcome;
	}
	if (is_exclusive)
		return OUTCOME_MADE; /* from now on like any that is found */
	if (!has_wanted_content(t))
		return OUTCOME_AGAIN;
	t->held->fd = t->fd;
	t->held->is_there = true;
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
	bool is_dir = t->held->kind == PLACEHOLDER_DIR;
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
			return fail_anew(t, "was missing when the plan was made, and now it is not",
					 e);
		if (S_ISSOCK(t->st.st_mode)) {
			reclaim_socket(t->in->fd, t->name);
			return OUTCOME_AGAIN;
		}
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

/* ---- Taking hold of a socket ------------------------------------------------------ */

static const struct held *find_beside(const struct placeholders *all, const struct held *h,
				      const struct spot *in, bool (*fits)(const struct held *))
{
	for (const struct held *other = all->items; other < h; other++)
		if (other->fd >= 0 && other->above_device == in->st.st_dev &&
		    other->above_inode == in->st.st_ino && fits(other))
			return other;
	return NULL;
}

static bool is_own_directory(const struct held *h)
{
	return h->kind == PLACEHOLDER_DIR && strcmp(last_name(h->path), METADATA_OWN) == 0;
}

/* Has the lock that all sockets of a directory share: the first of them holds it. */
static enum outcome lock_sockets(const struct placeholders *all, struct taking *t, struct err *e)
{
	const struct held *own;
	enum outcome outcome;

	if (t->held->fd >= 0 || find_beside(all, t->held, t->in, is_lock_of_sockets))
		return OUTCOME_LOCKED;
	own = find_beside(all, t->held, t->in, is_own_directory);
	/* The lock of one descriptor's copy is the lock of the other's. */
	t->fd = own ? fcntl(own->fd, F_DUPFD_CLOEXEC, 0) : open_lock(t->in->fd);
	if (t->fd < 0)
		return fail_sys(t, errno, "can't open the directory of the placeholder", e);
	outcome = own ? OUTCOME_LOCKED : lock(t, LOCK_SH, e);
	if (outcome != OUTCOME_LOCKED) {
		fd_close(&t->fd);
		return outcome;
	}
	t->held->fd = t->fd;
	t->held->above_device = t->in->st.st_dev;
	t->held->above_inode = t->in->st.st_ino;
	t->fd = -1;
	return outcome;
}

/* Where no sockets can be made, an empty file does as well; git sees it. */
static bool lacks_sockets(int os_error)
{
	return os_error == EPERM || os_error == EOPNOTSUPP || os_error == EINVAL ||
	       os_error == ENOSYS;
}

/*
 * Sets the owner. SECURITY: by descriptor: another user could put another file at the name, which
 * root would then give away.
 */
static void give_socket(const struct taking *t)
{
	const struct stat *dir = &t->in->st;
	scoped_fd fd = openat(t->in->fd, t->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_nlink == 1 &&
	    st.st_uid == geteuid() && mark_of(&st) != MARK_NONE)
		(void)!fchownat(fd, "", dir->st_uid, dir->st_gid, AT_EMPTY_PATH);
}

static enum outcome make_socket(struct taking *t, struct err *e)
{
	const struct stat *dir = &t->in->st;

	t->was_made = mknodat(t->in->fd, t->name, S_IFSOCK | MARK_SOCKET_MODE, 0) == 0;
	if (!t->was_made && errno == EACCES && is_closed_by_owner(t))
		return fail_closed(t, e);
	if (!t->was_made && (errno == EACCES || errno == EROFS))
		return OUTCOME_NONE;
	if (!t->was_made && lacks_sockets(errno)) {
		fd_close(&t->held->fd);
		t->held->kind = PLACEHOLDER_FILE;
		return OUTCOME_AGAIN;
	}
	if (!t->was_made && errno != EEXIST)
		return fail_sys(t, errno, "can't create the placeholder", e);
	if (!t->was_made && is_others_matter(t))
		return OUTCOME_NONE;
	if (t->was_made && geteuid() == 0 && (dir->st_uid != 0 || dir->st_gid != 0))
		give_socket(t);
	if (fstatat(t->in->fd, t->name, &t->st, AT_SYMLINK_NOFOLLOW) < 0)
		return OUTCOME_AGAIN;
	if (t->was_made && !S_ISSOCK(t->st.st_mode))
		return OUTCOME_AGAIN; /* a program on the host has replaced it */
	if (mark_of(&t->st) == MARK_NONE)
		return t->was_made
			       ? fail_sys(t, EOPNOTSUPP, "can't mark the placeholder", e)
			       : fail_anew(t,
					   "was missing when the plan was made, and now it is not",
					   e);
	if (S_ISSOCK(t->st.st_mode))
		return OUTCOME_HELD;
	/* Of a run with another plan, or what is left of one. */
	reclaim_one((struct held){ .path = t->held->path, .fd = -1 });
	return OUTCOME_AGAIN;
}

static enum outcome attempt_socket(const struct placeholders *all, struct taking *t, struct err *e)
{
	enum outcome outcome = lock_sockets(all, t, e);

	if (outcome == OUTCOME_LOCKED)
		outcome = make_socket(t, e);
	if (outcome != OUTCOME_HELD)
		return outcome;
	t->held->is_there = true;
	t->held->device = t->st.st_dev;
	t->held->inode = t->st.st_ino;
	t->held->above_device = t->in->st.st_dev;
	t->held->above_inode = t->in->st.st_ino;
	return outcome;
}

static void pause_before(int next_try)
{
	long us = MIN_OF(10L << MIN_OF(next_try, 20), (long)HOLD_MAX_PAUSE_US);
	struct timespec time = { .tv_nsec = us * 1000 };

	nanosleep(&time, NULL);
}

/* Made, and then no descriptor was left to hold it by. What else has its name by now is left. */
static void undo(const struct taking *t)
{
	struct stat st;

	/* rmdir() removes nothing that holds anything, and the mark may not be kept there. */
	if (fstatat(t->in->fd, t->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (S_ISDIR(st.st_mode) || mark_of(&st) != MARK_NONE))
		(void)remove_name(t->in->fd, t->name, &st);
}

static int take(const struct placeholders *all, struct taking *t, struct err *e)
{
	for (int tries = 0; tries < HOLD_TRIES; tries++) {
		enum outcome outcome = t->held->kind == PLACEHOLDER_SOCKET
					       ? attempt_socket(all, t, e)
					       : attempt(t, e);

		if (outcome == OUTCOME_FAILED) {
			if (t->was_made && t->fd < 0)
				undo(t);
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
	p->is_checked = false;
	p->path = parent;
	p->fd = open_parent(path);
	p->is_replaced = p->fd < 0 && (errno == ELOOP || errno == ENOTDIR);
	if (p->is_replaced)
		return FAIL_CAUSE(e, CAUSE_PATH_CHANGED,
				  "'%s': a directory on the way was replaced", show(&shown, path));
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
	*out = (struct held){ .wanted = wanted, .path = path.p, .fd = -1, .kind = wanted->kind };
	return 0;
}

int placeholders_prepare(struct arena *a, struct placeholder_list wanted, struct placeholders *out,
			 struct err *e)
{
	struct placeholders held = { .count = wanted.count };

	held.items = arena_array(a, held.count + 1, sizeof(*held.items), e);
	if (!held.items)
		return err_result(e);
	for (size_t i = 0; i < held.count; i++)
		if (held_init(a, &wanted.items[i], &held.items[i], e) < 0)
			return err_result(e);
	*out = held;
	return 0;
}

/*
 * Another program may remove or replace a nested repository at any time (P9). If one is not as the plan
 * found it, the run does without this placeholder, and the report names changes in the repository.
 *
 * SECURITY: for no other reason: if the repository is unchanged, a deny would be lost.
 */
static bool can_do_without(const struct taking *t, const struct err *e)
{
	bool is_gone = e->code == ERR_SYS && (e->os_error == ENOENT || e->os_error == ENOTDIR ||
					      e->os_error == ELOOP || e->os_error == ESTALE);

	return t->wanted->rule && t->wanted->rule->is_nested &&
	       (is_gone || t->is_anew || t->in->is_replaced);
}

int placeholders_take(struct placeholders *held, struct err *e)
{
	SCOPED(spot_done) struct spot in = { .fd = -1 };

	for (size_t i = 0; i < held->count; i++) {
		struct held *h = &held->items[i];
		struct taking t = { .held = h, .wanted = h->wanted, .in = &in, .fd = -1 };
		bool is_taken;

		t.name = last_name(h->path);
		is_taken = spot_find(&in, h->path, e) == 0 && take(held, &t, e) == 0;
		if (!is_taken && can_do_without(&t, e)) {
			err_clear(e);
			continue;
		}
		if (!is_taken ||
		    (h->is_there && !in.is_checked && spellings_check(in.fd, h, e) < 0)) {
			spot_done(&in); /* to release takes a descriptor, too */
			placeholders_release(held);
			return err_result(e);
		}
		in.is_checked |= h->is_there;
	}
	return 0;
}
