/* SPDX-License-Identifier: MIT */
/* See refused.h. One file; each line is a starter, SHOWN if refused_show() has given it, a blank and the text. */
#include "audit/refused.h"

#include "base/buf.h"
#include "base/path.h"
#include "os/kept_file.h"
#include "os/os.h"

enum { FILE_MAX_BYTES = 256 << 10 };

#define SHOWN '+'

static int locate(struct arena *a, struct str state_directory, struct os_kept *out, struct err *e)
{
	*out = (struct os_kept){ .is_dir_owned = false };
	return path_join(a, state_directory, STR("refused"), &out->path, e);
}

struct kept_line {
	struct str starter, text;
	bool is_shown;
};

static struct kept_line split(struct str line)
{
	struct kept_line out = { .starter = str_first(line, str_find(line, ' ')) };

	out.text = str_from(line, out.starter.len < line.len ? out.starter.len + 1 : line.len);
	if (out.starter.len && out.starter.p[out.starter.len - 1] == SHOWN) {
		out.is_shown = true;
		out.starter.len--;
	}
	return out;
}

static void add_line(struct buf *out, struct str line)
{
	buf_add(out, line);
	buf_add_char(out, '\n');
}

/* Into `rest` what is of others that still run, into `own` what is of `starter`: whole lines. */
static void sort(struct str text, struct str starter, struct buf *rest, struct buf *own)
{
	struct str line;

	while (str_next_line(&text, &line)) {
		struct str whose = split(line).starter;

		if (str_eq(whose, starter))
			add_line(own, line);
		else if (whose.len < line.len && os_starter_is_there(whose))
			add_line(rest, line);
	}
}

static void add_lines(struct buf *out, struct str starter, struct str lines)
{
	struct str line;

	while (str_next_line(&lines, &line)) {
		if (!line.len)
			continue;
		buf_add(out, starter);
		buf_add_char(out, ' ');
		buf_add(out, line);
		buf_add_char(out, '\n');
	}
}

/* The last lines of it that fit. */
static struct str find_last(struct str lines)
{
	size_t at = lines.len > REFUSED_MAX_BYTES ? lines.len - REFUSED_MAX_BYTES : 0;

	while (at > 0 && at < lines.len && lines.p[at - 1] != '\n')
		at++;
	return str_from(lines, at);
}

static int keep(struct arena *a, const struct os_kept *file, const struct os_kept_lock *lock,
		struct str starter, struct str lines, struct err *e)
{
	scoped_buf rest = BUF_INIT(FILE_MAX_BYTES), own = BUF_INIT(2 * FILE_MAX_BYTES);
	struct os_kept_stamp stamp;
	struct str text;

	if (os_kept_read(file, a, FILE_MAX_BYTES, &text, &stamp, e) < 0)
		return err_result(e);
	sort(text, starter, &rest, &own);
	add_lines(&own, starter, lines);
	if (buf_check(&own, e) < 0)
		return err_result(e);
	buf_add(&rest, find_last(buf_str(&own)));
	return buf_check(&rest, e) < 0 ? err_result(e)
				       : os_kept_write(file, lock, buf_str(&rest), e);
}

int refused_keep(struct arena *a, struct str state_directory, struct str starter, struct str lines,
		 struct err *e)
{
	struct os_kept_lock lock = OS_KEPT_LOCK_INIT;
	struct os_kept file;
	int r;

	if (locate(a, state_directory, &file, e) < 0 || os_kept_lock(&file, &lock, e) < 0)
		return err_result(e);
	r = keep(a, &file, &lock, starter, lines, e);
	os_kept_unlock(&lock);
	return r;
}

/*
 * Into `out` the texts of `own`. Where they stay, without those that were shown, and `rest` gets all of them
 * marked.
 */
static void give(struct str own, bool stays, struct buf *rest, struct buf *out)
{
	struct str line;

	while (str_next_line(&own, &line)) {
		struct kept_line kept = split(line);

		if (!stays || !kept.is_shown)
			add_line(out, kept.text);
		if (!stays)
			continue;
		buf_add(rest, kept.starter);
		buf_add_char(rest, SHOWN);
		buf_add_char(rest, ' ');
		add_line(rest, kept.text);
	}
}

static int get(struct arena *a, const struct os_kept *file, struct str starter, bool stays,
	       struct str *out, struct err *e)
{
	scoped_buf rest = BUF_INIT(FILE_MAX_BYTES), own = BUF_INIT(FILE_MAX_BYTES),
		   given = BUF_INIT(FILE_MAX_BYTES);
	struct os_kept_lock lock = OS_KEPT_LOCK_INIT;
	struct os_kept_stamp stamp;
	struct str text;
	int r;

	if (os_kept_lock(file, &lock, e) < 0)
		return err_result(e);
	r = os_kept_read(file, a, FILE_MAX_BYTES, &text, &stamp, e);
	if (r == 0) {
		sort(text, starter, &rest, &own);
		r = buf_check(&own, e);
	}
	if (r == 0) {
		give(buf_str(&own), stays, &rest, &given);
		r = buf_check(&given, e);
	}
	if (r == 0 && given.len)
		r = buf_check(&rest, e) < 0 ? err_result(e)
					    : os_kept_write(file, &lock, buf_str(&rest), e);
	os_kept_unlock(&lock);
	return r < 0 ? r : arena_copy(a, buf_str(&given), out, e);
}

static int find(struct arena *a, struct str state_directory, struct str starter, bool stays,
		struct str *out, struct err *e)
{
	struct os_kept_stamp stamp;
	struct os_kept file;
	struct str text;

	*out = STR_EMPTY;
	/* Most often there is none, and then nothing is made or locked. */
	if (locate(a, state_directory, &file, e) < 0 ||
	    os_kept_read(&file, a, FILE_MAX_BYTES, &text, &stamp, e) < 0)
		return err_result(e);
	return text.len ? get(a, &file, starter, stays, out, e) : 0;
}

int refused_show(struct arena *a, struct str state_directory, struct str starter, struct str *out,
		 struct err *e)
{
	return find(a, state_directory, starter, true, out, e);
}

int refused_take(struct arena *a, struct str state_directory, struct str starter, struct str *out,
		 struct err *e)
{
	return find(a, state_directory, starter, false, out, e);
}
