/* SPDX-License-Identifier: MIT */
/* Git directories, P9 (plan/git.c, git_rules.c, git_text.c); P10 is in test_plan_git_commit.c. */
#include "test.h"

#include "git_tree.h"
#include "plan/git.h"
#include "plan/git_text.h"

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

/* ---- Limits ------------------------------------------------------------- */

TEST(git_files_that_are_too_large_are_an_error)
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
	CHECK_INT(w.e.cause, CAUSE_GIT_LIMIT);
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
	CHECK_INT(w.e.cause, CAUSE_GIT_LIMIT);
}

TEST(every_failure_of_the_host_is_passed_on)
{
	size_t calls;
	scoped_world w;

	world_init(&w,
		   GIT_DIR("/main/.git") LINKED("/main/.git", "wt", "/wt")
			   GIT_DIR("/main/.git/modules/lib") "f /wt/.gitmodules\n",
		   "/wt");
	REQUIRE(plan(&w, WORKSPACE("git = 'commit'\nnested = 'report'\n")));
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
