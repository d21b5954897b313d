/* SPDX-License-Identifier: MIT */
/*
 * A profile as TOML. What comes out means the same when it is read again: the
 * tests and a fuzzer hold it to that.
 */
#include <inttypes.h>

#include "base/utf8.h"
#include "policy/fs_key.h"

/* The text, and scratch memory for what is put together on the way. */
struct print {
	struct buf *b;
	struct arena *a;
	struct str name;
};

/* Nothing was printed for want of memory: the buffer has to say so. */
static void fail(const struct print *p, const struct err *e)
{
	if (p->b->failed == ERR_OK)
		p->b->failed = e->code;
}

static void add_header(const struct print *p, const char *table)
{
	buf_add_text(p->b, "\n[permissions.");
	toml_add_key(p->b, p->name);
	buf_printf(p->b, "%s%s]\n", table[0] ? "." : "", table);
}

static void add_pair(const struct print *p, struct str key, const char *value)
{
	toml_add_key(p->b, key);
	buf_printf(p->b, " = \"%s\"", value);
}

static void add_line(const struct print *p, struct str key, const char *value)
{
	add_pair(p, key, value);
	buf_add_char(p->b, '\n');
}

static bool is_utf8(struct str s)
{
	return utf8_check(s) == s.len;
}

/* No TOML can hold it; a person still has to see it. */
static void add_comment(const struct print *p, const struct fs_entry *entry)
{
	buf_add_text(p->b, "# ");
	utf8_add_shown(p->b, entry->path);
	buf_printf(p->b, " = \"%s\" (not UTF-8, so it can't be written here)\n",
		   access_name(entry->access));
}

/* Anchors whose key is a path: each entry is a key of its own. */
static void add_path_entry(const struct print *p, const struct fs_entry *entry)
{
	struct fs_target target = { entry->path, entry->glob };
	struct err e = ERR_INIT;
	struct str key;

	if (!is_utf8(entry->path) || !is_utf8(entry->glob))
		add_comment(p, entry);
	else if (fs_key_text(p->a, entry->anchor, &target, &key, &e) < 0)
		fail(p, &e);
	else
		add_line(p, key, access_name(entry->access));
}

/* All entries of one token, which are one table. */
static void add_token_entries(const struct print *p, const struct fs_entry *const *entries,
			      size_t count)
{
	toml_add_key(p->b, str_of(fs_anchor_name(entries[0]->anchor)));
	buf_add_text(p->b, " = ");
	if (count == 1 && entries[0]->path.len == 0 && entries[0]->glob.len == 0) {
		buf_printf(p->b, "\"%s\"\n", access_name(entries[0]->access));
		return;
	}
	buf_add_text(p->b, "{ ");
	for (size_t i = 0; i < count; i++) {
		struct fs_target target = { entries[i]->path, entries[i]->glob };
		struct err e = ERR_INIT;
		struct str sub;

		if (fs_key_subpath(p->a, &target, &sub, &e) < 0) {
			fail(p, &e);
			return;
		}
		buf_add_text(p->b, i > 0 ? ", " : "");
		add_pair(p, sub, access_name(entries[i]->access));
	}
	buf_add_text(p->b, " }\n");
}

static void add_filesystem(const struct print *p, const fs_entries *fs)
{
	const struct fs_entry **entries;
	struct err e = ERR_INIT;
	size_t count;
	size_t i = 0;

	if (fs->count == 0)
		return;
	if (fs_entries_sorted(p->a, fs, &entries, &count, &e) < 0) {
		fail(p, &e);
		return;
	}
	add_header(p, "filesystem");
	while (i < count) {
		enum fs_anchor anchor = entries[i]->anchor;
		size_t from = i++;

		if (anchor == FS_ABSOLUTE || anchor == FS_HOME) {
			add_path_entry(p, entries[from]);
			continue;
		}
		while (i < count && entries[i]->anchor == anchor)
			i++;
		add_token_entries(p, entries + from, i - from);
	}
}

static void add_rules(const struct print *p, const struct net_rules *net)
{
	struct err e = ERR_INIT;

	if (net->rules.count > 0)
		add_header(p, "network.domains");
	for (size_t i = 0; i < net->rules.count; i++)
		add_line(p, net->rules.items[i].domain.text,
			 net->rules.items[i].is_allow ? "allow" : "deny");
	if (net->sockets.count > 0)
		add_header(p, "network.unix_sockets");
	for (size_t i = 0; i < net->sockets.count; i++) {
		const struct net_socket *s = &net->sockets.items[i];
		struct str key;

		if (fs_literal_text(p->a, s->below_home ? FS_HOME : FS_ABSOLUTE, s->path, &key,
				    &e) < 0)
			fail(p, &e);
		else
			add_line(p, key, s->is_allow ? "allow" : "deny");
	}
}

static void add_network(const struct print *p, const struct net_rules *net)
{
	add_header(p, "network");
	buf_printf(p->b, "enabled = %s\n", net->access == NET_OFF ? "false" : "true");
	/* A key besides `enabled` is what makes the network managed (P12). */
	if (net->access == NET_MANAGED || net->is_limited)
		buf_printf(p->b, "mode = \"%s\"\n", net->is_limited ? "limited" : "full");
	if (net->allows_local_binding)
		buf_add_text(p->b, "allow_local_binding = true\n");
	if (!net->allows_upstream_proxy)
		buf_add_text(p->b, "allow_upstream_proxy = false\n");
	add_rules(p, net);
}

static void add_roots(const struct print *p, const struct profile *profile)
{
	if (profile->roots.count == 0)
		return;
	buf_add_text(p->b, "workspace_roots = { ");
	for (size_t i = 0; i < profile->roots.count; i++) {
		const struct root *root = &profile->roots.items[i];
		struct err e = ERR_INIT;
		struct str key;

		if (fs_literal_text(p->a, root->anchor, root->path, &key, &e) < 0) {
			fail(p, &e);
			return;
		}
		buf_add_text(p->b, i > 0 ? ", " : "");
		toml_add_key(p->b, key);
		buf_add_text(p->b, " = true");
	}
	buf_add_text(p->b, " }\n");
}

static void add_names(const struct print *p, const char *key, const names *list)
{
	if (list->count == 0)
		return;
	buf_add_text(p->b, key);
	buf_add_text(p->b, " = [");
	for (size_t i = 0; i < list->count; i++) {
		buf_add_text(p->b, i > 0 ? ", " : "");
		toml_add_string(p->b, list->items[i].name);
	}
	buf_add_text(p->b, "]\n");
}

static void add_patterns(const struct print *p, const char *key, const env_patterns *patterns)
{
	if (patterns->count == 0)
		return;
	buf_printf(p->b, "%s = [", key);
	for (size_t i = 0; i < patterns->count; i++) {
		buf_add_text(p->b, i > 0 ? ", " : "");
		toml_add_string(p->b, patterns->items[i].text);
	}
	buf_add_text(p->b, "]\n");
}

static void add_environment(const struct print *p, const struct environment *env)
{
	static const char *const inherits[] = {
		[ENV_ALL] = "all", [ENV_CORE] = "core", [ENV_NONE] = "none"
	};

	if (env->inherit != ENV_ALL || env->exclude.count > 0 || env->include.count > 0) {
		add_header(p, "environment");
		add_line(p, STR("inherit"), inherits[env->inherit]);
		add_patterns(p, "exclude", &env->exclude);
		add_patterns(p, "include", &env->include);
	}
	if (env->set.count > 0)
		add_header(p, "environment.set");
	for (size_t i = 0; i < env->set.count; i++) {
		toml_add_key(p->b, env->set.items[i].name);
		buf_add_text(p->b, " = ");
		toml_add_string(p->b, env->set.items[i].value);
		buf_add_char(p->b, '\n');
	}
}

static void add_limit(const struct print *p, enum limit limit, uint64_t value)
{
	bool is_time = limit == LIMIT_TIMEOUT || limit == LIMIT_CPU_TIME;

	buf_printf(p->b, "%s = ", limit_name(limit));
	if (!is_time)
		buf_printf(p->b, "%" PRIu64 "\n", value);
	else if (value % 1000 == 0)
		buf_printf(p->b, "%" PRIu64 "\n", value / 1000);
	else
		buf_printf(p->b, "\"%" PRIu64 "ms\"\n", value);
}

static void add_limits(const struct print *p, const struct limits *limits)
{
	bool has_header = false;

	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		if (!limits->value[i])
			continue;
		if (!has_header)
			add_header(p, "limits");
		has_header = true;
		add_limit(p, (enum limit)i, limits->value[i]);
	}
}

static void add_scalars(const struct print *p, const struct profile *profile)
{
	static const char *const gits[] = {
		[GIT_READ] = "read", [GIT_COMMIT] = "commit", [GIT_WRITE] = "write"
	};

	if (profile->description.len > 0) {
		buf_add_text(p->b, "description = ");
		toml_add_string(p->b, profile->description);
		buf_add_char(p->b, '\n');
	}
	if (profile->workspace_is_repo)
		add_line(p, STR("workspace"), "repo");
	if (profile->git != GIT_READ)
		add_line(p, STR("git"), gits[profile->git]);
	if (profile->nested_is_open)
		add_line(p, STR("nested"), "report");
	if (profile->tmp_is_private)
		add_line(p, STR("tmp"), "private");
	if (profile->globs_are_strict)
		add_line(p, STR("globs"), "strict");
	if (!profile->isolates_ipc || !profile->isolates_proc || profile->allows_userns)
		buf_printf(p->b, "isolation = { ipc = %s, proc = %s, userns = %s }\n",
			   profile->isolates_ipc ? "true" : "false",
			   profile->isolates_proc ? "true" : "false",
			   profile->allows_userns ? "true" : "false");
}

void profile_print(struct buf *b, const struct profile *profile)
{
	scoped_arena scratch = ARENA_INIT(SIZE_MAX);
	struct print p = { .b = b, .a = &scratch, .name = profile->name };

	if (str_has_prefix(p.name, STR(":")))
		p.name = str_from(p.name, 1);
	if (profile->is_unsandboxed)
		buf_add_text(b, "# This runs without a sandbox, which no profile can say.\n");
	buf_add_text(b, "[permissions.");
	toml_add_key(b, p.name);
	buf_add_text(b, "]\n");
	add_scalars(&p, profile);
	add_roots(&p, profile);
	add_names(&p, "protect", &profile->protect);
	add_names(&p, "unprotect", &profile->unprotect);
	add_filesystem(&p, &profile->fs);
	add_network(&p, &profile->net);
	add_environment(&p, &profile->env);
	add_limits(&p, &profile->limits);
}
