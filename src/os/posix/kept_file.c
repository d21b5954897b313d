/* SPDX-License-Identifier: MIT */
/*
 * See kept_file.h. The lock is a file of its own, ".NAME.lock", because the file itself is replaced. It can't
 * be read, not even by its owner: a command in a sandbox may read the directory, and could lock
 * whatever it can open.
 */
#include "os/kept_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "os/fd.h"
#include "os/posix/path.h"

enum {
	LOCK_PATIENCE_MS = 10000,
	LOCK_PAUSE_MS = 2,
	READ_TRIES = 64,
	NAME_ROOM = PATH_MAX_COMPONENT + 16,
};

/* ---- What may be used ------------------------------------------------------------- */

static int refuse(struct str path, const char *why, const char *way_out, struct err *e)
{
	struct shown shown;

	(void)FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED, "'%s' is not used: %s", show_path(&shown, path),
			 why);
	if (way_out)
		err_add_line(e, "%s", way_out);
	return err_result(e);
}

static int check_file(struct str path, const struct stat *st, struct err *e)
{
	if (!S_ISREG(st->st_mode))
		return refuse(path, "it is not a regular file", "move it away", e);
	if (st->st_uid != geteuid())
		return refuse(path, "it belongs to another user",
			      "if that is right, HOME or the XDG_ variables are of another user; "
			      "else move it away",
			      e);
	if (st->st_mode & 022)
		return refuse(path, "other users may write to it",
			      "look at what it grants, then remove it, or take that right away "
			      "with chmod go-w",
			      e);
	if (st->st_nlink > 1)
		return refuse(path, "it has a second name (a hard link)",
			      "replace it with a copy, or move it away", e);
	return 0;
}

static int check_directory(struct str path, const struct stat *st, struct err *e)
{
	if (!S_ISDIR(st->st_mode))
		return refuse(path, "it is not a directory", "move it away", e);
	if (st->st_uid != geteuid())
		return refuse(path, "the directory belongs to another user",
			      "if that is right, HOME or the XDG_ variables are of another user; "
			      "else move it away",
			      e);
	if (st->st_mode & 022)
		return refuse(path, "other users may write to the directory",
			      "look at what is in it, then take that right away with chmod go-w",
			      e);
	return 0;
}

static int fail_open(struct str path, int error, struct err *e)
{
	struct shown shown;

	if (error == ELOOP)
		return refuse(path, "it is a symbolic link, which is not followed", "move it away",
			      e);
	if (error == EACCES || error == EPERM)
		return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, error, "can't open '%s'",
				      show_path(&shown, path));
	return FAIL_SYS(e, error, "can't open '%s'", show_path(&shown, path));
}

/* ---- Reading ------------------------------------------------------------------------ */

static void take_stamp(const struct stat *st, struct os_kept_stamp *out)
{
	*out = (struct os_kept_stamp){ .device = (uint64_t)st->st_dev,
				       .inode = st->st_ino,
				       .bytes = (uint64_t)st->st_size,
				       .changed_s = st->st_ctim.tv_sec,
				       .changed_ns = st->st_ctim.tv_nsec };
}

/* 1: it is there; 0: it is missing. */
static int open_directory(const struct os_kept *kept, int *out, struct err *e)
{
	struct str path = path_parent(kept->path);
	struct c_path name;
	struct stat st;
	int fd;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	fd = open(name.text,
		  O_RDONLY | O_DIRECTORY | O_CLOEXEC | (kept->is_dir_owned ? O_NOFOLLOW : 0));
	if (fd < 0 && errno == ENOENT)
		return 0;
	/* Of a link the kernel says only that it is no directory. */
	if (fd < 0 && errno == ENOTDIR && lstat(name.text, &st) == 0)
		return fail_open(path, S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR, e);
	if (fd < 0)
		return fail_open(path, errno, e);
	if (kept->is_dir_owned &&
	    (fstat(fd, &st) < 0 ? FAIL_SYS(e, errno, "can't look at a directory")
				: check_directory(path, &st, e)) < 0) {
		fd_close(&fd);
		return err_result(e);
	}
	*out = fd;
	return 1;
}

static const char *name_of(const struct os_kept *kept, const char *before, const char *after,
			   char out[NAME_ROOM])
{
	struct str name = path_name(kept->path);

	(void)snprintf(out, NAME_ROOM, "%s%.*s%s", before,
		       (int)MIN_OF(name.len, (size_t)PATH_MAX_COMPONENT), name.p, after);
	return out;
}

/* 1: it is open; 0: it is missing. One that was replaced before it was looked at has no name. */
static int open_file(const struct os_kept *kept, int directory, int *out, struct stat *st,
		     struct err *e)
{
	char name[NAME_ROOM];

	for (int i = 0; i < READ_TRIES; i++) {
		int fd = openat(directory, name_of(kept, "", "", name),
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

		if (fd < 0 && errno == ENOENT)
			return 0;
		if (fd < 0)
			return fail_open(kept->path, errno, e);
		if (fstat(fd, st) == 0 && st->st_nlink > 0) {
			*out = fd;
			return 1;
		}
		fd_close(&fd);
	}
	return FAIL(e, ERR_SYS, "a file is replaced faster than it can be read; try again");
}

static int read_whole(int fd, const struct os_kept *kept, size_t size, struct arena *a,
		      struct str *out, struct err *e)
{
	struct shown shown;
	size_t got = 0;
	char *text = arena_alloc(a, size + 1, e);

	if (!text)
		return err_result(e);
	while (got < size) {
		ssize_t n = read(fd, text + got, size - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return FAIL_SYS_CAUSE(e, CAUSE_FILE_UNREADABLE, n < 0 ? errno : EIO,
					      "can't read '%s'", show_path(&shown, kept->path));
		got += (size_t)n;
	}
	*out = (struct str){ text, size };
	return 0;
}

int os_kept_read(const struct os_kept *kept, struct arena *a, size_t max_bytes, struct str *out,
		 struct os_kept_stamp *stamp, struct err *e)
{
	struct shown shown;
	scoped_fd directory = -1;
	scoped_fd fd = -1;
	struct stat st;
	int r = open_directory(kept, &directory, e);

	if (r == 1)
		r = open_file(kept, directory, &fd, &st, e);
	if (r < 0)
		return err_result(e);
	if (r == 0) {
		*out = STR_EMPTY;
		*stamp = (struct os_kept_stamp){ 0 };
		return 0;
	}
	if (check_file(kept->path, &st, e) < 0)
		return err_result(e);
	if ((uint64_t)st.st_size > max_bytes)
		return FAIL(e, ERR_LIMIT, "'%s' has more than %zu bytes",
			    show_path(&shown, kept->path), max_bytes);
	if (read_whole(fd, kept, (size_t)st.st_size, a, out, e) < 0)
		return err_result(e);
	take_stamp(&st, stamp);
	return 0;
}

bool os_kept_is_changed(const struct os_kept *kept, const struct os_kept_stamp *stamp)
{
	struct os_kept_stamp now = { 0 };
	struct err e = ERR_INIT;
	struct c_path name;
	struct stat st;

	if (c_path_init(&name, kept->path, &e) < 0)
		return true;
	if (lstat(name.text, &st) == 0)
		take_stamp(&st, &now);
	else if (errno != ENOENT)
		return true;
	return now.device != stamp->device || now.inode != stamp->inode ||
	       now.bytes != stamp->bytes || now.changed_s != stamp->changed_s ||
	       now.changed_ns != stamp->changed_ns;
}

/* ---- Writing ------------------------------------------------------------------------ */

static int take_lock(const struct os_kept *kept, int fd, struct err *e)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };
	struct shown shown;

	for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += LOCK_PAUSE_MS) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return FAIL_SYS(e, errno, "can't lock '%s'", show_path(&shown, kept->path));
		if (waited >= LOCK_PATIENCE_MS)
			return FAIL_SYS(e, ETIMEDOUT, "another process writes to '%s'",
					show_path(&shown, kept->path));
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static int open_lock(const struct os_kept *kept, int directory, int *out, struct err *e)
{
	char name[NAME_ROOM];
	struct shown shown;
	struct stat st;
	int fd = openat(directory, name_of(kept, ".", ".lock", name),
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0200);

	if (fd < 0)
		return FAIL_SYS(e, errno, "can't open the lock of '%s'",
				show_path(&shown, kept->path));
	if (fstat(fd, &st) < 0 || check_file(kept->path, &st, e) < 0 ||
	    take_lock(kept, fd, e) < 0) {
		fd_close(&fd);
		return e->code ? err_wrap(e, "its lock")
			       : FAIL(e, ERR_SYS, "can't look at the lock of '%s'",
				      show_path(&shown, kept->path));
	}
	*out = fd;
	return 0;
}

int os_kept_lock(const struct os_kept *kept, struct os_kept_lock *out, struct err *e)
{
	struct shown shown;
	int directory = -1;
	int lock;
	int r = os_make_parents(kept->path, e);

	if (r == 0)
		r = open_directory(kept, &directory, e);
	if (r == 0)
		return FAIL_SYS(e, ENOENT, "can't open the directory of '%s'",
				show_path(&shown, kept->path));
	if (r < 0 || open_lock(kept, directory, &lock, e) < 0) {
		fd_close(&directory);
		return err_result(e);
	}
	*out = (struct os_kept_lock){ .directory = directory, .lock = lock };
	return 0;
}

void os_kept_unlock(struct os_kept_lock *lock)
{
	fd_close(&lock->lock);
	fd_close(&lock->directory);
}

int os_kept_write(const struct os_kept *kept, const struct os_kept_lock *lock, struct str text,
		  struct err *e)
{
	char place[NAME_ROOM], temporary[NAME_ROOM];
	struct shown shown;
	scoped_fd fd = -1;

	(void)name_of(kept, "", "", place);
	(void)name_of(kept, ".", ".new", temporary);
	/* What a killed writer left; nobody else writes while the lock is held. */
	(void)unlinkat(lock->directory, temporary, 0);
	fd = openat(lock->directory, temporary,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_SYS(e, errno, "can't write beside '%s'", show_path(&shown, kept->path));
	if (fchmod(fd, 0600) < 0 || write_synced(fd, text) < 0 ||
	    renameat(lock->directory, temporary, lock->directory, place) < 0) {
		int error = errno;

		(void)unlinkat(lock->directory, temporary, 0);
		return FAIL_SYS(e, error, "can't replace '%s'", show_path(&shown, kept->path));
	}
	if (fsync(lock->directory) < 0)
		return FAIL_SYS(e, errno, "can't tell whether '%s' is on the disk",
				show_path(&shown, kept->path));
	return 0;
}

uint64_t os_kept_user(void)
{
	return geteuid();
}
