/* SPDX-License-Identifier: MIT */
/*
 * See normal.h. K = "read" becomes a table, so that a child profile that adds subpaths to K keeps
 * its parent's entry for K: no deny of a parent is lost.
 */
#include "policy/normal.h"

#include "policy/fs_key.h"
#include "policy/schema.h"
#include "policy/tree.h"

/* The access that `value` names, in its one spelling. */
static int normal_access(struct toml *value, enum access *out, struct err *e)
{
	int r = decode_access(value, out, e);

	if (r == 0)
		value->string = str_of(access_name(*out));
	return r;
}

/* K = "read" as K = { "." = "read" }. */
static int normal_plain(struct arena *a, struct toml_member *m, const struct fs_key *key,
			struct err *e)
{
	struct toml_member *self = ARENA_NEW(a, struct toml_member, e);
	struct fs_target target;
	enum access access;
	int r;

	if (!self)
		return err_result(e);
	*self = (struct toml_member){ STR("."), m->name_origin, m->value };
	r = normal_access(&self->value, &access, e);
	if (r == 0 && !key->is_unknown) {
		r = fs_key_target(a, key, access, m->name_origin, &target, e);
		if (r == 0)
			r = fs_key_text(a, key->anchor, &target, &m->name, e);
	}
	if (r < 0)
		return r;
	m->value.type = TOML_TABLE;
	m->value.table.items = self;
	m->value.table.count = 1;
	return 0;
}

/* What somebody probably meant by a pattern with "**" inside a name; "" if unclear. */
static int mend_stars(struct arena *a, struct str key, size_t at, struct str *out, struct err *e)
{
	struct str before = str_first(key, at);
	struct str after = str_from(key, at);

	while (after.len && after.p[0] == '*')
		after = str_from(after, 1);
	*out = STR_EMPTY;
	if (before.len == 0 || before.p[before.len - 1] == '/')
		return arena_printf(a, out, e, "%.*s**%s%.*s", STR_ALL(before),
				    after.len && after.p[0] != '/' ? "/*" : "", STR_ALL(after));
	if (after.len == 0 || after.p[0] == '/')
		return arena_printf(a, out, e, "%.*s/**%.*s", STR_ALL(before), STR_ALL(after));
	return 0;
}

/*
 * These are valid (P6). But a deny that matches less than its author expects leaves the rest
 * open without notice, so warn.
 */
static int warn_slip(const struct decode *d, const struct toml_member *m, struct err *e)
{
	enum glob_slip slip = GLOB_NO_SLIP;
	struct str meant;
	size_t at = 0;
	int r;

	if (!d->warnings)
		return 0;
	r = glob_find_slip(d->a, m->name, &slip, &at, e);
	if (r < 0 || slip == GLOB_NO_SLIP)
		return r < 0 ? err_wrap_place(e, m->name_origin) : 0;
	if (slip != GLOB_SLIP_STARS)
		return decode_warn(d, m->name_origin, e,
				   "in '%s' the '%c' is never closed, so it stands for itself; "
				   "write '\\%c' to say so",
				   SHOWN(m->name), m->name.p[at], m->name.p[at]);
	r = mend_stars(d->a, m->name, at, &meant, e);
	if (r < 0)
		return r;
	return decode_warn(
		d, m->name_origin, e,
		"in '%s' the '**' means '*': it is special only as a whole component%s%s%s",
		SHOWN(m->name), meant.len ? "; did you mean \"" : "; write '*' to say so",
		meant.len ? SHOWN(meant) : "", meant.len ? "\"?" : "");
}

static int normal_scoped(const struct decode *d, struct toml_member *m, const struct fs_key *key,
			 struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < m->value.table.count && r == 0; i++) {
		struct toml_member *sub = &m->value.table.items[i];
		struct str name = STR_EMPTY;
		enum access access;

		r = normal_access(&sub->value, &access, e);
		if (r == 0)
			r = fs_key_normal_subpath(d->a, sub->name, access, sub->name_origin, &name,
						  e);
		if (r == 0)
			r = warn_slip(d, sub, e);
		if (r == 0)
			sub->name = name;
	}
	if (r == 0 && !key->is_unknown)
		r = fs_key_base_text(d->a, key, &m->name, e);
	return r < 0 ? r : tree_check_unique(d->a, &m->value, "this table", e);
}

static int normal_filesystem(const struct decode *d, struct toml *table, struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		struct toml_member *m = &table->table.items[i];
		struct fs_key key;
		int r;

		if (str_is(m->name, "glob_scan_max_depth"))
			continue;
		r = fs_key_parse(d->a, m->name, m->name_origin, &key, e);
		if (r == 0)
			r = warn_slip(d, m, e);
		if (r < 0)
			return r;
		if (m->value.type == TOML_TABLE)
			r = normal_scoped(d, m, &key, e);
		else
			r = normal_plain(d->a, m, &key, e);
		if (r < 0)
			return r;
	}
	return tree_check_unique(d->a, table, "'filesystem'", e);
}

static int normal_domains(struct arena *a, struct toml *table, struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		struct toml_member *m = &table->table.items[i];
		struct domain domain;

		if (domain_parse(a, m->name, &domain, e) < 0)
			return err_wrap_place(e, m->name_origin);
		m->name = domain.text;
	}
	return tree_check_unique(a, table, "'domains'", e);
}

/* The keys of `workspace_roots` and `unix_sockets`. */
static int normal_paths(struct arena *a, struct toml *table, bool may_be_relative,
			const char *where, const char *what, struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		struct toml_member *m = &table->table.items[i];
		enum fs_anchor anchor;
		struct str path;
		int r = fs_literal_parse(a, m->name, may_be_relative, what, m->name_origin, &anchor,
					 &path, e);

		if (r == 0)
			r = fs_literal_text(a, anchor, path, &m->name, e);
		if (r < 0)
			return r;
	}
	return tree_check_unique(a, table, where, e);
}

static int normal_network(struct arena *a, struct toml *table, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < table->table.count && r == 0; i++) {
		struct toml_member *m = &table->table.items[i];

		if (m->value.type != TOML_TABLE)
			continue;
		if (str_is(m->name, "domains"))
			r = normal_domains(a, &m->value, e);
		else if (str_is(m->name, "unix_sockets"))
			r = normal_paths(a, &m->value, false, "'unix_sockets'", "the socket", e);
	}
	return r;
}

int normal_table(const struct decode *d, struct toml *table, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < table->table.count && r == 0; i++) {
		struct toml_member *m = &table->table.items[i];

		if (str_is(m->name, "filesystem"))
			r = normal_filesystem(d, &m->value, e);
		else if (str_is(m->name, "network"))
			r = normal_network(d->a, &m->value, e);
		else if (str_is(m->name, "workspace_roots"))
			r = normal_paths(d->a, &m->value, true, "'workspace_roots'",
					 "the workspace root", e);
	}
	return r;
}
