/* SPDX-License-Identifier: MIT */
/* See fs_key.h. */
#include "policy/fs_key.h"

#include "base/path.h"
#include "policy/schema.h"

enum { KEY_MAX_BYTES = 2 * PATH_MAX_BYTES }; /* every byte of a path may be escaped */

static const struct token {
	const char *name;
	enum fs_anchor anchor;
} tokens[] = {
	{ ":root", FS_ROOT },
	{ ":minimal", FS_MINIMAL },
	{ ":workspace_roots", FS_WORKSPACE_ROOTS },
	{ ":project_roots", FS_WORKSPACE_ROOTS }, /* its old name */
	{ ":tmpdir", FS_TMPDIR },
	{ ":slash_tmp", FS_SLASH_TMP },
	{ ":secrets", FS_SECRETS },
};

const char *fs_anchor_name(enum fs_anchor anchor)
{
	for (size_t i = 0; i < COUNT_OF(tokens); i++)
		if (tokens[i].anchor == anchor)
			return tokens[i].name;
	return anchor == FS_HOME ? "~" : "";
}

/* "." and "..", also when written "\." and ".\.". */
static bool is_dots(struct str component)
{
	size_t dots = 0;

	for (size_t i = 0; i < component.len; i++) {
		if (component.p[i] == '\\' && i + 1 < component.len)
			i++;
		if (component.p[i] != '.')
			return false;
		dots++;
	}
	return dots == 1 || dots == 2;
}

/* A '\' at the end: it would escape the slash, or nothing. */
static bool has_lone_escape(struct str component)
{
	size_t run = 0;

	while (run < component.len && component.p[component.len - 1 - run] == '\\')
		run++;
	return run % 2 == 1;
}

/* `is_pattern`: a '\' escapes the next character. */
static int check_component(struct str text, struct str component, bool is_pattern,
			   struct origin origin, struct err *e)
{
	if (str_is(component, ".") || str_is(component, "..") || (is_pattern && is_dots(component)))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_PATH, origin,
				     "the path '%s' has a '.' or '..' component; write it without",
				     SHOWN(text));
	if (is_pattern && has_lone_escape(component))
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_PATH, origin,
			"'%s' has a '\\' that escapes nothing; write '\\\\' for a backslash",
			SHOWN(text));
	return 0;
}

static int check_bytes(struct str text, struct origin origin, struct err *e)
{
	if (str_has_nul(text))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_PATH, origin, "the path '%s' contains a NUL byte",
				     SHOWN(text));
	if (text.len >= KEY_MAX_BYTES)
		return FAIL_AT(e, ERR_LIMIT, origin,
			       "a path of %zu bytes is too long, the limit is %d", text.len,
			       PATH_MAX_BYTES - 1);
	return 0;
}

/* The components of `text` with one slash between two, and one before them when `is_absolute`. */
static int tidy(struct arena *a, struct str text, bool is_absolute, bool is_pattern,
		struct origin origin, struct str *out, struct err *e)
{
	char *tidied = arena_alloc(a, text.len + 2, e);
	struct str component;
	size_t len = 0;
	size_t at = 0;

	if (!tidied)
		return err_result(e);
	while (path_next(text, &at, &component)) {
		int r = check_component(text, component, is_pattern, origin, e);

		if (r < 0)
			return r;
		if (is_absolute || len > 0)
			tidied[len++] = '/';
		memcpy(tidied + len, component.p, component.len);
		len += component.len;
	}
	if (is_absolute && len == 0)
		tidied[len++] = '/';
	*out = (struct str){ tidied, len };
	return 0;
}

/*
 * SECURITY: normalize every key and subpath before joining them, so that a '{' of a key can't
 * be closed by a '}' of a subpath.
 */
static int spell(struct arena *a, struct str *pattern, struct origin origin, struct err *e)
{
	struct glob_spelling spelling;

	if (glob_spell(a, *pattern, &spelling, e) < 0)
		return err_wrap_place(e, origin);
	*pattern = spelling.pattern;
	return 0;
}

static int check_literal(struct str path, struct origin origin, struct err *e)
{
	struct str component;
	size_t at = 0;

	if (path.len >= PATH_MAX_BYTES)
		return FAIL_AT(e, ERR_LIMIT, origin,
			       "a path of %zu bytes is too long, the limit is %d", path.len,
			       PATH_MAX_BYTES - 1);
	while (path_next(path, &at, &component))
		if (component.len > PATH_MAX_COMPONENT)
			return FAIL_AT(e, ERR_LIMIT, origin,
				       "'%s' is %zu bytes long, the limit for one name is %d",
				       SHOWN(component), component.len, PATH_MAX_COMPONENT);
	return 0;
}

static int parse_token(struct str text, struct fs_key *out)
{
	*out = (struct fs_key){ .anchor = FS_ROOT, .is_unknown = true, .pattern = STR_EMPTY };
	for (size_t i = 0; i < COUNT_OF(tokens); i++)
		if (str_is(text, tokens[i].name))
			*out = (struct fs_key){ .anchor = tokens[i].anchor, .pattern = STR_EMPTY };
	return 0;
}

/* Refuses a key that is neither absolute nor below '~' nor a token, and says what was probably meant. */
static int fail_relative(struct str text, struct origin origin, struct err *e)
{
	struct str plain = text;

	if (text.len == 0)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_PATH, origin,
			"an empty key is not a path; write \":workspace_roots\" for the "
			"working directory, \":root\" for everything");
	if (str_has_prefix(text, STR("$HOME/")) || str_has_prefix(text, STR("${HOME}/")))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_PATH, origin,
				     "in '%s' variables are not expanded; write \"~/%s\"",
				     SHOWN(text), SHOWN(str_from(text, str_find(text, '/') + 1)));
	if (text.p[0] == '$')
		return FAIL_CAUSE_AT(e, CAUSE_BAD_PATH, origin,
				     "in '%s' variables are not expanded; write the path itself",
				     SHOWN(text));
	if (text.p[0] == '~')
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_PATH, origin,
			"'%s' names the home of another user, which Cordon does not look up; write "
			"its absolute path, or \"~/\" for your own",
			SHOWN(text));
	if (text.len > 2 && text.p[1] == ':' && (text.p[2] == '\\' || text.p[2] == '/'))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_PATH, origin,
				     "'%s' is a Windows path; start it with '/' or '~/'",
				     SHOWN(text));
	while (str_has_prefix(plain, STR("./")))
		plain = str_from(plain, 2);
	if (plain.len == 0 || str_is(plain, ".") || str_has_prefix(plain, STR("..")))
		plain = STR("sub/path");
	return FAIL_CAUSE_AT(
		e, CAUSE_BAD_PATH, origin,
		"the path '%s' is relative; start it with '/' or '~/', or write it inside a "
		"table: \":workspace_roots\" = { \"%s\" = ... }",
		SHOWN(text), SHOWN(plain));
}

int fs_key_parse(struct arena *a, struct str text, struct origin origin, struct fs_key *out,
		 struct err *e)
{
	struct fs_key key = { .anchor = FS_ABSOLUTE, .pattern = STR_EMPTY };
	int r = check_bytes(text, origin, e);

	if (r < 0)
		return r;
	if (str_has_prefix(text, STR(":")))
		return parse_token(text, out);
	if (str_is(text, "~") || str_has_prefix(text, STR("~/"))) {
		key.anchor = FS_HOME;
		text = str_from(text, 1);
	} else if (!path_is_absolute(text)) {
		return fail_relative(text, origin, e);
	}
	r = tidy(a, text, key.anchor == FS_ABSOLUTE, true, origin, &key.pattern, e);
	if (r == 0)
		r = spell(a, &key.pattern, origin, e);
	if (r == 0)
		*out = key;
	return r;
}

/* Checks a subpath (P5): no empty component, no "." or "..". */
static int check_subpath(struct arena *a, struct str sub, struct origin origin, struct str *out,
			 struct err *e)
{
	int r = check_bytes(sub, origin, e);

	if (r < 0)
		return r;
	if (str_is(sub, ".")) {
		*out = STR_EMPTY;
		return 0;
	}
	r = tidy(a, sub, false, true, origin, out, e);
	if (r < 0)
		return r;
	if (path_is_absolute(sub) && out->len > 0)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_PATH, origin,
			"the absolute path '%s' can't be inside a table; write it as an "
			"entry of its own, or \"%s\" for what is below the key",
			SHOWN(sub), SHOWN(*out));
	if (sub.len == 0 || out->len != sub.len)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_PATH, origin,
			"the subpath '%s' has an empty component; write names with one '/' "
			"between two, or \".\" for the key itself",
			SHOWN(sub));
	return spell(a, out, origin, e);
}

static int join(struct arena *a, struct str base, struct str rest, struct str *out, struct err *e)
{
	bool has_slash = base.len == 0 || base.p[base.len - 1] == '/';
	char *text;
	size_t len = base.len;

	if (rest.len == 0 || base.len == 0) {
		*out = rest.len == 0 ? base : rest;
		return 0;
	}
	text = arena_alloc(a, base.len + rest.len + 2, e);
	if (!text)
		return err_result(e);
	memcpy(text, base.p, base.len);
	if (!has_slash)
		text[len++] = '/';
	memcpy(text + len, rest.p, rest.len);
	*out = (struct str){ text, len + rest.len };
	return 0;
}

int fs_key_scope(struct arena *a, struct fs_key *key, struct str sub, struct origin origin,
		 struct err *e)
{
	struct str rest = STR_EMPTY;
	int r = check_subpath(a, sub, origin, &rest, e);

	if (r < 0)
		return r;
	if (rest.len > 0 && !key->is_unknown &&
	    (key->anchor == FS_MINIMAL || key->anchor == FS_SECRETS))
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_PATH, origin,
			"'%s' stands for many paths and can't have subpaths; name the path "
			"itself",
			fs_anchor_name(key->anchor));
	return join(a, key->pattern, rest, &key->pattern, e);
}

/* P6: with read and write, x/ ** means the directory x. */
static struct str strip_subtree(struct str pattern)
{
	for (;;) {
		if (str_is(pattern, "**"))
			pattern = str_first(pattern, 0);
		else if (str_is(pattern, "/**"))
			pattern = str_first(pattern, 1);
		else if (str_has_suffix(pattern, STR("/**")))
			pattern = str_first(pattern, pattern.len - 3);
		else
			return pattern;
	}
}

int fs_key_target(struct arena *a, const struct fs_key *key, enum access access,
		  struct origin origin, struct fs_target *out, struct err *e)
{
	struct str pattern = access == ACCESS_DENY ? key->pattern : strip_subtree(key->pattern);
	struct fs_target found = { STR_EMPTY, STR_EMPTY };
	struct glob_spelling spelling;
	size_t prefix;
	int r = glob_spell(a, pattern, &spelling, e);

	if (r < 0)
		return r;
	if (spelling.is_literal) {
		found.path = spelling.literal;
		r = check_literal(found.path, origin, e);
		if (r == 0)
			*out = found;
		return r;
	}
	if (access != ACCESS_DENY)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_PATH, origin,
			"'%s' is a glob, and a glob may only deny; for %s access name the path "
			"itself, end it in '/**' for all below it, or put a '\\' before "
			"each of * ? [ { that is part of a name",
			SHOWN(pattern), access_name(access));
	if (pattern.len > GLOB_MAX_BYTES)
		return FAIL_AT(e, ERR_LIMIT, origin,
			       "a glob of %zu bytes is too long, the limit is %d", pattern.len,
			       GLOB_MAX_BYTES);
	prefix = glob_literal_prefix(pattern);
	found.path = str_first(pattern, prefix > 1 ? prefix - 1 : prefix);
	found.glob = str_from(pattern, prefix);
	r = check_literal(found.path, origin, e);
	if (r == 0)
		*out = found;
	return r;
}

int fs_key_subpath(struct arena *a, const struct fs_target *target, struct str *out, struct err *e)
{
	int r;

	if (target->glob.len > 0)
		return join(a, target->path, target->glob, out, e);
	r = glob_escape(a, target->path, out, e);
	if (r == 0 && out->len == 0)
		*out = STR(".");
	return r;
}

/* The name of the anchor, then the pattern below it. */
static int add_anchor(struct arena *a, enum fs_anchor anchor, struct str pattern, struct str *out,
		      struct err *e)
{
	if (anchor == FS_ABSOLUTE)
		*out = pattern;
	else if (str_is(pattern, ".") || pattern.len == 0)
		*out = str_of(fs_anchor_name(anchor));
	else
		return join(a, str_of(fs_anchor_name(anchor)), pattern, out, e);
	return 0;
}

int fs_key_text(struct arena *a, enum fs_anchor anchor, const struct fs_target *target,
		struct str *out, struct err *e)
{
	struct str pattern = STR_EMPTY;
	int r = fs_key_subpath(a, target, &pattern, e);

	return r < 0 ? r : add_anchor(a, anchor, pattern, out, e);
}

int fs_key_base_text(struct arena *a, const struct fs_key *key, struct str *out, struct err *e)
{
	return add_anchor(a, key->anchor, key->pattern, out, e);
}

int fs_key_normal_subpath(struct arena *a, struct str sub, enum access access, struct origin origin,
			  struct str *out, struct err *e)
{
	struct fs_key key = { .anchor = FS_WORKSPACE_ROOTS, .pattern = STR_EMPTY };
	struct fs_target target = { STR_EMPTY, STR_EMPTY };
	int r = fs_key_scope(a, &key, sub, origin, e);

	if (r == 0)
		r = fs_key_target(a, &key, access, origin, &target, e);
	return r < 0 ? r : fs_key_subpath(a, &target, out, e);
}

int fs_literal_parse(struct arena *a, struct str text, bool may_be_relative, const char *what,
		     struct origin origin, enum fs_anchor *anchor, struct str *path, struct err *e)
{
	enum fs_anchor found = FS_WORKSPACE_ROOTS;
	struct str rest = text;
	struct str tidied = STR_EMPTY;
	int r = check_bytes(text, origin, e);

	if (r < 0)
		return r;
	if (path_is_absolute(text)) {
		found = FS_ABSOLUTE;
	} else if (str_is(text, "~") || str_has_prefix(text, STR("~/"))) {
		found = FS_HOME;
		rest = str_from(text, 1);
	} else if (!may_be_relative || text.len == 0 || text.p[0] == '~' || text.p[0] == ':') {
		return FAIL_CAUSE_AT(e, CAUSE_BAD_PATH, origin,
				     "%s '%s' has to be a path that starts with '/' or '~/'%s",
				     what, SHOWN(text),
				     may_be_relative ? ", or one below the working directory" : "");
	}
	if (found == FS_WORKSPACE_ROOTS && str_is(text, "."))
		rest = STR_EMPTY;
	r = tidy(a, rest, found == FS_ABSOLUTE, false, origin, &tidied, e);
	if (r == 0)
		r = check_literal(tidied, origin, e);
	if (r < 0)
		return r;
	*anchor = found;
	*path = tidied;
	return 0;
}

int fs_literal_text(struct arena *a, enum fs_anchor anchor, struct str path, struct str *out,
		    struct err *e)
{
	if (anchor == FS_WORKSPACE_ROOTS)
		*out = path.len > 0 ? path : STR(".");
	else
		return add_anchor(a, anchor, path, out, e);
	return 0;
}
