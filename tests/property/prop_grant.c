/* SPDX-License-Identifier: MIT */
/*
 * Grants (P18): random grants over random policies only raise, and never what
 * the base denies at their path or below it, nor P9 or P25.
 */
#include "../unit/test.h"
#include "base/path.h"
#include "gen.h"

enum { TEXT_BYTES = 1 << 16 };

static bool is_cap(const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_PROTECTED:
	case RULE_GIT:
	case RULE_MISSING:
	case RULE_OWN:
		return true;
	case RULE_ENTRY:
	case RULE_GLOB:
	case RULE_GRANT:
	case RULE_UNCOVERED:
	case RULE_UNSANDBOXED:
		return false;
	}
	return false;
}

/* The components of the prefix of `path` at which the rule denies. */
static size_t denies_at(const struct rule *rule, struct str path)
{
	int below = rule->matcher ? glob_match_deepest(rule->matcher, path_below(path, rule->path))
				  : 0;

	return rule->depth + (below > 0 ? (size_t)below : 0);
}

/* Whether no grant is deeper than the deny of the base that decides for `path`. */
static bool is_deny_kept(const struct plan *after, const struct rule *deny, struct str path)
{
	size_t depth = denies_at(deny, path);

	for (size_t i = 0; i < after->rules.count; i++) {
		const struct rule *grant = &after->rules.items[i];

		if (grant->kind == RULE_GRANT && grant->depth > depth &&
		    path_is_under(path, grant->path))
			return false;
	}
	return true;
}

/* What is wrong with the answer for `path` after the grants, or NULL. */
static const char *check_path(const struct world *base, const struct world *after, struct str path)
{
	struct verdict was = plan_resolve(base->plan, path);
	struct verdict is = plan_resolve(after->plan, path);
	bool is_stated = was.rule->kind == RULE_ENTRY || was.rule->kind == RULE_GLOB;

	/* A granted root is a root, and P9 protects what is in it (P18: "nor P9"). */
	if (is.access < was.access && !is_cap(is.rule))
		return "a grant lowers";
	if (is.access > was.access && is_cap(was.rule) && was.rule->kind != RULE_MISSING)
		return "a grant lifts P9, P10 or P25";
	if (is.access > was.access && was.access == ACCESS_DENY && is_stated &&
	    is_deny_kept(after->plan, was.rule, path))
		return "a grant removes a deny at its path or below it";
	return NULL;
}

static const char *check_host(struct world *base, struct world *after, const char *host)
{
	struct net_verdict was = world_host(base, host), is = world_host(after, host);

	if (is.decision < was.decision)
		return "a grant lowers";
	if (is.decision > was.decision && was.reason == NET_REASON_RULE)
		return "a grant removes a deny";
	return NULL;
}

static bool report(size_t n, const char *what, const char *where, const struct world *w)
{
	printf("# case %zu: %s: %s\n", n, where, what);
	for (size_t i = 0; i < w->grants->paths.count; i++)
		printf("# granted %s %s\n", access_name(w->grants->paths.items[i].access),
		       w->grants->paths.items[i].path.p);
	test_print_str("profile", w->user);
	test_print_str("project", w->project);
	return test_check(false, __FILE__, __LINE__, what);
}

static bool check_all(size_t n, struct world *base, struct world *after)
{
	for (const char *const *path = gen_paths; *path; path++) {
		const char *wrong = check_path(base, after, str_of(*path));

		if (wrong)
			return report(n, wrong, *path, after);
	}
	for (const char *const *host = gen_hosts; *host; host++) {
		const char *wrong = check_host(base, after, *host);

		if (wrong)
			return report(n, wrong, *host, after);
	}
	return true;
}

TEST(grants_only_raise_and_keep_what_is_denied)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(3000), tried = 0;
	scoped_buf profile = BUF_INIT(TEXT_BYTES);
	scoped_buf project = BUF_INIT(TEXT_BYTES);
	scoped_world base;
	scoped_world after;

	gen_world(&base);
	gen_world(&after);
	for (size_t n = 0; n < cases; n++) {
		scoped_arena a = ARENA_INIT(1 << 20);
		struct permissions grants;

		buf_clear(&profile);
		buf_clear(&project);
		g.b = &profile;
		gen_profile(&g);
		g.b = &project;
		gen_narrowing(&g);
		gen_grants(&g, &a, &grants);
		base.user = after.user = buf_str(&profile).p;
		base.project = after.project = gen_chance(&g, 2) ? buf_str(&project).p : NULL;
		after.grants = &grants;
		if (!world_plan(&base) || !world_plan(&after))
			continue;
		tried++;
		if (!check_all(n, &base, &after))
			return;
	}
	printf("# %zu of %zu cases compared\n", tried, cases);
	CHECK(tried > cases / 2);
}
