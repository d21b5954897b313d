/* SPDX-License-Identifier: MIT */
/* `filesystem` (P5, P6): entries from a table in normal form. */
#include "base/path.h"
#include "policy/decode.h"
#include "policy/fs_key.h"

static const char *const access_names[] = {
	[ACCESS_DENY] = "deny",
	[ACCESS_READ] = "read",
	[ACCESS_WRITE] = "write",
	NULL,
};

const char *access_name(enum access access)
{
	return access_names[access];
}

int decode_access(const struct toml *value, enum access *out, struct err *e)
{
	size_t which;
	int r;

	if (value->type == TOML_STRING && str_is(value->string, "none")) {
		*out = ACCESS_DENY;
		return 0;
	}
	r = schema_choice(value, "the access", access_names, &which, e);
	if (r == 0)
		*out = (enum access)which;
	return r;
}

/*
 * P3: losing an allow may warn, losing a deny is an error. In a narrowing layer a
 * read takes the writing away, so it is a deny too.
 */
static int drop_unknown(const struct decode *d, struct str key, const struct fs_entry *entry,
			struct err *e)
{
	static const char *const known[] = { ":root",	":minimal",   ":workspace_roots",
					     ":tmpdir", ":slash_tmp", ":secrets",
					     NULL };
	struct hint hint = schema_hint(key, known);

	if (entry->access == ACCESS_DENY || (decode_narrows(d) && entry->access == ACCESS_READ))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, entry->origin,
				     "unknown token '%s', so what it denies would stay open%s",
				     SHOWN(key), hint.text);
	return decode_warn(d, entry->origin, e, "unknown token '%s', which has no effect%s",
			   SHOWN(key), hint.text);
}

static int check_secrets(const struct fs_entry *entry, struct err *e)
{
	if (entry->anchor != FS_SECRETS || entry->access == ACCESS_DENY)
		return 0;
	return FAIL_CAUSE_AT(
		e, CAUSE_BAD_VALUE, entry->origin,
		"':secrets' can only be denied; to open one of them, give its own path %s "
		"access",
		access_name(entry->access));
}

static int add_entry(const struct decode *d, const struct fs_key *base, struct str base_text,
		     const struct toml_member *sub, fs_entries *out, struct err *e)
{
	struct fs_entry entry = { .anchor = base->anchor, .key = base_text };
	struct fs_key key = *base;
	struct fs_target target = { STR_EMPTY, STR_EMPTY };
	struct fs_entry *added;
	int r;

	entry.origin = sub->name_origin;
	r = decode_access(&sub->value, &entry.access, e);
	if (r < 0 || base->is_unknown)
		return r < 0 ? r : drop_unknown(d, base_text, &entry, e);
	r = fs_key_scope(d->a, &key, sub->name, sub->name_origin, e);
	if (r == 0)
		r = fs_key_target(d->a, &key, entry.access, sub->name_origin, &target, e);
	if (r == 0)
		r = check_secrets(&entry, e);
	if (r == 0 && !str_is(sub->name, "."))
		r = arena_printf(d->a, &entry.key, e, "%.*s → %.*s", (int)base_text.len,
				 base_text.p, (int)sub->name.len, sub->name.p);
	if (r < 0)
		return r;
	entry.path = target.path;
	entry.glob = target.glob;
	if (target.glob.len > 0) {
		entry.matcher = glob_parse(d->a, target.glob, e);
		if (!entry.matcher)
			return err_wrap_place(e, sub->name_origin);
	}
	added = VEC_PUSH(d->a, out, e);
	if (!added)
		return err_result(e);
	*added = entry;
	return 0;
}

static int check_scan_depth(const struct decode *d, const struct toml_member *m, struct err *e)
{
	int r = schema_type(&m->value, TOML_INTEGER, "'glob_scan_max_depth'", e);

	if (r < 0)
		return r;
	if (m->value.integer < 1)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, m->value.origin,
				     "'glob_scan_max_depth' has to be at least 1");
	return decode_warn(d, m->name_origin, e,
			   "'glob_scan_max_depth' is ignored: globs match at every depth");
}

/* P3: nobody knows whether an entry without an access was meant to deny. */
static int check_not_empty(const struct toml_member *m, struct err *e)
{
	if (m->value.table.count > 0)
		return 0;
	(void)FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, m->value.origin,
			    "the table of '%s' is empty, so the entry allows and denies nothing",
			    SHOWN(m->name));
	if (str_is(m->name, ":secrets"))
		err_add_line(e, "write \":secrets\" = \"deny\", or remove the entry");
	else
		err_add_line(e,
			     "give it an access, as in { \".\" = \"deny\" }, or remove the entry");
	return err_result(e);
}

int key_decode_filesystem(const struct decode *d, const struct toml *table, void *base,
			  struct err *e)
{
	fs_entries *out = &((struct profile *)base)->fs;

	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		struct fs_key key;
		int r;

		if (str_is(m->name, "glob_scan_max_depth")) {
			r = check_scan_depth(d, m, e);
			if (r < 0)
				return r;
			continue;
		}
		r = fs_key_parse(d->a, m->name, m->name_origin, &key, e);
		if (r == 0)
			r = check_not_empty(m, e);
		for (size_t j = 0; j < m->value.table.count && r == 0; j++)
			r = add_entry(d, &key, m->name, &m->value.table.items[j], out, e);
		if (r < 0)
			return r;
	}
	return 0;
}
