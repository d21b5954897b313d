/* SPDX-License-Identifier: MIT */
/* Whole plans: the built-in profiles, and what is true of every plan. */
#include "test.h"
#include "world.h"

static const char files[] = "d /repo/src\n"
			    "d /repo/.git\n"
			    "d /home/me\n"
			    "d /tmp\n"
			    "d /etc\n"
			    "d /links/real\n"
			    "l /links/cwd -> real\n";

TEST(read_only_reads_all_and_writes_nothing)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.profile = ":read-only";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/src/x"), ACCESS_READ);
	CHECK_INT(w.plan->regions.count, 1);
	CHECK(w.plan->needs_set & GUARANTEE_BIT(G_FS_WRITE));
	CHECK(!w.plan->is_unsandboxed);
}

TEST(workspace_writes_in_the_roots_and_tmp)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/src/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.cordon"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/tmp/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/etc/passwd"), ACCESS_READ);
	CHECK(w.plan->needs_set & GUARANTEE_BIT(G_FS_CARVE));
}

TEST(full_access_answers_write_everywhere)
{
	scoped_world w;
	struct verdict v;

	world_init(&w, files, "/repo");
	w.profile = ":danger-full-access";
	REQUIRE(world_plan(&w));
	CHECK(w.plan->is_unsandboxed);
	v = plan_resolve(w.plan, STR("/repo/.git/config"));
	CHECK_INT(v.access, ACCESS_WRITE);
	CHECK_INT(v.rule->kind, RULE_UNSANDBOXED);
	CHECK_INT(w.plan->needs_set, 0);
	REQUIRE(w.plan->regions.count == 1);
	CHECK_INT(w.plan->regions.items[0].access, ACCESS_WRITE);
	CHECK(w.plan->net != NULL);
}

TEST(the_roots_of_a_plan_are_canonical)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.user = "default_permissions = 'p'\n[permissions.p]\nextends = ':workspace'\n"
		 "workspace_roots = { '/links/cwd' = true }\n";
	REQUIRE(world_plan(&w));
	REQUIRE(w.plan->places.root_count == 2);
	CHECK_STR(w.plan->places.roots[1].p, "/links/real");
	CHECK_INT(world_access(&w, "/links/real/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/links/cwd/x"), ACCESS_READ);
}

TEST(every_pointer_to_a_rule_is_into_the_rules)
{
	scoped_world w;
	const struct plan *p;

	world_init(&w, files, "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	p = w.plan;
	for (size_t i = 0; i < p->regions.count; i++) {
		const struct rule *rule = p->regions.items[i].rule;

		CHECK(rule >= p->rules.items && rule < p->rules.items + p->rules.count);
		CHECK_INT(rule->access, p->regions.items[i].access);
	}
}

TEST(a_trace_gives_the_answer_and_all_that_had_a_say)
{
	scoped_world w;
	rule_trace trace = { .items = NULL };
	struct verdict v;

	world_init(&w, files, "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(plan_trace(&w.a, w.plan, STR("/repo/.git/config"), &v, &trace, &w.e), 0);
	CHECK_INT(v.access, ACCESS_READ);
	REQUIRE(trace.count >= 3);
	CHECK(trace.items[0] == v.rule);
	CHECK(v.rule->kind == RULE_PROTECTED || v.rule->kind == RULE_GIT);
	CHECK_STR(trace.items[trace.count - 1]->path.p, "/");
}

TEST(a_path_is_located_from_the_working_directory)
{
	scoped_world w;
	struct located at;

	world_init(&w, files, "/repo");
	w.profile = ":read-only";
	REQUIRE(world_plan(&w));
	CHECK_INT(plan_locate(&w.a, &w.in, STR("src/../x"), &at, &w.e), 0);
	CHECK_STR(at.path.p, "/repo/x");
	CHECK_INT(at.type, HOST_MISSING);
	CHECK_INT(plan_locate(&w.a, &w.in, STR("/links/cwd"), &at, &w.e), 0);
	CHECK_STR(at.path.p, "/links/real");
	CHECK_STR(at.via_link.p, "/links/cwd");
}

TEST(a_small_arena_is_a_limit_not_a_crash)
{
	scoped_world w;
	struct plan *p = NULL;

	world_init(&w, files, "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	for (size_t limit = 0; !p && limit < 1 << 20; limit += 512) {
		scoped_arena a = ARENA_INIT(limit);

		err_clear(&w.e);
		p = plan_build(&a, &w.in, &w.e);
		CHECK(p || w.e.code == ERR_LIMIT);
	}
	CHECK(p != NULL);
}
