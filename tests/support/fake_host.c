/* SPDX-License-Identifier: MIT */
/*
 * See fake_host.h. It is as strict as plan/host.h lets a host be: a path that
 * is not plain, or that leads through a link, is a mistake of the caller and
 * fails with ERR_INTERNAL instead of being followed.
 */
#include "fake_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/path.h"

struct fake_file {
	struct str path; /* own memory */
	struct str text; /* a file's content, a link's target; own memory */
	enum host_type type;
	bool is_closed; /* a directory that can't be searched */
	bool is_unreadable;
	bool is_locked, is_sealed;
	bool is_open, is_others;
	bool is_placeholder;
	uint64_t inode;
};

/* Test code: what can't go on says why and stops. */
static void *or_die(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

static void die(const char *line, const char *why)
{
	(void)fprintf(stderr, "fake_host: %s: %.60s\n", why, line);
	abort();
}

static struct str copy_of(struct str s)
{
	char *copy = or_die(malloc(s.len + 1));

	memcpy(copy, s.p, s.len);
	copy[s.len] = '\0';
	return (struct str){ copy, s.len };
}

static void free_str(struct str s)
{
	free((void *)(uintptr_t)s.p);
}

/* Where `path` is or would be: the array is in path_cmp() order. */
static size_t position_of(const struct fake_host *h, struct str path)
{
	size_t low = 0, high = h->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (path_cmp(h->files[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct fake_file *find(const struct fake_host *h, struct str path)
{
	size_t at = position_of(h, path);

	return at < h->count && str_eq(h->files[at].path, path) ? &h->files[at] : NULL;
}

static struct fake_file *add_file(struct fake_host *h, struct str path, enum host_type type)
{
	struct fake_file *f = find(h, path);
	size_t at;

	if (f) {
		f->type = type;
		return f;
	}
	if (!str_is(path, "/"))
		if (!find(h, path_parent(path)))
			(void)add_file(h, path_parent(path), HOST_DIR);
	if (h->count == h->room) {
		h->room = h->room ? h->room * 2 : 16;
		h->files = or_die(realloc(h->files, h->room * sizeof(*h->files)));
	}
	at = position_of(h, path);
	memmove(&h->files[at + 1], &h->files[at], (h->count - at) * sizeof(*h->files));
	h->files[at] = (struct fake_file){ .path = copy_of(path),
					   .text = copy_of(STR_EMPTY),
					   .type = type,
					   .inode = ++h->last_inode };
	h->count++;
	return &h->files[at];
}

static struct str unescape(struct str s)
{
	char *out = or_die(malloc(s.len + 1));
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.p[i];

		if (c == '\\' && i + 1 < s.len) {
			c = s.p[++i];
			c = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c == '0' ? '\0' : c);
		}
		out[n++] = c;
	}
	out[n] = '\0';
	return (struct str){ out, n };
}

/* The position of `mark` in `s`, or s.len. */
static size_t find_text(struct str s, struct str mark)
{
	for (size_t i = 0; i + mark.len <= s.len; i++)
		if (str_has_prefix(str_from(s, i), mark))
			return i;
	return s.len;
}

static void add_line(struct fake_host *h, struct str line)
{
	static const char letters[] = "dflohcxupsaw";
	static const enum host_type types[] = { HOST_DIR, HOST_FILE, HOST_LINK, HOST_OTHER,
						HOST_DIR, HOST_DIR,  HOST_DIR,	HOST_FILE,
						HOST_DIR, HOST_DIR,  HOST_DIR,	HOST_DIR };
	const char *letter = memchr(letters, line.p[0], sizeof(letters) - 1);
	struct str mark = line.p[0] == 'l' ? STR(" -> ") : STR(" = ");
	struct str rest = str_from(line, 2);
	size_t end = find_text(rest, mark);
	struct fake_file *f;

	if (line.len < 3 || !letter || line.p[1] != ' ' || rest.p[0] != '/')
		die(line.p, "not a line of a tree");
	f = add_file(h, str_first(rest, end), types[letter - letters]);
	f->is_closed = *letter == 'h' || *letter == 'c';
	f->is_placeholder = *letter == 'p';
	f->is_open = *letter == 's';
	f->is_others = *letter == 'a';
	f->is_locked = *letter == 'c' || *letter == 'x' || *letter == 'u';
	f->is_sealed = *letter == 'w';
	f->is_unreadable = f->is_closed || f->is_locked;
	free_str(f->text);
	f->text = unescape(str_from(rest, end + mark.len));
	if (f->type == HOST_LINK && f->text.len == 0)
		die(line.p, "a link without a target");
}

void fake_host_add(struct fake_host *h, const char *text)
{
	struct str rest = str_of(text);

	while (rest.len) {
		struct str line = str_first(rest, str_find(rest, '\n'));

		rest = str_from(rest, line.len + 1);
		while (line.len && (line.p[0] == ' ' || line.p[0] == '\t'))
			line = str_from(line, 1);
		if (line.len && line.p[0] != '#')
			add_line(h, line);
	}
}

void fake_host_remove(struct fake_host *h, const char *path)
{
	size_t from = position_of(h, str_of(path));
	size_t to = from;

	for (; to < h->count && path_is_under(h->files[to].path, str_of(path)); to++) {
		free_str(h->files[to].path);
		free_str(h->files[to].text);
	}
	memmove(&h->files[from], &h->files[to], (h->count - to) * sizeof(*h->files));
	h->count -= to - from;
}

/* What lies on the way to `path`, itself excluded: HOST_DIR when all is well. */
static int check_way(const struct fake_host *h, struct str path, enum host_type *out, struct err *e)
{
	struct str name;
	size_t at = 0;

	*out = HOST_DIR;
	for (struct str dir = STR("/"); *out == HOST_DIR && path_next(path, &at, &name);
	     dir = str_first(path, at)) {
		const struct fake_file *f = find(h, dir);

		if (str_is(name, ".") || str_is(name, ".."))
			return FAIL(e, ERR_INTERNAL, "fake host: %.*s is not plain", STR_ARG(path));
		if (f && f->type == HOST_LINK)
			return FAIL(e, ERR_INTERNAL, "fake host: %.*s leads through the link %.*s",
				    STR_ARG(path), STR_ARG(dir));
		if (!f || f->type != HOST_DIR)
			*out = HOST_MISSING;
		else if (f->is_closed)
			*out = HOST_HIDDEN;
	}
	return 0;
}

/* Counts a call, fails it when asked to, and finds the file (NULL: see `way`). */
static int begin(struct fake_host *h, struct str path, enum host_type *way, struct fake_file **out,
		 struct err *e)
{
	int r;

	if (++h->calls == h->fail_at)
		return FAIL_SYS(e, EIO, "fake host: call %zu", h->calls);
	if (!path_is_absolute(path) || str_has_nul(path) ||
	    (path.len > 1 && str_has_suffix(path, STR("/"))))
		return FAIL(e, ERR_INTERNAL, "fake host: '%.*s' is not plain", STR_ARG(path));
	r = check_way(h, path, way, e);
	if (r < 0)
		return r;
	*out = *way == HOST_DIR ? find(h, path) : NULL;
	return 0;
}

/* As the links of a real directory tell; those below it stand behind it. */
static bool has_no_dirs(const struct fake_host *h, const struct fake_file *dir)
{
	const struct fake_file *end = h->files + h->count;

	for (const struct fake_file *f = dir + 1; f < end && path_is_under(f->path, dir->path); f++)
		if (f->type == HOST_DIR)
			return false;
	return dir->type == HOST_DIR;
}

static int look(void *user, struct str path, struct host_file *out, struct err *e)
{
	enum host_type way;
	struct fake_file *f;
	int r = begin(user, path, &way, &f, e);

	if (r < 0)
		return r;
	*out = (struct host_file){ .type = way == HOST_HIDDEN ? HOST_HIDDEN : HOST_MISSING };
	if (f && !f->is_placeholder)
		*out = (struct host_file){ .type = f->type,
					   .device = 1,
					   .inode = f->inode,
					   .is_locked = f->is_locked,
					   .is_sealed = f->is_sealed,
					   .is_others = f->is_others,
					   .is_open = f->is_open,
					   .has_no_dirs = has_no_dirs(user, f) };
	return 0;
}

static int read_text(void *user, struct str path, enum host_type type, struct buf *out,
		     struct err *e)
{
	enum host_type way;
	struct fake_file *f;
	int r = begin(user, path, &way, &f, e);

	if (r < 0)
		return r;
	if (!f)
		return FAIL_SYS(e, way == HOST_HIDDEN ? EACCES : ENOENT, "fake host: %.*s",
				STR_ARG(path));
	if (f->type != type)
		return FAIL_SYS(e, EINVAL, "fake host: %.*s", STR_ARG(path));
	if (f->is_unreadable)
		return FAIL_SYS(e, EACCES, "fake host: %.*s", STR_ARG(path));
	buf_add(out, f->text);
	return buf_check(out, e);
}

static int read_link(void *user, struct str path, struct buf *out, struct err *e)
{
	return read_text(user, path, HOST_LINK, out, e);
}

static int read_file(void *user, struct str path, struct buf *out, struct err *e)
{
	return read_text(user, path, HOST_FILE, out, e);
}

static int list(void *user, struct str path,
		int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		void *arg, struct err *e)
{
	struct fake_host *h = user;
	enum host_type way;
	struct fake_file *f;
	int r = begin(h, path, &way, &f, e);

	if (r < 0)
		return r;
	if (!f || f->type != HOST_DIR || f->is_unreadable)
		return FAIL_SYS(e, way == HOST_HIDDEN || (f && f->is_unreadable) ? EACCES : ENOENT,
				"fake host: %.*s", STR_ARG(path));
	for (size_t i = position_of(h, path) + 1; i < h->count; i++) {
		struct fake_file *below = &h->files[i];

		if (!path_is_under(below->path, path))
			break;
		if (!str_eq(path_parent(below->path), path))
			continue;
		r = each(arg, path_name(below->path), below->type, e);
		if (r)
			return r;
	}
	return 0;
}

void fake_host_init(struct fake_host *h, const char *text)
{
	*h = (struct fake_host){ .host = { .user = h,
					   .look = look,
					   .read_link = read_link,
					   .read_file = read_file,
					   .list = list } };
	(void)add_file(h, STR("/"), HOST_DIR);
	fake_host_add(h, text);
}

void fake_host_done(struct fake_host *h)
{
	for (size_t i = 0; i < h->count; i++) {
		free_str(h->files[i].path);
		free_str(h->files[i].text);
	}
	free(h->files);
	h->files = NULL;
	h->count = h->room = 0;
}
