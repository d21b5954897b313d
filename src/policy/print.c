/* SPDX-License-Identifier: MIT */
/*
 * Prints a profile as TOML, by the table of keys. Read again, the text means the same; the tests
 * and a fuzzer check that.
 */
#include <inttypes.h>

#include "base/utf8.h"
#include "policy/fs_key.h"
#include "policy/print.h"

/* Makes the buffer report the failure, because what it holds is not complete. */
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

/* TOML can't hold the path, but a person has to see it. */
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

void key_print_filesystem(const struct print *p, const struct profile *profile)
{
	const fs_entries *fs = &profile->fs;
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

void key_print_domains(const struct print *p, const struct profile *profile)
{
	const struct net_rules *net = &profile->net;

	if (net->rules.count > 0)
		add_header(p, "network.domains");
	for (size_t i = 0; i < net->rules.count; i++)
		add_line(p, net->rules.items[i].domain.text,
			 net->rules.items[i].is_allow ? "allow" : "deny");
}

void key_print_unix_sockets(const struct print *p, const struct profile *profile)
{
	const struct net_rules *net = &profile->net;

	if (net->sockets.count > 0)
		add_header(p, "network.unix_sockets");
	for (size_t i = 0; i < net->sockets.count; i++) {
		const struct net_socket *s = &net->sockets.items[i];
		struct err e = ERR_INIT;
		struct str key;

		if (fs_literal_text(p->a, s->below_home ? FS_HOME : FS_ABSOLUTE, s->path, &key,
				    &e) < 0)
			fail(p, &e);
		else
			add_line(p, key, s->is_allow ? "allow" : "deny");
	}
}

void key_print_workspace_roots(const struct print *p, const struct profile *profile)
{
	if (profile->roots.count > 0)
		add_header(p, "workspace_roots");
	for (size_t i = 0; i < profile->roots.count; i++) {
		const struct root *root = &profile->roots.items[i];
		struct err e = ERR_INIT;
		struct str key;

		if (fs_literal_text(p->a, root->anchor, root->path, &key, &e) < 0) {
			fail(p, &e);
			return;
		}
		toml_add_key(p->b, key);
		buf_add_text(p->b, " = true\n");
	}
}

void key_print_set(const struct print *p, const struct profile *profile)
{
	if (profile->env.set.count > 0)
		add_header(p, "environment.set");
	for (size_t i = 0; i < profile->env.set.count; i++) {
		toml_add_key(p->b, profile->env.set.items[i].name);
		buf_add_text(p->b, " = ");
		toml_add_string(p->b, profile->env.set.items[i].value);
		buf_add_char(p->b, '\n');
	}
}

static void add_limit(const struct print *p, const struct key *k, uint64_t value)
{
	if (k->unit != UNIT_TIME)
		buf_printf(p->b, "%" PRIu64, value);
	else if (value % 1000 == 0)
		buf_printf(p->b, "%" PRIu64, value / 1000);
	else
		buf_printf(p->b, "\"%" PRIu64 "ms\"", value);
}

static void add_names(const struct print *p, const names *list)
{
	for (size_t i = 0; i < list->count; i++) {
		buf_add_text(p->b, i > 0 ? ", " : "[");
		toml_add_string(p->b, list->items[i].name);
	}
	buf_add_char(p->b, ']');
}

static void add_patterns(const struct print *p, const env_patterns *patterns)
{
	for (size_t i = 0; i < patterns->count; i++) {
		buf_add_text(p->b, i > 0 ? ", " : "[");
		toml_add_string(p->b, patterns->items[i].text);
	}
	buf_add_char(p->b, ']');
}

/* Whether the key is one line, and not a table. */
static bool is_line(const struct key *k)
{
	return k->kind != KIND_SUBTABLE && k->kind != KIND_OWN && k->kind != KIND_SETTING &&
	       k->kind != KIND_LOADED && k->kind != KIND_IGNORED && k->kind != KIND_REFUSED;
}

static void add_key(const struct print *p, const struct key *k, const struct profile *profile)
{
	const void *field = key_field(k, profile);

	buf_printf(p->b, "%s = ", k->name);
	switch (k->kind) {
	case KIND_BOOL:
		buf_add_text(p->b, key_word(k, profile));
		break;
	case KIND_CHOICE:
		buf_printf(p->b, "\"%s\"", key_word(k, profile));
		break;
	case KIND_STRING:
		toml_add_string(p->b, *(const struct str *)field);
		break;
	case KIND_NAMES:
	case KIND_WORDS:
		add_names(p, field);
		break;
	case KIND_PATTERNS:
		add_patterns(p, field);
		break;
	case KIND_LIMIT:
		add_limit(p, k, *(const uint64_t *)field);
		break;
	case KIND_SUBTABLE:
	case KIND_OWN:
	case KIND_SETTING:
	case KIND_LOADED:
	case KIND_IGNORED:
	case KIND_REFUSED:
		break;
	}
	buf_add_char(p->b, '\n');
}

/* The keys of one table that are lines, below its header if there is one. */
static void add_lines(const struct print *p, enum key_table which, const char *header,
		      const struct profile *profile)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (k->table != which || !is_line(k) || key_is_default(k, profile))
			continue;
		if (header)
			add_header(p, header);
		header = NULL;
		add_key(p, k, profile);
	}
}

/* The keys of one table that are tables: behind the lines, as TOML wants it. */
/* NOLINTNEXTLINE(misc-no-recursion): a subtable has no subtables. */
static void add_tables(const struct print *p, enum key_table which, const struct profile *profile)
{
	for (size_t i = 0; i < KEY_COUNT; i++) {
		const struct key *k = &policy_keys[i];

		if (k->table != which)
			continue;
		if (k->kind == KIND_OWN)
			k->print(p, profile);
		if (k->kind != KIND_SUBTABLE)
			continue;
		add_lines(p, k->subtable, k->name, profile);
		add_tables(p, k->subtable, profile);
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): the tables in `network` have no further ones. */
void key_print_network(const struct print *p, const struct profile *profile)
{
	const struct net_rules *net = &profile->net;

	add_header(p, "network");
	buf_printf(p->b, "enabled = %s\n", net->access == NET_OFF ? "false" : "true");
	/* A key besides `enabled` is what makes the network managed (P12). */
	if (net->access == NET_MANAGED && !net->is_limited)
		buf_add_text(p->b, "mode = \"full\"\n");
	add_lines(p, KEYS_NETWORK, NULL, profile);
	add_tables(p, KEYS_NETWORK, profile);
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
	add_lines(&p, KEYS_PROFILE, NULL, profile);
	add_tables(&p, KEYS_PROFILE, profile);
}
