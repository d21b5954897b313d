/* SPDX-License-Identifier: MIT */
/* Nested repositories, P9 (plan/nested.c, walk.c). */
#include "test.h"

#include "base/path.h"
#include "git_tree.h"
#include "plan/dir_list.h"
#include "plan/git.h"

static const char *const modes[] = { "git = 'read'\n", "git = 'commit'\n" };

static bool plan_mode(struct world *w, const char *more)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), WORKSPACE("%s"), more);
	return plan(w, text);
}

static size_t count_notes(const struct world *w, bool is_warning, const char *text)
{
	size_t count = 0;

	for (size_t i = 0; i < w->plan->notes.count; i++)
		count += w->plan->notes.items[i].is_warning == is_warning &&
			 strstr(w->plan->notes.items[i].text.p, text) != NULL;
	return count;
}

TEST(what_git_obeys_in_a_nested_clone_is_read_only_and_commits_work)
{
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		scoped_world w;

		world_init(&w, GIT_DIR("/repo/.git") GIT_DIR("/repo/deps/lib/.git"), "/repo");
		REQUIRE(plan_mode(&w, modes[i]));
		CHECK_INT(world_access(&w, "/repo/deps/lib/x"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/HEAD"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/index"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/objects/aa/b"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/worktrees/x"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/hooks/pre-commit"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/config"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/config.worktree"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/commondir"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/deps/lib/.git/objects/info/alternates"),
			  ACCESS_READ);
		CHECK(find_pin(&w, "/repo/deps"));
		CHECK(find_pin(&w, "/repo/deps/lib"));
		CHECK(find_pin(&w, "/repo/deps/lib/.git"));
		REQUIRE(find_placeholder(&w, "/repo/deps/lib/.git/commondir"));
		CHECK(find_placeholder(&w, "/repo/deps/lib/.git/commondir")->may_go);
		REQUIRE(find_git_dir(&w, "/repo/deps/lib/.git"));
		CHECK(find_git_dir(&w, "/repo/deps/lib/.git")->is_nested);
		CHECK(!find_git_dir(&w, "/repo/.git")->is_nested);
	}
}

TEST(nested_report_leaves_clones_open)
{
	static const char *const open[] = { "nested = 'report'\n", "git = 'write'\n",
					    "git = 'commit'\nnested = 'report'\n" };

	for (size_t i = 0; i < COUNT_OF(open); i++) {
		scoped_world w;

		world_init(&w, GIT_DIR("/repo/.git") GIT_DIR("/repo/lib/.git"), "/repo");
		REQUIRE(plan_mode(&w, open[i]));
		CHECK_INT(world_access(&w, "/repo/lib/.git/config"), ACCESS_WRITE);
		CHECK(!find_pin(&w, "/repo/lib"));
		CHECK(!find_git_dir(&w, "/repo/lib/.git"));
	}
}

TEST(a_project_can_not_switch_it_off)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/lib/.git"), "/repo");
	w.project = "nested = 'report'\n";
	CHECK(!plan(&w, WORKSPACE("")) || world_access(&w, "/repo/lib/.git/config") == ACCESS_READ);
}

TEST(bare_repositories_are_found_too)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/mirrors/a.git") "f /repo/b/HEAD\nd /repo/b/refs\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/mirrors/a.git/hooks/post-receive"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/mirrors/a.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/mirrors/a.git/packed-refs"), ACCESS_WRITE);
	CHECK(find_pin(&w, "/repo/mirrors/a.git"));
	/* One that git would not take is none. */
	CHECK_INT(world_access(&w, "/repo/b/config"), ACCESS_WRITE);
}

TEST(pointers_and_links_are_followed_to_git_directories_alone)
{
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/repo/store/one")
			   GIT_DIR("/repo/store/two") "d /repo/src\n"
						      "f /repo/a/.git = gitdir: ../store/one\\n\n"
						      "l /repo/b/.git -> ../store/two\n"
						      "f /repo/c/.git = gitdir: ../src\\n\n"
						      "f /repo/d/.git = nonsense\n"
						      "d /repo/e/.git\n",
		   "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/store/one/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/store/two/hooks/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/store/one/index"), ACCESS_WRITE);
	for (char c = 'a'; c <= 'e'; c++) {
		char path[] = "/repo/a/.git";

		path[6] = c;
		CHECK_INT(world_access(&w, path), ACCESS_READ);
	}
	/* What it names may be anything. */
	CHECK_INT(world_access(&w, "/repo/src/config"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/src/hooks/x"), ACCESS_WRITE);
	CHECK_INT(count_notes(&w, true, ""), 0);
}

TEST(a_linked_worktree_of_a_repository_elsewhere_opens_nothing)
{
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		scoped_world w;

		world_init(&w,
			   GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/repo/wt")
				   GIT_DIR("/repo/.git"),
			   "/repo");
		REQUIRE(plan_mode(&w, modes[i]));
		CHECK_INT(world_access(&w, "/repo/wt/.git"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/wt/x"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/main/.git/index"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/main/.git/worktrees/wt/HEAD"), ACCESS_READ);
	}
}

TEST(clones_in_clones_and_their_submodules_are_found)
{
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/repo/a/.git") GIT_DIR("/repo/a/deps/b/.git")
			   GIT_DIR("/repo/a/.git/modules/sub") "f /repo/a/sub/.git = gitdir: "
							       "../.git/modules/sub\\n\n",
		   "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/a/deps/b/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/a/.git/modules/sub/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/a/.git/modules/sub/index"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/a/sub/.git"), ACCESS_READ);
}

TEST(only_the_workspace_is_searched)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/cache/x/.git") GIT_DIR("/repo/x/.git"), "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/cache' = 'write'\n"));
	CHECK_INT(world_access(&w, "/cache/x/.git/config"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/x/.git/config"), ACCESS_READ);
}

TEST(an_entry_for_its_git_directory_lifts_it)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/x/.git") GIT_DIR("/repo/y/.git"), "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/x/.git' = 'write'\n"));
	CHECK_INT(world_access(&w, "/repo/x/.git/config"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/y/.git/config"), ACCESS_READ);
}

TEST(the_search_goes_level_by_level_and_ends)
{
	char line[100];
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/z/clone/.git") GIT_DIR("/repo/z/a/b/c/d/clone/.git"),
		   "/repo");
	for (int i = 0; i < DIR_LIST_MAX_DIRS - 100; i++) {
		(void)snprintf(line, sizeof(line), "d /repo/a/decoy%d/x\n", i);
		fake_host_add(&w.host, line);
	}
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/z/clone/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/z/a/b/c/d/clone/.git/config"), ACCESS_WRITE);
	CHECK_INT(count_notes(&w, false, "the search ended"), 1);
	CHECK_INT(count_notes(&w, true, ""), 0);
}

TEST(not_all_of_very_many_are_protected)
{
	enum { MANY = 100 };
	char line[400];
	size_t found = 0;
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(line, sizeof(line),
			       "f /repo/c%d/.git/HEAD\nd /repo/c%d/.git/objects/info\nd "
			       "/repo/c%d/.git/refs\nf /repo/c%d/.git/config\n",
			       i, i, i, i);
		fake_host_add(&w.host, line);
	}
	REQUIRE(plan(&w, WORKSPACE("")));
	for (int i = 0; i < MANY; i++) {
		bool is_protected;

		(void)snprintf(line, sizeof(line), "/repo/c%d/.git/config", i);
		is_protected = world_access(&w, line) == ACCESS_READ;
		found += is_protected;
		/* The others are compared after the run, as any that is not known. */
		(void)snprintf(line, sizeof(line), "/repo/c%d/.git", i);
		CHECK_INT(find_git_dir(&w, line) != NULL, is_protected);
	}
	CHECK_INT(found, GIT_MAX_NESTED_PINS / 4);
	CHECK_INT(w.plan->pins.count, GIT_MAX_NESTED_PINS);
	CHECK_INT(count_notes(&w, false, "the search ended"), 1);
}

TEST(submodules_of_a_nested_clone_count_too)
{
	char line[400];
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/a/.git"), "/repo");
	for (int i = 0; i < 200; i++) {
		(void)snprintf(
			line, sizeof(line),
			"f /repo/a/.git/modules/m%d/HEAD\nf /repo/a/.git/modules/m%d/config\n"
			"f /repo/a/s%d/.git = gitdir: ../.git/modules/m%d\\n\n",
			i, i, i, i);
		fake_host_add(&w.host, line);
	}
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(w.plan->pins.count <= GIT_MAX_NESTED_PINS);
	CHECK(w.plan->pins.count >= GIT_MAX_NESTED_PINS / 4);
	CHECK_INT(count_notes(&w, false, "the search ended"), 1);
}

TEST(a_locked_directory_gets_a_warning_and_stops_no_run)
{
	scoped_world w;

	world_init(&w, "c /repo/own\nh /repo/foreign\n" GIT_DIR("/repo/x/.git"), "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/x/.git/config"), ACCESS_READ);
	CHECK_INT(count_notes(&w, true, "/repo/own"), 1);
	CHECK_INT(count_notes(&w, true, "/repo/foreign"), 0);
}

TEST(a_clone_that_can_not_be_looked_at_is_read_only_as_a_whole)
{
	static const char deep[] =
		"d /repo/y/.git/modules/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16\n";
	scoped_world w;

	world_init(&w, "c /repo/x/.git\n" GIT_DIR("/repo/y/.git") GIT_DIR("/repo/z/.git"), "/repo");
	fake_host_add(&w.host, deep);
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/x/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/x/y"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/y/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/y/.git/index"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/z/.git/index"), ACCESS_WRITE);
	CHECK_INT(count_notes(&w, true, "as a whole"), 2);
}

TEST(an_obstacle_in_a_git_directory_closes_the_clone_and_stops_no_run)
{
	static const char *const ways[] = { "c /repo/x/.git/objects\n",
					    "l /repo/x/.git/objects/info -> info\n" };

	for (size_t i = 0; i < COUNT_OF(ways) * COUNT_OF(modes); i++) {
		scoped_world w;

		world_init(&w,
			   "f /repo/x/.git/HEAD\nd /repo/x/.git/objects\nd "
			   "/repo/x/.git/refs\n" GIT_DIR("/repo/z/.git"),
			   "/repo");
		fake_host_add(&w.host, ways[i / COUNT_OF(modes)]);
		REQUIRE(plan_mode(&w, modes[i % COUNT_OF(modes)]));
		CHECK_INT(world_access(&w, "/repo/x/.git/config"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/x/.git/commondir"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/x/.git/index"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/x/.git/objects/info/alternates"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/x/y"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/z/.git/index"), ACCESS_WRITE);
		CHECK_INT(count_notes(&w, true, "/repo/x/.git is read-only as a whole"), 1);
		CHECK_INT(count_notes(&w, true, ""), 1);
	}
}

TEST(a_directory_that_no_placeholder_can_be_made_in_is_read_only_as_a_whole)
{
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		scoped_world w;

		world_init(&w,
			   GIT_DIR("/repo/x/.git") GIT_DIR("/repo/y/.git") GIT_DIR(
				   "/repo/z/.git") "w /repo/x/.git\nw /repo/y/.git/objects\n"
						   "w /repo/z\n",
			   "/repo");
		REQUIRE(plan_mode(&w, modes[i]));
		CHECK_INT(world_access(&w, "/repo/x/.git/commondir"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/x/.git/index"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/x/.git"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/x/y"), ACCESS_WRITE);
		CHECK(!find_placeholder(&w, "/repo/x/.git/commondir"));
		CHECK(find_pin(&w, "/repo/x"));
		/* Only where something has to be kept from being created. */
		CHECK_INT(world_access(&w, "/repo/y/.git/index"), ACCESS_WRITE);
		CHECK(find_placeholder(&w, "/repo/y/.git/commondir"));
		CHECK_INT(world_access(&w, "/repo/z/a"), ACCESS_WRITE);
		CHECK_INT(count_notes(&w, true, "/repo/x/.git is read-only as a whole"), 1);
		CHECK_INT(count_notes(&w, true, "/repo/z"), 0);
	}
}

TEST(no_name_and_no_depth_stops_a_run)
{
	char path[PATH_MAX_BYTES + 300] = "d /repo";
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/\xff\xfe/.git"), "/repo");
	for (size_t len = strlen(path); len + 202 < PATH_MAX_BYTES - 1; len += 201) {
		path[len] = '/';
		memset(path + len + 1, 'x', 200);
		path[len + 201] = '\0';
	}
	fake_host_add(&w.host, strcat(path, "\n"));
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/\xff\xfe/.git/config"), ACCESS_READ);
}

/* ---- One walk --------------------------------------------------------------------------- */

static int (*list_of_fake)(void *user, struct str path,
			   int (*each)(void *arg, struct str name, enum host_type type,
				       struct err *e),
			   void *arg, struct err *e);
static size_t lists;

static int count_list(void *user, struct str path,
		      int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		      void *arg, struct err *e)
{
	lists += path_is_under(path, STR("/repo/src"));
	return list_of_fake(user, path, each, arg, e);
}

TEST(globs_and_nested_repositories_share_one_walk)
{
	static const char *const globs[] = {
		"", "'/repo/**/.env' = 'deny'\n",
		"'/repo/**/.env' = 'deny'\n'/repo/**/*.key' = 'deny'\n"
	};

	for (size_t i = 0; i < COUNT_OF(globs); i++) {
		char text[1024];
		scoped_world w;

		world_init(&w,
			   "d /repo/src/a/b/c\nd /repo/src/d\nf /repo/src/d/.env\n" GIT_DIR(
				   "/repo/src/e/.git"),
			   "/repo");
		list_of_fake = w.host.host.list;
		w.host.host.list = count_list;
		lists = 0;
		(void)snprintf(text, sizeof(text), WORKSPACE("") "%s", globs[i]);
		REQUIRE(plan(&w, text));
		CHECK_INT(world_access(&w, "/repo/src/e/.git/config"), ACCESS_READ);
		/* src, a, b and e; with globs also c and d, without directories, and what is in .git */
		CHECK_INT(lists, i ? 4 + 2 + 5 : 4);
	}
}

TEST(a_failure_of_the_host_in_the_search_stops_nothing)
{
	size_t calls, passed = 0;
	scoped_world w;

	world_init(&w, "d /repo/a/b\nd /repo/c\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("nested = 'report'\n")));
	calls = w.host.calls;
	w.host.calls = 0;
	REQUIRE(plan(&w, WORKSPACE("")));
	calls = w.host.calls - calls;
	REQUIRE(calls >= 8);
	for (size_t i = 1, all = w.host.calls; i <= all; i++) {
		w.host.calls = 0;
		w.host.fail_at = i;
		passed += world_plan(&w);
	}
	/* What fails early makes the search shorter, so not each call comes again. */
	CHECK(passed >= 4);
}
