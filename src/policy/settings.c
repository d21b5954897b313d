/* SPDX-License-Identifier: MIT */
/* The keys at the top level of a file that are not profiles (P3, P16). */
#include "base/glob.h"
#include "base/path.h"
#include "policy/config.h"
#include "policy/decode.h"

enum { WRITABLE_MAX_BYTES = 1 << 20 };

const char *const backend_names[] = { "native", "bwrap", "landlock", NULL };

/* In the order of the bits ALLOW_*. */
static const char *const allows[] = { "none", "accept_missing", "always", "escalate", NULL };

/* No deny may depend on a feature, so an unknown one is only warned of. */
static const char *const features[] = { "macos_preview", "windows_preview", NULL };

bool names_have(const names *list, struct str name)
{
	for (size_t i = 0; i < list->count; i++)
		if (str_eq(list->items[i].name, name))
			return true;
	return false;
}

/* All of them, unless the configuration names some. */
static int default_backends(const struct decode *d, const struct toml *merged, names *out,
			    struct err *e)
{
	const struct toml *linux_table = toml_find(merged, "linux");
	const struct toml *list = linux_table ? toml_find(linux_table, "backends") : NULL;

	if (list && list->array.count == 0)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, list->origin,
			"'linux.backends' is empty, so nothing could run; to run without a "
			"sandbox use --backend none on the command line");
	for (size_t i = 0; !list && backend_names[i]; i++) {
		struct named *added = VEC_PUSH(d->a, out, e);

		if (!added)
			return err_result(e);
		*added = (struct named){ .name = str_of(backend_names[i]) };
	}
	return 0;
}

bool settings_have_feature(const struct settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->features.count; i++)
		if (str_is(settings->features.items[i].name, name))
			return settings->features.items[i].is_on;
	return false;
}

int key_decode_features(const struct decode *d, const struct toml *table, void *base, struct err *e)
{
	struct settings *out = base;

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

int settings_decode_allow(const struct decode *d, const struct toml *requirements, uint32_t *out,
			  struct err *e)
{
	const struct toml *list = toml_find(requirements, "allow");
	names allowed = { 0 };
	uint32_t bits = 0;
	int r = 0;

	if (list)
		r = decode_words(d, list, "a name in 'allow'", allows, &allowed, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < allowed.count; i++)
		for (size_t j = 0; allows[j]; j++)
			if (str_is(allowed.items[i].name, allows[j]))
				bits |= UINT32_C(1) << j;
	*out = bits;
	return 0;
}

int key_decode_shell(const struct decode *d, const struct toml *value, void *base, struct err *e)
{
	struct settings *out = base;

	if (!path_is_absolute(value->string) || str_has_nul(value->string))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, value->origin,
				     "'shell' can't be \"%s\"; it has to be an absolute path",
				     SHOWN(value->string));
	out->shell.origin = value->origin;
	return arena_copy(d->a, value->string, &out->shell.name, e);
}

int writable_check(struct str glob, struct origin origin, struct err *e)
{
	scoped_arena a = ARENA_INIT(WRITABLE_MAX_BYTES);
	struct err why = ERR_INIT;
	struct str part;
	size_t at = 0;
	bool is_bad = glob.len == 0 || path_is_absolute(glob) || str_has_nul(glob);

	while (!is_bad && path_next(glob, &at, &part))
		is_bad = str_is(part, ".") || str_is(part, "..");
	if (is_bad)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, origin,
				     "'files.writable' can't hold \"%s\"; it takes globs below a "
				     "project, like \"src/**/*.c\"",
				     SHOWN(glob));
	if (!glob_parse(&a, glob, &why))
		return FAIL_CAUSE_AT(e, CAUSE_GLOB_SYNTAX, origin,
				     "the glob \"%s\" in 'files.writable' is malformed",
				     SHOWN(glob));
	return 0;
}

int settings_decode(const struct decode *d, const struct toml *merged, struct settings *out,
		    struct err *e)
{
	struct settings s = { .allow = UINT32_MAX, .shell = { .name = STR_EMPTY } };
	int r;

	keys_init_settings(&s);
	r = decode_keys(d, KEYS_TOP, merged, &s, e);
	if (r == 0)
		r = default_backends(d, merged, &s.linux_backends, e);
	if (r == 0)
		*out = s;
	return r;
}
