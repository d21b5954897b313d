/* SPDX-License-Identifier: MIT */
/*
 * Adding a deny never grants: with one more deny of a path or a host, in the
 * profile, the project or the requirements, no answer rises.
 */
#include "../unit/test.h"
#include "gen.h"

enum { TEXT_BYTES = 1 << 16 };

static const char fs_header[] = "[permissions.dev.filesystem]\n";
static const char net_header[] = "[permissions.dev.network.domains]\n";

/*
 * The first path whose answer is higher in `after`, or NULL. What P11 closes on
 * the way to a missing path is nobody's statement: where a deny glob of the same
 * file takes the place of the entry for that path, the way is free again.
 */
static const char *find_risen_path(const struct world *before, const struct world *after,
				   bool in_profile)
{
	for (const char *const *path = gen_paths; *path; path++) {
		struct verdict was = plan_resolve(before->plan, str_of(*path));

		if (world_access(after, *path) > was.access &&
		    !(in_profile && was.rule->kind == RULE_MISSING))
			return *path;
	}
	return NULL;
}

static const char *find_risen_host(struct world *before, struct world *after)
{
	for (const char *const *host = gen_hosts; *host; host++)
		if (world_host(after, *host).decision > world_host(before, *host).decision)
			return *host;
	return NULL;
}

struct texts {
	struct buf profile, project, more; /* `more` is one of the others with a line added */
};

#define TEXTS_INIT                                                                \
	{                                                                         \
		.profile = BUF_INIT(TEXT_BYTES), .project = BUF_INIT(TEXT_BYTES), \
		.more = BUF_INIT(TEXT_BYTES)                                      \
	}

static void texts_done(struct texts *t)
{
	buf_done(&t->profile);
	buf_done(&t->project);
	buf_done(&t->more);
}

static void report(size_t n, const char *what, const struct texts *t, const char *added)
{
	printf("# case %zu: %s rises when this is added: %s\n", n, what, added);
	test_print_str("profile", buf_str(&t->profile).p);
	test_print_str("project", buf_str(&t->project).p);
}

/* One case; false ends the test. `*tried` counts those whose policies were both taken. */
static bool try_case(struct gen *g, size_t n, struct texts *t, struct world *before,
		     struct world *after, size_t *tried)
{
	bool in_project = gen_chance(g, 3), is_host = gen_chance(g, 3);
	struct buf *into = in_project ? &t->project : &t->profile;
	char line[GEN_LINE_BYTES];
	const char *header, *risen;

	buf_clear(&t->profile);
	buf_clear(&t->project);
	buf_clear(&t->more);
	g->b = &t->profile;
	gen_profile(g);
	g->b = &t->project;
	gen_narrowing(g);
	g->b = &t->more;
	if (is_host) {
		header = in_project ? "[network.domains]\n" : net_header;
		(void)gen_deny_host(g, buf_str(into).p, line);
	} else {
		header = in_project ? "[filesystem]\n" : fs_header;
		(void)gen_deny_path(g, buf_str(into).p, line);
	}
	gen_insert(g, buf_str(into), header, line);
	before->user = after->user = buf_str(&t->profile).p;
	before->project = after->project = buf_str(&t->project).p;
	*(in_project ? &after->project : &after->user) = buf_str(&t->more).p;
	before->has_decider = after->has_decider = gen_chance(g, 2);
	if (!world_plan(before) || !world_plan(after))
		return true;
	++*tried;
	risen = find_risen_path(before, after, !in_project);
	if (!risen)
		risen = find_risen_host(before, after);
	if (!risen)
		return true;
	report(n, risen, t, line);
	return test_check(false, __FILE__, __LINE__, "no answer rises");
}

TEST(adding_a_deny_never_grants)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(3000), tried = 0;
	SCOPED(texts_done) struct texts t = TEXTS_INIT;
	scoped_world before;
	scoped_world after;

	gen_world(&before);
	gen_world(&after);
	for (size_t n = 0; n < cases; n++)
		if (!try_case(&g, n, &t, &before, &after, &tried))
			return;
	printf("# %zu of %zu cases compared\n", tried, cases);
	CHECK(tried > cases / 2);
}
