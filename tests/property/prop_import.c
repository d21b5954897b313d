/* SPDX-License-Identifier: MIT */
/*
 * Import: over random settings of srt and Claude Code, nothing that the imported policy allows is forbidden by a
 * small oracle of what the original means. The oracle looks at every rule for every path, and knows nothing of
 * longest entries. A policy that is bound to a directory is asked there alone, any other in several.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../unit/test.h"
#include "base/path.h"
#include "import/import.h"
#include "world.h"

enum { ROUNDS = 1500, RULES = 8, ROOM = 64 << 20, TEXT_BYTES = 1 << 16 };

#define HOME	"/home/me"
#define PROJECT "/home/me/p"

static const char host_text[] = "d /home/me/p/a/b/c\nf /home/me/p/a/s\nf /home/me/p/a/x.e\nf "
				"/home/me/p/x.e\nf /home/me/p/.bashrc\n"
				"d /home/me/p/a/.vscode\nf /home/me/p/a/.bashrc\nd "
				"/home/me/p/.vscode\nd /home/me/p/s\nf /home/me/p/s/f\n"
				"d /home/me/q/a/b\nf /home/me/q/x.e\nd /home/me/q/s/t\nf "
				"/home/me/.bashrc\nf /home/me/.ssh/id\n"
				"l /home/me/link -> p/a\nl /home/me/p/l -> ../q\nd /etc\nf "
				"/etc/f\nd /tmp/claude\nd /tmp/x\nf /tmp/x/f\nd /usr\n";

static const char *const links[][2] = { { "/home/me/link", "/home/me/p/a" },
					{ "/home/me/p/l", "/home/me/q" } };

/* Paths that no link leads to, and missing ones. */
static const char *const asked[] = {
	"/home/me",
	"/home/me/p",
	"/home/me/p/a",
	"/home/me/p/a/b",
	"/home/me/p/a/b/c",
	"/home/me/p/a/b/c/n",
	"/home/me/p/a/s",
	"/home/me/p/a/x.e",
	"/home/me/p/x.e",
	"/home/me/p/.bashrc",
	"/home/me/p/s",
	"/home/me/p/s/f",
	"/home/me/p/n",
	"/home/me/p/a/.bashrc",
	"/home/me/p/.vscode",
	"/home/me/p/a/.vscode/n",
	"/home/me/p/.git/h",
	"/home/me/q",
	"/home/me/q/a",
	"/home/me/q/a/b/n",
	"/home/me/q/x.e",
	"/home/me/q/s",
	"/home/me/q/s/t/n",
	"/home/me/.bashrc",
	"/home/me/.ssh/id",
	"/etc/f",
	"/etc/n",
	"/tmp/x",
	"/tmp/x/f",
	"/tmp/x/n",
	"/tmp/claude/n",
	"/usr",
	"/home/me/q/.bashrc",
	"/home/me/p/s/.bashrc",
	"/home/me/n",
};

static const char *const pool[] = {
	".",
	"a",
	"./a",
	"a/b",
	"a/b/c",
	"s",
	"..",
	"../q",
	"../q/a",
	"~",
	"~/p",
	"~/p/a",
	"~/q",
	"~/.ssh",
	"~/.bashrc",
	"/home/me",
	"/home/me/p",
	"/home/me/p/a",
	"/home/me/q/a/b",
	"/",
	"/etc",
	"/tmp",
	"/tmp/x",
	"/tmp/x/f",
	"**/s",
	"a/*",
	"*.e",
	"**/*.e",
	"~/?/a",
	"~/p/**/b",
	"/home/**/s",
	"/home/me/link",
	"l",
	"l/a",
	"~/link/b",
	".bashrc",
	".vscode",
	"a/.vscode",
	".git",
	".git/h",
	"a/./b/",
	"//tmp//x",
	"a**/b",
	"a/**",
	"~/q/**",
	"x.[e]",
	"/home/me/p/x.e",
};

/* ---- The oracle ----------------------------------------------------------------- */

struct oracle_rule {
	char pattern[256]; /* absolute */
	bool is_glob;
};

struct oracle {
	struct oracle_rule write[RULES * 3], no_write[RULES * 3 + 32], no_read[RULES * 3],
		read[RULES * 3], nothing[RULES * 6];
	size_t writes, no_writes, no_reads, reads, nothings;
	bool is_claude;
	const char *cwd;
};

static bool match_name(const char *p, const char *pe, const char *n, const char *ne)
{
	if (p == pe)
		return n == ne;
	if (*p == '*')
		return match_name(p + 1, pe, n, ne) || (n < ne && match_name(p, pe, n + 1, ne));
	if (n == ne)
		return false;
	if (*p == '[' && pe - p > 2 && p[2] == ']')
		return (p[1] == *n && match_name(p + 3, pe, n + 1, ne)) ||
		       (*n == '[' && match_name(p + 1, pe, n + 1, ne));
	return (*p == '?' || *p == *n) && match_name(p + 1, pe, n + 1, ne);
}

/* Whether the pattern matches the whole path; both absolute. */
static bool match(const char *p, const char *n)
{
	size_t plen, nlen;

	while (*p == '/')
		p++;
	while (*n == '/')
		n++;
	if (!*p)
		return !*n;
	plen = strcspn(p, "/");
	nlen = strcspn(n, "/");
	if (plen == 2 && p[0] == '*' && p[1] == '*')
		return match(p + plen, n) || (*n && match(p, n + nlen));
	if (!*n)
		return false;
	return match_name(p, p + plen, n, n + nlen) && match(p + plen, n + nlen);
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strcmp(dir, "/") == 0 ||
	       (strncmp(path, dir, len) == 0 && (!path[len] || path[len] == '/'));
}

/* The length of the longest prefix of `path` that a rule names, or -1. */
static int find(const struct oracle_rule *rules, size_t count, const char *path)
{
	int best = -1;

	for (size_t i = 0; i < count; i++) {
		char prefix[256];

		(void)snprintf(prefix, sizeof(prefix), "%s", path);
		for (size_t len = strlen(path); len > 0; len--) {
			bool is_end = path[len] == '/' || !path[len];

			prefix[len] = '\0';
			if (is_end && (int)len > best &&
			    (rules[i].is_glob ? match(rules[i].pattern, prefix)
					      : strcmp(rules[i].pattern, prefix) == 0))
				best = (int)len;
		}
		if (strcmp(rules[i].pattern, "/") == 0 && best < 0)
			best = 0;
	}
	return best;
}

static bool is_mandatory(const char *cwd, const char *path)
{
	static const char *const kept[] = { ".gitconfig", ".gitmodules", ".bashrc",   ".zshrc",
					    ".vscode",	  ".idea",	 ".mcp.json", NULL };
	const char *rest = path + strlen(cwd);

	if (!is_below(path, cwd))
		return false;
	for (size_t i = 0; kept[i]; i++) {
		const char *at = strstr(rest, kept[i]);

		if (at && at > rest && at[-1] == '/' &&
		    (!at[strlen(kept[i])] || at[strlen(kept[i])] == '/'))
			return true;
	}
	return strncmp(rest, "/.git/hooks", 11) == 0 || strncmp(rest, "/.git/config", 12) == 0;
}

static bool may_read(const struct oracle *o, const char *path)
{
	int denied = find(o->no_read, o->no_reads, path);
	int opened = find(o->read, o->reads, path), written = find(o->write, o->writes, path);

	if (find(o->nothing, o->nothings, path) >= 0)
		return false;
	return denied < 0 || opened >= denied || written >= denied;
}

static bool may_write(const struct oracle *o, const char *path)
{
	return find(o->write, o->writes, path) >= 0 && find(o->no_write, o->no_writes, path) < 0 &&
	       find(o->nothing, o->nothings, path) < 0 && !is_mandatory(o->cwd, path);
}

/* ---- Rules from texts ------------------------------------------------------------- */

static void make_plain(const char *base, const char *text, char out[256])
{
	scoped_arena a = ARENA_INIT(1 << 16);
	struct err e = ERR_INIT;
	struct str plain;

	REQUIRE(path_plain(&a, str_of(base), str_of(text), &plain, &e) == 0);
	(void)snprintf(out, 256, "%s", plain.p);
}

/* The path without its links, as far as there are any in the table. */
static bool resolve(char path[256])
{
	bool has_link = false;

	for (size_t i = 0; i < COUNT_OF(links); i++)
		if (is_below(path, links[i][0])) {
			char rest[200];

			(void)snprintf(rest, sizeof(rest), "%.199s", path + strlen(links[i][0]));
			(void)snprintf(path, 256, "%.40s%s", links[i][1], rest);
			has_link = true;
		}
	return has_link;
}

static void add(struct oracle_rule *rules, size_t *count, const char *cwd, const char *text,
		bool allows)
{
	struct oracle_rule *rule = &rules[*count];
	bool is_glob = strpbrk(text, "*?[") != NULL;
	size_t len;

	if (text[0] == '~')
		make_plain(HOME, text[1] ? text + 2 : "", rule->pattern);
	else
		make_plain(cwd, text, rule->pattern);
	len = strlen(rule->pattern);
	if (len > 3 && strcmp(rule->pattern + len - 3, "/**") == 0)
		rule->pattern[len - 3] = '\0';
	rule->is_glob = strpbrk(rule->pattern, "*?[") != NULL;
	/* "a**" is no whole component: one that matches anything after "a" is left to the narrower side. */
	if (is_glob && strstr(text, "a**/"))
		return;
	if (allows && rule->is_glob)
		return;
	if (!rule->is_glob && resolve(rule->pattern) && allows)
		return;
	++*count;
}

/* ---- Random settings ------------------------------------------------------------- */

struct lists {
	const char *items[5][RULES]; /* denyRead, allowRead, allowWrite, denyWrite, credentials */
	size_t counts[5];
};

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void pick(struct lists *l, uint64_t *state)
{
	for (size_t i = 0; i < 5; i++) {
		l->counts[i] = next(state) % (i == 4 ? 2 : 4);
		for (size_t k = 0; k < l->counts[i]; k++)
			l->items[i][k] = pool[next(state) % COUNT_OF(pool)];
	}
}

static void print_list(struct buf *b, const char *name, const struct lists *l, size_t which)
{
	buf_printf(b, "\"%s\": [", name);
	for (size_t i = 0; i < l->counts[which]; i++)
		buf_printf(b, "%s\"%s\"", i ? ", " : "", l->items[which][i]);
	buf_add_text(b, "]");
}

static void print_filesystem(struct buf *b, const struct lists *l)
{
	buf_add_text(b, "\"filesystem\": {");
	print_list(b, "denyRead", l, 0);
	buf_add_text(b, ", ");
	print_list(b, "allowRead", l, 1);
	buf_add_text(b, ", ");
	print_list(b, "allowWrite", l, 2);
	buf_add_text(b, ", ");
	print_list(b, "denyWrite", l, 3);
	buf_add_text(b, "}");
}

static void print_srt(struct buf *b, const struct lists *l)
{
	buf_add_text(b, "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}, ");
	print_filesystem(b, l);
	buf_add_text(b, ", \"credentials\": {\"files\": [");
	for (size_t i = 0; i < l->counts[4]; i++)
		buf_printf(b, "{\"path\": \"%s\", \"mode\": \"deny\"}", l->items[4][i]);
	buf_add_text(b, "]}}");
}

static void print_rules(struct buf *b, const char *name, const char *tool, const struct lists *l,
			size_t which)
{
	buf_printf(b, "\"%s\": [", name);
	for (size_t i = 0; i < l->counts[which]; i++) {
		const char *text = l->items[which][i];

		/* In a rule for a tool "//" is absolute. */
		buf_printf(b, "%s\"%s(%s%s)\"", i ? ", " : "", tool,
			   text[0] == '/' && text[1] != '/' ? "/" : "", text);
	}
	buf_add_text(b, "]");
}

static void print_claude(struct buf *b, const struct lists *rules, const struct lists *sandbox)
{
	buf_add_text(b, "{\"permissions\": {");
	print_rules(b, "allow", "Edit", rules, 2);
	buf_add_text(b, ", ");
	print_rules(b, "ask", "Edit", rules, 3);
	buf_add_text(b, ", ");
	print_rules(b, "deny", "Read", rules, 0);
	buf_add_text(b, "}, \"sandbox\": {");
	print_filesystem(b, sandbox);
	buf_add_text(b, "}}");
}

/* "Read(x)" without a slash is meant at every depth. */
static void add_tool(struct oracle_rule *rules, size_t *count, const char *cwd, const char *text,
		     bool allows)
{
	char deep[256];

	if (strcmp(text, "**") == 0)
		text = "/";
	add(rules, count, cwd, text, allows);
	if (allows || strchr(text, '/') || text[0] == '~' || text[0] == '.')
		return;
	(void)snprintf(deep, sizeof(deep), "**/%s", text);
	add(rules, count, cwd, deep, allows);
}

static void add_lists(struct oracle *o, const struct lists *l)
{
	for (size_t k = 0; k < l->counts[0]; k++)
		add(o->no_read, &o->no_reads, o->cwd, l->items[0][k], false);
	for (size_t k = 0; k < l->counts[1]; k++)
		add(o->read, &o->reads, o->cwd, l->items[1][k], true);
	for (size_t k = 0; k < l->counts[2]; k++)
		add(o->write, &o->writes, o->cwd, l->items[2][k], true);
	for (size_t k = 0; k < l->counts[3]; k++)
		add(o->no_write, &o->no_writes, o->cwd, l->items[3][k], false);
}

static void make_srt(struct oracle *o, const struct lists *l)
{
	add_lists(o, l);
	for (size_t k = 0; k < l->counts[4]; k++)
		add(o->nothing, &o->nothings, o->cwd, l->items[4][k], false);
	add(o->write, &o->writes, o->cwd, "/tmp/claude", true);
}

static void make_claude(struct oracle *o, const struct lists *rules, const struct lists *sandbox)
{
	add_lists(o, sandbox);
	add(o->write, &o->writes, o->cwd, ".", true);
	for (size_t k = 0; k < rules->counts[0]; k++)
		add_tool(o->nothing, &o->nothings, o->cwd, rules->items[0][k], false);
	for (size_t k = 0; k < rules->counts[2]; k++)
		add_tool(o->write, &o->writes, o->cwd, rules->items[2][k], true);
	for (size_t k = 0; k < rules->counts[3]; k++)
		add_tool(o->no_write, &o->no_writes, o->cwd, rules->items[3][k], false);
}

/* ---- The comparison ---------------------------------------------------------------- */

static int look(void *user, struct arena *a, struct str path, struct import_place *out,
		struct err *e)
{
	static const char *const files[] = { "/home/me/.bashrc", "/tmp/x/f", "/home/me/p/x.e" };
	char real[256];

	(void)user;
	(void)snprintf(real, sizeof(real), "%s", path.p);
	(void)resolve(real);
	out->is_file = false;
	for (size_t i = 0; i < COUNT_OF(files); i++)
		out->is_file = out->is_file || strcmp(real, files[i]) == 0;
	return arena_copy(a, str_of(real), &out->real, e);
}

struct tally {
	size_t allowed, same, all, refused, bound;
};

static void compare(const struct oracle *o, const struct imported *im, const char *settings,
		    const char *profile, struct tally *t)
{
	scoped_world w;

	world_init(&w, host_text, o->cwd);
	w.user = im->text.p;
	w.profile = profile;
	if (!world_plan(&w)) {
		/* A home as the workspace, for example: nothing is allowed at all. */
		REQUIRE(w.e.code == ERR_POLICY || w.e.code == ERR_LIMIT);
		t->refused++;
		return;
	}
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		enum access access = world_access(&w, asked[i]);
		bool reads = may_read(o, asked[i]), writes = may_write(o, asked[i]);

		if ((access == ACCESS_WRITE && !writes) || (access >= ACCESS_READ && !reads)) {
			printf("# in %s: %s: %s here, but the original %s\n# %s\n", o->cwd,
			       asked[i], access_name(access),
			       reads ? "does not write" : "does not read", settings);
			for (const char *line = im->text.p; *line; line += strcspn(line, "\n") + 1)
				printf("# %.*s\n", (int)strcspn(line, "\n"), line);
			REQUIRE(false);
		}
		t->all++;
		t->allowed += access >= ACCESS_READ;
		t->same += (access == ACCESS_WRITE) == writes && (access >= ACCESS_READ) == reads;
	}
}

static void try_one(uint64_t seed, bool is_claude, struct tally *t)
{
	static const char *const places[] = { PROJECT, "/home/me/q", "/home/me/p/a", "/tmp/x" };
	const struct import_host host = { .home = STR_INIT(HOME),
					  .temporary = STR_INIT(""),
					  .directory = STR_INIT(PROJECT),
					  .look = look };
	struct import_file file = { .name = "f",
				    .path = STR_INIT(PROJECT "/.claude/settings.json") };
	scoped_buf text = BUF_INIT(TEXT_BYTES);
	scoped_arena a = ARENA_INIT(ROOM);
	struct lists rules = { .counts = { 0 } }, sandbox = { .counts = { 0 } };
	struct err e = ERR_INIT;
	struct imported im;

	pick(&rules, &seed);
	pick(&sandbox, &seed);
	if (is_claude)
		print_claude(&text, &rules, &sandbox);
	else
		print_srt(&text, &sandbox);
	file.text = buf_str(&text);
	REQUIRE(import_translate(&a, is_claude ? IMPORT_CLAUDE : IMPORT_SRT, &file, 1, &host, &im,
				 &e) == 0);
	t->bound += im.directory.len > 0;
	for (size_t i = 0; i < (im.directory.len ? 1 : COUNT_OF(places)); i++) {
		struct oracle o = { .cwd = places[i], .is_claude = is_claude };

		if (is_claude)
			make_claude(&o, &rules, &sandbox);
		else
			make_srt(&o, &sandbox);
		compare(&o, &im, text.p, is_claude ? "claude" : "srt", t);
	}
}

static void try_all(bool is_claude)
{
	struct tally t = { 0 };
	uint64_t state = test_seed() | 1;

	for (size_t i = 0; i < ROUNDS; i++)
		try_one(next(&state) | 1, is_claude, &t);
	printf("# %zu answers, %zu allow, %zu the same; %zu bound to a directory, %zu refused\n",
	       t.all, t.allowed, t.same, t.bound, t.refused);
	/* Else it would pass because nothing is allowed. */
	CHECK(t.allowed > t.all / 4);
	CHECK(t.same > t.all / 2);
	CHECK(t.bound > ROUNDS / 20 && t.bound < ROUNDS - ROUNDS / 20);
}

TEST(what_srt_forbids_stays_forbidden)
{
	try_all(false);
}

TEST(what_claude_forbids_stays_forbidden)
{
	try_all(true);
}
