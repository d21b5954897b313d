/* SPDX-License-Identifier: MIT */
/* Tests of plan/suggest_option.c and plan/words.c. */
#include "plan/suggest.h"
#include "plan/words.h"

#include "test.h"
#include "world.h"

#define DEV "default_permissions = 'dev'\n[permissions.dev]\n"
#define FS  "[permissions.dev.filesystem]\n"
#define RW  FS "'/' = 'read'\n':workspace_roots' = 'write'\n"

static const char host_text[] =
	"d /repo/.git/hooks\nf /repo/.git/config\nf /repo/.git/HEAD\nd /repo/.git/objects\n"
	"d /repo/.git/refs\nd /repo/sub\nd /repo/other\nd /repo/.vscode\nf /repo/.env\n"
	"d /home/me/.cache\nf /home/me/.bashrc\nd /opt/app/bin\nf /opt/app/conf\nd /srv/secret\nd "
	"/tmp\n";

static bool start(struct world *w, const char *user)
{
	world_init(w, host_text, "/repo");
	w->user = user;
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

/* "--add-write /opt", or "" */
static const char *suggest(struct world *w, const char *opens, const char *subject,
			   enum access access)
{
	const struct attempt_needs needs = { .opens = str_of(opens),
					     .subject = str_of(subject),
					     .access = access };
	struct option_change out;
	struct str text = STR_EMPTY;

	if (plan_suggest_option(&w->a, &w->in, w->plan, &needs, &out, &w->e) < 0)
		return w->e.text;
	if (!out.option)
		return "";
	CHECK(out.plan && plan_resolve(out.plan, needs.subject).access >= access);
	if (arena_printf(&w->a, &text, &w->e, "%s %.*s", out.option, STR_ARG(out.value)) < 0)
		return w->e.text;
	return text.p;
}

TEST(directory_is_opened_that_is_enough)
{
	scoped_world w;

	REQUIRE(start(&w, DEV RW));
	CHECK_STR(suggest(&w, "/opt/app/bin", "/opt/app/bin/tool", ACCESS_WRITE),
		  "--add-write /opt/app/bin");
	CHECK_STR(suggest(&w, "/opt/app/conf", "/opt/app/conf", ACCESS_WRITE),
		  "--add-write /opt/app/conf");
}

TEST(denied_path_is_opened_for_reading)
{
	scoped_world w;

	REQUIRE(start(&w, DEV FS "'/repo' = 'write'\n"));
	CHECK_STR(suggest(&w, "/srv/secret", "/srv/secret", ACCESS_READ), "--add-read /srv/secret");
}

TEST(nothing_is_suggested_for_what_is_allowed)
{
	scoped_world w;

	REQUIRE(start(&w, DEV RW));
	CHECK_STR(suggest(&w, "/repo", "/repo/new", ACCESS_WRITE), "");
}

TEST(home_root_and_what_is_above_the_home_are_never_opened)
{
	scoped_world w;

	REQUIRE(start(&w, DEV RW));
	CHECK_STR(suggest(&w, "/home/me", "/home/me/.new", ACCESS_WRITE), "");
	CHECK_STR(suggest(&w, "/home", "/home/x", ACCESS_WRITE), "");
	CHECK_STR(suggest(&w, "/", "/x", ACCESS_WRITE), "");
	CHECK_STR(suggest(&w, "/home/me/.cache", "/home/me/.cache/x", ACCESS_WRITE),
		  "--add-write /home/me/.cache");
	CHECK_STR(suggest(&w, "/home/me/.bashrc", "/home/me/.bashrc", ACCESS_WRITE),
		  "--add-write /home/me/.bashrc");
}

TEST(protected_name_is_unprotected_by_its_name)
{
	scoped_world w;

	REQUIRE(start(&w, DEV RW));
	CHECK_STR(suggest(&w, "/repo/.vscode", "/repo/.vscode/tasks.json", ACCESS_WRITE),
		  "--unprotect .vscode");
	/* The directory around it is writable already. */
	CHECK_STR(suggest(&w, "/repo", "/repo/.vscode", ACCESS_WRITE), "--unprotect .vscode");
	CHECK_STR(suggest(&w, "/repo", "/repo/.mcp.json", ACCESS_WRITE), "--unprotect .mcp.json");
	CHECK_STR(suggest(&w, "/repo", "/repo/.cordon", ACCESS_WRITE), "");
}

TEST(name_that_would_be_protected_in_the_opened_directory_gets_no_option)
{
	scoped_world w;

	REQUIRE(start(&w, DEV RW));
	CHECK_STR(suggest(&w, "/opt/app", "/opt/app/.git", ACCESS_WRITE), "");
}

TEST(git_is_opened_by_its_key_and_never_as_a_whole)
{
	scoped_world w;

	REQUIRE(start(&w, DEV RW));
	CHECK_STR(suggest(&w, "/repo/.git", "/repo/.git/index.lock", ACCESS_WRITE),
		  "--config permissions.dev.git=\"commit\"");
	CHECK_STR(suggest(&w, "/repo/.git/hooks", "/repo/.git/hooks/pre-commit", ACCESS_WRITE),
		  "--config permissions.dev.git=\"write\"");
	w.user = NULL;
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_STR(suggest(&w, "/repo/.git", "/repo/.git/index.lock", ACCESS_WRITE), "");
}

TEST(git_above_the_workspace_is_opened_by_the_workspace_and_never_as_a_whole)
{
	const struct attempt_needs lock = { STR("/repo/.git/index.lock"), STR("/repo/.git"),
					    ACCESS_WRITE };
	const struct attempt_needs hook = { STR("/repo/.git/hooks/x"), STR("/repo/.git/hooks"),
					    ACCESS_WRITE };
	const struct str git = STR("/repo/.git");
	scoped_world w;
	struct str repo;

	world_init(&w, host_text, "/repo/sub");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK_STR(suggest(&w, "/repo/.git", "/repo/.git/index.lock", ACCESS_WRITE), "");
	CHECK_STR(suggest(&w, "/repo/.git/hooks", "/repo/.git/hooks/pre-commit", ACCESS_WRITE), "");
	CHECK_STR(suggest(&w, "/repo/other", "/repo/other/x", ACCESS_WRITE),
		  "--add-write /repo/other");
	REQUIRE(plan_suggest_repo(&w.a, &w.in, &lock, git, &repo, &w.e) == 0);
	CHECK(str_is(repo, "/repo"));
	REQUIRE(plan_suggest_repo(&w.a, &w.in, &hook, git, &repo, &w.e) == 0);
	CHECK_INT(repo.len, 0);
}

TEST(what_no_option_opens_gets_none)
{
	static const struct own_file own[] = { { STR_INIT("/opt/app/conf"), ACCESS_READ,
						 "your log" } };
	scoped_world w;

	REQUIRE(start(&w, DEV RW));
	w.requirements = "[filesystem]\n'/opt' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(suggest(&w, "/opt/app/bin", "/opt/app/bin/x", ACCESS_WRITE), "");
	CHECK_STR(suggest(&w, "/srv", "/srv/x", ACCESS_WRITE), "--add-write /srv");
	w.requirements = NULL;
	w.project = "[filesystem]\n'/opt' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK_STR(suggest(&w, "/opt/app/bin", "/opt/app/bin/x", ACCESS_WRITE), "");
	w.project = NULL;
	w.own = own;
	w.own_count = 1;
	REQUIRE(world_plan(&w));
	CHECK_STR(suggest(&w, "/opt/app/conf", "/opt/app/conf", ACCESS_WRITE), "");
}

TEST(denied_by_an_entry_of_the_same_path_gets_none)
{
	scoped_world w;

	REQUIRE(start(&w, DEV RW "'/srv/secret' = 'deny'\n"));
	CHECK_STR(suggest(&w, "/srv/secret", "/srv/secret", ACCESS_READ), "");
}

static const char *words_of(struct world *w, const char *path)
{
	static char text[512];
	struct buf b = BUF_OVER(text);

	text[0] = '\0';
	rule_add_words(&b, plan_resolve(w->plan, str_of(path)).rule);
	return text;
}

TEST(rules_are_named_in_a_few_words)
{
	scoped_world w;

	REQUIRE(start(&w, DEV FS
		      "'/opt' = 'read'\n':workspace_roots' = 'write'\n'/repo/**/.env' = 'deny'\n"));
	CHECK_STR(words_of(&w, "/opt/app"), "\"/opt\" = \"read\"");
	CHECK_STR(words_of(&w, "/repo/x"), "\":workspace_roots\" = \"write\"");
	CHECK_STR(words_of(&w, "/repo/.env"), "\"/repo/**/.env\" = \"deny\"");
	CHECK_STR(words_of(&w, "/repo/.vscode"), "\".vscode\" is protected");
	CHECK_STR(words_of(&w, "/srv"), "no entry covers it, so it is denied");
}
