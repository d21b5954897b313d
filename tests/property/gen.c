/* SPDX-License-Identifier: MIT */
/* See gen.h. */
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * /repo is a plain repository, /other a linked worktree of it, /far one whose
 * git directory lies in /tmp, /bare a bare layout; links lead into and out of
 * what policies tend to open.
 */
const char gen_host[] = "d /repo/.git/hooks\n"
			"f /repo/.git/HEAD = ref: refs/heads/main\\n\n"
			"d /repo/.git/refs\n"
			"d /repo/.git/objects/info\n"
			"f /repo/.git/config\n"
			"f /repo/.git/worktrees/other/gitdir = /other/.git\\n\n"
			"f /repo/.git/worktrees/other/commondir = ../..\\n\n"
			"f /repo/.git/worktrees/other/HEAD = ref: refs/heads/x\\n\n"
			"f /repo/.env\n"
			"f /repo/a/.env\n"
			"f /repo/a/b/x\n"
			"d /repo/a/c/.git\n"
			"d /repo/docs/x\n"
			"l /repo/out -> ../srv/data\n"
			"l /repo/a/in -> b\n"
			"f /other/.git = gitdir: /repo/.git/worktrees/other\\n\n"
			"d /other/a\n"
			"f /far/.git = gitdir: /tmp/g\\n\n"
			"f /tmp/g/HEAD = ref: refs/heads/main\\n\n"
			"d /tmp/g/refs\n"
			"d /tmp/g/objects\n"
			"f /tmp/g/config\n"
			"d /tmp/t\n"
			"f /bare/HEAD = ref: refs/heads/main\\n\n"
			"d /bare/refs\n"
			"d /bare/objects\n"
			"d /srv/data/x\n"
			"d /home/me/.ssh\n"
			"d /home/me/.config/cordon\n"
			"f /home/me/.config/cordon/config.toml\n"
			"d /home/me/.config/git\n"
			"d /home/me/state\n"
			"d /usr/bin\n"
			"f /etc/passwd\n"
			"l /link -> /srv\n";

const char *const gen_paths[] = { "/",
				  "/repo",
				  "/repo/x",
				  "/repo/.git",
				  "/repo/.git/config",
				  "/repo/.git/hooks",
				  "/repo/.git/hooks/x",
				  "/repo/.git/index",
				  "/repo/.git/HEAD",
				  "/repo/.git/objects/info",
				  "/repo/.git/worktrees",
				  "/repo/.git/worktrees/other",
				  "/repo/.git/worktrees/other/index",
				  "/repo/.git/worktrees/other/gitdir",
				  "/repo/.env",
				  "/repo/a",
				  "/repo/a/x",
				  "/repo/a/.env",
				  "/repo/a/.env/x",
				  "/repo/a/b",
				  "/repo/a/b/x",
				  "/repo/a/b/y",
				  "/repo/a/c",
				  "/repo/a/c/.git",
				  "/repo/a/c/.git/x",
				  "/repo/docs",
				  "/repo/docs/x",
				  "/repo/docs/x/y",
				  "/repo/docs/y",
				  "/repo/.codex",
				  "/repo/.codex/x",
				  "/repo/.agents",
				  "/repo/.cordon",
				  "/repo/.cordon/config.toml",
				  "/repo/mine",
				  "/repo/mine/x",
				  "/repo/missing",
				  "/repo/missing/deep",
				  "/repo/missing/deep/er",
				  "/repo/HEAD",
				  "/repo/refs",
				  "/repo/refs/x",
				  "/repo/commondir",
				  "/other",
				  "/other/x",
				  "/other/.git",
				  "/other/a",
				  "/other/a/x",
				  "/other/.codex",
				  "/other/.codex/x",
				  "/other/.git/x",
				  "/far",
				  "/far/x",
				  "/far/.git",
				  "/far/commondir",
				  "/tmp",
				  "/tmp/x",
				  "/tmp/g",
				  "/tmp/g/config",
				  "/tmp/g/hooks",
				  "/tmp/g/hooks/x",
				  "/tmp/g/HEAD",
				  "/tmp/g/x",
				  "/tmp/t",
				  "/tmp/t/x",
				  "/tmp/.git",
				  "/bare",
				  "/bare/HEAD",
				  "/bare/config",
				  "/bare/hooks",
				  "/bare/hooks/x",
				  "/bare/x",
				  "/srv",
				  "/srv/x",
				  "/srv/data",
				  "/srv/data/x",
				  "/srv/data/y",
				  "/srv/.git",
				  "/srv/.git/x",
				  "/home",
				  "/home/me",
				  "/home/me/x",
				  "/home/me/.ssh",
				  "/home/me/.ssh/id",
				  "/home/me/.config",
				  "/home/me/.config/x",
				  "/home/me/.config/cordon",
				  "/home/me/.config/cordon/config.toml",
				  "/home/me/.config/cordon/x",
				  "/home/me/.config/git",
				  "/home/me/.config/git/config",
				  "/home/me/state",
				  "/home/me/state/audit",
				  "/home/me/state/secret",
				  "/home/me/state/secret/key",
				  "/usr",
				  "/usr/bin",
				  "/usr/bin/ls",
				  "/etc",
				  "/etc/passwd",
				  "/nowhere",
				  "/nowhere/x",
				  "/link",
				  NULL };

const char *const gen_hosts[] = { "a.com",
				  "x.a.com",
				  "y.x.a.com",
				  "b.com",
				  "x.b.com",
				  "c.org",
				  "localhost",
				  "x.localhost",
				  "8.8.8.8",
				  "8.8.4.4",
				  "9.9.9.9",
				  "10.0.0.1",
				  "10.1.0.1",
				  "127.0.0.1",
				  "::1",
				  "fd00::1",
				  "2606:4700::1",
				  "64:ff9b::a00:1",
				  "64:ff9b::808:808",
				  "a.com:22",
				  "a.com:443",
				  "x.a.com:443",
				  "b.com:8080",
				  "8.8.8.8:53",
				  "10.0.0.1:80",
				  "[::1]:80",
				  "127.0.0.1:80",
				  NULL };

const struct own_file gen_own[] = {
	{ STR_INIT("/home/me/.config/cordon"), ACCESS_READ, "your configuration" },
	{ STR_INIT("/home/me/state"), ACCESS_READ, "the audit log" },
	{ STR_INIT("/home/me/state/secret"), ACCESS_DENY, "session secrets" },
};
const size_t gen_own_count = COUNT_OF(gen_own);

static const char *const keys[] = { "/repo",
				    "/repo/a",
				    "/repo/a/b",
				    "/repo/a/b/x",
				    "/repo/a/c",
				    "/repo/docs",
				    "/repo/docs/x",
				    "/repo/.git",
				    "/repo/.git/hooks",
				    "/repo/.env",
				    "/repo/missing",
				    "/repo/missing/deep",
				    "/repo/.codex",
				    "/repo/out",
				    "/repo/a/in",
				    "/other",
				    "/other/a",
				    "/other/.git",
				    "/far",
				    "/far/.git",
				    "/tmp",
				    "/tmp/g",
				    "/tmp/t",
				    "/bare",
				    "/srv",
				    "/srv/data",
				    "/srv/data/x",
				    "/home",
				    "/home/me",
				    "/home/me/.config",
				    "/home/me/.config/cordon",
				    "/home/me/state",
				    "/home/me/state/secret",
				    "/usr",
				    "/usr/bin",
				    "/etc",
				    "/nowhere",
				    "/link",
				    "/link/data",
				    "~",
				    "~/.config",
				    "~/.config/git",
				    "~/.ssh",
				    "~/state",
				    ":minimal",
				    ":workspace_roots",
				    ":tmpdir",
				    ":slash_tmp",
				    "/",
				    NULL };
static const char *const globs[] = { "/repo/**/.env", "/repo/*",    "/repo/a/*",       "/**/x",
				     "/repo/**/.git", "/repo/d?cs", "/srv/{data,x}",   "~/.*",
				     "/repo/[a-d]",   "/tmp/*",	    "/repo/missing/*", NULL };
static const char *const patterns[] = {
	"a.com",      "*.a.com",	 "**.a.com",	"x.a.com",	  "b.com",
	"**.b.com",   "localhost",	 "*.localhost", "8.8.8.8",	  "8.8.0.0/16",
	"10.0.0.0/8", "10.0.0.1",	 "127.0.0.1",	"127.0.0.0/8",	  "::1",
	"fd00::/8",   "0.0.0.0/0",	 "::/0",	"2606:4700::/32", "a.com:22",
	"a.com:443",  "**.a.com:1-1024", "b.com:8080",	"8.8.8.8:53",	  "10.0.0.1:80",
	"[::1]:80",   "64:ff9b::/96",	 NULL
};
static const char *const accesses[] = { "read", "read", "write", "write", "deny", NULL };

uint64_t gen_next(struct gen *g)
{
	uint64_t z = g->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

bool gen_chance(struct gen *g, unsigned one_in)
{
	return gen_next(g) % one_in == 0;
}

const char *gen_pick(struct gen *g, const char *const *list)
{
	size_t count = 0;

	while (list[count])
		count++;
	return list[gen_next(g) % count];
}

void gen_world(struct world *w)
{
	world_init(w, gen_host, GEN_CWD);
	w->tmpdir = "/tmp/t";
	w->own = gen_own;
	w->own_count = gen_own_count;
}

/* Picks that have not been picked yet. */
struct picked {
	const char *items[64];
	size_t count;
};

static const char *pick_new(struct gen *g, const char *const *list, struct picked *picked)
{
	const char *pick = gen_pick(g, list);

	for (size_t i = 0; i < picked->count; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): as many as are counted. */
		if (strcmp(picked->items[i], pick) == 0)
			return NULL;
	if (picked->count < COUNT_OF(picked->items))
		picked->items[picked->count++] = pick;
	return pick;
}

static void add_entries(struct gen *g, unsigned max_entries, struct picked *picked)
{
	size_t count = gen_next(g) % (max_entries + 1);

	if (gen_chance(g, 2))
		buf_add_text(g->b, "':root' = 'read'\n");
	for (size_t i = 0; i < count; i++) {
		bool is_glob = gen_chance(g, 8);
		const char *key = pick_new(g, is_glob ? globs : keys, picked);

		if (key)
			buf_printf(g->b, "'%s' = '%s'\n", key,
				   is_glob ? "deny" : gen_pick(g, accesses));
	}
	if (gen_chance(g, 10))
		buf_add_text(g->b, "':secrets' = 'deny'\n");
}

void gen_filesystem(struct gen *g, unsigned max_entries)
{
	struct picked picked = { .count = 0 };

	add_entries(g, max_entries, &picked);
}

void gen_domains(struct gen *g, unsigned max_rules)
{
	struct picked picked = { .count = 0 };
	size_t count = gen_next(g) % (max_rules + 1);

	for (size_t i = 0; i < count; i++) {
		const char *pattern = pick_new(g, patterns, &picked);

		if (pattern)
			buf_printf(g->b, "'%s' = '%s'\n", pattern,
				   gen_chance(g, 3) ? "deny" : "allow");
	}
	if (gen_chance(g, 3))
		buf_add_text(g->b, "'*' = 'allow'\n");
}

static void gen_switches(struct gen *g)
{
	static const char *const git[] = { "read", "commit", "write", NULL };

	if (gen_chance(g, 3))
		buf_printf(g->b, "git = '%s'\n", gen_pick(g, git));
	if (gen_chance(g, 5))
		buf_add_text(g->b, "protect = ['mine', 'docs']\n");
	if (gen_chance(g, 6))
		buf_add_text(g->b, "tmp = 'private'\n");
	if (gen_chance(g, 6))
		buf_add_text(g->b, "globs = 'strict'\n");
	if (gen_chance(g, 6))
		buf_add_text(g->b, "nested = 'report'\n");
	if (gen_chance(g, 4))
		buf_add_text(g->b, "workspace_roots = { '/other' = true, '/bare' = false }\n");
	if (gen_chance(g, 6))
		buf_add_text(g->b, "isolation = { ipc = false, userns = true }\n");
	if (gen_chance(g, 5))
		buf_printf(g->b, "limits = { processes = %u, timeout = '%us' }\n",
			   1 + (unsigned)(gen_next(g) % 100), 1 + (unsigned)(gen_next(g) % 100));
	if (gen_chance(g, 6))
		buf_add_text(g->b, "environment = { inherit = 'core', exclude = ['A*'], "
				   "include = ['*TOKEN'], set = { X = 'y' } }\n");
	if (gen_chance(g, 6))
		buf_add_text(g->b, "description = 'for \"tests\"'\n");
}

void gen_profile(struct gen *g)
{
	buf_add_text(g->b, "default_permissions = 'dev'\n[permissions.dev]\n");
	if (gen_chance(g, 3))
		buf_add_text(g->b, "extends = ':workspace'\n");
	gen_switches(g);
	buf_add_text(g->b, "[permissions.dev.filesystem]\n");
	gen_filesystem(g, 8);
	buf_add_text(g->b, "[permissions.dev.network]\n");
	if (!gen_chance(g, 3))
		buf_printf(g->b, "enabled = %s\n", gen_chance(g, 4) ? "false" : "true");
	if (gen_chance(g, 4))
		buf_add_text(g->b, "mode = 'limited'\n");
	if (gen_chance(g, 4))
		buf_add_text(g->b, "unix_sockets = { '/run/x' = 'allow' }\n");
	if (!gen_chance(g, 4)) {
		buf_add_text(g->b, "[permissions.dev.network.domains]\n");
		gen_domains(g, 6);
	}
}

/*
 * Lowers what tends to be a root and names for writing what is protected in one,
 * or missing: the way in which a layer that narrows could try to open something.
 */
static void add_reopening(struct gen *g, struct picked *picked)
{
	static const char *const lowered[] = { "/repo", "/other", "/far",     "/bare", "/srv",
					       "/tmp",	"/",	  "/home/me", NULL };
	static const char *const opened[] = { "/repo/.git",
					      "/repo/.git/hooks",
					      "/repo/.git/worktrees/other",
					      "/repo/.codex",
					      "/repo/.cordon",
					      "/repo/mine",
					      "/repo/missing",
					      "/repo/missing/deep/er",
					      "/repo/refs",
					      "/other/.git",
					      "/other/.codex",
					      "/far/.git",
					      "/far/commondir",
					      "/tmp/g",
					      "/tmp/g/hooks",
					      "/bare/config",
					      "/bare/hooks",
					      "/srv/.git",
					      NULL };
	const char *low = pick_new(g, lowered, picked);
	size_t count = 1 + gen_next(g) % 6;

	if (low)
		buf_printf(g->b, "'%s' = '%s'\n", low, gen_chance(g, 4) ? "deny" : "read");
	for (size_t i = 0; i < count; i++) {
		const char *key = pick_new(g, opened, picked);

		if (key)
			buf_printf(g->b, "'%s' = 'write'\n", key);
	}
}

void gen_narrowing(struct gen *g)
{
	static const char *const protected[] = { "'mine'", "'bare'", "'a', 'other'", NULL };
	struct picked picked = { .count = 0 };

	if (gen_chance(g, 4))
		buf_printf(g->b, "protect = [%s]\n", gen_pick(g, protected));
	if (gen_chance(g, 6))
		buf_add_text(g->b, "limits = { processes = 7 }\n");
	buf_add_text(g->b, "[filesystem]\n");
	if (gen_chance(g, 2))
		add_reopening(g, &picked);
	add_entries(g, 6, &picked);
	if (gen_chance(g, 2))
		return;
	buf_add_text(g->b, "[network]\n");
	if (gen_chance(g, 3))
		buf_printf(g->b, "enabled = %s\n", gen_chance(g, 3) ? "false" : "true");
	if (gen_chance(g, 6))
		buf_add_text(g->b, "mode = 'limited'\n");
	buf_add_text(g->b, "[network.domains]\n");
	gen_domains(g, 5);
}

void gen_insert(struct gen *g, struct str text, const char *header, const char *line)
{
	const char *at = strstr(text.p, header);
	size_t before = at ? (size_t)(at - text.p) + strlen(header) : text.len;

	buf_add(g->b, str_first(text, before));
	if (!at)
		buf_add_text(g->b, header);
	buf_add_text(g->b, line);
	buf_add(g->b, str_from(text, before));
}

/* A line with `key`, or "" when the text has that key: a second one would be an error. */
static const char *line_of(char out[GEN_LINE_BYTES], const char *text, const char *key,
			   const char *value)
{
	(void)snprintf(out, GEN_LINE_BYTES, "'%s' =", key);
	if (strstr(text, out))
		out[0] = '\0';
	else
		(void)snprintf(out, GEN_LINE_BYTES, "'%s' = '%s'\n", key, value);
	return out;
}

const char *gen_deny_path(struct gen *g, const char *text, char out[GEN_LINE_BYTES])
{
	const char *const *from = gen_chance(g, 4) ? globs : gen_chance(g, 3) ? keys : gen_paths;

	/*
	 * What a parent says under the same key would be replaced (P4), which may be a write: P8 then
	 * follows a link that it had left out.
	 */
	if (from == keys && strstr(text, "extends = "))
		from = gen_paths;
	return line_of(out, text, gen_pick(g, from), "deny");
}

const char *gen_deny_host(struct gen *g, const char *text, char out[GEN_LINE_BYTES])
{
	return line_of(out, text, gen_pick(g, patterns), "deny");
}

void gen_grants(struct gen *g, struct arena *a, struct permissions *out)
{
	size_t paths = gen_next(g) % 4, hosts = gen_next(g) % 3;
	struct err e = ERR_INIT;

	*out = (struct permissions){ .network = gen_chance(g, 8) };
	for (size_t i = 0; i < paths; i++) {
		struct permission *p = VEC_PUSH(a, &out->paths, &e);

		if (!p)
			exit(99);
		p->path = str_of(gen_pick(g, gen_paths));
		p->access = gen_chance(g, 2) ? ACCESS_READ : ACCESS_WRITE;
	}
	for (size_t i = 0; i < hosts; i++) {
		struct domain *d = VEC_PUSH(a, &out->hosts, &e);

		if (!d || domain_parse(a, str_of(gen_pick(g, patterns)), d, &e) < 0)
			exit(99);
	}
}
