/* SPDX-License-Identifier: MIT */
/*
 * What plan_grant() looks at, and when it makes the plan from scratch.
 * tests/property/prop_plan_grant.c compares both for random policies.
 */
#include "test.h"
#include "world.h"

#define DEV "default_permissions = 'dev'\n[permissions.dev]\n[permissions.dev.filesystem]\n"
#define RO  DEV "'/' = 'read'\n':workspace_roots' = 'write'\n"

static const char host_text[] = "d /repo/.git/hooks\nf /repo/.git/HEAD\nd /repo/.git/objects\n"
				"d /repo/.git/refs\nd /opt/app/sub\nf /opt/app/file\nd /opt/lib\n"
				"d /srv/decider\nd /home/me\n";

static bool start(struct world *w, const char *user)
{
	world_init(w, host_text, "/repo");
	w->user = user;
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

/* The inputs with write access to `paths` besides. */
static bool grant(struct world *w, const char *const *paths, struct plan_inputs *out)
{
	struct permissions granted = { .network = false };
	struct policy *copy = ARENA_NEW(&w->a, struct policy, &w->e);

	*out = w->in;
	if (!copy)
		return false;
	*copy = *w->policy;
	copy->grants.room = copy->grants.count;
	for (; *paths; paths++) {
		struct permission *added = VEC_PUSH(&w->a, &granted.paths, &w->e);

		if (!added)
			return false;
		*added = (struct permission){ str_of(*paths), ACCESS_WRITE };
	}
	out->policy = copy;
	return policy_grant(&w->a, copy, &granted, (struct origin){ .file = "granted" }, &w->e) ==
	       0;
}

/* Whether it shares what every plan that is made from scratch has of its own. */
static bool is_derived(const struct plan *p, const struct plan *from)
{
	return p->places.roots == from->places.roots;
}

static enum access access_of(const struct plan *p, const char *path)
{
	return plan_resolve(p, str_of(path)).access;
}

static const struct plan *add(struct world *w, const struct plan *p, const char *path)
{
	struct plan_inputs in;

	return grant(w, (const char *const[]){ path, NULL }, &in) ? plan_grant(&w->a, p, &in, &w->e)
								  : NULL;
}

TEST(a_grant_opens_its_path_and_protects_the_names_in_it)
{
	const struct plan *plan;
	scoped_world w;

	REQUIRE(start(&w, RO "'/opt/app/sub' = 'deny'\n"));
	plan = add(&w, w.plan, "/opt/app");
	REQUIRE(plan != NULL);
	CHECK(is_derived(plan, w.plan));
	CHECK_INT(access_of(plan, "/opt/app/x"), ACCESS_WRITE);
	CHECK_INT(access_of(plan, "/opt/app/.vscode/x"), ACCESS_READ);
	CHECK_INT(access_of(plan, "/opt/app/sub/x"), ACCESS_DENY);
	CHECK_INT(access_of(plan, "/opt/appendix"), ACCESS_READ);
	CHECK_INT(access_of(plan, "/repo/x"), ACCESS_WRITE);
	CHECK_INT(access_of(plan, "/repo/.git/hooks/x"), ACCESS_READ);
	/* The plan without it stays what it was. */
	CHECK_INT(access_of(w.plan, "/opt/app/x"), ACCESS_READ);
}

TEST(only_what_is_granted_is_looked_at)
{
	size_t calls[2];

	for (size_t n = 0; n < 2; n++) {
		scoped_world w;

		world_init(&w, host_text, "/repo");
		for (size_t i = 0; i < n * 100; i++) {
			char line[64];

			(void)snprintf(line, sizeof(line), "d /repo/d%zu/e\n", i);
			fake_host_add(&w.host, line);
		}
		w.user = RO "'/repo/**/*.key' = 'deny'\n";
		REQUIRE(world_plan(&w));
		calls[n] = w.host.calls;
		REQUIRE(add(&w, w.plan, "/opt/app") != NULL);
		calls[n] = w.host.calls - calls[n];
	}
	CHECK(calls[0] > 0);
	CHECK_INT(calls[1], calls[0]);
}

/* The run may have begun before anybody was known who decides. */
TEST(what_is_cordons_own_by_now_is_not_opened)
{
	static const struct own_file own[] = { { STR_INIT("/srv/decider"), ACCESS_READ, "own" } };
	const char *const wide[] = { "/srv", NULL };
	struct plan_inputs in;
	const struct plan *plan;
	scoped_world w;

	REQUIRE(start(&w, RO));
	REQUIRE(grant(&w, wide, &in));
	plan = plan_grant(&w.a, w.plan, &in, &w.e);
	REQUIRE(plan != NULL);
	CHECK_INT(access_of(plan, "/srv/decider/x"), ACCESS_WRITE);
	in.own = own;
	in.own_count = 1;
	plan = plan_grant(&w.a, w.plan, &in, &w.e);
	REQUIRE(plan != NULL);
	CHECK_INT(access_of(plan, "/srv/x"), ACCESS_WRITE);
	CHECK_INT(access_of(plan, "/srv/decider/x"), ACCESS_READ);
	plan = plan_grant_answers(&w.a, w.plan, &in, &w.e);
	REQUIRE(plan != NULL);
	CHECK_INT(access_of(plan, "/srv/decider/x"), ACCESS_READ);
}

/* An entry is about a path: what is there by now counts. */
TEST(a_rule_below_the_grant_that_leads_elsewhere_by_now_is_followed)
{
	const struct plan *plan;
	scoped_world w;

	REQUIRE(start(&w, RO "'/opt/app/sub' = 'deny'\n'/opt/lib' = 'read'\n"));
	fake_host_remove(&w.host, "/opt/app/sub");
	fake_host_add(&w.host, "l /opt/app/sub -> ../lib\n");
	plan = add(&w, w.plan, "/opt/app");
	REQUIRE(plan != NULL);
	CHECK(!is_derived(plan, w.plan));
	CHECK_INT(access_of(plan, "/opt/app/x"), ACCESS_WRITE);
	CHECK_INT(access_of(plan, "/opt/lib/x"), ACCESS_DENY);
}

TEST(a_policy_that_differs_in_more_than_one_grant_gets_a_plan_of_its_own)
{
	const char *const both[] = { "/opt/lib", "/opt/app", NULL };
	struct plan_inputs in;
	const struct plan *first, *plan;
	scoped_world w;

	REQUIRE(start(&w, RO));
	first = add(&w, w.plan, "/srv");
	REQUIRE(first != NULL);
	CHECK(is_derived(first, w.plan));
	REQUIRE(grant(&w, both, &in));
	plan = plan_grant(&w.a, first, &in, &w.e);
	REQUIRE(plan != NULL);
	CHECK(!is_derived(plan, first));
	CHECK_INT(access_of(plan, "/srv/x"), ACCESS_READ);
	CHECK_INT(access_of(plan, "/opt/lib/x"), ACCESS_WRITE);
	CHECK_INT(access_of(plan, "/opt/app/x"), ACCESS_WRITE);
}

TEST(a_directory_with_a_repository_gets_its_rules)
{
	const struct plan *plan;
	scoped_world w;

	REQUIRE(start(&w, RO));
	fake_host_add(&w.host, "f /opt/app/.git/HEAD\nd /opt/app/.git/objects\n"
			       "d /opt/app/.git/refs\nd /opt/app/.git/hooks\n");
	plan = add(&w, w.plan, "/opt/app");
	REQUIRE(plan != NULL);
	CHECK(is_derived(plan, w.plan));
	CHECK_INT(access_of(plan, "/opt/app/x"), ACCESS_WRITE);
	CHECK_INT(access_of(plan, "/opt/app/.git/hooks/x"), ACCESS_READ);
	CHECK_INT(plan->git_dirs.count, w.plan->git_dirs.count + 1);
}

TEST(a_repository_of_which_parts_are_elsewhere_is_looked_at_with_all_others)
{
	const struct plan *plan;
	scoped_world w;

	REQUIRE(start(&w, RO));
	fake_host_add(&w.host, "f /opt/app/.git = gitdir: /opt/lib/git\\n\nf /opt/lib/git/HEAD\n"
			       "d /opt/lib/git/objects\nd /opt/lib/git/refs\n");
	plan = add(&w, w.plan, "/opt/app");
	REQUIRE(plan != NULL);
	CHECK(!is_derived(plan, w.plan));
	CHECK_INT(access_of(plan, "/opt/app/x"), ACCESS_WRITE);
	CHECK_INT(access_of(plan, "/opt/app/.git"), ACCESS_READ);
}

/* The workspace may have more directories than are searched in all. */
TEST(a_repository_deeper_in_the_grant_is_found_whatever_is_in_the_workspace)
{
	const struct plan *plan;
	scoped_world w;

	world_init(&w, host_text, "/repo");
	for (size_t i = 0; i < 1100; i++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "d /repo/d%zu\n", i);
		fake_host_add(&w.host, line);
	}
	fake_host_add(&w.host, "f /opt/app/sub/r/.git/HEAD\nd /opt/app/sub/r/.git/objects\n"
			       "d /opt/app/sub/r/.git/refs\nd /opt/app/sub/r/.git/hooks\n");
	w.user = RO;
	REQUIRE(world_plan(&w));
	plan = add(&w, w.plan, "/opt/app");
	REQUIRE(plan != NULL);
	CHECK_INT(access_of(plan, "/opt/app/sub/r/x"), ACCESS_WRITE);
	CHECK_INT(access_of(plan, "/opt/app/sub/r/.git/hooks/x"), ACCESS_READ);
}
