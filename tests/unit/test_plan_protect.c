/* SPDX-License-Identifier: MIT */
/* The protected names of P9 (plan/protect.c). */
#include "test.h"

#include "plan_lists.h"
#include "policy/metadata.h"

TEST(the_names_are_protected_existing_or_not)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nd /repo/.codex\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/sub/.codex"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.codex/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.agents"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.cordon/config.toml"), ACCESS_READ);
	CHECK(find_placeholder(&w, "/repo/.agents"));
	CHECK(find_placeholder(&w, "/repo/.cordon"));
	CHECK(!find_placeholder(&w, "/repo/.codex"));
	REQUIRE(find_rule(&w, RULE_PROTECTED, "/repo/.codex"));
	CHECK(strstr(find_rule(&w, RULE_PROTECTED, "/repo/.codex")->note.p, "root /repo"));
}

static bool has_place_in_tree(const char *name)
{
	return !strchr(name, '/');
}

TEST(every_missing_name_of_the_table_is_held)
{
	scoped_world w;

	CHECK(metadata_name_count > 20);
	/* What lies in a directory that is missing too is left. */
	world_init(&w, "d /repo\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	for (size_t i = 0; i < metadata_name_count; i++) {
		const struct metadata_name *n = &metadata_names[i];
		bool has = has_place_in_tree(n->name);
		const struct placeholder *held;
		char path[256];

		(void)snprintf(path, sizeof(path), "/repo/%s", n->name);
		held = find_placeholder(&w, path);
		CHECK_INT(world_access(&w, path), has ? ACCESS_READ : ACCESS_WRITE);
		CHECK((held != NULL) == has);
		if (held)
			CHECK_INT(held->kind, n->stand_in == STAND_IN_DIR ? PLACEHOLDER_DIR
									  : PLACEHOLDER_SOCKET);
		CHECK(n->reason[0] && metadata_find(str_of(n->name)) == n);
	}
	CHECK(!find_placeholder(&w, "/repo/.github"));
	CHECK_INT(world_access(&w, "/repo/.github/workflows/x.yml"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/sub/.mcp.json"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/package.json"), ACCESS_WRITE);
}

TEST(every_name_of_the_table_is_protected_where_it_can_be)
{
	scoped_world w;

	/* The directory is there, and then what is not may not be made in it. */
	world_init(&w, "d /repo/.github/workflows\nf /repo/.mcp.json\nd /repo/.vscode\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.github/hooks/x.json"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.github/workflows/x.yml"), ACCESS_WRITE);
	CHECK(find_placeholder(&w, "/repo/.github/hooks"));
	CHECK(find_placeholder(&w, "/repo/.github/lsp.json"));
	CHECK_INT(world_access(&w, "/repo/.mcp.json"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.vscode/tasks.json"), ACCESS_READ);
	CHECK(!find_placeholder(&w, "/repo/.mcp.json"));
}

TEST(a_file_or_a_link_to_nothing_holds_no_name)
{
	scoped_world w;

	world_init(&w, "f /repo/.github\nl /repo/.clinerules -> gone\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.github"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.clinerules"), ACCESS_WRITE);
}

TEST(unprotect_opens_one_name_and_no_other)
{
	scoped_world w;

	world_init(&w, "d /repo/.vscode\nd /repo/.github\n", "/repo");
	w.user = WORKSPACE("unprotect = ['.vscode', '.mcp.json', '.github/hooks']\n");
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.vscode/tasks.json"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.mcp.json"), ACCESS_WRITE);
	CHECK(!find_placeholder(&w, "/repo/.mcp.json"));
	CHECK_INT(world_access(&w, "/repo/.github/hooks/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.claude"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.cordon"), ACCESS_READ);
	/* What is listed as protected stays so, whoever lists it. */
	w.project = "protect = ['.vscode']\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.vscode/tasks.json"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.mcp.json"), ACCESS_WRITE);
}

TEST(unprotecting_an_unknown_or_fixed_name_is_an_error)
{
	static const char *const wrong[] = { "unprotect = ['.cordon']\n", "unprotect = ['.git']\n",
					     "unprotect = ['Makefile']\n", "unprotect = [1]\n" };
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	w.profile = "dev";
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), WORKSPACE("%s"), wrong[i]);
		w.user = text;
		CHECK(!world_plan(&w));
		CHECK_INT(w.e.code, ERR_POLICY);
	}
	w.user = WORKSPACE("unprotect = ['.vscod']\n");
	CHECK(!world_plan(&w));
	CHECK(strstr(w.e.text, "'.vscode'"));
	/* Never by a project. */
	w.user = WORKSPACE("");
	w.project = "unprotect = ['.vscode']\n";
	CHECK(!world_plan(&w));
	CHECK_INT(w.e.code, ERR_POLICY);
}

TEST(an_explicit_write_entry_lifts_protection_there_and_below)
{
	scoped_world w;

	world_init(&w, "d /repo/.git/hooks\nd /repo/.codex\nd /repo/.agents/x\n", "/repo");
	w.user = WORKSPACE("") "'/repo/.codex' = 'write'\n'/repo/.agents/x' = 'write'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.codex/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.agents/y"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.agents/x/z"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/hooks"), ACCESS_READ);
}

TEST(a_token_that_happens_to_name_a_path_lifts_nothing)
{
	static const char tree[] = "f /repo/.git/HEAD\nd /repo/.git/refs\nd /repo/.git/objects\n"
				   "d /repo/.git/hooks\nd /repo/.codex/t\nd /tmp\n";
	scoped_world w;

	/* $TMPDIR. */
	world_init(&w, tree, "/repo");
	w.tmpdir = "/repo/.git/hooks";
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/hooks/x"), ACCESS_READ);
	/* A workspace root inside another's metadata. */
	w.tmpdir = "";
	w.user = "[permissions.dev]\nextends = ':workspace'\n"
		 "workspace_roots = { '/repo/.git/hooks' = true, '/repo/.codex/t' = true }\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.git/hooks/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.codex/t/x"), ACCESS_READ);
	/* The working directory. */
	w.cwd = "/repo/.git/hooks";
	w.user =
		"[permissions.dev]\nextends = ':workspace'\nworkspace_roots = { '/repo' = true }\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/hooks/x"), ACCESS_READ);
	/* A subpath names it, and so does the path itself. */
	w.user = "[permissions.dev]\nextends = ':workspace'\nworkspace_roots = { '/repo' = true }\n"
		 "[permissions.dev.filesystem]\n'/repo/.git/hooks' = 'write'\n"
		 "':workspace_roots' = { '.' = 'write', '.codex' = 'write' }\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.git/hooks/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.codex/t/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
}

TEST(the_target_of_a_linked_project_file_is_protected)
{
	scoped_world w;

	world_init(&w,
		   "d /repo/build\nf /repo/build/c.toml\nf /repo/build/o\n"
		   "l /repo/.cordon/config.toml -> ../build/c.toml\n",
		   "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/build/o"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/build/c.toml"), ACCESS_READ);
	/* Also where the workspace itself is only read. */
	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n'/repo/build' = 'write'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/build/o"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/build/c.toml"), ACCESS_READ);
	/* An entry for the target itself lifts it, as everywhere. */
	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n'/repo/build' = 'write'\n"
		 "'/repo/build/c.toml' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/build/c.toml"), ACCESS_WRITE);
}

TEST(the_profile_adds_names)
{
	scoped_world w;

	world_init(&w, "d /repo/.bzr\nd /repo/.git\n", "/repo");
	w.user = WORKSPACE("protect = ['.bzr', '.pijul']\n");
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.bzr/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/.pijul"), ACCESS_READ);
	REQUIRE(find_rule(&w, RULE_PROTECTED, "/repo/.pijul"));
	CHECK_STR(find_rule(&w, RULE_PROTECTED, "/repo/.pijul")->origin.file, "user.toml");
}

TEST(git_write_lifts_only_git)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nd /repo/.codex\n", "/repo");
	w.user = WORKSPACE("git = 'write'\n");
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.codex"), ACCESS_READ);
	CHECK(!find_placeholder(&w, "/repo/commondir"));
}

TEST(a_listed_git_stays_protected_whatever_git_says)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\n", "/repo");
	w.user = WORKSPACE("git = 'write'\nprotect = ['.git']\n");
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
}

TEST(a_name_that_is_a_link_is_protected_with_its_target)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nl /repo/.codex -> shared/codex\nd /repo/shared/codex\n",
		   "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.codex"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/shared/codex/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/shared/y"), ACCESS_WRITE);
	REQUIRE(find_link(&w, "/repo/.codex"));
	CHECK(str_is(find_link(&w, "/repo/.codex")->target, "/repo/shared/codex"));
	CHECK(is_of_plan(&w, find_link(&w, "/repo/.codex")->rule));
	CHECK(find_pin(&w, "/repo/shared"));
}

TEST(links_that_dangle_or_loop_are_protected_as_links)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nl /repo/.codex -> gone/x\nl /repo/.agents -> .agents\n",
		   "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK(find_link(&w, "/repo/.codex"));
	CHECK(find_link(&w, "/repo/.agents"));
	CHECK_INT(world_access(&w, "/repo/gone/x"), ACCESS_READ);
	CHECK(find_placeholder(&w, "/repo/gone"));
}

TEST(a_link_to_the_root_itself_locks_nothing_else)
{
	scoped_world w;

	world_init(&w, "d /repo/.git\nl /repo/.codex -> .\n", "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/.codex"), ACCESS_READ);
}

TEST(a_root_reached_by_a_link_protects_names_at_its_target)
{
	scoped_world w;

	world_init(&w, "d /data/proj/.git\nl /repo -> /data/proj\nd /cwd\n", "/cwd");
	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n'/repo' = 'write'\n";
	w.profile = "dev";
	REQUIRE(world_plan(&w));
	CHECK(find_root(&w, "/data/proj"));
	CHECK_INT(world_access(&w, "/data/proj/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/data/proj/.git/x"), ACCESS_READ);
}

TEST(grants_do_not_lift_protection)
{
	struct permission granted = { .path = STR_INIT("/repo/.git"), .access = ACCESS_WRITE };
	struct permissions grants = { .paths = { .items = &granted, .count = 1, .room = 1 } };
	scoped_world w;

	world_init(&w, "d /repo/.git/hooks\n", "/repo");
	w.profile = ":workspace";
	w.grants = &grants;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/.git/hooks"), ACCESS_READ);
}
