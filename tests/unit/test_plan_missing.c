/* SPDX-License-Identifier: MIT */
/* Missing paths and their placeholders, P11 (plan/missing.c). */
#include "test.h"

#include "plan_lists.h"

static bool plan(struct world *w, const char *user)
{
	w->user = user;
	w->profile = "dev";
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

TEST(a_missing_deny_holds_from_its_first_missing_component_on)
{
	const struct placeholder *p;
	scoped_world w;

	world_init(&w, "d /repo/a\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/a/b/c/d' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/repo/a/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/a/b"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/a/b/c/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/a/b/c/d"), ACCESS_DENY);
	p = find_placeholder(&w, "/repo/a/b");
	REQUIRE(p);
	CHECK_INT(p->kind, PLACEHOLDER_DIR);
	CHECK(is_of_plan(&w, p->rule));
	CHECK_INT(p->rule->kind, RULE_MISSING);
	CHECK(strstr(p->rule->note.p, "/repo/a/b/c/d"));
	CHECK(!find_placeholder(&w, "/repo/a/b/c"));
	CHECK(find_pin(&w, "/repo/a"));
}

TEST(a_missing_read_below_something_writable_holds_too)
{
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/docs' = 'read'\n'/etc/docs' = 'read'\n"));
	CHECK_INT(world_access(&w, "/repo/docs/x"), ACCESS_READ);
	REQUIRE(find_placeholder(&w, "/repo/docs"));
	CHECK_INT(find_placeholder(&w, "/repo/docs")->rule->kind, RULE_ENTRY);
	CHECK(!find_placeholder(&w, "/etc"));
	CHECK(!find_placeholder(&w, "/etc/docs"));
}

TEST(where_nothing_can_be_made_nothing_has_to_stand)
{
	scoped_world w;

	world_init(&w, "d /repo\nd /srv\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/srv/a/b' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/srv/a/b"), ACCESS_DENY);
	CHECK(!find_placeholder(&w, "/srv/a"));
	CHECK(!find_rule(&w, RULE_MISSING, "/srv/a"));
}

TEST(one_placeholder_serves_several_rules)
{
	size_t count = 0;
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/a/b' = 'deny'\n'/repo/a/c/d' = 'deny'\n"
				       "'/repo/a' = 'read'\n"));
	for (size_t i = 0; i < w.plan->placeholders.count; i++)
		count += str_is(w.plan->placeholders.items[i].path, "/repo/a");
	CHECK_INT(count, 1);
	CHECK_INT(world_access(&w, "/repo/a/c"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/a/c/d"), ACCESS_DENY);
}

TEST(missing_paths_that_a_project_denies_can_not_be_created)
{
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	w.project = "[filesystem]\n'/repo/secret/x' = 'deny'\n";
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/secret/x"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/repo/secret/y"), ACCESS_READ);
	CHECK(find_placeholder(&w, "/repo/secret"));
}

TEST(lowering_the_directory_opens_nothing_that_is_missing_in_it)
{
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	w.project = "[filesystem]\n'/repo' = 'read'\n'/repo/deep' = 'write'\n"
		    "'/repo/docs' = 'write'\n";
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/deep/er' = 'deny'\n'/repo/docs' = 'read'\n"));
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/deep/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/deep/er"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/repo/docs/x"), ACCESS_READ);
	/* Nothing can be made there, so nothing has to stand. */
	CHECK(!find_placeholder(&w, "/repo/deep"));
	CHECK(!find_placeholder(&w, "/repo/docs"));
}

TEST(an_entry_of_a_project_does_not_stand_in_for_what_is_missing)
{
	scoped_world w;

	world_init(&w, "d /repo\nl /repo/.codex -> deep/er\n", "/repo");
	w.project = "[filesystem]\n'/repo/deep' = 'read'\n'/repo/deep/x' = 'write'\n";
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/deep/x"), ACCESS_READ);
	CHECK(find_placeholder(&w, "/repo/deep"));
}

TEST(below_a_file_the_file_itself_is_kept)
{
	scoped_world w;

	world_init(&w, "f /repo/file\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/file/x' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/repo/file"), ACCESS_READ);
	CHECK(!find_placeholder(&w, "/repo/file/x"));
	CHECK(!find_placeholder(&w, "/repo/file"));
}

TEST(a_dangling_link_keeps_its_target_away)
{
	scoped_world w;

	world_init(&w, "l /repo/key -> store/key\nd /repo\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/key' = 'deny'\n"));
	CHECK(find_placeholder(&w, "/repo/store"));
	CHECK_INT(world_access(&w, "/repo/store/key"), ACCESS_DENY);
	CHECK(find_link(&w, "/repo/key"));
}

TEST(git_gets_files_where_it_would_trip_over_directories)
{
	static const struct {
		const char *path, *content; /* NULL: a directory */
	} wanted[] = {
		{ "/repo/.git/commondir", "." },      { "/repo/.git/config", "" },
		{ "/repo/.git/config.worktree", "" }, { "/repo/.git/objects/info", NULL },
		{ "/repo/.git/hooks", NULL },	      { "/repo/.git/gitdir", NULL },
	};
	scoped_world w;

	world_init(&w, "f /repo/.git/HEAD\nd /repo/.git/objects\nd /repo/.git/refs\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		const struct placeholder *p = find_placeholder(&w, wanted[i].path);

		if (!p)
			printf("# %s\n", wanted[i].path);
		REQUIRE(p);
		CHECK_INT(p->kind, wanted[i].content ? PLACEHOLDER_FILE : PLACEHOLDER_DIR);
		CHECK(str_is(p->content, wanted[i].content ? wanted[i].content : ""));
	}
	/* A name like that elsewhere is nothing of git's. */
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/src/commondir' = 'deny'\n"));
	REQUIRE(find_placeholder(&w, "/repo/src"));
	CHECK_INT(find_placeholder(&w, "/repo/src")->kind, PLACEHOLDER_DIR);
}
