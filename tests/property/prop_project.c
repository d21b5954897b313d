/* SPDX-License-Identifier: MIT */
/*
 * An untrusted project never widens (P2), nor do the requirements (P1), whatever they
 * lower and name; and nobody can be talked out of P25:
 * Cordon's own files stay at most readable under random profiles, grants,
 * project files, trusted ones too.
 */
#include "../unit/test.h"
#include "base/path.h"
#include "gen.h"

enum { TEXT_BYTES = 1 << 16 };

struct texts {
	struct buf profile, project;
};

#define TEXTS_INIT                                                               \
	{                                                                        \
		.profile = BUF_INIT(TEXT_BYTES), .project = BUF_INIT(TEXT_BYTES) \
	}

static void texts_done(struct texts *t)
{
	buf_done(&t->profile);
	buf_done(&t->project);
}

static void texts_next(struct texts *t, struct gen *g)
{
	buf_clear(&t->profile);
	buf_clear(&t->project);
	g->b = &t->profile;
	gen_profile(g);
	g->b = &t->project;
	gen_narrowing(g);
}

static bool report(size_t n, const char *what, const char *where, const struct world *w)
{
	printf("# case %zu: %s\n", n, where);
	test_print_str("profile", w->user);
	if (w->project)
		test_print_str("project", w->project);
	if (w->requirements)
		test_print_str("requirements", w->requirements);
	return test_check(false, __FILE__, __LINE__, what);
}

static bool check_widening(size_t n, struct world *without, struct world *with)
{
	for (const char *const *path = gen_paths; *path; path++)
		if (world_access(with, *path) > world_access(without, *path))
			return report(n, "a narrowing layer opens a path", *path, with);
	for (const char *const *host = gen_hosts; *host; host++)
		if (world_host(with, *host).decision > world_host(without, *host).decision)
			return report(n, "a narrowing layer opens a host", *host, with);
	if (net_mode(without->plan->net) == NET_OFF && net_mode(with->plan->net) != NET_OFF)
		return report(n, "a narrowing layer opens the network", "", with);
	if (net_is_limited(without->plan->net) && !net_is_limited(with->plan->net))
		return report(n, "a narrowing layer lifts mode = limited", "", with);
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		uint64_t was = without->policy->profile->limits.value[i];
		uint64_t is = with->policy->profile->limits.value[i];

		if (was && (is == 0 || is > was))
			return report(n, "a narrowing layer raises a limit",
				      limit_name((enum limit)i), with);
	}
	return true;
}

/* Compares policies without a layer that narrows and with one. */
static void compare_narrowed(bool is_required)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(3000), tried = 0;
	SCOPED(texts_done) struct texts t = TEXTS_INIT;
	scoped_world without;
	scoped_world with;

	gen_world(&without);
	gen_world(&with);
	for (size_t n = 0; n < cases; n++) {
		scoped_arena a = ARENA_INIT(1 << 20);
		struct permissions grants;

		texts_next(&t, &g);
		gen_grants(&g, &a, &grants);
		without.user = with.user = buf_str(&t.profile).p;
		without.grants = with.grants = gen_chance(&g, 2) ? &grants : NULL;
		without.has_decider = with.has_decider = gen_chance(&g, 2);
		if (is_required)
			with.requirements = buf_str(&t.project).p;
		else
			with.project = buf_str(&t.project).p;
		if (!world_plan(&without) || !world_plan(&with))
			continue;
		tried++;
		CHECK(!with.projects[0].is_trusted);
		if (!check_widening(n, &without, &with))
			return;
	}
	printf("# %zu of %zu cases compared\n", tried, cases);
	CHECK(tried > cases / 2);
}

TEST(an_untrusted_project_never_widens)
{
	compare_narrowed(false);
}

TEST(requirements_never_widen)
{
	compare_narrowed(true);
}

/* What P25 leaves of a path at most. */
static enum access own_limit(struct str path)
{
	enum access limit = ACCESS_WRITE;

	for (size_t i = 0; i < gen_own_count; i++)
		if (path_is_under(path, gen_own[i].path))
			limit = MIN_OF(limit, gen_own[i].access);
	return limit;
}

TEST(own_files_stay_at_most_readable)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(3000), tried = 0;
	SCOPED(texts_done) struct texts t = TEXTS_INIT;
	scoped_world w;

	gen_world(&w);
	for (size_t n = 0; n < cases; n++) {
		scoped_arena a = ARENA_INIT(1 << 20);
		struct permissions grants;

		texts_next(&t, &g);
		gen_grants(&g, &a, &grants);
		w.user = buf_str(&t.profile).p;
		w.project = buf_str(&t.project).p;
		w.trusts_project = gen_chance(&g, 2);
		w.grants = &grants;
		if (!world_plan(&w))
			continue;
		tried++;
		CHECK_INT(w.projects[0].is_trusted, w.trusts_project);
		for (const char *const *path = gen_paths; *path; path++)
			if (world_access(&w, *path) > own_limit(str_of(*path))) {
				(void)report(n, "an own file is open", *path, &w);
				return;
			}
	}
	printf("# %zu of %zu cases compared\n", tried, cases);
	CHECK(tried > cases / 2);
}
