/* SPDX-License-Identifier: MIT */
/*
 * See audit.h. Nothing is locked: a file only grows, and only its name changes. At first
 * all files that there are are opened, oldest first; a rotation between two of these calls
 * can show a file twice (it is known by its inode) but not hide one, since names only move
 * up. Afterwards, when the last file is not the one that the name stands for any more, the
 * files that came behind it are opened in the same way.
 */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"

enum { FILES = AUDIT_FILES_KEPT + 1, SUFFIX_BYTES = 16 };

struct log_file {
	int fd;
	dev_t device;
	ino_t inode;
	uint32_t number; /* of its suffix when it was opened */
};

struct audit_reader {
	struct str path;
	struct log_file files[FILES + 1]; /* oldest first; [0] is read now */
	size_t count;
	uint64_t line;
	uint32_t shown;	  /* number of the file that the line was in */
	bool begins_file; /* the next line is the first one of its file */
	bool skips;	  /* the rest of a line that was too long */
	size_t start, end;
	char name[PATH_MAX_BYTES + SUFFIX_BYTES];
	char bytes[4 * AUDIT_LINE_BYTES];
};

static const char *name_of(struct audit_reader *r, uint32_t number)
{
	size_t len = r->path.len;

	memcpy(r->name, r->path.p, len);
	r->name[len] = '\0';
	if (number)
		(void)snprintf(r->name + len, SUFFIX_BYTES, ".%u", (unsigned)number);
	return r->name;
}

static bool is_same(const struct log_file *a, const struct stat *b)
{
	return a->device == b->st_dev && a->inode == b->st_ino;
}

static bool is_known(const struct audit_reader *r, const struct stat *st)
{
	for (size_t i = 0; i < r->count; i++)
		if (is_same(&r->files[i], st))
			return true;
	return false;
}

/* Not there is fine. */
static int open_one(struct audit_reader *r, uint32_t number, struct err *e)
{
	int fd =
		open(name_of(r, number), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return FAIL_SYS(e, errno, "can't read %s", name_of(r, number));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		fd_close(&fd);
		return FAIL(e, ERR_POLICY, "%s is not a regular file", name_of(r, number));
	}
	if (is_known(r, &st) || r->count == COUNT_OF(r->files)) {
		fd_close(&fd);
		return 0;
	}
	r->files[r->count++] = (struct log_file){ fd, st.st_dev, st.st_ino, number };
	return 0;
}

/* Those behind the file that is read now; all of them when there is none. */
static int open_newer(struct audit_reader *r, struct err *e)
{
	uint32_t from = FILES;
	struct stat st;

	for (uint32_t i = 0; r->count && i < FILES; i++)
		if (lstat(name_of(r, i), &st) == 0 && is_same(&r->files[0], &st))
			from = i;
	while (from-- > 0)
		if (open_one(r, from, e) < 0)
			return err_result(e);
	return 0;
}

int audit_reader_open(struct arena *a, struct str path, struct audit_reader **out, struct err *e)
{
	struct audit_reader *r = ARENA_NEW(a, struct audit_reader, e);
	char shown[256];

	if (!r)
		return err_result(e);
	if (path.len == 0 || path.len >= PATH_MAX_BYTES || str_has_nul(path))
		return FAIL(e, ERR_ARGUMENT, "this is not the path of an audit log");
	if (arena_copy(a, path, &r->path, e) < 0)
		return err_result(e);
	if (open_newer(r, e) < 0) {
		audit_reader_close(r);
		return err_result(e);
	}
	if (r->count == 0)
		return FAIL_CAUSE(e, CAUSE_LOG_NOT_FOUND, "there is no audit log at %s",
				  utf8_show(path, shown, sizeof(shown)));
	*out = r;
	return 0;
}

void audit_reader_close(struct audit_reader *r)
{
	for (size_t i = 0; i < r->count; i++)
		fd_close(&r->files[i].fd);
	r->count = 0;
}

struct str audit_reader_file(struct audit_reader *r)
{
	return str_of(name_of(r, r->shown));
}

uint64_t audit_reader_line(const struct audit_reader *r)
{
	return r->line;
}

/* ---- Lines ---------------------------------------------------------------------------- */

enum step { STEP_FAILED = -1, STEP_NOTHING, STEP_LINE, STEP_ON };

static void count_line(struct audit_reader *r)
{
	r->line = r->begins_file ? 1 : r->line + 1;
	r->begins_file = false;
	r->shown = r->files[0].number;
}

/* Whether there is a line in the bytes; steps over it, or over what has come of it. */
static bool take_line(struct audit_reader *r, struct str *line, bool *is_whole)
{
	struct str bytes = { r->bytes + r->start, r->end - r->start };
	size_t len = str_find(bytes, '\n');

	*is_whole = len < bytes.len;
	if (*is_whole) {
		r->start += len + 1;
	} else if (bytes.len == sizeof(r->bytes)) {
		/* No line of ours: its beginning is told, the rest passed over. */
		r->start = r->end;
	} else {
		return false;
	}
	*line = str_first(bytes, MIN_OF(len, (size_t)AUDIT_LINE_BYTES));
	return true;
}

/* STEP_ON with more bytes of the file that is read now, STEP_NOTHING at its end. */
static enum step fill(struct audit_reader *r, struct err *e)
{
	ssize_t n;

	memmove(r->bytes, r->bytes + r->start, r->end - r->start);
	r->end -= r->start;
	r->start = 0;
	do
		n = read(r->files[0].fd, r->bytes + r->end, sizeof(r->bytes) - r->end);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		(void)FAIL_SYS(e, errno, "can't read the audit log %.*s", STR_ARG(r->path));
		return STEP_FAILED;
	}
	r->end += (size_t)n;
	return n > 0 ? STEP_ON : STEP_NOTHING;
}

/* Goes on with the next file. What is left of a line without an end is a line. */
static enum step leave_file(struct audit_reader *r, struct str *line)
{
	bool has_rest = r->end > r->start && !r->skips;

	*line = (struct str){ r->bytes + r->start,
			      MIN_OF(r->end - r->start, (size_t)AUDIT_LINE_BYTES) };
	if (has_rest)
		count_line(r);
	r->start = r->end = 0;
	r->skips = false;
	r->begins_file = true;
	fd_close(&r->files[0].fd);
	r->count--;
	memmove(r->files, r->files + 1, r->count * sizeof(r->files[0]));
	return has_rest ? STEP_LINE : STEP_ON;
}

/* Somebody emptied the file: it is read from its start. */
static void rewind_if_cut(struct audit_reader *r)
{
	struct stat st;
	off_t at = lseek(r->files[0].fd, 0, SEEK_CUR);

	if (fstat(r->files[0].fd, &st) < 0 || st.st_size >= at)
		return;
	(void)lseek(r->files[0].fd, 0, SEEK_SET);
	r->start = r->end = 0;
	r->skips = false;
	r->begins_file = true;
}

static enum step end_of_file(struct audit_reader *r, struct str *line, struct err *e)
{
	enum step step;

	if (r->count == 1) {
		rewind_if_cut(r);
		if (open_newer(r, e) < 0)
			return STEP_FAILED;
	}
	/* Also when there is a newer one: lines may have come before the rotation. */
	step = fill(r, e);
	if (step != STEP_NOTHING || r->count == 1)
		return step;
	return leave_file(r, line);
}

int audit_reader_next(struct audit_reader *r, struct str *line, struct err *e)
{
	for (;;) {
		enum step step;
		bool is_whole;

		if (take_line(r, line, &is_whole)) {
			bool is_rest = r->skips;

			r->skips = !is_whole;
			if (is_rest)
				continue;
			count_line(r);
			return 1;
		}
		step = fill(r, e);
		if (step == STEP_NOTHING)
			step = end_of_file(r, line, e);
		if (step != STEP_ON)
			return step == STEP_FAILED ? err_result(e) : (int)step;
	}
}
