/* SPDX-License-Identifier: MIT */
/* Random profiles over a tree; see agreement.h. */
#include <stdio.h>
#include <stdlib.h>

#include "agreement.h"
#include "base/path.h"
#include "base/toml.h"
#include "base/utf8.h"

enum { LINE_BYTES = 1 << 16 };

static const char *const accesses[] = { "read", "read", "write", "write", "deny" };
static const char *const globs[] = { "ws/**/.env", "ws/*",	    "ws/**/x.key",
				     "ws/a/*",	   "other/**/.env", "ws/?",
				     "ws/*/*/b",   "other/{a,b}",   "ws/**/[a-c]/**",
				     "home/.*",	   "ws/**/m*/a",    "other/**/*.key",
				     "ws/gone/*",  "ws/**/.git",    "ws/d*/**/src" };

static const char *pick(struct tree *t, const char *const *list, size_t count)
{
	return list[tree_below(t, count)];
}
#define PICK(t, list) pick((t), (list), COUNT_OF(list))

static void check(int r)
{
	if (r < 0)
		exit(99);
}

/* Not twice: TOML would refuse it. */
static void add_line(struct tree *t, struct draft *p, bool is_entry, struct str key,
		     const char *value)
{
	scoped_buf b = BUF_INIT(LINE_BYTES);
	struct err e = ERR_INIT;
	struct line *line;

	for (size_t i = 0; i < p->lines.count; i++)
		if (p->lines.items[i].is_entry == is_entry && str_eq(p->lines.items[i].key, key))
			return;
	if (utf8_check(key) != key.len)
		return; /* TOML has no way to write it */
	toml_add_string(&b, key);
	buf_printf(&b, " = %s", value);
	line = VEC_PUSH(&t->a, &p->lines, &e);
	check(line ? buf_check(&b, &e) : -1);
	line->is_entry = is_entry;
	check(arena_copy(&t->a, key, &line->key, &e));
	check(arena_copy(&t->a, buf_str(&b), &line->text, &e));
}

static void add_entry(struct tree *t, struct draft *p, struct str key, const char *access)
{
	char value[20];

	(void)snprintf(value, sizeof(value), "\"%s\"", access);
	add_line(t, p, true, key, value);
}

static struct str random_path(struct tree *t)
{
	const struct spot *spot;

	do
		spot = &t->spots.items[tree_below(t, t->spots.count)];
	while (spot->is_foreign || path_is_under(spot->path, tree_path(t, "bin")));
	return spot->path;
}

/* Entries on the way down to some path: narrower in wider in narrower. */
static void add_chain(struct tree *t, struct draft *p)
{
	struct str path = random_path(t);
	size_t links = 1 + tree_below(t, 5);

	while (links-- > 0 && path.len > t->top.len) {
		add_entry(t, p, path, PICK(t, accesses));
		path = path_parent(path);
		if (tree_chance(t, 4))
			path = path_parent(path);
	}
}

static void add_missing(struct tree *t, struct draft *p)
{
	char text[PATH_MAX_BYTES + 30];
	struct err e = ERR_INIT;
	struct str key;

	(void)snprintf(text, sizeof(text), "%s/gone%s", random_path(t).p,
		       tree_chance(t, 2) ? "" : "/deeper");
	check(arena_copy(&t->a, str_of(text), &key, &e));
	add_entry(t, p, key, PICK(t, accesses));
}

/* A link, or something behind one, that is narrower than what is around it. */
static void add_link_entry(struct tree *t, struct draft *p)
{
	size_t from = tree_below(t, t->spots.count);
	char text[PATH_MAX_BYTES + 30];
	struct err e = ERR_INIT;
	struct str key;

	for (size_t i = 0; i < t->spots.count; i++) {
		const struct spot *spot = &t->spots.items[(from + i) % t->spots.count];

		if (spot->kind != KIND_LINK || spot->target.len == 0 /* a loop is no policy */ ||
		    path_is_under(spot->target, tree_path(t, "bin")))
			continue;
		(void)snprintf(text, sizeof(text), "%s%s", spot->path.p,
			       tree_chance(t, 2) ? "" : "/a");
		check(arena_copy(&t->a, str_of(text), &key, &e));
		add_entry(t, p, key, tree_chance(t, 2) ? "read" : "deny");
		return;
	}
}

static void add_token(struct tree *t, struct draft *p)
{
	static const char *const tokens[] = { ":tmpdir", ":slash_tmp",	     "~",    "~/x",
					      "~/.ssh",	 ":workspace_roots", "/tmp", ":minimal" };
	const char *token = PICK(t, tokens);
	const char *access = PICK(t, accesses);

	/* To be written it would be a root, whose .git and so on stood in the real one. */
	if (strcmp(token, "/tmp") == 0 || strcmp(token, ":minimal") == 0)
		access = *token == '/' && tree_chance(t, 2) ? "deny" : "read";
	add_entry(t, p, str_of(token), access);
}

static void add_some(struct tree *t, struct draft *p)
{
	switch (tree_below(t, 11)) {
	case 0:
	case 1:
		add_entry(t, p, tree_path(t, PICK(t, globs)), "deny");
		break;
	case 2:
		add_missing(t, p);
		break;
	case 3:
		add_token(t, p);
		break;
	case 4:
		add_entry(t, p, t->top, PICK(t, accesses));
		break;
	case 10:
		add_link_entry(t, p);
		break;
	case 5:
	case 6:
		add_chain(t, p);
		break;
	default:
		add_entry(t, p, random_path(t), PICK(t, accesses));
	}
}

static void add_root(struct tree *t, struct draft *p)
{
	size_t n = tree_below(t, 10);

	if (n < 5)
		add_entry(t, p, STR(":root"), "read");
	else if (n == 5)
		add_entry(t, p, STR(":root"), "deny");
	else if (n == 6 && t->uid != 0) /* root would make placeholders in the real one */
		add_entry(t, p, STR(":root"), "write");
	else if (n == 7)
		add_entry(t, p, STR(":minimal"), "read");
}

static void add_workspace(struct tree *t, struct draft *p)
{
	static const char *const tables[] = { "{ \".\" = \"write\", \"docs\" = \"read\" }",
					      "{ \".\" = \"read\", \"src\" = \"write\" }",
					      "{ \".\" = \"write\", \"**/.env\" = \"deny\" }",
					      "{ \".\" = \"write\", \"a/b\" = \"deny\" }" };

	if (tree_chance(t, 12))
		return; /* most often it can't be entered then, and the run is refused */
	if (tree_chance(t, 4))
		add_line(t, p, true, STR(":workspace_roots"), PICK(t, tables));
	else
		add_entry(t, p, STR(":workspace_roots"), tree_chance(t, 3) ? "read" : "write");
}

static void add_switches(struct tree *t, struct draft *p)
{
	static const char *const git[] = { "\"read\"", "\"commit\"", "\"commit\"", "\"write\"" };
	char roots[PATH_MAX_BYTES + 30];

	if (tree_chance(t, 3))
		add_line(t, p, false, STR("extends"), "\":workspace\"");
	if (tree_chance(t, 2))
		add_line(t, p, false, STR("git"), PICK(t, git));
	if (tree_chance(t, 4))
		add_line(t, p, false, STR("protect"), "[\"mine\", \"docs\"]");
	if (!t->is_in_tmp && tree_chance(t, 8))
		add_line(t, p, false, STR("tmp"), "\"private\"");
	(void)snprintf(roots, sizeof(roots), "{ \"%s/other\" = true }", t->top.p);
	if (tree_chance(t, 5))
		add_line(t, p, false, STR("workspace_roots"), roots);
}

/* Something writable on top of everything readable. */
static void make_mode(struct tree *t, struct draft *p)
{
	bool writes = !tree_chance(t, 4);
	char roots[PATH_MAX_BYTES + 30];

	add_line(t, p, false, STR("extends"), writes ? "\":workspace\"" : "\":read-only\"");
	if (!writes)
		return;
	/* The program under test may lie there, and nothing narrower can be kept. */
	add_entry(t, p, STR(":slash_tmp"), "read");
	(void)snprintf(roots, sizeof(roots), "{ \"%s/other\" = true }", t->top.p);
	if (tree_chance(t, 2))
		add_line(t, p, false, STR("workspace_roots"), roots);
	for (size_t more = tree_below(t, 4); more > 0; more--) {
		struct str path = random_path(t);

		/* Nor can Cordon's own files be kept. */
		if (!path_is_under(path, tree_path(t, "home")) &&
		    !path_is_under(tree_path(t, "home"), path))
			add_entry(t, p, path, "write");
	}
}

void draft_make(struct tree *t, struct draft *p, bool is_mode)
{
	size_t count = tree_below(t, 9);

	*p = (struct draft){ .lines = { .items = NULL } };
	if (is_mode) {
		make_mode(t, p);
		return;
	}
	add_entry(t, p, tree_path(t, "bin"), "read");
	add_switches(t, p);
	add_root(t, p);
	add_workspace(t, p);
	if (tree_chance(t, 10))
		add_entry(t, p, STR(":secrets"), "deny");
	for (size_t i = 0; i < count; i++)
		add_some(t, p);
}

void draft_print(const struct draft *p, struct buf *out)
{
	for (int entries = 0; entries < 2; entries++) {
		buf_add_text(out,
			     entries ? "[permissions.rand.filesystem]\n" : "[permissions.rand]\n");
		for (size_t i = 0; i < p->lines.count; i++) {
			const struct line *line = &p->lines.items[i];

			if (line->is_out || line->is_entry != (entries == 1))
				continue;
			buf_add(out, line->text);
			buf_add_char(out, '\n');
		}
	}
}
