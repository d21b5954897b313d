/* SPDX-License-Identifier: MIT */
/*
 * Finds entries that change no answer: the path has that access already, or another rule decides
 * there. Such an entry is not an error, but Cordon tells the user, who probably meant something
 * else.
 */
#include "base/path.h"
#include "plan/builder.h"
#include "plan/index.h"

static bool is_cap(const struct rule *rule)
{
	return rule->kind == RULE_PROTECTED || rule->kind == RULE_GIT || rule->kind == RULE_MISSING;
}

/* P9: this entry alone may make protected names below it writable. */
static bool lifts_below(const struct plan *p, const struct rule *rule)
{
	if (rule->access != ACCESS_WRITE || !rule->is_explicit)
		return false;
	for (size_t i = 0; i < p->rules.count; i++) {
		const struct rule *cap = &p->rules.items[i];

		if (is_cap(cap) && cap->lift_depth <= rule->depth &&
		    path_is_under(cap->path, rule->path))
			return true;
	}
	return false;
}

static bool has_home(const struct places *places, struct str root)
{
	if (root.len == 1 || !places->home.len || path_is_under(places->home, root))
		return true;
	for (size_t i = 0; i < places->home_count; i++)
		if (path_is_under(places->homes[i], root))
			return true;
	return false;
}

/* P5: a home can be the workspace only if an entry makes it writable. */
static bool permits_home(const struct plan *p, const struct rule *rule)
{
	for (size_t i = 0; rule->access == ACCESS_WRITE && i < p->places.root_count; i++)
		if (path_is_under(p->places.roots[i], rule->path) &&
		    has_home(&p->places, p->places.roots[i]))
			return true;
	return false;
}

/* P8: what leads through a link keeps that link from being replaced. */
static bool keeps_link(const struct plan *p, const struct rule *rule)
{
	const size_t number = (size_t)(rule - p->rules.items);

	return rule->access < ACCESS_WRITE && p->sites && number < p->rules.count &&
	       p->sites[number].link_count > 0;
}

static int explain_already(struct arena *a, enum access access, const struct rule *by,
			   struct str *out, struct err *e)
{
	static const char *const words[] = {
		[ACCESS_DENY] = "is denied", [ACCESS_READ] = "may be read", [ACCESS_WRITE] = "may be written"
	};

	return arena_printf(a, out, e, "changes nothing here: it %s already%s%.*s", words[access],
			    by->key.len ? ", by " : "", STR_ARG(by->key));
}

int plan_explain_redundant(struct arena *a, const struct plan *p, const struct rule *rule,
			   struct str *out, struct err *e)
{
	/*
	 * SECURITY: ask the profile alone. A project that lowers the access here must not make an
	 * entry of the profile look useless: the user would remove it, and it may matter in the
	 * next project.
	 */
	struct verdict with, without;

	*out = STR_EMPTY;
	if (p->is_unsandboxed || rule->kind != RULE_ENTRY || rule->layer > 0 || !rule->is_explicit)
		return 0;
	with = index_resolve_below(p->index, rule->path, 1);
	without = index_resolve_without(p->index, rule);
	if (with.access != without.access || lifts_below(p, rule) || permits_home(p, rule) ||
	    keeps_link(p, rule))
		return 0;
	if (with.access == rule->access)
		return explain_already(a, rule->access, without.rule, out, e);
	return arena_printf(a, out, e,
			    "changes nothing here: %s%.*s%s decides, and leaves it \"%s\"",
			    with.rule->key.len ? "\"" : "", STR_ARG(with.rule->key),
			    with.rule->key.len ? "\"" : "another rule", access_name(with.access));
}
