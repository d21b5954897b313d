/* SPDX-License-Identifier: MIT */
/* Loading: every layer by itself, then all of them over each other (P1, P3, P4). */
#include "policy/config.h"

#include <stdio.h>

#include "policy/tree.h"
#include "policy/windows_keys.h"

enum {
	CHAIN_MAX = 32,	     /* profiles that extend each other in a row */
	SUGGEST_AMONG = 512, /* names that are looked at for "did you mean" */
};

const struct toml_member *config_find_profile(const struct config *c, struct str name)
{
	return tree_search(c->profiles, c->profile_count, name);
}

int config_fail_unknown(struct arena *a, const struct config *c, struct origin origin,
			const char *what, struct str name, struct err *e)
{
	const char *known[SUGGEST_AMONG + 1] = { NULL };

	for (size_t i = 0; i < c->profile_count && i < SUGGEST_AMONG; i++) {
		struct str copy;
		int r = arena_copy(a, c->profiles[i]->name, &copy, e);

		if (r < 0)
			return r;
		known[i] = copy.p;
	}
	if (!what)
		return FAIL_CAUSE(e, CAUSE_UNKNOWN_PROFILE, "there is no profile '%s'%s",
				  SHOWN(name),
				  schema_hint_or_list(name, known, "; known are: ").text);
	return FAIL_CAUSE_AT(e, CAUSE_BASE_PROFILE_UNKNOWN, origin,
			     "%s the profile '%s', which does not exist%s", what, SHOWN(name),
			     schema_hint_or_list(name, known, "; known are: ").text);
}

/* The names from the profile up to the parent that extends none. */
struct chain {
	const struct toml_member *items[CHAIN_MAX];
	size_t count;
};

static int fail_cycle(const struct chain *chain, size_t from, struct origin origin, struct err *e)
{
	char text[256];
	size_t used = 0;

	for (size_t i = from; i <= chain->count && used < sizeof(text) - 1; i++) {
		const struct toml_member *m = chain->items[i < chain->count ? i : from];
		int n = snprintf(text + used, sizeof(text) - used, "%s%s", i > from ? " -> " : "",
				 SHOWN(m->name));

		used = MIN_OF(used + (n > 0 ? (size_t)n : 0), sizeof(text) - 1);
	}
	return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, origin,
			     "profiles extend each other in a circle: %s; remove one 'extends'",
			     text);
}

static int find_parents(struct arena *a, const struct config *c, struct str name, struct chain *out,
			struct err *e)
{
	const struct toml_member *m = config_find_profile(c, name);

	out->count = 0;
	while (m) {
		const struct toml *extends = toml_find(&m->value, "extends");
		const struct toml_member *parent;

		if (out->count == CHAIN_MAX)
			return FAIL_AT(e, ERR_LIMIT, m->name_origin,
				       "more than %d profiles extend each other in a row",
				       CHAIN_MAX);
		out->items[out->count++] = m;
		if (!extends)
			break;
		parent = config_find_profile(c, extends->string);
		if (!parent)
			return config_fail_unknown(a, c, extends->origin, "'extends' names",
						   extends->string, e);
		if (str_is(extends->string, builtin_full_access))
			return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, extends->origin,
					     "'%s' can't be extended: it has no sandbox; "
					     "extend ':workspace' and add to it",
					     builtin_full_access);
		if (parent == m)
			return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, extends->origin,
					     "profile '%s' extends itself; name another, such as "
					     "\":workspace\"",
					     SHOWN(m->name));
		for (size_t i = 0; i < out->count; i++)
			if (out->items[i] == parent)
				return fail_cycle(out, i, extends->origin, e);
		m = parent;
	}
	return 0;
}

int config_check_parents(struct arena *a, const struct config *c, struct str name, struct err *e)
{
	struct chain chain;

	return find_parents(a, c, name, &chain, e);
}

/* What a child inherits: all but the keys that describe the parent itself. */
static int take_inheritance(struct arena *a, const struct toml *parent, struct toml *out,
			    struct err *e)
{
	struct toml_member *items = arena_array(a, parent->table.count + 1, sizeof(*items), e);
	size_t count = 0;

	if (!items)
		return err_result(e);
	for (size_t i = 0; i < parent->table.count; i++) {
		const struct toml_member *m = &parent->table.items[i];

		const struct key *k = key_find(KEYS_PROFILE, m->name);

		if (!k || !(k->files & NOT_INHERITED))
			items[count++] = *m;
	}
	*out = *parent;
	out->table.items = items;
	out->table.count = count;
	return 0;
}

int config_resolve(struct arena *a, const struct config *c, struct str name, struct toml *out,
		   struct err *e)
{
	struct toml result = { .type = TOML_TABLE };
	struct chain chain;
	int r = find_parents(a, c, name, &chain, e);

	for (size_t i = chain.count; i-- > 0 && r == 0;) {
		struct toml table = chain.items[i]->value;

		r = builtin_complete(a, chain.items[i]->name, &table, e);
		if (r == 0 && i > 0)
			r = take_inheritance(a, &table, &table, e);
		if (r == 0)
			r = tree_merge(a, &result, &table, e);
	}
	if (r == 0)
		*out = result;
	return r;
}

static int merge_layer(struct arena *a, struct config *c, struct toml *top, enum key_files layer,
		       struct err *e)
{
	int r = layer_check(a, top, layer, &c->warnings, e);

	return r < 0 ? r : tree_merge(a, c->merged, top, e);
}

static int add_layer(struct arena *a, struct config *c, const struct source *source,
		     enum key_files layer, struct err *e)
{
	const struct toml **kept = layer == IN_SYSTEM ? &c->system : &c->user;
	struct toml *top;

	if (!source->is_present)
		return 0;
	top = layer_parse(a, source, e);
	*kept = top;
	return top ? merge_layer(a, c, top, layer, e) : err_result(e);
}

struct toml *config_parse_override(struct arena *a, const struct config_inputs *in, size_t i,
				   struct err *e)
{
	struct str text = in->overrides[i];
	struct toml *top;

	if (text.len > CONFIG_MAX_BYTES)
		return FAIL_NULL(e, ERR_LIMIT, "--config: the value is too long");
	top = toml_parse_override(a, "--config", text, e);
	if (top && in->is_windows && windows_keys(a, top, e) < 0)
		return NULL;
	return top;
}

static int add_overrides(struct arena *a, struct config *c, const struct config_inputs *in,
			 struct err *e)
{
	for (size_t i = 0; i < in->override_count; i++) {
		const struct toml *chosen;
		struct toml *top = config_parse_override(a, in, i, e);

		if (!top || merge_layer(a, c, top, IN_USER, e) < 0)
			return err_result(e);
		chosen = toml_find(top, "default_permissions");
		if (chosen)
			c->command_default = chosen;
	}
	return 0;
}

static int add_requirements(struct arena *a, struct config *c, const struct source *source,
			    struct err *e)
{
	struct toml *top;

	if (!source->is_present)
		return 0;
	top = layer_parse(a, source, e);
	if (!top ||
	    layer_check_narrowing(a, top, IN_REQUIREMENTS, "the requirements", &c->warnings, e) < 0)
		return err_result(e);
	c->requirements = top;
	return 0;
}

static int sort_profiles(struct arena *a, struct config *c, struct err *e)
{
	const struct toml *permissions = toml_find(c->merged, "permissions");

	if (!permissions)
		return FAIL(e, ERR_INTERNAL, "the built-in profiles are missing");
	c->profiles = tree_sorted(a, permissions, e);
	if (!c->profiles)
		return err_result(e);
	c->profile_count = permissions->table.count;
	return 0;
}

int config_check_default(struct arena *a, const struct config *c, struct err *e)
{
	const struct toml *chosen = toml_find(c->merged, "default_permissions");

	if (!chosen || config_find_profile(c, chosen->string))
		return 0;
	return config_fail_unknown(a, c, chosen->origin, "'default_permissions' names",
				   chosen->string, e);
}

/* What only the merged whole can tell: that every name that is used exists. */
static int check_names(struct arena *a, const struct config *c, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < c->profile_count && r == 0; i++)
		r = config_check_parents(a, c, c->profiles[i]->name, e);
	return r < 0 ? r : config_check_default(a, c, e);
}

static const char *unless_empty(const char *text)
{
	return text && text[0] ? text : NULL;
}

struct config *config_merge(struct arena *a, const struct config_inputs *in, struct err *e)
{
	struct config *c = ARENA_NEW(a, struct config, e);

	if (!c)
		return NULL;
	c->env_profile = unless_empty(in->env_profile);
	c->env_mode = unless_empty(in->env_mode);
	c->merged = builtin_parse(a, e);
	if (!c->merged || add_layer(a, c, &in->system, IN_SYSTEM, e) < 0 ||
	    add_layer(a, c, &in->user, IN_USER, e) < 0 || add_overrides(a, c, in, e) < 0 ||
	    add_requirements(a, c, &in->requirements, e) < 0 || sort_profiles(a, c, e) < 0)
		return NULL;
	return c;
}

/* Of a text that may be wrong elsewhere: the names that it defines and those that it uses. */
static int take_names(struct arena *a, const struct toml *top, struct toml *out, struct err *e)
{
	struct toml_member *kept = arena_array(a, top->table.count + 1, sizeof(*kept), e);

	*out = (struct toml){ .type = TOML_TABLE, .origin = top->origin };
	if (!kept)
		return err_result(e);
	out->table.items = kept;
	for (size_t i = 0; i < top->table.count; i++) {
		const struct toml_member *m = &top->table.items[i];
		bool is_default = str_is(m->name, "default_permissions") &&
				  m->value.type == TOML_STRING;
		/* An 'extends' stands one level below the name of its profile. */
		bool is_extends = str_is(m->name, "extends") && m->value.type == TOML_STRING;

		if (is_default || is_extends)
			kept[out->table.count++] = *m;
	}
	return 0;
}

static int take_profiles(struct arena *a, const struct toml *top, struct toml *out, struct err *e)
{
	const struct toml *profiles = toml_find(top, "permissions");
	struct toml_member *member;
	struct toml named;

	if (take_names(a, top, out, e) < 0)
		return err_result(e);
	if (!profiles || profiles->type != TOML_TABLE)
		return 0;
	named = *profiles;
	named.table.items =
		arena_array(a, profiles->table.count + 1, sizeof(*named.table.items), e);
	if (!named.table.items)
		return err_result(e);
	named.table.count = 0;
	for (size_t i = 0; i < profiles->table.count; i++) {
		const struct toml_member *m = &profiles->table.items[i];

		if (m->value.type != TOML_TABLE)
			continue;
		member = &named.table.items[named.table.count++];
		*member = *m;
		if (take_names(a, &m->value, &member->value, e) < 0)
			return err_result(e);
	}
	/* There is room: 'permissions' itself was left out. */
	member = &out->table.items[out->table.count++];
	*member = (struct toml_member){ STR("permissions"), profiles->origin, named };
	return 0;
}

static int merge_names(struct arena *a, struct config *c, const struct toml *top, struct err *e)
{
	struct toml named;

	if (!top || take_profiles(a, top, &named, e) < 0)
		return err_result(e);
	return tree_merge(a, c->merged, &named, e);
}

struct config *config_merge_names(struct arena *a, const struct config_inputs *in, struct err *e)
{
	const struct source *const sources[] = { &in->system, &in->user };
	struct config *c = ARENA_NEW(a, struct config, e);

	if (!c)
		return NULL;
	c->merged = builtin_parse(a, e);
	if (!c->merged)
		return NULL;
	for (size_t i = 0; i < COUNT_OF(sources); i++)
		if (sources[i]->is_present &&
		    merge_names(a, c, layer_parse(a, sources[i], e), e) < 0)
			return NULL;
	for (size_t i = 0; i < in->override_count; i++)
		if (merge_names(a, c, config_parse_override(a, in, i, e), e) < 0)
			return NULL;
	return sort_profiles(a, c, e) < 0 ? NULL : c;
}

const struct config *config_load(struct arena *a, const struct config_inputs *in, struct err *e)
{
	struct decode d = { .a = a, .where = "the configuration" };
	struct config *c = config_merge(a, in, e);

	if (!c)
		return NULL;
	d.warnings = &c->warnings;
	if (check_names(a, c, e) < 0 || settings_decode(&d, c->merged, &c->settings, e) < 0 ||
	    config_check_approve(a, c, e) < 0 || config_check_exec(a, c, e) < 0 ||
	    (c->requirements &&
	     settings_decode_allow(&d, c->requirements, &c->settings.allow, e) < 0))
		return NULL;
	return c;
}
