/* SPDX-License-Identifier: MIT */
/* The top-level keys besides profiles: features, linux, unavailable, accept_missing, allow. */
#include "base/path.h"
#include "policy/config.h"
#include "policy/decode.h"
#include "policy/guarantee.h"

static const char *const backends[] = { "native", "bwrap", "landlock", NULL };

/* In the order of the bits ALLOW_*. */
static const char *const allows[] = { "none", "accept_missing", "always", "escalate", NULL };

/* A feature may never be what a deny hangs on, so one that is not known may warn. */
static const char *const features[] = { NULL };

bool names_have(const names *list, struct str name)
{
	for (size_t i = 0; i < list->count; i++)
		if (str_eq(list->items[i].name, name))
			return true;
	return false;
}

static int add_name(struct arena *a, names *out, struct str name, struct origin origin,
		    struct err *e)
{
	struct named *added = VEC_PUSH(a, out, e);

	if (!added)
		return err_result(e);
	*added = (struct named){ name, origin };
	return 0;
}

/* Names out of `choices`, none of them twice: so there are only a few. */
static int decode_names(struct arena *a, const struct toml *array, const char *what,
			const char *const *choices, names *out, struct err *e)
{
	for (size_t i = 0; i < array->array.count; i++) {
		const struct toml *value = &array->array.items[i];
		size_t which;
		int r = schema_choice(value, what, choices, &which, e);

		if (r < 0)
			return r;
		for (size_t j = 0; j < out->count; j++)
			if (str_eq(out->items[j].name, value->string))
				return FAIL_AT(e, ERR_POLICY, value->origin,
					       "'%s' stands here twice", SHOWN(value->string));
		r = add_name(a, out, str_of(choices[which]), value->origin, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int decode_backends(const struct decode *d, const struct toml *merged, names *out,
			   struct err *e)
{
	const struct toml *linux_table = toml_find(merged, "linux");
	const struct toml *list = linux_table ? toml_find(linux_table, "backends") : NULL;
	int r = 0;

	if (linux_table)
		r = schema_check(linux_table, SCHEMA_LINUX, SCHEMA_USER, "'linux'", e);
	if (r < 0)
		return r;
	if (!list) {
		for (size_t i = 0; backends[i] && r == 0; i++)
			r = add_name(d->a, out, str_of(backends[i]), (struct origin){ 0 }, e);
		return r;
	}
	if (list->array.count == 0)
		return FAIL_AT(e, ERR_POLICY, list->origin,
			       "'linux.backends' is empty, so nothing could run; to run without a "
			       "sandbox say --backend none on the command line");
	return decode_names(d->a, list, "a name in 'linux.backends'", backends, out, e);
}

static int decode_features(const struct decode *d, const struct toml *table, struct settings *out,
			   struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		struct feature *added;
		size_t known = 0;
		int r = schema_type(&m->value, TOML_BOOLEAN, "the value of a feature", e);

		while (features[known] && !str_is(m->name, features[known]))
			known++;
		if (r == 0 && !features[known])
			r = decode_warn(d, m->name_origin, e,
					"the feature '%s' is not known and changes nothing%s",
					SHOWN(m->name), schema_hint(m->name, features).text);
		if (r < 0)
			return r;
		added = VEC_PUSH(d->a, &out->features, e);
		if (!added)
			return err_result(e);
		*added = (struct feature){ m->name, m->value.boolean, m->name_origin };
	}
	return 0;
}

static int decode_unavailable(const struct toml *value, struct settings *out, struct err *e)
{
	static const char *const choices[] = { "refuse", "passthrough", NULL };
	size_t which;
	int r = schema_choice(value, "'unavailable'", choices, &which, e);

	if (r < 0)
		return r;
	out->unavailable = (enum unavailable)which;
	out->unavailable_origin = value->origin;
	return 0;
}

int settings_decode_allow(const struct decode *d, const struct toml *ceiling, uint32_t *out,
			  struct err *e)
{
	const struct toml *list = toml_find(ceiling, "allow");
	names allowed = { 0 };
	uint32_t bits = 0;
	int r = 0;

	if (list)
		r = decode_names(d->a, list, "a name in 'allow'", allows, &allowed, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < allowed.count; i++)
		for (size_t j = 0; allows[j]; j++)
			if (str_is(allowed.items[i].name, allows[j]))
				bits |= UINT32_C(1) << j;
	*out = bits;
	return 0;
}

static int decode_shell(const struct decode *d, const struct toml *value, struct settings *out,
			struct err *e)
{
	if (!path_is_absolute(value->string) || str_has_nul(value->string))
		return FAIL_AT(e, ERR_POLICY, value->origin,
			       "'shell' can't be \"%s\"; it has to be an absolute path",
			       SHOWN(value->string));
	out->shell.origin = value->origin;
	return arena_copy(d->a, value->string, &out->shell.name, e);
}

int settings_decode(const struct decode *d, const struct toml *merged, struct settings *out,
		    struct err *e)
{
	const struct toml *feature_table = toml_find(merged, "features");
	const struct toml *unavailable = toml_find(merged, "unavailable");
	const struct toml *missing = toml_find(merged, "accept_missing");
	const struct toml *shell = toml_find(merged, "shell");
	struct settings s = { .allow = UINT32_MAX, .shell = { .name = STR_EMPTY } };
	int r = decode_backends(d, merged, &s.linux_backends, e);

	if (r == 0 && feature_table)
		r = decode_features(d, feature_table, &s, e);
	if (r == 0 && unavailable)
		r = decode_unavailable(unavailable, &s, e);
	if (r == 0 && shell)
		r = decode_shell(d, shell, &s, e);
	if (r == 0 && missing)
		r = decode_names(d->a, missing, "a name in 'accept_missing'", guarantee_names,
				 &s.accept_missing, e);
	if (r == 0)
		*out = s;
	return r;
}
