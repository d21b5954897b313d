/* SPDX-License-Identifier: MIT */
/* Git directories that a command may commit to, P10 (plan/git.c, git_rules.c). */
#include "test.h"

#include "git_tree.h"
#include "plan/git.h"

static const char *const parts[] = { "hooks",	  "config", "config.worktree",
				     "commondir", "gitdir", "objects/info/alternates" };

static void check_parts(const struct world *w, const char *dir)
{
	char path[256];

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, parts[i]);
		if (world_access(w, path) != ACCESS_READ)
			printf("# %s\n", path);
		CHECK_INT(world_access(w, path), ACCESS_READ);
		CHECK(find_rule(w, RULE_GIT, path));
	}
	snprintf(path, sizeof(path), "%s/index", dir);
	CHECK_INT(world_access(w, path), ACCESS_WRITE);
}

TEST(commit_caps_the_parts_and_pins_the_rest)
{
	const struct placeholder *p;
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/.git"), "/repo");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	check_parts(&w, "/repo/.git");
	CHECK(find_pin(&w, "/repo/.git"));
	CHECK(find_pin(&w, "/repo/.git/objects/info"));
	p = find_placeholder(&w, "/repo/.git/commondir");
	REQUIRE(p);
	CHECK_INT(p->kind, PLACEHOLDER_FILE);
	CHECK(str_is(p->content, "."));
	p = find_placeholder(&w, "/repo/.git/config.worktree");
	REQUIRE(p);
	CHECK_INT(p->kind, PLACEHOLDER_FILE);
	CHECK(str_is(p->content, ""));
	p = find_placeholder(&w, "/repo/.git/objects/info/alternates");
	REQUIRE(p);
	CHECK_INT(p->kind, PLACEHOLDER_FILE);
	p = find_placeholder(&w, "/repo/.git/gitdir");
	REQUIRE(p);
	CHECK_INT(p->kind, PLACEHOLDER_DIR);
	CHECK(!find_placeholder(&w, "/repo/.git/hooks"));
	CHECK(is_of_plan(&w, p->rule));
}

TEST(parts_behind_a_link_are_protected_in_every_mode)
{
	static const char *const modes[] = { "", "git = 'commit'\n" };

	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		char user[512];
		scoped_world w;

		world_init(
			&w,
			"f /repo/.git/HEAD\nd /repo/.git/refs\nd /repo/.git/objects\n"
			"d /repo/githooks\nl /repo/.git/hooks -> ../githooks\n"
			"d /repo/meta\nf /repo/meta/config\nl /repo/.git/config -> ../meta/config\n"
			"d /repo/info\nl /repo/.git/objects/info -> ../../info\n"
			"l /repo/.git/gitdir -> gitdir\n",
			"/repo");
		snprintf(user, sizeof(user), "[permissions.dev]\n%s%s", modes[i],
			 "[permissions.dev.filesystem]\n':root' = 'read'\n"
			 "':workspace_roots' = 'write'\n");
		REQUIRE(plan(&w, user));
		CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/meta/x"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/info/x"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/repo/githooks/pre-commit"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/meta/config"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/info/alternates"), ACCESS_READ);
		CHECK(find_placeholder(&w, "/repo/info/alternates"));
	}
}

TEST(git_read_needs_no_rules_for_parts_that_are_inside)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/.git"), "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(!find_rule(&w, RULE_GIT, "/repo/.git/hooks"));
	CHECK_INT(world_access(&w, "/repo/.git/hooks"), ACCESS_READ);
}

TEST(an_explicit_entry_lifts_what_commit_caps)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/.git"), "/repo");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n") "'/repo/.git/hooks' = 'write'\n"));
	CHECK_INT(world_access(&w, "/repo/.git/hooks/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n") "'/repo/.git' = 'write'\n"));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/objects/info/alternates"), ACCESS_WRITE);
}

TEST(commit_works_in_a_linked_worktree_whose_repository_lies_elsewhere)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/wt"), "/wt");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	CHECK_INT(world_access(&w, "/wt/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/main/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/main/.git/refs/heads/x"), ACCESS_WRITE);
	check_parts(&w, "/main/.git");
	check_parts(&w, "/main/.git/worktrees/wt");
	REQUIRE(find_rule(&w, RULE_ENTRY, "/main/.git"));
	CHECK(str_is(find_rule(&w, RULE_ENTRY, "/main/.git")->key, "git = \"commit\""));
	REQUIRE(plan(&w, WORKSPACE("git = 'write'\n")));
	CHECK_INT(world_access(&w, "/main/.git/config"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/wt/.git"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/main/x"), ACCESS_READ);
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/main/.git/index"), ACCESS_READ);
}

TEST(commit_works_in_a_submodule_whose_repository_lies_elsewhere)
{
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/super/.git") GIT_DIR(
			   "/super/.git/modules/lib") "f /super/.git/modules/lib/config = "
						      "[core]\\nworktree = ../../../lib\\n\n"
						      "f /super/lib/.git = gitdir: "
						      "../.git/modules/lib\\n\n",
		   "/super/lib");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	check_parts(&w, "/super/.git/modules/lib");
	CHECK_INT(world_access(&w, "/super/.git/index"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/super/lib/.git"), ACCESS_READ);
	/* From the outer one the inner is as usable, and as capped. */
	world_done(&w);
	world_init(&w,
		   GIT_DIR("/super/.git") GIT_DIR(
			   "/super/.git/modules/lib") "f /super/.git/modules/lib/config = "
						      "[core]\\nworktree = ../../../lib\\n\n"
						      "f /super/lib/.git = gitdir: "
						      "../.git/modules/lib\\n\n" LINKED(
							      "/super/.git/modules/lib", "w", "/w"),
		   "/super");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	check_parts(&w, "/super/.git");
	check_parts(&w, "/super/.git/modules/lib");
	check_parts(&w, "/super/.git/modules/lib/worktrees/w");
	CHECK_INT(world_access(&w, "/super/lib/.git"), ACCESS_READ);
}

/* ---- Where git keeps git directories -------------------------------------- */

#define SHELVES                                         \
	GIT_DIR("/repo/.git")                           \
	GIT_DIR("/repo/.git/modules/lib")               \
	GIT_DIR("/repo/.git/modules/lib/modules/inner") \
	GIT_DIR("/repo/.git/modules/a/b")               \
	LINKED("/repo/.git", "wt", "/wt")               \
	"d /wt\n"                                       \
	"d /repo/sub\n"

TEST(no_git_directory_can_be_added_where_git_keeps_them)
{
	static const char *const closed[] = {
		"/repo/.git/modules",
		"/repo/.git/modules/new",
		"/repo/.git/modules/new/config",
		"/repo/.git/modules/a",
		"/repo/.git/modules/a/new",
		"/repo/.git/modules/lib/modules/new",
		"/repo/.git/worktrees",
		"/repo/.git/worktrees/new/gitdir",
		"/repo/.git/modules/lib/worktrees",
		"/repo/.git/worktrees/wt/modules/new",
	};
	static const char *const open[] = {
		"/repo/.git/modules/lib/index",	     "/repo/.git/modules/lib/modules/inner/index",
		"/repo/.git/modules/a/b/refs/x",     "/repo/.git/worktrees/wt/index",
		"/repo/.git/worktrees/wt/logs/HEAD", "/repo/.git/refs/modules",
	};
	scoped_world w;

	world_init(&w, SHELVES, "/repo");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	for (size_t i = 0; i < COUNT_OF(closed); i++)
		if (world_access(&w, closed[i]) != ACCESS_READ)
			CHECK_STR(closed[i], "closed");
	for (size_t i = 0; i < COUNT_OF(open); i++)
		if (world_access(&w, open[i]) != ACCESS_WRITE)
			CHECK_STR(open[i], "open");
	check_parts(&w, "/repo/.git/modules/lib/modules/inner");
	check_parts(&w, "/repo/.git/worktrees/wt");
	REQUIRE(plan(&w, WORKSPACE("git = 'write'\n")));
	CHECK_INT(world_access(&w, "/repo/.git/modules/new"), ACCESS_WRITE);
}

TEST(missing_parts_get_placeholders_and_only_worktrees_may_be_removed)
{
	const struct placeholder *p;
	scoped_world w;

	world_init(&w, SHELVES GIT_DIR("/repo/two/.git"), "/repo");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n") "'/repo/two' = 'write'\n"));
	CHECK(!find_placeholder(&w, "/repo/.git/modules"));
	CHECK(!find_placeholder(&w, "/repo/.git/worktrees"));
	CHECK(!find_placeholder(&w, "/repo/.git/worktrees/wt/worktrees"));
	p = find_placeholder(&w, "/repo/two/.git/modules");
	REQUIRE(p);
	CHECK_INT(p->kind, PLACEHOLDER_DIR);
	CHECK(!p->may_go);
	p = find_placeholder(&w, "/repo/two/.git/worktrees");
	REQUIRE(p);
	CHECK(p->may_go);
}

TEST(a_pointer_to_a_directory_there_does_not_open_it)
{
	static const char *const forged[] = {
		"f /repo/sub/.git = gitdir: ../.git/modules\\n\n",
		"f /repo/sub/.git = gitdir: ../.git/modules/a\\n\n",
		"l /repo/sub/.git -> ../.git/modules/a\n",
		"f /repo/.git/modules/lib/commondir = ../a\\n\n",
	};

	for (size_t i = 0; i < COUNT_OF(forged); i++) {
		scoped_world w;

		world_init(&w, SHELVES, "/repo");
		fake_host_add(&w.host, forged[i]);
		REQUIRE(plan(&w, ENTRIES("git = 'commit'\n",
					 "'/repo' = 'write'\n'/repo/sub' = 'write'\n")));
		CHECK_INT(world_access(&w, "/repo/.git/modules/a/new/config"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/.git/modules/new/config"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/.git/modules/lib/index"), ACCESS_WRITE);
	}
}

TEST(entries_about_what_git_keeps_there_still_count)
{
	scoped_world w;

	world_init(&w, SHELVES, "/repo");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n") "'/repo/.git/modules/lib' = 'read'\n"
						       "'/repo/.git/modules/a/b' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/repo/.git/modules/lib/index"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.git/modules/a/b/index"), ACCESS_DENY);
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n") "'/repo/.git/modules' = 'write'\n"));
	CHECK_INT(world_access(&w, "/repo/.git/modules/new"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/worktrees/new"), ACCESS_READ);
	/* Protected by name, it stays as a whole. */
	w.project = "protect = ['.git']\n";
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	CHECK_INT(world_access(&w, "/repo/.git/modules/lib/index"), ACCESS_READ);
}

TEST(a_forged_pointer_raises_nothing)
{
	static const char *const forged[] = {
		/* Another repository, which knows nothing of this root. */
		"f /repo/.git = gitdir: /main/.git\\n\n",
		/* A git directory made up inside the root that claims to share with it. */
		("f /repo/.git = gitdir: fake\\n\nf /repo/fake/HEAD\n"
		 "f /repo/fake/commondir = /main/.git\\n\nf /repo/fake/gitdir = /repo/.git\\n\n"),
		"f /repo/.git/HEAD\nf /repo/.git/commondir = /main/.git\\n\n",
		"l /repo/.git -> /main/.git\n",
		/* Not git's at all. */
		"f /repo/.git = gitdir: /home/me/.ssh\\n\nd /home/me/.ssh\n",
	};

	for (size_t i = 0; i < COUNT_OF(forged); i++) {
		scoped_world w;

		world_init(&w, GIT_DIR("/main/.git"), "/repo");
		fake_host_add(&w.host, forged[i]);
		REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
		CHECK_INT(world_access(&w, "/main/.git/index"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/home/me/.ssh/x"), ACCESS_READ);
		CHECK(has_note(&w, "is not made writable"));
	}
}

TEST(a_git_directory_that_is_denied_or_named_is_not_raised)
{
	static const char *const entries[] = {
		ENTRIES("git = 'commit'\n", "'/main' = 'deny'\n'/wt' = 'write'\n"),
		ENTRIES("git = 'commit'\n", "'/main/.git' = 'deny'\n'/wt' = 'write'\n"),
		ENTRIES("git = 'commit'\n", "'/main/.git' = 'read'\n'/wt' = 'write'\n"),
	};

	for (size_t i = 0; i < COUNT_OF(entries); i++) {
		scoped_world w;

		world_init(&w, GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/wt"), "/wt");
		REQUIRE(plan(&w, entries[i]));
		CHECK_INT(world_access(&w, "/main/.git/index"), i < 2 ? ACCESS_DENY : ACCESS_READ);
		CHECK(has_note(&w, "is not made writable"));
	}
}

TEST(denies_inside_a_raised_git_directory_stay)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/wt") "f /main/.git/key\n",
		   "/wt");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n") "'/main/.git/key' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/main/.git/key"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/main/.git/index"), ACCESS_WRITE);
}

/* ---- What one run may change to open the next ---------------------------- */

#define SUBMODULE                                                                 \
	GIT_DIR("/repo/.git")                                                     \
	GIT_DIR("/repo/.git/modules/sub")                                         \
	"f /repo/.git/modules/sub/config = [core]\\nworktree = ../../../sub\\n\n" \
	"f /repo/sub/.git = gitdir: ../.git/modules/sub\\n\n"                     \
	"f /repo/.gitmodules = [submodule \"sub\"]\\npath = sub\\n\n"

#define SUBMODULES                                                                                \
	SUBMODULE GIT_DIR("/repo/.git/modules/a/b") GIT_DIR("/repo/.git/modules/c/logs/d")        \
		GIT_DIR("/repo/old/.git") "f /repo/.git/config = [submodule \"old\"]\\nactive = " \
					  "true\\nurl = u\\n"                                     \
					  "[submodule \"c/logs/d\"]\\nurl = v\\n[submodule "      \
					  "\"../../x\"]\\nurl = w\\n\n"                           \
					  "f /repo/.gitmodules = [submodule \"old\"]\\npath = "   \
					  "old\\n\nd /repo/x\n"

static void check_submodules(const struct world *w)
{
	check_parts(w, "/repo/.git/modules/sub");
	check_parts(w, "/repo/.git/modules/a/b");
	check_parts(w, "/repo/.git/modules/c/logs/d");
	CHECK_INT(world_access(w, "/repo/sub/.git"), ACCESS_READ);
	CHECK_INT(world_access(w, "/repo/old/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(w, "/repo/sub/x"), ACCESS_WRITE);
	CHECK_INT(world_access(w, "/repo/x/.git"), ACCESS_WRITE);
}

TEST(nothing_that_commit_leaves_writable_opens_the_next_run)
{
	static const struct {
		const char *gone, *made;
	} changes[] = {
		{ "/repo/.git/modules/sub/HEAD", "f /repo/.git/modules/sub/H\n" },
		{ "/repo/.git/modules/sub/refs", "d /repo/.git/modules/sub/r\n" },
		{ "/repo/.git/modules/a/HEAD", "f /repo/.git/modules/a/HEAD = x\\n\n" },
		{ "/repo/.git/modules/a/x", GIT_DIR("/repo/.git/modules/a") },
		{ "/repo/.git/modules/c/x", GIT_DIR("/repo/.git/modules/c") },
		{ "/repo/.git/modules/c/x", "f /repo/.git/modules/c/logs/HEAD\n" },
		{ "/repo/.gitmodules", "f /repo/gm\n" },
		{ "/repo/.gitmodules", "o /repo/.gitmodules\n" },
		{ "/repo/.gitmodules", "d /repo/.gitmodules\n" },
		{ "/repo/.gitmodules", "l /repo/.gitmodules -> .gitmodules\n" },
		{ "/repo/.gitmodules", "f /repo/.gitmodules = [submodule\\n\\0\n" },
		{ "/repo/.git/modules/x", "l /repo/.git/modules/x -> .\n" },
	};

	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		scoped_world w;

		world_init(&w, SUBMODULES, "/repo");
		REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
		check_submodules(&w);
		fake_host_remove(&w.host, changes[i].gone);
		fake_host_add(&w.host, changes[i].made);
		REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
		check_submodules(&w);
	}
}

TEST(a_git_directory_that_git_would_not_take_still_leads_to_others)
{
	scoped_world w;

	world_init(&w, SUBMODULES, "/repo");
	fake_host_remove(&w.host, "/repo/.git/HEAD");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	CHECK_INT(world_access(&w, "/repo/.git/index"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/sub/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/old/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
}

TEST(whatever_has_a_part_of_a_git_directory_below_modules_is_capped)
{
	static const char *const made[] = { "HEAD",    "config",    "objects/x", "refs/x",
					    "hooks/x", "commondir", "gitdir" };

	for (size_t i = 0; i < COUNT_OF(made); i++) {
		char line[128];
		scoped_world w;

		world_init(&w, GIT_DIR("/repo/.git"), "/repo");
		REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
		CHECK_INT(world_access(&w, "/repo/.git/modules/n/config"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/.git/modules/n/index"), ACCESS_READ);
		snprintf(line, sizeof(line), "f /repo/.git/modules/n/%s\n", made[i]);
		fake_host_add(&w.host, line);
		REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
		check_parts(&w, "/repo/.git/modules/n");
	}
}

TEST(modules_behind_a_link_are_found)
{
	scoped_world w;

	world_init(&w, SUBMODULE, "/repo");
	fake_host_remove(&w.host, "/repo/.git/modules");
	fake_host_add(&w.host, "l /repo/.git/modules -> ../m\n" GIT_DIR(
				       "/repo/m/sub") "f /repo/m/sub/config = [core]\\nworktree "
						      "= ../../sub\\n\n");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	check_parts(&w, "/repo/m/sub");
	CHECK_INT(world_access(&w, "/repo/sub/.git"), ACCESS_READ);
}

TEST(submodules_of_a_linked_worktree_are_found_by_the_shared_configuration)
{
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/wt") GIT_DIR(
			   "/wt/old/.git") "f /main/.git/config = [submodule \"old\"]\\nurl = "
					   "u\\n\n",
		   "/wt");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	CHECK_INT(world_access(&w, "/wt/old/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/wt/old/x"), ACCESS_WRITE);
}

/* ---- What is closed ----------------------------------------------------- */

/* In an earlier run the command may have closed what it may write, to open it in this one. */
TEST(a_locked_directory_does_not_hide_a_repository)
{
	static const char *const closed[] = {
		"c /repo/sub\n",
		"c /repo/.git\n",
		"c /repo/.git/modules\n",
		"x /repo/.git/modules\n",
		"c /repo/.git/modules/sub\n",
		"u /repo/.git/modules/sub/config\n",
		"u /repo/.gitmodules\n",
		"u /repo/sub/.git\n",
		"x /repo/.git/worktrees\n",
		"f /repo/sub/.git = gitdir: ../own/x\\n\nc /repo/own\n",
		("f /repo/.git/modules/sub/config = [core]\\nworktree = /repo/own/x\\n\n"
		 "c /repo/own\n"),
	};
	static const char *const modes[] = { WORKSPACE(""), WORKSPACE("git = 'commit'\n") };

	for (size_t i = 0; i < 2 * COUNT_OF(closed); i++) {
		scoped_world w;

		world_init(&w, SUBMODULE, "/repo");
		REQUIRE(plan(&w, modes[i % 2]));
		CHECK_INT(world_access(&w, "/repo/sub/.git"), ACCESS_READ);
		fake_host_add(&w.host, closed[i / 2]);
		if (plan(&w, modes[i % 2]))
			printf("# not refused: %s", closed[i / 2]);
		CHECK(!w.plan);
		CHECK_INT(w.e.code, ERR_POLICY);
		CHECK_INT(w.e.cause, CAUSE_PATH_LOCKED);
	}
}

TEST(a_directory_that_another_user_closed_stays_closed)
{
	scoped_world w;

	world_init(&w, SUBMODULE "h /repo/sub\nh /repo/.git/worktrees\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
}
