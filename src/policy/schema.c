/* SPDX-License-Identifier: MIT */
/* See schema.h. The tables below are the whole of what may be written. */
#include "policy/schema.h"

#include <stdio.h>

#include "base/nearest.h"

enum {
	T_STRING = 1 << TOML_STRING,
	T_INTEGER = 1 << TOML_INTEGER,
	T_BOOLEAN = 1 << TOML_BOOLEAN,
	T_ARRAY = 1 << TOML_ARRAY,
	T_TABLE = 1 << TOML_TABLE,
	T_ANY = -1,
	EVERY_LAYER = SCHEMA_BUILTIN | SCHEMA_SYSTEM | SCHEMA_USER,
};

enum { KEYS_MAX = 24 };

struct key {
	const char *name;
	int types;
	int layers; /* 0 is every layer */
};

static const struct key keys[][KEYS_MAX] = {
	[SCHEMA_TOP] = {
		{ "default_permissions", T_STRING, 0 },
		{ "permissions", T_TABLE, 0 },
		{ "trust", T_TABLE, SCHEMA_USER },
		{ "features", T_TABLE, 0 },
		{ "linux", T_TABLE, 0 },
		{ "unavailable", T_STRING, SCHEMA_USER },
		{ "accept_missing", T_ARRAY, SCHEMA_USER },
		{ "shell", T_STRING, 0 },
	},
	[SCHEMA_PROFILE] = {
		{ "description", T_STRING, 0 },
		{ "extends", T_STRING, 0 },
		{ "workspace", T_STRING, 0 },
		{ "workspace_roots", T_TABLE, 0 },
		{ "filesystem", T_TABLE, 0 },
		{ "network", T_TABLE, 0 },
		{ "environment", T_TABLE, 0 },
		{ "limits", T_TABLE, 0 },
		{ "git", T_STRING, 0 },
		{ "nested", T_STRING, 0 },
		{ "protect", T_ARRAY, 0 },
		{ "unprotect", T_ARRAY, 0 },
		{ "tmp", T_STRING, 0 },
		{ "globs", T_STRING, 0 },
		{ "isolation", T_TABLE, 0 },
	},
	[SCHEMA_PROJECT] = {
		{ "filesystem", T_TABLE, 0 },
		{ "network", T_TABLE, 0 },
		{ "limits", T_TABLE, 0 },
		{ "protect", T_ARRAY, 0 },
	},
	[SCHEMA_REQUIREMENTS] = {
		{ "allow", T_ARRAY, 0 },
		{ "filesystem", T_TABLE, 0 },
		{ "network", T_TABLE, 0 },
		{ "limits", T_TABLE, 0 },
		{ "protect", T_ARRAY, 0 },
	},
	[SCHEMA_NETWORK] = {
		{ "enabled", T_BOOLEAN, 0 },
		{ "mode", T_STRING, 0 },
		{ "domains", T_TABLE, 0 },
		{ "unix_sockets", T_TABLE, 0 },
		{ "allow_local_binding", T_BOOLEAN, 0 },
		{ "allow_upstream_proxy", T_BOOLEAN, 0 },
		{ "proxy_url", T_STRING, 0 },
		{ "socks_url", T_STRING, 0 },
		{ "enable_socks5", T_BOOLEAN, 0 },
		{ "enable_socks5_udp", T_BOOLEAN, 0 },
		{ "dangerously_allow_non_loopback_proxy", T_BOOLEAN, 0 },
		{ "dangerously_allow_all_unix_sockets", T_BOOLEAN, 0 },
		{ "dangerously_allow_plaintext_credential_injection", T_BOOLEAN, 0 },
		{ "mitm", T_ANY, 0 },
	},
	[SCHEMA_ENVIRONMENT] = {
		{ "inherit", T_STRING, 0 },
		{ "exclude", T_ARRAY, 0 },
		{ "include", T_ARRAY, 0 },
		{ "set", T_TABLE, 0 },
	},
	[SCHEMA_LIMITS] = {
		{ "timeout", T_INTEGER | T_STRING, 0 },
		{ "memory", T_INTEGER | T_STRING, 0 },
		{ "processes", T_INTEGER, 0 },
		{ "file_size", T_INTEGER | T_STRING, 0 },
		{ "open_files", T_INTEGER, 0 },
		{ "cpu_time", T_INTEGER | T_STRING, 0 },
	},
	[SCHEMA_ISOLATION] = {
		{ "ipc", T_BOOLEAN, 0 },
		{ "proc", T_BOOLEAN, 0 },
		{ "userns", T_BOOLEAN, 0 },
	},
	[SCHEMA_LINUX] = {
		{ "backends", T_ARRAY, 0 },
	},
};

struct hint schema_hint(struct str typed, const char *const *known)
{
	struct hint hint = { "" };
	const char *nearest;
	size_t count = 0;

	while (known[count])
		count++;
	nearest = nearest_name(typed, known, count);
	if (nearest)
		(void)snprintf(hint.text, sizeof(hint.text), "; did you mean '%s'?",
			       SHOWN(str_of(nearest)));
	return hint;
}

struct hint schema_hint_or_list(struct str typed, const char *const *known, const char *intro)
{
	struct hint hint = schema_hint(typed, known);
	size_t room = sizeof(hint.text) - sizeof(", ...");
	size_t used = 0;

	if (hint.text[0])
		return hint;
	for (size_t i = 0; known[i]; i++) {
		struct str name = str_of(known[i]);
		const char *before = i ? ", " : intro;

		if (used + strlen(before) + 4 * name.len > room) {
			(void)snprintf(hint.text + used, sizeof(hint.text) - used, ", ...");
			break;
		}
		used += (size_t)snprintf(hint.text + used, sizeof(hint.text) - used, "%s%s", before,
					 SHOWN(name));
	}
	return hint;
}

static const struct key *find_key(enum schema_table which, struct str name)
{
	for (const struct key *k = keys[which]; k < keys[which] + KEYS_MAX && k->name; k++)
		if (str_is(name, k->name))
			return k;
	return NULL;
}

static int fail_unknown(const struct toml_member *m, enum schema_table which, const char *where,
			struct err *e)
{
	const char *names[KEYS_MAX + 1] = { NULL };

	for (size_t i = 0; i < KEYS_MAX && keys[which][i].name; i++)
		names[i] = keys[which][i].name;
	if (which == SCHEMA_TOP && m->value.type == TOML_TABLE &&
	    !schema_hint(m->name, names).text[0])
		return FAIL_AT(e, ERR_POLICY, m->name_origin,
			       "unknown key '%s' in %s; %s is written [permissions.%s%s]",
			       SHOWN(m->name), where,
			       find_key(SCHEMA_PROFILE, m->name) ? "that of a profile"
								 : "a profile",
			       find_key(SCHEMA_PROFILE, m->name) ? "NAME." : "", SHOWN(m->name));
	return FAIL_AT(e, ERR_POLICY, m->name_origin, "unknown key '%s' in %s%s", SHOWN(m->name),
		       where, schema_hint_or_list(m->name, names, "; it may hold: ").text);
}

/* "a " or "an ", before the name of a type. */
static const char *article(const char *name)
{
	return name[0] != '\0' && strchr("aeio", name[0]) ? "an " : "a ";
}

/* "a string or an integer" */
static void name_types(int types, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (int t = TOML_STRING; t <= TOML_TABLE && used < size; t++) {
		const char *name = toml_type_name((enum toml_type)t);
		int n;

		if (!(types & (1 << t)))
			continue;
		n = snprintf(out + used, size - used, "%s%s%s", used ? " or " : "", article(name),
			     name);
		used += n > 0 ? (size_t)n : 0;
	}
}

/* Tables that are often taken for arrays or strings. */
static const struct {
	const char *name, *form;
} forms[] = {
	{ "domains", "domains = { \"example.com\" = \"allow\" }" },
	{ "unix_sockets", "unix_sockets = { \"/run/x.sock\" = \"allow\" }" },
	{ "workspace_roots", "workspace_roots = { \"~/src/other\" = true }" },
	{ "filesystem", "filesystem = { \"/path\" = \"read\" }" },
	{ "network", "network = { enabled = true }" },
};

static int fail_type(const struct toml_member *m, const struct key *k, const char *where,
		     struct err *e)
{
	const char *form = NULL;
	char types[96];

	name_types(k->types, types, sizeof(types));
	for (size_t i = 0; i < COUNT_OF(forms); i++)
		if (strcmp(k->name, forms[i].name) == 0)
			form = forms[i].form;
	return FAIL_AT(e, ERR_POLICY, m->value.origin, "'%s' in %s is %s%s; it has to be %s%s%s",
		       k->name, where, article(toml_type_name(m->value.type)),
		       toml_type_name(m->value.type), types, form ? ": " : "", form ? form : "");
}

int schema_check(const struct toml *table, enum schema_table which, enum schema_layer layer,
		 const char *where, struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		const struct key *k = find_key(which, m->name);

		if (!k)
			return fail_unknown(m, which, where, e);
		if (!((k->layers ? k->layers : EVERY_LAYER) & (int)layer))
			return FAIL_AT(e, ERR_POLICY, m->name_origin,
				       "'%s' is taken from the user's own configuration only; "
				       "remove it here",
				       k->name);
		if (!(k->types & (1 << m->value.type)))
			return fail_type(m, k, where, e);
	}
	return 0;
}

int schema_type(const struct toml *value, enum toml_type type, const char *what, struct err *e)
{
	if (value->type == type)
		return 0;
	return FAIL_AT(e, ERR_POLICY, value->origin, "%s is %s%s; it has to be %s%s", what,
		       article(toml_type_name(value->type)), toml_type_name(value->type),
		       article(toml_type_name(type)), toml_type_name(type));
}

static int fail_choice(const struct toml *value, const char *what, const char *const *choices,
		       struct err *e)
{
	char list[160] = "";
	size_t used = 0;

	for (size_t i = 0; choices[i]; i++) {
		int n = snprintf(list + used, sizeof(list) - used, "%s\"%s\"",
				 i == 0		  ? ""
				 : choices[i + 1] ? ", "
						  : " or ",
				 choices[i]);

		used = MIN_OF(used + (n > 0 ? (size_t)n : 0), sizeof(list) - 1);
	}
	if (value->type != TOML_STRING)
		return FAIL_AT(e, ERR_POLICY, value->origin, "%s is %s%s; it has to be %s", what,
			       article(toml_type_name(value->type)), toml_type_name(value->type),
			       list);
	return FAIL_AT(e, ERR_POLICY, value->origin, "%s can't be \"%s\"; it has to be %s%s", what,
		       SHOWN(value->string), list, schema_hint(value->string, choices).text);
}

int schema_choice(const struct toml *value, const char *what, const char *const *choices,
		  size_t *out, struct err *e)
{
	for (size_t i = 0; value->type == TOML_STRING && choices[i]; i++)
		if (str_is(value->string, choices[i])) {
			*out = i;
			return 0;
		}
	return fail_choice(value, what, choices, e);
}
