/* SPDX-License-Identifier: MIT */
/* Which profile is in force (P1, P4, P19), and the list of all. */
#include "policy/config.h"

/* A choice, and who made it. */
struct choice {
	struct str name;
	struct origin origin; /* .file NULL when it comes from no file */
	const char *what;     /* NULL: the caller */
	const char *by;	      /* the option or variable; NULL: a file, or nothing */
	bool is_mode;
};

static int choose_mode(const char *mode, const char *what, struct choice *out, struct err *e)
{
	const char *const known[] = { mode_kind_name(MODE_READ_ONLY),
				      mode_kind_name(MODE_WORKSPACE_WRITE),
				      mode_kind_name(MODE_FULL_ACCESS), NULL };
	enum mode_kind kind;

	if (!mode_kind_parse(str_of(mode), &kind))
		return FAIL(e, ERR_POLICY,
			    "%s%sthere is no mode '%s'; the modes are %s, %s and %s%s",
			    what ? what : "", what ? ": " : "", SHOWN(str_of(mode)), known[0],
			    known[1], known[2], schema_hint(str_of(mode), known).text);
	*out = (struct choice){ .name = str_of(mode_kind_profile(kind)),
				.what = what,
				.by = what ? what : "--mode",
				.is_mode = true };
	return 0;
}

/* Highest layer first. */
static int choose(const struct config *c, const struct selection *s, struct choice *out,
		  struct err *e)
{
	const struct toml *chosen = toml_find(c->merged, "default_permissions");

	if (s->profile && s->mode)
		return FAIL(e, ERR_POLICY, "a profile and a mode can't both be chosen");
	if (s->mode)
		return choose_mode(s->mode, NULL, out, e);
	if (s->profile) {
		*out = (struct choice){ .name = str_of(s->profile), .what = NULL, .by = "-P" };
		return 0;
	}
	if (!c->command_default && c->env_profile && c->env_mode)
		return FAIL(e, ERR_POLICY,
			    "CORDON_PROFILE and CORDON_MODE are both set; unset one of them");
	if (!c->command_default && c->env_mode)
		return choose_mode(c->env_mode, "CORDON_MODE", out, e);
	if (!c->command_default && c->env_profile) {
		*out = (struct choice){ .name = str_of(c->env_profile),
					.what = "CORDON_PROFILE names",
					.by = "CORDON_PROFILE" };
		return 0;
	}
	if (chosen)
		*out = (struct choice){ .name = chosen->string,
					.origin = chosen->origin,
					.what = "'default_permissions' names",
					.by = c->command_default ? "--config" : NULL };
	else
		*out = (struct choice){ .name = str_of(s->fallback), .what = "the default is" };
	return 0;
}

const struct profile_doc *config_select(struct arena *a, const struct config *c,
					const struct selection *s, struct err *e)
{
	struct profile_doc *doc = ARENA_NEW(a, struct profile_doc, e);
	const struct toml_member *found;
	struct choice choice;

	if (!doc || choose(c, s, &choice, e) < 0)
		return NULL;
	found = config_find_profile(c, choice.name);
	if (!found) {
		(void)config_fail_unknown(a, c, choice.origin, choice.what, choice.name, e);
		return NULL;
	}
	doc->name = found->name;
	doc->chosen_by = choice.by;
	doc->is_mode = choice.is_mode;
	doc->is_unsandboxed = str_is(found->name, builtin_full_access);
	if (config_resolve(a, c, found->name, &doc->table, e) < 0)
		return NULL;
	doc->table.origin = found->name_origin;
	return doc;
}

int profile_doc_is_repo(const struct profile_doc *doc, bool *out, struct err *e)
{
	struct decode d = { .where = "the profile" };
	struct profile p;
	int r;

	profile_init(&p);
	r = decode_key(&d, &policy_keys[KEY_WORKSPACE], &doc->table, &p, e);
	if (r == 0)
		*out = p.workspace_is_repo;
	return r;
}

int profile_doc_roots(struct arena *a, const struct profile_doc *doc, const struct root **out,
		      size_t *count, struct err *e)
{
	struct decode d = { .a = a, .where = "the profile" };
	struct profile p;
	int r;

	profile_init(&p);
	r = decode_key(&d, &policy_keys[KEY_WORKSPACE_ROOTS], &doc->table, &p, e);
	if (r < 0)
		return r;
	*out = p.roots.items;
	*count = p.roots.count;
	return 0;
}

static struct str text_of(const struct toml *table, const char *key)
{
	const struct toml *value = toml_find(table, key);

	return value ? value->string : STR_EMPTY;
}

int config_profiles(struct arena *a, const struct config *c, profile_names *out, struct err *e)
{
	const struct selection none = { .fallback = ":read-only" };
	const struct toml *permissions = toml_find(c->merged, "permissions");
	profile_names found = { 0 };
	struct choice choice;
	int r = choose(c, &none, &choice, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->profile_count; i++) {
		const struct toml_member *m = &permissions->table.items[i];
		struct profile_name *added = VEC_PUSH(a, &found, e);

		if (!added)
			return err_result(e);
		*added = (struct profile_name){
			.name = m->name,
			.description = text_of(&m->value, "description"),
			.extends = text_of(&m->value, "extends"),
			.origin = m->name_origin,
			.is_default = str_eq(m->name, choice.name),
		};
	}
	*out = found;
	return 0;
}
