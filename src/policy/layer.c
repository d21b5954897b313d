/* SPDX-License-Identifier: MIT */
/*
 * One layer by itself: read, checked against the schema, brought into normal
 * form, and every value decoded once, so that an error names the file that made
 * it, even when a higher layer would have hidden it.
 */
#include <stdio.h>

#include "base/path.h"
#include "policy/config.h"
#include "policy/decode.h"
#include "policy/normal.h"
#include "policy/tree.h"
#include "policy/windows_keys.h"

struct toml *layer_parse(struct arena *a, const struct source *source, struct err *e)
{
	struct toml *top;

	if (source->text.len > CONFIG_MAX_BYTES)
		return FAIL_NULL(e, ERR_LIMIT, "%s:1:1: the file has %zu bytes, the limit is %d",
				 source->file, source->text.len, CONFIG_MAX_BYTES);
	top = toml_parse(a, source->file, source->text, e);
	if (top && source->is_windows && windows_keys(a, top, e) < 0)
		return NULL;
	return top;
}

static int check_profile_name(const struct toml_member *m, enum key_files layer, struct err *e)
{
	if (m->name.len == 0 || str_has_nul(m->name))
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, m->name_origin,
				     "the name of a profile can't be empty or contain a NUL");
	if (m->name.p[0] == ':' && layer != IN_BUILTIN)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, m->name_origin,
			"the profile '%s' can't be defined: names that start with ':' are "
			"built in; call it '%s'",
			SHOWN(m->name), SHOWN(str_from(m->name, 1)));
	return 0;
}

static int check_profile(const struct decode *loud, struct toml_member *m, enum key_files layer,
			 struct err *e)
{
	char where[SHOWN_BYTES + 16];
	/* No warnings: policy_compile() warns if the profile is the one in force. */
	struct decode d = { .a = loud->a, .where = where };
	int r = check_profile_name(m, layer, e);

	(void)snprintf(where, sizeof(where), "profile '%s'", SHOWN(m->name));
	if (r == 0)
		r = schema_type(&m->value, TOML_TABLE, where, e);
	if (r == 0)
		r = schema_check(&m->value, KEYS_PROFILE, layer, where, e);
	if (r == 0)
		r = normal_table(loud, &m->value, e);
	if (r < 0)
		return r;
	return decode_profile(&d, m->name, &m->value, e) ? 0 : err_result(e);
}

/* P2: an exact directory, and the digest of the exact file in it. */
static int check_trust(const struct toml_member *m, struct err *e)
{
	static const struct str scheme = STR_INIT("sha256:");
	struct str digest;
	int r = schema_type(&m->value, TOML_STRING, "the digest of a trusted project", e);

	if (r < 0)
		return r;
	if (!path_is_absolute(m->name) || str_has_nul(m->name))
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, m->name_origin,
			"'%s' can't be trusted: write the absolute path of the directory",
			SHOWN(m->name));
	digest = str_from(m->value.string, scheme.len);
	for (size_t i = 0; i < digest.len; i++) {
		char c = ascii_lower(digest.p[i]);

		if (!ascii_is_digit(c) && (c < 'a' || c > 'f'))
			digest.len = 0;
	}
	if (!str_has_prefix(m->value.string, scheme) || digest.len != 64)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, m->value.origin,
			"'%s' is not a digest; write \"sha256:\" and the 64 hexadecimal digits "
			"that sha256sum prints for the project's .cordon/config.toml",
			SHOWN(m->value.string));
	return 0;
}

/* "/a/../b" or "/a/" would never be the directory that a run is in. */
static int check_trust_plain(struct arena *a, const struct toml_member *m, struct err *e)
{
	struct str plain;

	if (path_plain(a, STR("/"), m->name, &plain, e) < 0)
		return err_wrap_place(e, m->name_origin);
	if (str_eq(plain, m->name))
		return 0;
	return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, m->name_origin,
			     "'%s' can't be trusted: write the directory as '%s'", SHOWN(m->name),
			     SHOWN(plain));
}

static int check_trusts(struct arena *a, const struct toml *trust, struct err *e)
{
	for (size_t i = 0; i < trust->table.count; i++) {
		int r = check_trust(&trust->table.items[i], e);

		if (r == 0)
			r = check_trust_plain(a, &trust->table.items[i], e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What nobody has tried yet everybody decides for himself. */
static int check_features(const struct toml *features, enum key_files layer, struct err *e)
{
	for (size_t i = 0; layer == IN_SYSTEM && i < features->table.count; i++) {
		const struct toml_member *member = &features->table.items[i];

		if (str_is(member->name, "macos_preview") ||
		    str_is(member->name, "windows_preview"))
			return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, member->name_origin,
					     "'features.%.*s' can only be set in the "
					     "configuration of a user",
					     STR_ARG(member->name));
	}
	return 0;
}

int layer_check(struct arena *a, struct toml *top, enum key_files layer, warning_list *warnings,
		struct err *e)
{
	struct decode loud = { .a = a, .warnings = warnings, .where = "the configuration" };
	struct decode d = { .a = a, .where = "the configuration" };
	struct settings settings;
	int r = schema_check(top, KEYS_TOP, layer, d.where, e);

	for (size_t i = 0; i < top->table.count && r == 0; i++) {
		struct toml_member *m = &top->table.items[i];

		if (str_is(m->name, "permissions"))
			for (size_t j = 0; j < m->value.table.count && r == 0; j++)
				r = check_profile(&loud, &m->value.table.items[j], layer, e);
		else if (str_is(m->name, "trust"))
			r = check_trusts(a, &m->value, e);
		else if (str_is(m->name, "features"))
			r = check_features(&m->value, layer, e);
	}
	return r < 0 ? r : settings_decode(&d, top, &settings, e);
}

int layer_check_narrowing(struct arena *a, struct toml *top, enum key_files file, const char *where,
			  warning_list *warnings, struct err *e)
{
	struct decode loud = { .a = a, .warnings = warnings, .where = where };
	struct decode d = { .a = a,
			    .where = where,
			    .kind = file == IN_REQUIREMENTS ? LAYER_REQUIREMENTS : LAYER_PROJECT };
	struct narrowing narrowing;
	uint32_t allow;
	int r = schema_check(top, KEYS_PROFILE, file, where, e);

	if (r == 0)
		r = settings_decode_allow(&d, top, &allow, e);
	if (r == 0)
		r = normal_table(&loud, top, e);
	return r < 0 ? r : decode_narrowing(&d, top, &narrowing, e);
}
