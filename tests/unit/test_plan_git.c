/* SPDX-License-Identifier: MIT */
/* Git directories, P9 and P10 (plan/git.c, git_rules.c, git_text.c). */
#include "test.h"

#include "plan/git.h"
#include "plan/git_text.h"
#include "plan_lists.h"

/* A git directory as `git init` makes it. */
#define GIT_DIR(path)                                 \
	"f " path "/HEAD = ref: refs/heads/main\\n\n" \
	"f " path "/config\nd " path "/objects/info\nd " path "/refs\nd " path "/hooks\n"

/* The git directory of a linked worktree. */
#define LINKED(common, name, worktree)                                    \
	"f " common "/worktrees/" name "/HEAD\n"                          \
	"f " common "/worktrees/" name "/commondir = ../..\\n\n"          \
	"f " common "/worktrees/" name "/gitdir = " worktree "/.git\\n\n" \
	"f " worktree "/.git = gitdir: " common "/worktrees/" name "\\n\n"

#define ENTRIES(more, entries) \
	"[permissions.dev]\n" more "[permissions.dev.filesystem]\n':root' = 'read'\n" entries

static bool plan(struct world *w, const char *user)
{
	w->user = user;
	w->profile = "dev";
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

/* ---- P9 ----------------------------------------------------------------- */

TEST(a_pointer_file_protects_itself_its_git_dir_and_the_common_dir)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/wt"), "/wt");
	REQUIRE(plan(&w, ENTRIES("", "'/wt' = 'write'\n'/main' = 'write'\n")));
	CHECK_INT(world_access(&w, "/wt/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/wt/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/main/.git/worktrees/wt/HEAD"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/main/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/main/x"), ACCESS_WRITE);
	REQUIRE(find_git_dir(&w, "/main/.git/worktrees/wt"));
	CHECK(str_is(find_git_dir(&w, "/main/.git/worktrees/wt")->common_dir, "/main/.git"));
	CHECK(str_is(find_git_dir(&w, "/main/.git/worktrees/wt")->worktree, "/wt"));
}

TEST(the_common_dir_is_protected_where_it_lies_below_something_writable)
{
	scoped_world w;

	/* /src is a root, but /src/main is none: only the pointer leads there. */
	world_init(&w, GIT_DIR("/src/main/.git") LINKED("/src/main/.git", "wt", "/wt"), "/wt");
	REQUIRE(plan(&w, ENTRIES("", "'/wt' = 'write'\n'/src' = 'write'\n")));
	CHECK_INT(world_access(&w, "/src/main/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/src/main/.git/config"), ACCESS_READ);
	CHECK(find_pin(&w, "/src/main"));
	/* Where nothing leads there, it is a directory like any other. */
	world_done(&w);
	world_init(&w, GIT_DIR("/src/main/.git") "d /wt\n", "/wt");
	REQUIRE(plan(&w, ENTRIES("", "'/wt' = 'write'\n'/src' = 'write'\n")));
	CHECK_INT(world_access(&w, "/src/main/.git/config"), ACCESS_WRITE);
}

TEST(an_entry_at_the_common_dir_lifts_it_with_all_inside)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/wt"), "/wt");
	REQUIRE(plan(&w, ENTRIES("", "'/wt' = 'write'\n'/main/.git' = 'write'\n")));
	CHECK_INT(world_access(&w, "/main/.git/config"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/main/.git/worktrees/wt/HEAD"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/wt/.git"), ACCESS_READ);
}

TEST(other_linked_worktrees_keep_their_pointers)
{
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/src/main/.git") LINKED("/src/main/.git", "a", "/src/a")
			   LINKED("/src/main/.git", "b", "/src/b") "d /src/c\n",
		   "/src/main");
	REQUIRE(plan(&w, ENTRIES("", "'/src' = 'write'\n")));
	CHECK_INT(world_access(&w, "/src/a/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/src/b/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/src/b/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/src/c/.git"), ACCESS_WRITE);
	CHECK(find_pin(&w, "/src/a"));
}

TEST(submodules_keep_their_pointers_also_in_nested_ones)
{
	scoped_world w;

	world_init(
		&w,
		GIT_DIR("/repo/.git") GIT_DIR("/repo/.git/modules/vendor/lib") GIT_DIR(
			"/repo/.git/modules/vendor/lib/modules/deep") "f "
								      "/repo/.git/modules/vendor/"
								      "lib/config = "
								      "[core]\\n\\tworktree = "
								      "../../../../vendor/lib\\n\n"
								      "f "
								      "/repo/.git/modules/vendor/"
								      "lib/modules/deep/config = "
								      "[core]\\nworktree = "
								      "\"../../../../../../vendor/"
								      "lib/deep\"\\n\n"
								      "f /repo/vendor/lib/.git = "
								      "gitdir: "
								      "../../.git/modules/vendor/"
								      "lib\\n\n"
								      "f "
								      "/repo/vendor/lib/deep/.git "
								      "= gitdir: "
								      "../../../.git/modules/"
								      "vendor/lib/modules/"
								      "deep\\n\n",
		"/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/vendor/lib/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/vendor/lib/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/vendor/lib/deep/.git"), ACCESS_READ);
	CHECK(find_git_dir(&w, "/repo/.git/modules/vendor/lib/modules/deep"));
	CHECK(find_pin(&w, "/repo/vendor/lib/deep"));
}

TEST(a_submodule_with_a_git_directory_of_its_own_is_found_by_gitmodules)
{
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/repo/.git")
			   GIT_DIR("/repo/old/.git") "f /repo/.gitmodules = [submodule "
						     "\"o\"]\\n\\tpath = old\\n"
						     "[submodule \"e\"]\\n\\tpath = "
						     "empty\\n[submodule \"m\"]\\n\\tpath = gone\\n"
						     "[submodule \"x\"]\\n\\tpath = ../out\\n\n"
						     "d /repo/empty\nd /out\n",
		   "/repo");
	REQUIRE(plan(&w, ENTRIES("", "'/repo' = 'write'\n'/out' = 'write'\n")));
	CHECK_INT(world_access(&w, "/repo/old/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/old/x"), ACCESS_WRITE);
	/* Not fetched: a placeholder for .git would break git, so the directory stays empty. */
	CHECK_INT(world_access(&w, "/repo/empty/.git"), ACCESS_READ);
	CHECK(!find_placeholder(&w, "/repo/empty/.git"));
	CHECK_INT(world_access(&w, "/repo/gone"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/out/x"), ACCESS_WRITE);
}

TEST(malformed_pointers_protect_themselves_only)
{
	static const char *const texts[] = {
		"",	 "gitdir:", "nonsense\\n", "gitdir: \\n", "gitdir: a\\0b", "gitdir: loop/x",
		"\\0\\0"
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char host[256];
		scoped_world w;

		snprintf(host, sizeof(host), "f /repo/.git = %s\nl /repo/loop -> loop\n", texts[i]);
		world_init(&w, host, "/repo");
		REQUIRE(plan(&w, WORKSPACE("")));
		CHECK_INT(world_access(&w, "/repo/.git"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
		CHECK_INT(w.plan->git_dirs.count, 0);
		CHECK(has_note(&w, "/repo/.git is a file"));
	}
}

TEST(a_pointer_to_the_root_or_above_locks_nothing)
{
	static const char *const texts[] = { ".", "..", "/" };

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char host[256];
		scoped_world w;

		snprintf(host, sizeof(host), "f /src/repo/.git = gitdir: %s\\n\n", texts[i]);
		world_init(&w, host, "/src/repo");
		REQUIRE(plan(&w, WORKSPACE("")));
		CHECK_INT(world_access(&w, "/src/repo/.git"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/src/repo/x"), ACCESS_WRITE);
	}
}

TEST(worktrees_inside_their_own_bare_repository_can_be_worked_in)
{
	static const char host[] =
		GIT_DIR("/src/repo") "f /src/repo/main/.git = gitdir: /src/repo/worktrees/main\\n\n"
				     "f /src/repo/worktrees/main/gitdir = /src/repo/main/.git\\n\n"
				     "f /src/repo/worktrees/main/commondir = ../..\\n\n"
				     "f /src/repo/worktrees/main/HEAD\n"
				     "f /src/repo/dev/.git = gitdir: /src/repo/worktrees/dev\\n\n"
				     "f /src/repo/worktrees/dev/gitdir = /src/repo/dev/.git\\n\n"
				     "f /src/repo/worktrees/dev/commondir = ../..\\n\n"
				     "f /src/repo/worktrees/dev/HEAD\n";
	scoped_world w;

	world_init(&w, host, "/src/repo/main");
	REQUIRE(plan(&w, WORKSPACE("workspace_roots = { '/src/repo/dev' = true, "
				   "'/src/repo/hooks' = true }\n") "'/src' = 'write'\n"));
	CHECK_INT(world_access(&w, "/src/repo/main/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/src/repo/dev/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/src/repo/main/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/src/repo/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/src/repo/x"), ACCESS_READ);
	/* A root in there that is no worktree of it stays protected. */
	CHECK_INT(world_access(&w, "/src/repo/hooks/x"), ACCESS_READ);
}

TEST(a_pointer_to_what_is_missing_protects_that_place)
{
	scoped_world w;

	world_init(&w, "f /repo/.git = gitdir: meta/git\\n\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/meta/git/config"), ACCESS_READ);
	CHECK(find_placeholder(&w, "/repo/meta"));
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	CHECK_INT(world_access(&w, "/repo/meta/git/config"), ACCESS_READ);
	CHECK(find_placeholder(&w, "/repo/meta"));
}

TEST(pointers_that_lead_in_circles_end)
{
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/a") "f /a/commondir = /b\\n\n" GIT_DIR(
			   "/b") "f /b/commondir = /a\\n\nf /repo/.git = gitdir: /a\\n\n",
		   "/repo");
	REQUIRE(plan(&w, ENTRIES("", "'/repo' = 'write'\n'/a' = 'write'\n'/b' = 'write'\n")));
	CHECK_INT(world_access(&w, "/a/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/b/config"), ACCESS_READ);
}

TEST(a_linked_git_is_protected_as_link_and_target)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/meta") "l /repo/.git -> meta\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/meta/config"), ACCESS_READ);
	CHECK(find_link(&w, "/repo/.git"));
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	CHECK(find_link(&w, "/repo/.git"));
	CHECK_INT(world_access(&w, "/repo/meta/index"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/meta/config"), ACCESS_READ);
}

TEST(without_git_a_bare_layout_can_not_be_made)
{
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(find_placeholder(&w, "/repo/.git"));
	CHECK(find_placeholder(&w, "/repo/commondir"));
	CHECK(find_placeholder(&w, "/repo/refs"));
	CHECK_INT(world_access(&w, "/repo/objects"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/HEAD"), ACCESS_WRITE);
	fake_host_add(&w.host, "f /repo/refs/x\nf /repo/objects/x\nf /repo/commondir\n");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(find_placeholder(&w, "/repo/HEAD"));
	CHECK_INT(world_access(&w, "/repo/commondir"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/refs/x"), ACCESS_WRITE);
	REQUIRE(plan(&w, WORKSPACE("git = 'write'\n")));
	CHECK(!find_placeholder(&w, "/repo/HEAD"));
	CHECK_INT(world_access(&w, "/repo/commondir"), ACCESS_WRITE);
	/* Nor where .git is an empty directory. */
	world_done(&w);
	world_init(&w, "d /repo/.git\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	CHECK(find_placeholder(&w, "/repo/refs"));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
	/* An empty part is there: git asks for no more. */
	fake_host_add(&w.host, "d /repo/refs\nd /repo/commondir\n");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(find_placeholder(&w, "/repo/objects"));
	CHECK_INT(world_access(&w, "/repo/refs/x"), ACCESS_WRITE);
	fake_host_add(&w.host, "d /repo/objects\n");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(find_placeholder(&w, "/repo/HEAD"));
}

TEST(a_part_of_another_kind_can_not_be_replaced)
{
	scoped_world w;

	world_init(&w, "f /repo/refs\nf /repo/objects/x\nf /repo/HEAD\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/refs"), ACCESS_READ);
}

TEST(a_root_that_is_a_git_directory_is_protected_whole)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/src/repo.git") "d /src/repo.git/wt\n", "/src/repo.git");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/src/repo.git/hooks/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/src/repo.git/index"), ACCESS_READ);
	/* Also when it is named; only what is inside can be lifted. */
	REQUIRE(plan(&w, ENTRIES("", "'/src/repo.git' = 'write'\n'/src/repo.git/wt' = 'write'\n")));
	CHECK_INT(world_access(&w, "/src/repo.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/src/repo.git/wt/x"), ACCESS_WRITE);
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	CHECK_INT(world_access(&w, "/src/repo.git/refs/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/src/repo.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/src/repo.git/hooks/x"), ACCESS_READ);
	REQUIRE(plan(&w, WORKSPACE("git = 'write'\n")));
	CHECK_INT(world_access(&w, "/src/repo.git/config"), ACCESS_WRITE);
}

TEST(a_git_directory_that_an_entry_names_as_such_is_lifted)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/.git") GIT_DIR("/repo/.git/modules/a") "d /w\n", "/w");
	REQUIRE(plan(&w, ENTRIES("", "'/repo/.git' = 'write'\n")));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_WRITE);
	CHECK(!find_placeholder(&w, "/repo/.git/commondir"));
	REQUIRE(plan(&w, ENTRIES("", "'/repo' = 'write'\n'/repo/.git/modules/a' = 'write'\n")));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.git/modules/a/config"), ACCESS_WRITE);
	/* That it happens to be the workspace does not name it. */
	world_done(&w);
	world_init(&w, GIT_DIR("/repo/.git"), "/repo/.git");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
	/* A subpath does. */
	world_done(&w);
	world_init(&w, GIT_DIR("/repo/.git"), "/repo");
	REQUIRE(plan(&w, "[permissions.dev.filesystem.':workspace_roots']\n'.' = 'write'\n"
			 "'.git' = 'write'\n"));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_WRITE);
}

TEST(a_name_that_a_project_protects_opens_no_git_directory)
{
	scoped_world w;

	world_init(&w, GIT_DIR("/src/bare") GIT_DIR("/src/a/b") "d /w\n", "/w");
	w.project = "protect = ['bare', 'a']\n";
	REQUIRE(plan(&w, ENTRIES("", "'/src/bare' = 'write'\n")));
	CHECK_INT(world_access(&w, "/src/bare/config"), ACCESS_READ);
	REQUIRE(plan(&w, ENTRIES("", "'/src' = 'write'\n'/src/a/b' = 'write'\n")));
	CHECK_INT(world_access(&w, "/src/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/src/a/b/config"), ACCESS_READ);
}

/* ---- P10 ---------------------------------------------------------------- */

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

TEST(what_is_missing_there_is_held_and_only_worktrees_may_be_taken_away)
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
TEST(what_the_user_could_open_does_not_hide_a_repository)
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
		CHECK(strstr(w.e.text, "is yours"));
	}
}

TEST(what_another_user_closed_stays_closed)
{
	scoped_world w;

	world_init(&w, SUBMODULE "h /repo/sub\nh /repo/.git/worktrees\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
}

/* ---- Limits ------------------------------------------------------------- */

TEST(what_can_not_be_looked_at_whole_is_an_error)
{
	static const char line[] = "f /repo/.git/config = ";
	static char text[GIT_MAX_CONFIG_BYTES + sizeof(line) + 1];
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/.git"), "/repo");
	memset(text, '#', sizeof(text) - 1);
	memcpy(text, line, sizeof(line) - 1);
	fake_host_add(&w.host, text);
	w.profile = ":workspace";
	CHECK(!world_plan(&w));
	CHECK_INT(w.e.code, ERR_LIMIT);
	CHECK(strstr(w.e.text, "/repo/.git/config"));
}

TEST(modules_too_deep_are_an_error)
{
	static const char path[] = "d /repo/.git/modules/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16\n";
	scoped_world w;

	world_init(&w, GIT_DIR("/repo/.git"), "/repo");
	fake_host_add(&w.host, path);
	w.profile = ":workspace";
	CHECK(!world_plan(&w));
	CHECK_INT(w.e.code, ERR_LIMIT);
	CHECK(strstr(w.e.text, "deep"));
}

TEST(every_failure_of_the_host_is_passed_on)
{
	size_t calls;
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/wt")
			   GIT_DIR("/main/.git/modules/lib") "f /wt/.gitmodules\n",
		   "/wt");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\n")));
	calls = w.host.calls;
	for (size_t i = 1; i <= calls; i++) {
		w.host.calls = 0;
		w.host.fail_at = i;
		if (world_plan(&w))
			printf("# call %zu\n", i);
		CHECK(!w.plan);
		CHECK_INT(w.e.code, ERR_SYS);
	}
}

/* ---- Texts -------------------------------------------------------------- */

static char seen[512];

static int add_seen(void *arg, const struct git_setting *s, struct err *e)
{
	char *text = arg;
	size_t len = strlen(text);

	(void)e;
	snprintf(text + len, sizeof(seen) - len, "%.*s|%.*s|%.*s=%.*s;", STR_ARG(s->section),
		 STR_ARG(s->subsection), STR_ARG(s->name), STR_ARG(s->value));
	return 0;
}

static const char *settings(const char *text)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	seen[0] = '\0';
	return git_config_each(&a, str_of(text), add_seen, seen, &e) < 0 ? NULL : seen;
}

TEST(settings_are_read_as_git_reads_them)
{
	CHECK_STR(settings("[core]\n\tworktree = a b \t\n"), "core||worktree=a b;");
	CHECK_STR(settings("[core] worktree=x ; no\n[a \"b\\\"c]\"]\nd\n"),
		  "core||worktree=x;a|b\"c]|d=;");
	CHECK_STR(settings("[c]\nw = \"a # b\" c# d\n"), "c||w=a # b c;");
	CHECK_STR(settings("[c]\nw = a\\\n  b\\tc\\\\\n"), "c||w=a  b\tc\\;");
	CHECK_STR(settings("[c]\r\nw = a\r\nx=\" y \"\r\n"), "c||w=a;c||x= y ;");
	CHECK_STR(settings("\xef\xbb\xbf[a.b]\nc=d"), "a|b|c=d;");
	CHECK_STR(settings("# x\n; y\n[c\n=\n!\n[d]e=f"), "d||e=f;");
	CHECK_STR(settings("[c]\nw=\"a"), "c||w=a;");
	CHECK_STR(settings("[c]\nw=\\"), "c||w=;");
	CHECK_STR(settings("["), "");
	CHECK_STR(settings(""), "");
}

TEST(pointers_are_read_as_git_reads_them)
{
	struct str path;

	REQUIRE(git_pointer_parse(STR("gitdir: /a b\r\n\n"), &path));
	CHECK(str_is(path, "/a b"));
	CHECK(!git_pointer_parse(STR("gitdir:/a"), &path));
	CHECK(!git_pointer_parse(STR(" gitdir: /a"), &path));
	CHECK(!git_pointer_parse(STR("gitdir: \n"), &path));
	REQUIRE(git_path_parse(STR("../..\n"), &path));
	CHECK(str_is(path, "../.."));
	CHECK(!git_path_parse(STR("\n"), &path));
}
