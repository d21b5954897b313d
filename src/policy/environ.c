/* SPDX-License-Identifier: MIT */
/*
 * `environment` (P21): which variables a command gets. Names are matched without
 * regard to case, because "github_token" is as secret as "GITHUB_TOKEN"; what is
 * one letter in two cases is said by the table of capitals, which is what Windows
 * compares the names of variables by. Values of inherited variables are never
 * seen here.
 */
#include <stdio.h>

#include "base/windows_path.h"
#include "policy/decode.h"

enum { NAME_MAX_BYTES = 1024 }; /* a longer name is withheld rather than guessed about */

static const char *const core_names[] = {
	"PATH", "SHELL",  "TMPDIR",   "TEMP",	 "TMP",	 "HOME",
	"LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "USER", "TERM",
};

/* A name has no components: its '/' may not stop a '*'. */
static char fold(char c)
{
	return c == '/' ? '\x01' : ascii_lower(c);
}

static bool is_ascii(char c)
{
	return (unsigned char)c < 0x80;
}

/* Most names are ASCII, which the table need not be asked about. */
static struct str fold_name(struct str name, char room[UPCASE_ROOM])
{
	size_t plain = 0;
	struct str text;

	while (plain < name.len && is_ascii(name.p[plain]))
		plain++;
	text = plain == name.len ? name : upcase_in(name, room);
	for (size_t i = 0; i < text.len; i++)
		room[i] = fold(text.p[i]);
	return (struct str){ room, text.len };
}

bool variable_is(struct str name, struct str other, bool names_fold)
{
	UNINITIALIZED char one[UPCASE_ROOM];
	UNINITIALIZED char two[UPCASE_ROOM];
	size_t at = 0;

	if (!names_fold)
		return str_eq(name, other);
	/* The table makes no letter outside ASCII equal to one of it. */
	for (; at < name.len && at < other.len; at++) {
		if (!is_ascii(name.p[at]) || !is_ascii(other.p[at]))
			break;
		if (ascii_lower(name.p[at]) != ascii_lower(other.p[at]))
			return false;
	}
	return str_eq(upcase_in(str_from(name, at), one), upcase_in(str_from(other, at), two));
}

/* *TOKEN* *SECRET* *PASSWORD* *CREDENTIAL* *API_KEY*: whether one of the words begins here. */
static bool begins_secret(struct str rest)
{
	switch (rest.p[0]) {
	case 't':
		return str_has_prefix(rest, STR("token"));
	case 's':
		return str_has_prefix(rest, STR("secret"));
	case 'p':
		return str_has_prefix(rest, STR("password"));
	case 'c':
		return str_has_prefix(rest, STR("credential"));
	case 'a':
		return str_has_prefix(rest, STR("api_key"));
	default:
		return false;
	}
}

/* The same, and *_KEY. */
static bool looks_secret(struct str folded)
{
	for (size_t i = 0; i < folded.len; i++)
		if (begins_secret(str_from(folded, i)))
			return true;
	return str_has_suffix(folded, STR("_key"));
}

static bool is_core(struct str name, bool names_fold)
{
	for (size_t i = 0; i < COUNT_OF(core_names); i++)
		if (variable_is(name, str_of(core_names[i]), names_fold))
			return true;
	return false;
}

bool environment_passes(const struct environment *env, struct str name, bool names_fold)
{
	UNINITIALIZED char room[UPCASE_ROOM];
	struct str folded;

	if (name.len == 0 || name.len > NAME_MAX_BYTES)
		return false;
	folded = fold_name(name, room);
	for (size_t i = 0; i < env->include.count; i++)
		if (glob_match(env->include.items[i].matcher, folded))
			return true;
	if (env->inherit == ENV_NONE || (env->inherit == ENV_CORE && !is_core(name, names_fold)))
		return false;
	for (size_t i = 0; i < env->exclude.count; i++)
		if (glob_match(env->exclude.items[i].matcher, folded))
			return false;
	return !looks_secret(folded);
}

static int decode_pattern(const struct decode *d, const struct toml *value, const char *what,
			  struct env_pattern *out, struct err *e)
{
	struct str text, capitals;
	char *folded;
	int r = schema_type(value, TOML_STRING, what, e);

	if (r < 0)
		return r;
	text = value->string;
	if (text.len == 0 || str_find(text, '=') < text.len)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, value->origin,
			"%s '%s' matches no variable: a name is not empty and has no '='", what,
			SHOWN(text));
	if (upcase_copy(d->a, text, &capitals, e) < 0)
		return err_result(e);
	folded = arena_alloc(d->a, capitals.len + 1, e);
	if (!folded)
		return err_result(e);
	for (size_t i = 0; i < capitals.len; i++)
		folded[i] = fold(capitals.p[i]);
	out->text = text;
	out->origin = value->origin;
	out->matcher = glob_parse(d->a, (struct str){ folded, capitals.len }, e);
	return out->matcher ? 0 : err_wrap_place(e, value->origin);
}

int decode_patterns(const struct decode *d, const struct key *k, const struct toml *array,
		    env_patterns *out, struct err *e)
{
	char what[64];

	(void)snprintf(what, sizeof(what), "the pattern in 'environment.%s'", k->name);
	for (size_t i = 0; i < array->array.count; i++) {
		struct env_pattern pattern;
		struct env_pattern *added;
		int r = decode_pattern(d, &array->array.items[i], what, &pattern, e);

		if (r < 0)
			return r;
		added = VEC_PUSH(d->a, out, e);
		if (!added)
			return err_result(e);
		*added = pattern;
	}
	return 0;
}

/* SECURITY: a profile may not set the variables that tell a program that it is sandboxed. */
static bool is_mark(struct str name)
{
	return variable_begins(name, STR("CORDON_"), true) ||
	       variable_begins(name, STR("CODEX_SANDBOX"), true);
}

int key_decode_set(const struct decode *d, const struct toml *table, void *base, struct err *e)
{
	struct environment *out = &((struct profile *)base)->env;

	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		struct env_value *added;
		int r = schema_type(&m->value, TOML_STRING, "the value of a variable", e);

		if (r < 0)
			return r;
		if (m->name.len == 0 || str_has_nul(m->name) ||
		    str_find(m->name, '=') < m->name.len)
			return FAIL_CAUSE_AT(
				e, CAUSE_BAD_VALUE, m->name_origin,
				"'%s' can't be the name of a variable: it may not be empty or "
				"contain '=' or NUL",
				SHOWN(m->name));
		if (str_has_nul(m->value.string))
			return FAIL_CAUSE_AT(
				e, CAUSE_BAD_VALUE, m->value.origin,
				"the value of '%s' contains a NUL, which no variable can",
				SHOWN(m->name));
		if (is_mark(m->name))
			return FAIL_CAUSE_AT(
				e, CAUSE_BAD_VALUE, m->name_origin,
				"'%s' can't be set: Cordon sets it, to tell the command how it is "
				"sandboxed",
				SHOWN(m->name));
		added = VEC_PUSH(d->a, &out->set, e);
		if (!added)
			return err_result(e);
		*added = (struct env_value){ m->name, m->value.string, m->name_origin };
	}
	return 0;
}
