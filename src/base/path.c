/* SPDX-License-Identifier: MIT */
/* See path.h. Text only: nothing here may ask the file system. */
#include "base/path.h"

bool path_is_absolute(struct str path)
{
	return path.len > 0 && path.p[0] == '/';
}

bool path_next(struct str path, size_t *at, struct str *name)
{
	size_t from = *at;
	size_t to;

	while (from < path.len && path.p[from] == '/')
		from++;
	if (from >= path.len)
		return false;
	/* Components are short: a loop is faster than memchr(). */
	for (to = from; to < path.len && path.p[to] != '/'; to++)
		;
	*name = (struct str){ path.p + from, to - from };
	*at = to;
	return true;
}

/* A path under construction: "" stands for "/" until the end. */
struct draft {
	char *bytes;
	size_t len;
};

/* With room for all components of both, and for the NUL behind them. */
static int draft_init(struct draft *d, struct arena *a, struct str base, struct str path,
		      struct err *e)
{
	size_t room = MIN_OF(base.len, (size_t)PATH_MAX_BYTES) +
		      MIN_OF(path.len, (size_t)PATH_MAX_BYTES) + sizeof("//");

	d->len = 0;
	d->bytes = arena_alloc(a, MIN_OF(room, (size_t)PATH_MAX_BYTES), e);
	return d->bytes ? 0 : err_result(e);
}

static struct str draft_end(struct draft *d)
{
	if (d->len == 0)
		d->bytes[d->len++] = '/';
	d->bytes[d->len] = '\0';
	return (struct str){ d->bytes, d->len };
}

static int add_name(struct draft *d, struct str name, struct err *e)
{
	if (name.len > PATH_MAX_COMPONENT)
		return FAIL_CAUSE(e, CAUSE_PATH_LIMIT,
				  "a path component is %zu bytes long, the limit is %d", name.len,
				  PATH_MAX_COMPONENT);
	if (str_is(name, "."))
		return 0;
	if (str_is(name, "..")) {
		/* Above the root is the root, as the kernel has it. */
		while (d->len > 0 && d->bytes[--d->len] != '/')
			;
		return 0;
	}
	if (name.len + 2 > PATH_MAX_BYTES - d->len)
		return FAIL_CAUSE(e, CAUSE_PATH_LIMIT, "a path is longer than %d bytes",
				  PATH_MAX_BYTES - 1);
	d->bytes[d->len++] = '/';
	memcpy(d->bytes + d->len, name.p, name.len);
	d->len += name.len;
	return 0;
}

static int add_names(struct draft *d, struct str path, struct err *e)
{
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name)) {
		int r = add_name(d, name, e);

		if (r < 0)
			return r;
	}
	return 0;
}

int path_plain(struct arena *a, struct str base, struct str path, struct str *out, struct err *e)
{
	struct draft d;

	if (str_has_nul(path) || str_has_nul(base))
		return FAIL(e, ERR_SYNTAX, "a path contains a NUL byte");
	if (path_is_absolute(path))
		base = STR_EMPTY;
	if (draft_init(&d, a, base, path, e) < 0 || add_names(&d, base, e) < 0 ||
	    add_names(&d, path, e) < 0)
		return err_result(e);
	*out = draft_end(&d);
	return 0;
}

int path_join(struct arena *a, struct str dir, struct str rest, struct str *out, struct err *e)
{
	struct draft d;

	if (rest.len == 0)
		return arena_copy(a, dir, out, e);
	if (draft_init(&d, a, dir, rest, e) < 0 || add_names(&d, dir, e) < 0 ||
	    add_names(&d, rest, e) < 0)
		return err_result(e);
	*out = draft_end(&d);
	return 0;
}

bool path_is_under(struct str path, struct str dir)
{
	if (!str_has_prefix(path, dir))
		return false;
	return path.len == dir.len || str_is(dir, "/") || path.p[dir.len] == '/';
}

struct str path_below(struct str path, struct str dir)
{
	struct str rest = str_from(path, dir.len);

	return path_is_absolute(rest) ? str_from(rest, 1) : rest;
}

size_t path_depth(struct str path)
{
	size_t depth = 0;
	bool is_between = true;

	for (size_t i = 0; i < path.len; i++) {
		bool is_slash = path.p[i] == '/';

		depth += is_between && !is_slash;
		is_between = is_slash;
	}
	return depth;
}

/* Where the last component begins. */
static size_t name_start(struct str path)
{
	size_t at = path.len;

	while (at > 0 && path.p[at - 1] != '/')
		at--;
	return at;
}

struct str path_parent(struct str path)
{
	size_t at = name_start(path);

	return str_first(path, at > 1 ? at - 1 : at);
}

struct str path_name(struct str path)
{
	return str_from(path, name_start(path));
}

bool path_is_kernel_tree(struct str path)
{
	return str_is(path, "/proc") || str_is(path, "/sys") || str_is(path, "/dev");
}

/*
 * The separator sorts before every byte of a name; otherwise "/a-b" would come between "/a" and
 * "/a/b".
 */
static int rank(char c)
{
	return c == '/' ? -1 : (unsigned char)c;
}

int path_cmp(struct str a, struct str b)
{
	size_t n = MIN_OF(a.len, b.len);
	size_t i = bytes_same(a.p, b.p, n);

	if (i < n)
		return rank(a.p[i]) < rank(b.p[i]) ? -1 : 1;
	return (a.len > b.len) - (a.len < b.len);
}
