/* SPDX-License-Identifier: MIT */
/*
 * See audit.h. All that is done to the files is done by names below one directory that was
 * opened once, with the lock held: then nobody else appends, rotates, or is half way.
 */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "os/write_signals.h"

enum {
	LOCK_PATIENCE_MS = 2000,
	LOCK_PAUSE_MS = 2,
	NAME_BYTES = 256, /* of the file, with what is added to it */
};

struct audit {
	struct str path, run;
	char name[NAME_BYTES - 16]; /* of the file in its directory */
	int directory, lock, file;
	dev_t device; /* of `file` */
	ino_t inode;
};

/* ---- Opening ------------------------------------------------------------------------ */

/* Makes each directory above the last component; those that are there stay as they are. */
static int make_directories(struct str path, struct err *e)
{
	char text[PATH_MAX_BYTES];
	char shown[256];

	if (path.len >= sizeof(text))
		return FAIL(e, ERR_LIMIT, "the path is too long");
	memcpy(text, path.p, path.len);
	text[path.len] = '\0';
	for (char *slash = strchr(text + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(text, 0700) < 0 && errno != EEXIST && errno != EISDIR && errno != EROFS &&
		    errno != EACCES)
			return FAIL_SYS(e, errno, "can't make the directory %s",
					utf8_show(str_of(text), shown, sizeof(shown)));
		*slash = '/';
	}
	return 0;
}

static int open_directory(struct audit *audit, struct err *e)
{
	char text[PATH_MAX_BYTES];
	size_t len = audit->path.len; /* of the directory, with its slash */
	struct str name;

	while (len > 0 && audit->path.p[len - 1] != '/')
		len--;
	name = str_from(audit->path, len);
	if (name.len == 0 || str_is(name, ".") || str_is(name, "..") ||
	    name.len >= sizeof(audit->name))
		return FAIL(e, ERR_SYNTAX, "this is not the name of a file");
	memcpy(audit->name, name.p, name.len);
	if (make_directories(audit->path, e) < 0)
		return err_result(e);
	memcpy(text, audit->path.p, len);
	text[len] = '\0';
	audit->directory = open(len ? text : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (audit->directory < 0)
		return FAIL_SYS(e, errno, "can't open its directory");
	return 0;
}

/* SECURITY: a link, or a file that others can write, would put lines where others say. */
static int check_file(int fd, struct stat *st, struct err *e)
{
	if (fstat(fd, st) < 0)
		return FAIL_SYS(e, errno, "can't look at it");
	if (!S_ISREG(st->st_mode))
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED, "this is not a regular file");
	if (st->st_uid != geteuid())
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED, "the file belongs to another user");
	if (st->st_mode & 022)
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED,
				  "other users may write to the file; try chmod go-w");
	if (st->st_nlink > 1)
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED, "the file has other names (hard links)");
	return 0;
}

static int open_file(const struct audit *audit, const char *name, int flags, mode_t mode, int *out,
		     struct stat *st, struct err *e)
{
	int fd = openat(audit->directory, name,
			flags | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);

	if (fd < 0 && errno == ELOOP)
		return FAIL_CAUSE(e, CAUSE_FILE_UNTRUSTED,
				  "this is a symbolic link, which is not followed");
	if (fd < 0)
		return FAIL_SYS(e, errno, "can't open it for writing");
	if (check_file(fd, st, e) < 0) {
		fd_close(&fd);
		return err_result(e);
	}
	*out = fd;
	return 0;
}

/* The name of the file with `suffix` behind it. */
static const char *with_suffix(const struct audit *audit, const char *suffix, char out[NAME_BYTES])
{
	(void)snprintf(out, NAME_BYTES, "%s%s", audit->name, suffix);
	return out;
}

static int open_log(struct audit *audit, struct err *e)
{
	struct stat st;
	int fd;

	if (open_file(audit, audit->name, O_RDWR | O_APPEND, 0600, &fd, &st, e) < 0)
		return err_result(e);
	fd_close(&audit->file);
	audit->file = fd;
	audit->device = st.st_dev;
	audit->inode = st.st_ino;
	return 0;
}

static int open_lock(struct audit *audit, struct err *e)
{
	char name[NAME_BYTES];
	struct stat st;

	/* Not readable, not even for its owner: see audit.h. */
	return open_file(audit, with_suffix(audit, ".lock", name), O_WRONLY, 0200, &audit->lock,
			 &st, e);
}

static int open_all(struct arena *a, struct audit *audit, struct str run, struct err *e)
{
	/* The lock last: what can't be a log leaves none behind. */
	if ((run.len ? arena_copy(a, run, &audit->run, e) : audit_new_run(a, &audit->run, e)) < 0 ||
	    open_directory(audit, e) < 0 || open_log(audit, e) < 0 || open_lock(audit, e) < 0)
		return err_result(e);
	return 0;
}

int audit_open(struct arena *a, struct str path, struct str state_directory, struct str run,
	       struct audit **out, struct err *e)
{
	struct audit *audit = ARENA_NEW(a, struct audit, e);
	char shown[256];

	if (!audit)
		return err_result(e);
	audit->directory = audit->lock = audit->file = -1;
	if ((path.len ? arena_copy(a, path, &audit->path, e)
		      : audit_default_path(a, state_directory, &audit->path, e)) < 0)
		return err_result(e);
	if (str_has_nul(audit->path) || open_all(a, audit, run, e) < 0) {
		if (str_has_nul(audit->path))
			(void)FAIL(e, ERR_SYNTAX, "a path has no NUL in it");
		audit_close(audit);
		return err_wrap(e, "audit log %s", utf8_show(audit->path, shown, sizeof(shown)));
	}
	*out = audit;
	return 0;
}

struct str audit_run(const struct audit *audit)
{
	return audit->run;
}

struct str audit_path(const struct audit *audit)
{
	return audit->path;
}

void audit_close(struct audit *audit)
{
	fd_close(&audit->file);
	fd_close(&audit->lock);
	fd_close(&audit->directory);
}

/* ---- Writing ------------------------------------------------------------------------ */

static int take_lock(const struct audit *audit, struct err *e)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000L };

	for (int waited = 0; flock(audit->lock, LOCK_EX | LOCK_NB) < 0; waited += LOCK_PAUSE_MS) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return FAIL_SYS(e, errno, "can't lock the audit log");
		if (waited >= LOCK_PATIENCE_MS)
			return FAIL_SYS(e, ETIMEDOUT, "another process holds the audit log's lock");
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* Whether the name still is the file that is open; another run may have rotated it away. */
static bool is_current(const struct audit *audit)
{
	struct stat st;

	return fstatat(audit->directory, audit->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == audit->device && st.st_ino == audit->inode;
}

/* The name of the file that was rotated so many times. */
static const char *rotated(const struct audit *audit, unsigned times, char out[NAME_BYTES])
{
	char suffix[16] = "";

	if (times > 0)
		(void)snprintf(suffix, sizeof(suffix), ".%u", times);
	return with_suffix(audit, suffix, out);
}

static int rotate(struct audit *audit, struct err *e)
{
	char from[NAME_BYTES], to[NAME_BYTES];

	for (unsigned i = AUDIT_FILES_KEPT; i > 0; i--)
		if (renameat(audit->directory, rotated(audit, i - 1, from), audit->directory,
			     rotated(audit, i, to)) < 0 &&
		    errno != ENOENT)
			return FAIL_SYS(e, errno, "can't rotate the audit log");
	return open_log(audit, e);
}

/* What a writer that was killed left of its line is ended, so that ours is one of its own. */
static int end_broken_line(const struct audit *audit, off_t *size, struct err *e)
{
	char last = '\n';

	if (*size > 0 && pread(audit->file, &last, 1, *size - 1) < 0)
		return FAIL_SYS(e, errno, "can't read the audit log");
	if (last == '\n')
		return 0;
	if (write(audit->file, "\n", 1) != 1)
		return FAIL_SYS(e, errno, "can't write to the audit log");
	(*size)++;
	return 0;
}

static int append(const struct audit *audit, struct str line, off_t size, struct err *e)
{
	ssize_t n;

	do
		n = write(audit->file, line.p, line.len);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)line.len)
		return 0;
	int error = n < 0 ? errno : ENOSPC;
	/* Half a line is worse than none: the next one would be lost with it. */
	if (n > 0 && ftruncate(audit->file, size) < 0)
		error = errno;
	return FAIL_SYS(e, error, "can't write to the audit log");
}

static int write_locked(struct audit *audit, struct str line, struct err *e)
{
	struct stat st;

	if (!is_current(audit) && open_log(audit, e) < 0)
		return err_result(e);
	if (fstat(audit->file, &st) < 0)
		return FAIL_SYS(e, errno, "can't look at the audit log");
	if (st.st_size > 0 && st.st_size + (off_t)line.len > AUDIT_FILE_BYTES) {
		if (rotate(audit, e) < 0)
			return err_result(e);
		st.st_size = 0;
	}
	if (end_broken_line(audit, &st.st_size, e) < 0)
		return err_result(e);
	return append(audit, line, st.st_size, e);
}

int audit_add_line(struct audit *audit, struct str line, struct err *e)
{
	char shown[256];
	struct os_write_signals signals;
	int r;

	if (take_lock(audit, e) < 0)
		return err_wrap(e, "%s", utf8_show(audit->path, shown, sizeof(shown)));
	os_write_signals_block(&signals);
	r = write_locked(audit, line, e);
	os_write_signals_restore(&signals);
	(void)flock(audit->lock, LOCK_UN);
	return r < 0 ? err_wrap(e, "%s", utf8_show(audit->path, shown, sizeof(shown))) : 0;
}

int audit_add(struct audit *audit, const struct proxy_record *record, struct err *e)
{
	UNINITIALIZED char text[AUDIT_LINE_BYTES];
	struct buf line = BUF_OVER(text);
	char shown[256];

	audit_print(&line, audit->run, record);
	if (buf_check(&line, e) < 0)
		return err_wrap(e, "%s", utf8_show(audit->path, shown, sizeof(shown)));
	return audit_add_line(audit, buf_str(&line), e);
}
