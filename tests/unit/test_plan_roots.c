/* SPDX-License-Identifier: MIT */
/* The writable roots of P9 (plan/roots.c). */
#include "test.h"

#include "plan_lists.h"

static const char host[] =
	"d /repo\nd /other\nd /tmp\nd /home/me\nf /home/me/file\nd /home/me/ws\n";

TEST(a_write_entry_and_a_writable_workspace_are_roots)
{
	scoped_world w;

	world_init(&w, host, "/repo");
	w.user = WORKSPACE("") "'/other' = 'write'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(w.plan->roots.count, 2);
	CHECK(find_root(&w, "/repo"));
	REQUIRE(find_root(&w, "/other"));
	CHECK(is_of_plan(&w, find_root(&w, "/other")->rule));
	CHECK(str_is(find_root(&w, "/other")->rule->key, "/other"));
}

TEST(a_workspace_that_is_only_read_is_no_root)
{
	scoped_world w;

	world_init(&w, host, "/repo");
	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(w.plan->roots.count, 0);
}

TEST(a_workspace_writable_by_a_wider_entry_is_a_root)
{
	scoped_world w;

	world_init(&w, host, "/home/me/ws");
	w.user = "[permissions.dev.filesystem]\n'~' = 'write'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK(find_root(&w, "/home/me"));
	CHECK(find_root(&w, "/home/me/ws"));
	CHECK_INT(world_access(&w, "/home/me/ws/.git/x"), ACCESS_READ);
}

TEST(temporary_directories_are_none_unless_another_key_names_them)
{
	scoped_world w;

	world_init(&w, host, "/repo");
	w.tmpdir = "/other";
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/tmp/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/other/.git"), ACCESS_WRITE);
	CHECK(!find_root(&w, "/tmp"));
	CHECK(!find_root(&w, "/other"));
	w.user = "[permissions.dev]\nextends = ':workspace'\n"
		 "[permissions.dev.filesystem]\n'/tmp' = 'write'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK(find_root(&w, "/tmp"));
	CHECK(!find_root(&w, "/other"));
}

TEST(a_workspace_inside_tmp_is_a_root)
{
	scoped_world w;

	world_init(&w, "d /tmp/ws\n", "/tmp/ws");
	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n':slash_tmp' = 'write'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK(find_root(&w, "/tmp/ws"));
	CHECK(!find_root(&w, "/tmp"));
}

TEST(files_and_missing_paths_are_no_roots)
{
	scoped_world w;

	world_init(&w, host, "/repo");
	w.user = WORKSPACE("") "'~/file' = 'write'\n'/gone' = 'write'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(w.plan->roots.count, 1);
	CHECK(has_note(&w, "/gone"));
}

TEST(a_root_that_a_project_makes_read_only_stays_a_root)
{
	scoped_world w;

	world_init(&w, host, "/repo");
	w.user = WORKSPACE("") "'/other' = 'write'\n";
	w.project = "[filesystem]\n'/other' = 'read'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK(find_root(&w, "/repo"));
	CHECK(find_root(&w, "/other"));
	CHECK_INT(world_access(&w, "/other/x"), ACCESS_READ);
}

/* The git directory that the .git of /repo names lies in another writable root. */
TEST(a_deny_at_a_root_opens_no_git_directory_elsewhere)
{
	static const char pointed[] = "f /repo/.git = gitdir: /other/git\nf /other/git/HEAD\n"
				      "d /other/git/objects\nd /other/git/refs\n";
	static const char *const more[] = { "", "'/repo' = 'deny'\n" };

	for (size_t i = 0; i < 2; i++) {
		scoped_world w;
		char user[512];

		(void)snprintf(user, sizeof(user), "%s%s", WORKSPACE("") "'/other' = 'write'\n",
			       more[i]);
		world_init(&w, pointed, "/repo");
		w.user = user;
		w.profile = "dev";
		REQUIRE(world_plan(&w));
		CHECK(find_root(&w, "/repo"));
		CHECK_INT(world_access(&w, "/other/git/config"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/other/x"), ACCESS_WRITE);
	}
}

TEST(lowering_a_root_lifts_no_protection_in_it)
{
	static const char lowered[] = "[filesystem]\n'/repo' = 'read'\n'/repo/.git' = 'write'\n"
				      "'/repo/.cordon' = 'write'\n'/repo/src' = 'write'\n";
	scoped_world w;

	world_init(&w, host, "/repo");
	fake_host_add(&w.host, "d /repo/.git/hooks\nd /repo/.git/refs\nd /repo/.git/objects\n"
			       "f /repo/.git/HEAD\nd /repo/src\n");
	w.user = WORKSPACE("");
	w.profile = "dev";
	w.project = lowered;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/src/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/hooks/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.cordon/config.toml"), ACCESS_READ);
	w.project = NULL;
	w.requirements = lowered;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/src/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/hooks/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.cordon/config.toml"), ACCESS_READ);
}

TEST(a_granted_directory_is_a_root_too)
{
	struct permission granted = { .path = STR_INIT("/other"), .access = ACCESS_WRITE };
	struct permissions grants = { .paths = { .items = &granted, .count = 1, .room = 1 } };
	scoped_world w;

	world_init(&w, host, "/repo");
	w.user = WORKSPACE("");
	w.profile = "dev";
	w.grants = &grants;
	REQUIRE(world_plan(&w));
	CHECK(find_root(&w, "/other"));
	CHECK_INT(world_access(&w, "/other/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/other/.git/config"), ACCESS_READ);
}
