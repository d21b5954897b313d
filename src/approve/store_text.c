/* SPDX-License-Identifier: MIT */
/* The form of the files of store.h. Pure. */
#include <stdio.h>

#include "approve/store.h"
#include "base/path.h"
#include "base/toml.h"
#include "base/utf8.h"
#include "policy/domain.h"

static const struct str last_line = STR_INIT("# end\n");

#define DAMAGED(e, place, ...) FAIL_CAUSE_AT(e, CAUSE_APPROVALS_DAMAGED, place, __VA_ARGS__)

/* ---- Reading -------------------------------------------------------------------------- */

/* The keys of a [[grant]] that are texts, and where each goes. */
struct text_key {
	const char *name;
	size_t offset; /* of a struct str in struct stored_grant */
	bool has_hex;  /* a path: NAME_hex if it is not UTF-8 */
	bool is_of_session;
};

#define OFFSET(member) offsetof(struct stored_grant, member)
static const struct text_key text_keys[] = {
	{ "id", OFFSET(id), false, false },
	{ "subject", OFFSET(grant.subject), true, false },
	{ "profile", OFFSET(profile), false, false },
	{ "workspace", OFFSET(workspace), true, true },
	{ "policy", OFFSET(policy), false, true },
	{ "by", OFFSET(by), false, false },
};

static struct str *text_field(struct stored_grant *g, const struct text_key *key)
{
	return (struct str *)(void *)((char *)g + key->offset);
}

static const struct str *const_text_field(const struct stored_grant *g, const struct text_key *key)
{
	return (const struct str *)(const void *)((const char *)g + key->offset);
}

static int hex_digit(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int decode_hex(struct arena *a, const struct toml *value, struct str *out, struct err *e)
{
	struct str hex = value->string;
	char *bytes = arena_alloc(a, hex.len / 2 + 1, e);

	if (!bytes)
		return err_result(e);
	for (size_t i = 0; i + 1 < hex.len; i += 2) {
		int high = hex_digit(hex.p[i]);
		int low = hex_digit(hex.p[i + 1]);

		if (high < 0 || low < 0)
			return DAMAGED(e, value->origin, "these are no hexadecimal digits");
		bytes[i / 2] = (char)(high << 4 | low);
	}
	if (hex.len % 2)
		return DAMAGED(e, value->origin, "the last byte has one digit only");
	*out = (struct str){ bytes, hex.len / 2 };
	return 0;
}

/* Of NAME and NAME_hex, exactly one is there. */
static int read_text(struct arena *a, const struct toml *table, const struct text_key *key,
		     struct str *out, struct err *e)
{
	char hex_name[32];
	const struct toml *plain = toml_find(table, key->name);
	const struct toml *hex;
	const struct toml *value;

	(void)snprintf(hex_name, sizeof(hex_name), "%s_hex", key->name);
	hex = key->has_hex ? toml_find(table, hex_name) : NULL;
	value = plain ? plain : hex;
	if (!value || (plain && hex))
		return DAMAGED(e, table->origin, "the approval has %s '%s'",
			       value ? "more than one" : "no", key->name);
	if (value->type != TOML_STRING)
		return DAMAGED(e, value->origin, "'%s' is no string", key->name);
	if (hex) {
		if (decode_hex(a, hex, out, e) < 0)
			return err_result(e);
	} else {
		*out = plain->string;
	}
	if (!out->len || str_has_nul(*out))
		return DAMAGED(e, value->origin, "'%s' is empty, or has a NUL in it", key->name);
	return 0;
}

static int read_date(struct arena *a, const struct toml *table, struct str *out, struct err *e)
{
	const struct toml *value = toml_find(table, "date");
	const struct toml_datetime *t;

	if (!value || value->type != TOML_OFFSET_DATETIME || value->datetime.offset_minutes)
		return DAMAGED(e, value ? value->origin : table->origin,
			       "the approval needs 'date', a time in UTC");
	t = &value->datetime;
	return arena_printf(a, out, e, "%04d-%02d-%02dT%02d:%02d:%02dZ", t->year, t->month, t->day,
			    t->hour, t->minute, t->second);
}

static int check_host(struct arena *a, const struct toml *table, struct grant *grant, struct err *e)
{
	const struct toml *value = toml_find(table, "subject");
	struct origin place = value ? value->origin : table->origin;
	struct domain domain;

	if (domain_parse(a, grant->subject, &domain, e) < 0)
		return err_wrap_place(e, place);
	if (domain.kind != DOMAIN_EXACT &&
	    (domain.kind != DOMAIN_BLOCK || domain.block.bits != 128))
		return FAIL_CAUSE_AT(e, CAUSE_APPROVAL_TOO_WIDE, place,
				     "an approval names one host, not a pattern");
	grant->subject = domain.text;
	return 0;
}

static int check_path(struct arena *a, const struct toml *table, const struct grant *grant,
		      struct err *e)
{
	struct str plain;

	if (!path_is_absolute(grant->subject) ||
	    path_plain(a, STR("/"), grant->subject, &plain, e) < 0 ||
	    !str_eq(plain, grant->subject))
		return DAMAGED(e, table->origin,
			       "the approval's path is not absolute and without '.', '..' and "
			       "empty parts");
	if (plain.len == 1)
		return FAIL_CAUSE_AT(e, CAUSE_APPROVAL_TOO_WIDE, table->origin,
				     "an approval can't open the whole host");
	return 0;
}

static int read_grant(struct arena *a, const struct toml *table, struct grant *grant, struct err *e)
{
	const struct toml *kind = toml_find(table, "kind");
	const struct toml *dir = toml_find(table, "dir");

	if (!kind || kind->type != TOML_STRING || !ask_kind_parse(kind->string, &grant->kind) ||
	    grant->kind == ASK_ESCALATE)
		return DAMAGED(e, kind ? kind->origin : table->origin,
			       "the approval needs a 'kind': write, connect or unix_socket");
	if (dir && (dir->type != TOML_BOOLEAN || grant->kind != ASK_WRITE))
		return DAMAGED(e, dir->origin, "'dir' is true or false, of a path that is written");
	grant->is_dir = dir && dir->boolean;
	return grant->kind == ASK_CONNECT ? check_host(a, table, grant, e)
					  : check_path(a, table, grant, e);
}

static bool is_key_of(const struct store *store, struct str name)
{
	for (size_t i = 0; i < COUNT_OF(text_keys); i++) {
		const struct text_key *key = &text_keys[i];
		size_t len = strlen(key->name);

		if (key->is_of_session && !store->session.len)
			continue;
		if (str_is(name, key->name))
			return true;
		if (key->has_hex && str_has_prefix(name, str_of(key->name)) &&
		    str_is(str_from(name, len), "_hex"))
			return true;
	}
	return str_is(name, "kind") || str_is(name, "dir") || str_is(name, "date");
}

static int read_entry(struct arena *a, const struct store *store, const struct toml *table,
		      struct stored_grant *out, struct err *e)
{
	if (table->type != TOML_TABLE)
		return DAMAGED(e, table->origin, "this is no [[grant]]");
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		char shown[64];

		if (!is_key_of(store, m->name))
			return DAMAGED(e, m->name_origin, "an approval has no key '%s'",
				       utf8_show(m->name, shown, sizeof(shown)));
	}
	out->origin = table->origin;
	for (size_t i = 0; i < COUNT_OF(text_keys); i++)
		if ((!text_keys[i].is_of_session || store->session.len) &&
		    read_text(a, table, &text_keys[i], text_field(out, &text_keys[i]), e) < 0)
			return err_result(e);
	if (read_grant(a, table, &out->grant, e) < 0)
		return err_result(e);
	return read_date(a, table, &out->date, e);
}

/* Of another session, or of another user who had this one's number. */
static int check_session(const struct store *store, const struct toml *top, struct err *e)
{
	const struct toml *session = toml_find(top, "session");
	const struct toml *uid = toml_find(top, "uid");

	if (!store->session.len)
		return 0;
	if (!session || session->type != TOML_STRING || !str_eq(session->string, store->session))
		return DAMAGED(e, session ? session->origin : top->origin,
			       "the file does not say that it is of this session");
	if (!uid || uid->type != TOML_INTEGER || uid->integer < 0 ||
	    (uint64_t)uid->integer != os_kept_user())
		return FAIL_CAUSE_AT(e, CAUSE_FILE_UNTRUSTED, uid ? uid->origin : top->origin,
				     "the session was begun by another user");
	return 0;
}

static int check_top(const struct store *store, const struct toml *top, struct err *e)
{
	const struct toml *version = toml_find(top, "version");

	if (!version || version->type != TOML_INTEGER || version->integer < 1)
		return DAMAGED(e, version ? version->origin : top->origin,
			       "the file does not say which version it has");
	if (version->integer > STORE_VERSION)
		return FAIL_CAUSE_AT(e, CAUSE_APPROVALS_NEWER, version->origin,
				     "a newer version of Cordon wrote this file");
	for (size_t i = 0; i < top->table.count; i++) {
		const struct toml_member *m = &top->table.items[i];
		bool is_known = str_is(m->name, "version") || str_is(m->name, "grant") ||
				(store->session.len &&
				 (str_is(m->name, "session") || str_is(m->name, "uid")));
		char shown[64];

		if (!is_known)
			return DAMAGED(e, m->name_origin, "the file has no key '%s'",
				       utf8_show(m->name, shown, sizeof(shown)));
	}
	return check_session(store, top, e);
}

static int read_grants(struct arena *a, struct store *store, const struct toml *grants,
		       struct err *e)
{
	if (grants->type != TOML_ARRAY)
		return DAMAGED(e, grants->origin, "'grant' is no list");
	if (grants->array.count > STORE_MAX_GRANTS)
		return DAMAGED(e, grants->origin, "there are more than %d approvals",
			       STORE_MAX_GRANTS);
	for (size_t i = 0; i < grants->array.count; i++) {
		struct stored_grant *added = VEC_PUSH(a, &store->grants, e);

		if (!added || read_entry(a, store, &grants->array.items[i], added, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* The name that messages show: no file name can forge a line or a colour. */
static int show_name(struct arena *a, struct str path, const char **out, struct err *e)
{
	char shown[PATH_MAX_BYTES];
	struct str copy;

	if (arena_copy(a, str_of(utf8_show(path, shown, sizeof(shown))), &copy, e) < 0)
		return err_result(e);
	*out = copy.p;
	return 0;
}

int store_parse(struct arena *a, struct store *store, struct str text, struct err *e)
{
	const struct toml *grants;
	const struct toml *top;
	const char *file;

	if (show_name(a, store->file.path, &file, e) < 0)
		return err_result(e);
	if (!str_has_suffix(text, last_line)) {
		struct origin end = origin_find(file, text, text.len);

		return DAMAGED(e, end,
			       "the file does not end with the line '# end': it is incomplete");
	}
	top = toml_parse(a, file, text, e);
	if (!top) {
		if (e->code == ERR_SYNTAX)
			e->cause = CAUSE_APPROVALS_DAMAGED;
		return err_result(e);
	}
	store->grants.count = 0;
	grants = toml_find(top, "grant");
	if (check_top(store, top, e) < 0)
		return err_result(e);
	return grants ? read_grants(a, store, grants, e) : 0;
}

/* ---- Writing -------------------------------------------------------------------------- */

static void add_text(struct buf *out, const struct text_key *key, struct str value)
{
	if (key->has_hex && utf8_check(value) < value.len) {
		buf_printf(out, "%s_hex = \"", key->name);
		for (size_t i = 0; i < value.len; i++)
			buf_printf(out, "%02x", (unsigned)(unsigned char)value.p[i]);
		buf_add_text(out, "\"\n");
		return;
	}
	buf_printf(out, "%s = ", key->name);
	toml_add_string(out, value);
	buf_add_char(out, '\n');
}

static void add_grant(struct buf *out, const struct store *store, const struct stored_grant *g)
{
	buf_add_text(out, "[[grant]]\n");
	for (size_t i = 0; i < COUNT_OF(text_keys); i++) {
		const struct text_key *key = &text_keys[i];

		if (key->is_of_session && !store->session.len)
			continue;
		add_text(out, key, *const_text_field(g, key));
		/* Behind the id, for whoever reads the file. */
		if (i == 0)
			buf_printf(out, "kind = \"%s\"\n", ask_kind_name(g->grant.kind));
		if (i == 1 && g->grant.is_dir)
			buf_add_text(out, "dir = true\n");
	}
	buf_add_text(out, "date = ");
	buf_add(out, g->date);
	buf_add_text(out, "\n\n");
}

void store_print(struct buf *out, const struct store *store)
{
	buf_add_text(out, "# Approvals that last; 'cordon approvals' lists and ends them. "
			  "Only Cordon writes this file.\n");
	buf_printf(out, "version = %d\n", STORE_VERSION);
	if (store->session.len) {
		buf_add_text(out, "session = ");
		toml_add_string(out, store->session);
		buf_printf(out, "\nuid = %llu\n", (unsigned long long)os_kept_user());
	}
	buf_add_char(out, '\n');
	for (size_t i = 0; i < store->grants.count; i++)
		add_grant(out, store, &store->grants.items[i]);
	buf_add(out, last_line);
}
