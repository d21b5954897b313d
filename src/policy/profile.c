/* SPDX-License-Identifier: MIT */
/* Decodes a table in normal form into a struct profile (P4) or a narrowing layer (P2). */
#include <stdarg.h>
#include <stdio.h>

#include "base/nearest.h"
#include "base/path.h"
#include "policy/decode.h"
#include "policy/fs_key.h"
#include "policy/metadata.h"

int decode_warn(const struct decode *d, struct origin origin, struct err *e, const char *fmt, ...)
{
	char text[2 * sizeof(e->text)];
	char shown[sizeof(e->text)];
	struct warning *added;
	va_list args;

	if (!d->warnings)
		return 0;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	added = VEC_PUSH(d->a, d->warnings, e);
	if (!added)
		return err_result(e);
	added->origin = origin;
	/* Escaping never makes a text shorter, so this cuts it at a whole character. */
	return arena_copy(d->a, str_of(utf8_show(str_of(text), shown, sizeof(shown))), &added->text,
			  e);
}

int decode_check(const struct decode *d, const struct toml *table, enum key_table which,
		 struct err *e)
{
	static const enum key_files files[] = { [LAYER_PROFILE] = IN_USER,
						[LAYER_PROJECT] = IN_PROJECT,
						[LAYER_REQUIREMENTS] = IN_REQUIREMENTS };
	struct str name = str_of(key_table_prefix(which));
	char where[SHOWN_BYTES + 64];

	(void)snprintf(where, sizeof(where), "'%.*s' of %s", (int)name.len - 1, name.p, d->where);
	return schema_check(table, which, files[d->kind], where, e);
}

void profile_init(struct profile *p)
{
	*p = (struct profile){ .name = STR_EMPTY, .description = STR_EMPTY };
	keys_init_profile(p);
}

int key_decode_workspace_roots(const struct decode *d, const struct toml *table, void *base,
			       struct err *e)
{
	struct profile *out = base;

	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		struct root root = { .origin = m->name_origin };
		struct root *added;
		int r = schema_type(&m->value, TOML_BOOLEAN, "the value of a workspace root", e);

		if (r == 0)
			r = fs_literal_parse(d->a, m->name, true, "the workspace root",
					     m->name_origin, &root.anchor, &root.path, e);
		if (r < 0)
			return r;
		if (!m->value.boolean)
			continue;
		added = VEC_PUSH(d->a, &out->roots, e);
		if (!added)
			return err_result(e);
		*added = root;
	}
	return 0;
}

int protect_check(struct str name, struct origin origin, struct err *e)
{
	if (name.len == 0 || str_is(name, ".") || str_is(name, "..") || str_has_nul(name) ||
	    str_find(name, '/') < name.len)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, origin,
			"'%s' can't be protected: 'protect' takes single names like \".hg\"; "
			"for a path use 'filesystem' with \"read\"",
			SHOWN(name));
	if (name.len > PATH_MAX_COMPONENT)
		return FAIL_AT(e, ERR_LIMIT, origin,
			       "a name of %zu bytes is too long; the limit is %d", name.len,
			       PATH_MAX_COMPONENT);
	return 0;
}

int unprotect_check(struct str name, struct origin origin, struct err *e)
{
	const char *known[METADATA_MAX_NAMES];
	const char *nearest;

	if (str_is(name, METADATA_OWN))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, origin,
				     "'" METADATA_OWN "' can't be unprotected: the policy of the "
				     "next run is read from it");
	if (str_is(name, ".git"))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, origin,
				     "'unprotect' can't open '.git'; set 'git = \"commit\"' or "
				     "'git = \"write\"'");
	if (metadata_find(name))
		return 0;
	for (size_t i = 0; i < metadata_name_count; i++)
		known[i] = metadata_names[i].name;
	nearest = nearest_name(name, known, metadata_name_count);
	return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, origin,
			     "'%s' is not protected by default%s%s%s; 'cordon profiles "
			     ":workspace' lists the names that are",
			     SHOWN(name), nearest ? " (did you mean '" : "", nearest ? nearest : "",
			     nearest ? "'?)" : "");
}

/* "'network.mode'" */
struct label {
	char text[96];
};

static struct label label_of(const struct key *k, const char *before)
{
	struct label label;

	(void)snprintf(label.text, sizeof(label.text), "%s'%s%s'", before,
		       key_table_prefix(k->table), k->name);
	return label;
}

static int decode_choice(const struct key *k, const struct toml *value, void *base, struct err *e)
{
	size_t which = 0;
	int r = schema_choice(value, label_of(k, "").text, k->words, &which, e);

	if (r == 0)
		key_set(k, base, (unsigned)which);
	return r;
}

static int add_name(const struct decode *d, names *out, struct str name, struct origin origin,
		    struct err *e)
{
	struct named *added = VEC_PUSH(d->a, out, e);

	if (!added)
		return err_result(e);
	*added = (struct named){ name, origin };
	return 0;
}

static int decode_names(const struct decode *d, const struct key *k, const struct toml *array,
			names *out, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < array->array.count && r == 0; i++) {
		const struct toml *value = &array->array.items[i];

		r = schema_type(value, TOML_STRING, label_of(k, "a name in ").text, e);
		if (r == 0)
			r = k->check(value->string, value->origin, e);
		if (r == 0)
			r = add_name(d, out, value->string, value->origin, e);
	}
	return r;
}

int decode_words(const struct decode *d, const struct toml *array, const char *what,
		 const char *const *words, names *out, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < array->array.count && r == 0; i++) {
		const struct toml *value = &array->array.items[i];
		size_t which = 0;

		r = schema_choice(value, what, words, &which, e);
		if (r == 0 && names_have(out, value->string))
			r = FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, value->origin, "'%s' is listed twice",
					  SHOWN(value->string));
		if (r == 0)
			r = add_name(d, out, str_of(words[which]), value->origin, e);
	}
	return r;
}

static int refuse(const struct key *k, const struct toml_member *m, struct err *e)
{
	if (k->types == 1 << TOML_BOOLEAN && !m->value.boolean)
		return 0;
	return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, m->name_origin, "%s is not supported: %s",
			     label_of(k, "").text, k->why);
}

static int decode_member(const struct decode *d, const struct key *k, const struct toml_member *m,
			 void *base, struct err *e)
{
	const struct toml *value = &m->value;
	void *field = (char *)base + k->offset;
	int r;

	switch (k->kind) {
	case KIND_BOOL:
		key_set(k, base, value->boolean);
		return 0;
	case KIND_CHOICE:
		return decode_choice(k, value, base, e);
	case KIND_STRING:
		*(struct str *)field = value->string;
		return 0;
	case KIND_NAMES:
		return decode_names(d, k, value, field, e);
	case KIND_WORDS:
		return decode_words(d, value, label_of(k, "a name in ").text, k->words, field, e);
	case KIND_PATTERNS:
		return decode_patterns(d, k, value, field, e);
	case KIND_LIMIT:
		return decode_limit(k, value, field, e);
	case KIND_SUBTABLE:
		r = decode_check(d, value, k->subtable, e);
		return r < 0 ? r : decode_keys(d, k->subtable, value, base, e);
	case KIND_OWN:
	case KIND_SETTING:
		return k->decode(d, value, base, e);
	case KIND_IGNORED:
		return decode_warn(d, m->name_origin, e, "%s is ignored: %s", label_of(k, "").text,
				   k->why);
	case KIND_REFUSED:
		return refuse(k, m, e);
	case KIND_LOADED:
		break;
	}
	return 0;
}

int decode_key(const struct decode *d, const struct key *k, const struct toml *table, void *base,
	       struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];

		if (!str_is(m->name, k->name))
			continue;
		if (k->origin)
			*(struct origin *)(void *)((char *)base + k->origin) = m->value.origin;
		return decode_member(d, k, m, base, e);
	}
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): a subtable has no subtables. */
int decode_keys(const struct decode *d, enum key_table which, const struct toml *table, void *base,
		struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < KEY_COUNT && r == 0; i++)
		if (policy_keys[i].table == which)
			r = decode_key(d, &policy_keys[i], table, base, e);
	return r;
}

struct profile *decode_profile(const struct decode *d, struct str name, const struct toml *table,
			       struct err *e)
{
	struct profile *p = ARENA_NEW(d->a, struct profile, e);

	if (!p)
		return NULL;
	profile_init(p);
	p->name = name;
	p->origin = table->origin;
	p->net.access_origin = table->origin;
	return decode_keys(d, KEYS_PROFILE, table, p, e) < 0 ? NULL : p;
}

int decode_narrowing(const struct decode *d, const struct toml *table, struct narrowing *out,
		     struct err *e)
{
	struct narrowing n = { .layer = { .name = STR_EMPTY, .dir = STR_EMPTY } };
	int r;

	profile_init(&n.keys);
	/* A key that the file does not set takes nothing away. */
	keys_init_narrowing(&n.keys);
	n.keys.net.access = NET_FULL;
	r = decode_keys(d, KEYS_PROFILE, table, &n.keys, e);
	if (r < 0)
		return r;
	n.layer.has_net = toml_find(table, "network") != NULL;
	n.layer.fs = n.keys.fs;
	n.layer.net = n.keys.net;
	*out = n;
	return 0;
}
