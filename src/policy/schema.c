/* SPDX-License-Identifier: MIT */
/* See schema.h. */
#include "policy/schema.h"

#include <stdio.h>

#include "base/nearest.h"

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

/* The keys of that table that may stand in that file, as NULL-terminated names. */
static void list_names(enum key_table which, enum key_files file, const char **out)
{
	size_t count = 0;

	for (size_t i = 0; i < KEY_COUNT; i++)
		if (policy_keys[i].table == which && (policy_keys[i].files & (int)file))
			out[count++] = policy_keys[i].name;
	out[count] = NULL;
}

static int fail_unknown(const struct toml_member *m, enum key_table which, enum key_files file,
			const char *where, struct err *e)
{
	const char *names[KEY_COUNT + 1];
	bool is_of_profile = key_find(KEYS_PROFILE, m->name) != NULL;

	list_names(which, file, names);
	if (which == KEYS_TOP && m->value.type == TOML_TABLE &&
	    !schema_hint(m->name, names).text[0])
		return FAIL_CAUSE_AT(e, CAUSE_UNKNOWN_KEY, m->name_origin,
				     "unknown key '%s' in %s; %s is written [permissions.%s%s]",
				     SHOWN(m->name), where,
				     is_of_profile ? "that of a profile" : "a profile",
				     is_of_profile ? "NAME." : "", SHOWN(m->name));
	return FAIL_CAUSE_AT(e, CAUSE_UNKNOWN_KEY, m->name_origin, "unknown key '%s' in %s%s",
			     SHOWN(m->name), where,
			     schema_hint_or_list(m->name, names, "; it may hold: ").text);
}

static int fail_file(const struct toml_member *m, const struct key *k, enum key_files file,
		     const char *where, struct err *e)
{
	const char *names[KEY_COUNT + 1];

	if (k->files == IN_USER)
		return FAIL_CAUSE_AT(e, CAUSE_KEY_NOT_ALLOWED_HERE, m->name_origin,
				     "only the user's own configuration may set '%s'; remove it "
				     "here",
				     k->name);
	list_names(k->table, file, names);
	return FAIL_CAUSE_AT(e, CAUSE_KEY_NOT_ALLOWED_HERE, m->name_origin, "%s may not set '%s'%s",
			     where, k->name,
			     schema_hint_or_list(STR_EMPTY, names, "; it may hold: ").text);
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
	{ "approve", "[[approve]]" },
	{ "exec", "[[exec]]" },
	{ "files", "files = { writable = [\"src/**\"] }" },
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
	return FAIL_CAUSE_AT(e, CAUSE_WRONG_TYPE, m->value.origin,
			     "'%s' in %s is %s%s; it has to be %s%s%s", k->name, where,
			     article(toml_type_name(m->value.type)), toml_type_name(m->value.type),
			     types, form ? ": " : "", form ? form : "");
}

int schema_check(const struct toml *table, enum key_table which, enum key_files file,
		 const char *where, struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		const struct key *k = key_find(which, m->name);

		if (!k)
			return fail_unknown(m, which, file, where, e);
		if (!(k->files & (int)file))
			return fail_file(m, k, file, where, e);
		if (!(k->types & (1 << m->value.type)))
			return fail_type(m, k, where, e);
	}
	return 0;
}

int schema_type(const struct toml *value, enum toml_type type, const char *what, struct err *e)
{
	if (value->type == type)
		return 0;
	return FAIL_CAUSE_AT(e, CAUSE_WRONG_TYPE, value->origin, "%s is %s%s; it has to be %s%s",
			     what, article(toml_type_name(value->type)),
			     toml_type_name(value->type), article(toml_type_name(type)),
			     toml_type_name(type));
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
		return FAIL_CAUSE_AT(
			e, CAUSE_WRONG_TYPE, value->origin, "%s is %s%s; it has to be %s", what,
			article(toml_type_name(value->type)), toml_type_name(value->type), list);
	return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, value->origin,
			     "%s can't be \"%s\"; it has to be %s%s", what, SHOWN(value->string),
			     list, schema_hint(value->string, choices).text);
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
