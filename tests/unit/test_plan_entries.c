/* SPDX-License-Identifier: MIT */
/* What becomes of entries (P5, P8, P11, P18), seen in the rules and notes of whole plans. */
#include "plan_lists.h"
#include "test.h"

static const char files[] = "d /repo/src\n"
			    "d /home/me\n"
			    "d /data/real\n"
			    "l /repo/link -> /data/real\n"
			    "l /repo/alias -> src\n"
			    "h /closed\n"
			    "d /usr/bin\n"
			    "l /bin -> usr/bin\n";

#define PROFILE "default_permissions = 'p'\n[permissions.p.filesystem]\n"

TEST(entries_become_rules_at_canonical_paths)
{
	scoped_world w;
	const struct rule *rule;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/' = 'read'\n'/repo/link/sub/..new' = 'deny'\n'/repo/alias' = 'write'\n";
	REQUIRE(world_plan(&w));
	rule = find_rule(&w, RULE_ENTRY, "/data/real/sub/..new");
	REQUIRE(rule);
	CHECK_INT(rule->access, ACCESS_DENY);
	CHECK_INT(rule->depth, 4);
	CHECK_STR(rule->key.p, "/repo/link/sub/..new");
	CHECK_STR(rule->origin.file, "user.toml");
	CHECK_INT(rule->origin.line, 4);
	CHECK(find_rule(&w, RULE_ENTRY, "/repo/src") != NULL);
	CHECK_INT(world_access(&w, "/repo/src/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/data/real/sub/..new"), ACCESS_DENY);
}

TEST(globs_keep_their_pattern_below_a_canonical_directory)
{
	scoped_world w;
	const struct rule *rule;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/' = 'read'\n'/repo/link/**/*.key' = 'deny'\n'/gone/*.x' = 'deny'\n";
	REQUIRE(world_plan(&w));
	rule = find_rule(&w, RULE_GLOB, "/data/real");
	REQUIRE(rule);
	CHECK_STR(rule->glob.p, "**/*.key");
	CHECK(find_rule(&w, RULE_GLOB, "/gone") != NULL);
	CHECK_INT(world_access(&w, "/data/real/a/b.key"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/gone/a.x"), ACCESS_DENY);
}

TEST(two_keys_for_one_path_both_stay)
{
	scoped_world w;

	world_init(&w, "d /home/me/x\n", "/home/me");
	w.user = PROFILE "'~/x' = 'write'\n'/home/me/x' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/x/y"), ACCESS_DENY);
}

TEST(a_missing_write_is_left_out_with_a_warning)
{
	scoped_world w;
	const struct note *note;

	world_init(&w, files, "/repo");
	w.user = PROFILE
		"'/' = 'read'\n'/repo' = 'write'\n'/gone' = 'write'\n'/repo/g' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK(!find_rule(&w, RULE_ENTRY, "/gone"));
	CHECK(!find_rule(&w, RULE_ENTRY, "/repo/g"));
	CHECK_INT(world_access(&w, "/gone"), ACCESS_READ);
	note = find_note(&w, "/gone");
	REQUIRE(note);
	CHECK(note->is_warning);
	CHECK_INT(note->origin.line, 5);
	note = find_note(&w, "/repo/g");
	CHECK(note && note->is_warning);
}

TEST(a_missing_read_is_noted_unless_it_narrows)
{
	scoped_world w;
	const struct note *note;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/repo' = 'write'\n'/gone' = 'read'\n'/repo/docs/x' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK(!find_rule(&w, RULE_ENTRY, "/gone"));
	note = find_note(&w, "/gone");
	REQUIRE(note);
	CHECK(!note->is_warning);
	CHECK(find_rule(&w, RULE_ENTRY, "/repo/docs/x") != NULL);
	CHECK(!find_note(&w, "/repo/docs/x"));
	CHECK_INT(world_access(&w, "/repo/docs/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/gone"), ACCESS_DENY);
}

TEST(a_missing_deny_is_kept)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/' = 'read'\n'/gone/secret' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/gone/secret/x"), ACCESS_DENY);
	CHECK_INT(w.plan->notes.count, 0);
}

TEST(entries_for_hidden_paths_are_kept)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/closed/a' = 'read'\n'/closed/b' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK(find_rule(&w, RULE_ENTRY, "/closed/a") != NULL);
	CHECK(find_rule(&w, RULE_ENTRY, "/closed/b") != NULL);
}

/* A command could have closed it, to open it again when the policy has lost what is in there. */
TEST(an_entry_below_a_locked_directory_is_an_error)
{
	static const char *const entries[] = { "'/own/a' = 'deny'\n", "'/own/a/b' = 'read'\n",
					       "'/own/a' = 'write'\n", "'/repo/way/a' = 'deny'\n" };

	for (size_t i = 0; i < COUNT_OF(entries); i++) {
		char user[256];
		scoped_world w;

		world_init(&w, "d /repo\nc /own\nf /own/a/b\nl /repo/way -> ../own\n", "/repo");
		snprintf(user, sizeof(user), PROFILE "'/' = 'read'\n%s", entries[i]);
		w.user = user;
		CHECK(!world_plan(&w));
		CHECK_INT(w.e.code, ERR_POLICY);
		CHECK(strstr(w.e.text, "user.toml:"));
		CHECK(strstr(w.e.text, "chmod u+rX /own'"));
		fake_host_add(&w.host, "h /own\n");
		CHECK(world_plan(&w));
	}
}

TEST(a_workspace_root_behind_a_closed_directory_is_an_error)
{
	scoped_world w;

	world_init(&w, "d /repo\nc /own\nd /own/ws\n", "/repo");
	w.user = "[permissions.dev]\nworkspace_roots = { '/own/ws' = true }\n"
		 "[permissions.dev.filesystem]\n':root' = 'read'\n':workspace_roots' = 'write'\n";
	w.profile = "dev";
	CHECK(!world_plan(&w));
	CHECK_INT(w.e.code, ERR_POLICY);
	CHECK_INT(w.e.cause, CAUSE_PATH_LOCKED);
	CHECK(strstr(w.e.text, "/own "));
	/* Or when it is closed itself: its .git can't be seen. */
	fake_host_add(&w.host, "d /own\nc /own/ws\n");
	CHECK(!world_plan(&w));
	CHECK_INT(w.e.code, ERR_POLICY);
	fake_host_add(&w.host, "d /own/ws\n");
	CHECK(world_plan(&w));
}

TEST(a_missing_tmpdir_of_a_built_in_profile_is_silent)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.tmpdir = "/var/gone";
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK(!find_note(&w, "/var/gone"));
	CHECK(!find_note(&w, "/tmp"));
	w.profile = NULL;
	w.user = PROFILE "'/' = 'read'\n':tmpdir' = 'write'\n";
	REQUIRE(world_plan(&w));
	REQUIRE(find_note(&w, "/var/gone"));
	CHECK(!find_note(&w, "/var/gone")->is_warning);
}

TEST(narrowing_an_unknown_tmpdir_or_home_is_an_error)
{
	static const char *const entries[] = { "':tmpdir' = 'read'", "':tmpdir' = 'deny'",
					       "'~/x' = 'read'", "'~/x' = 'deny'" };

	for (size_t i = 0; i < COUNT_OF(entries); i++) {
		char user[256], project[256];
		scoped_world w;

		(void)snprintf(user, sizeof(user), PROFILE "'/' = 'write'\n%s\n", entries[i]);
		(void)snprintf(project, sizeof(project), "[filesystem]\n%s\n", entries[i]);
		world_init(&w, files, "/repo");
		w.home = "";
		w.user = user;
		CHECK(!world_plan(&w));
		CHECK(strstr(w.e.text, "user.toml:4:1: "));
		w.user = PROFILE "'/' = 'write'\n";
		REQUIRE(world_plan(&w));
		w.project = project;
		CHECK(!world_plan(&w));
		CHECK_INT(w.e.code, ERR_POLICY);
		w.project = NULL;
		w.requirements = project;
		CHECK(!world_plan(&w));
		CHECK_INT(w.e.code, ERR_POLICY);
	}
}

TEST(opening_an_unknown_tmpdir_or_home_only_warns)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	CHECK(!find_note(&w, "TMPDIR"));
	w.profile = NULL;
	w.home = "";
	w.user = PROFILE "'/' = 'read'\n':tmpdir' = 'write'\n'~/x' = 'write'\n";
	REQUIRE(world_plan(&w));
	REQUIRE(find_note(&w, "TMPDIR is not set"));
	CHECK(find_note(&w, "TMPDIR is not set")->is_warning);
	CHECK_INT(find_note(&w, "TMPDIR is not set")->origin.line, 4);
	REQUIRE(find_note(&w, "set HOME"));
	CHECK(find_note(&w, "set HOME")->is_warning);
	CHECK_INT(world_access(&w, "/tmp"), ACCESS_READ);
	/* Where a layer above writes, that only leaves as it is, and losing it loses no deny. */
	w.user = PROFILE "'/' = 'write'\n";
	w.requirements = "[filesystem]\n'/' = 'read'\n':tmpdir' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK(find_note(&w, "TMPDIR is not set") != NULL);
	CHECK_INT(world_access(&w, "/tmp"), ACCESS_READ);
}

TEST(places_that_are_offered_are_not_noted)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.user = PROFILE "':minimal' = 'read'\n':secrets' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/usr/bin/ls"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/home/me/.ssh/id"), ACCESS_DENY);
	CHECK(!find_note(&w, "left out"));
}

TEST(an_entry_for_the_very_path_lifts_a_secret)
{
	static const char *const lifting[] = { "'~/.npmrc' = 'read'", "'/home/me/.npmrc' = 'read'",
					       "'~' = { '.npmrc' = 'read' }" };
	scoped_world w;
	char text[256];

	world_init(&w, "d /repo\nf /home/me/.npmrc\nf /home/me/.pypirc\nf /home/me/.ssh/id\n",
		   "/repo");
	for (size_t i = 0; i < COUNT_OF(lifting); i++) {
		(void)snprintf(text, sizeof(text),
			       PROFILE "'/' = 'read'\n':secrets' = 'deny'\n%s\n", lifting[i]);
		w.user = text;
		REQUIRE(world_plan(&w));
		CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_READ);
		CHECK_INT(world_access(&w, "/home/me/.pypirc"), ACCESS_DENY);
	}
	/* What is around it says nothing of it, and a deny of its own stays one. */
	w.user = PROFILE "'/' = 'read'\n':secrets' = 'deny'\n'~' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_DENY);
	w.user = PROFILE "'/' = 'read'\n':secrets' = 'deny'\n'~/.npmrc' = 'read'\n"
			 "'/home/me/.npmrc' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_DENY);
}

TEST(a_built_in_entry_follows_no_link_that_another_profile_may_have_let_made)
{
	static const char gemini[] = "default_permissions = ':agent-gemini'\n";
	scoped_world w;

	world_init(&w,
		   "d /repo\nd /home/me/.ssh\nd /home/me/.gemini\nd /home/me/.cache\n"
		   "l /home/me/.cache/.gemini -> ../.ssh\n",
		   "/repo");
	w.user = gemini;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.ssh/id"), ACCESS_DENY);
	CHECK(find_note(&w, "through the link /home/me/.cache/.gemini") != NULL);
	/* Who writes it down means it. */
	w.user = "default_permissions = 'p'\n[permissions.p]\nextends = ':agent-gemini'\n"
		 "[permissions.p.filesystem]\n'~/.cache/.gemini' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.ssh/id"), ACCESS_WRITE);
	/* Nobody makes links in the home itself. */
	world_done(&w);
	world_init(&w,
		   "d /repo\nd /home/me/.gemini\nd /scratch/.gemini/tmp\n"
		   "l /home/me/.cache -> /scratch\n",
		   "/repo");
	w.user = gemini;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/scratch/.gemini/tmp/x"), ACCESS_WRITE);
}

TEST(a_secret_that_is_missing_is_lifted_too)
{
	scoped_world w;

	world_init(&w, "d /repo\nd /home/me/.codex\nl /home/me/x -> .codex\n", "/repo");
	w.user = PROFILE "'/' = 'read'\n':secrets' = 'deny'\n'~/.codex' = 'write'\n"
			 "'~/.codex/auth.json' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.codex/auth.json"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/home/me/.codex/.credentials.json"), ACCESS_DENY);
	/* A read is lowered to what it says, wherever the path could be made. */
	w.user = PROFILE "'/' = 'read'\n':secrets' = 'deny'\n'~/.codex' = 'write'\n"
			 "'~/.codex/auth.json' = 'read'\n'~/.npmrc' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.codex/auth.json"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_READ);
	/* Not through a link, nor by a layer below the one that denies. */
	w.user = PROFILE "'/' = 'read'\n':secrets' = 'deny'\n'~/x/auth.json' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.codex/auth.json"), ACCESS_DENY);
	w.user = "default_permissions = 'dev'\n[permissions.dev]\nextends = "
		 "':agent-codex'\n[permissions.dev.filesystem]\n"
		 "':secrets' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.codex/auth.json"), ACCESS_DENY);
}

TEST(a_token_that_is_a_secret_by_chance_lifts_nothing)
{
	scoped_world w;

	world_init(&w, "f /home/me/.ssh/id\n", "/home/me/.ssh");
	w.user = PROFILE "'/' = 'read'\n':secrets' = 'deny'\n':workspace_roots' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.ssh/id"), ACCESS_DENY);
}

TEST(a_secret_is_lifted_by_its_own_layer_and_those_above)
{
	static const char secrets[] = "[permissions.base.filesystem]\n'/' = 'read'\n"
				      "':secrets' = 'deny'\n";
	static const char opened[] = "[permissions.base.filesystem]\n'/' = 'read'\n"
				     "'~/.npmrc' = 'read'\n";
	static const struct fs_entry option = { .anchor = FS_ABSOLUTE,
						.path = STR_INIT("/home/me/.npmrc"),
						.glob = STR_INIT(""),
						.access = ACCESS_READ,
						.key = STR_INIT("~/.npmrc"),
						.origin = { .file = "--add-read" } };
	scoped_world w;

	world_init(&w, "d /repo\nf /home/me/.npmrc\n", "/repo");
	w.profile = "dev";
	w.system = secrets;
	w.user = "[permissions.dev]\nextends = 'base'\nfilesystem.'~/.npmrc' = 'read'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_READ);
	w.system = opened;
	w.user = "[permissions.dev]\nextends = 'base'\nfilesystem.':secrets' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_DENY);
	w.extra = &option;
	w.extra_count = 1;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_READ);
	/* A layer that narrows has the last word, and so has a project that is trusted. */
	w.requirements = "[filesystem]\n':secrets' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_DENY);
	w.requirements = NULL;
	w.project = "[filesystem]\n':secrets' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_DENY);
	w.trusts_project = true;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_DENY);
}

TEST(a_project_lifts_no_secret)
{
	scoped_world w;

	world_init(&w, "d /repo\nf /home/me/.npmrc\nf /repo/.env\n", "/repo");
	w.user = PROFILE "'/' = 'read'\n':secrets' = 'deny'\n";
	w.project = "[filesystem]\n'~/.npmrc' = 'read'\n'/repo/.env' = 'read'\n'/srv' = 'read'\n";
	for (int trusted = 0; trusted < 2; trusted++) {
		w.trusts_project = trusted;
		REQUIRE(world_plan(&w));
		CHECK_INT(world_access(&w, "/home/me/.npmrc"), ACCESS_DENY);
		CHECK_INT(world_access(&w, "/repo/.env"), ACCESS_DENY);
	}
}

TEST(project_entries_for_missing_paths_are_kept)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/' = 'read'\n'/repo' = 'write'\n";
	w.project = "[filesystem]\n'/repo/later' = 'read'\n'/repo/src' = 'deny'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/later/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/src/x"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
}

TEST(grants_raise_and_missing_ones_are_left_out)
{
	struct permission wanted[] = { { STR_INIT("/data"), ACCESS_WRITE },
				       { STR_INIT("/gone"), ACCESS_WRITE } };
	struct permissions grants = { .paths = { .items = wanted, .count = COUNT_OF(wanted) } };
	scoped_world w;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/' = 'read'\n'/data/real' = 'deny'\n";
	w.grants = &grants;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/data/x"), ACCESS_WRITE);
	CHECK_INT(plan_resolve(w.plan, STR("/data/x")).rule->kind, RULE_GRANT);
	CHECK_INT(world_access(&w, "/data/real/x"), ACCESS_DENY);
	CHECK(!find_rule(&w, RULE_GRANT, "/gone"));
	REQUIRE(find_note(&w, "/gone"));
	CHECK(find_note(&w, "/gone")->is_warning);
}

/* `count` globs, each a key of its own. */
static bool plan_globs(struct world *w, int count)
{
	scoped_buf text = BUF_INIT(1 << 20);

	world_init(w, files, "/repo");
	buf_add_text(&text, PROFILE);
	for (int i = 0; i < count; i++)
		buf_printf(&text, "'/repo/**/%d' = 'deny'\n", i);
	w->user = text.p;
	return world_plan(w);
}

TEST(so_many_globs_and_no_more)
{
	scoped_world most;
	scoped_world more;

	CHECK(plan_globs(&most, 4096));
	CHECK(!plan_globs(&more, 4097));
	CHECK_INT(more.e.code, ERR_LIMIT);
	CHECK_INT(more.e.cause, CAUSE_GLOB_LIMIT);
}

TEST(a_loop_of_links_names_the_entry)
{
	scoped_world w;

	world_init(&w, "d /repo\nl /x -> y\nl /y -> x\n", "/repo");
	w.user = PROFILE "'/' = 'read'\n'/x/z' = 'deny'\n";
	CHECK(!world_plan(&w));
	CHECK_INT(w.e.code, ERR_POLICY);
	CHECK(strstr(w.e.text, "user.toml:4:") == w.e.text);
}

TEST(a_failing_host_fails_the_plan)
{
	scoped_world w;
	size_t calls;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/' = 'read'\n'/repo/link/x' = 'deny'\n'/repo/alias' = 'write'\n";
	REQUIRE(world_plan(&w));
	calls = w.host.calls;
	for (size_t i = 1; i <= calls; i++) {
		w.host.calls = 0;
		w.host.fail_at = i;
		CHECK(!world_plan(&w));
		CHECK_INT(w.e.code, ERR_SYS);
	}
}

/* ---- Links that could lead anywhere (P8) -------------------------------- */

#define STEERABLE                                                                         \
	"d /repo/.git\nd /home/me/.config\nd /data\nd /tmp\nd /srv\nf /home/me/.bashrc\n" \
	"l /repo/build -> /home/me\nl /srv/build -> /data\nl /repo/meta -> .git\n"

static const struct note *untrusted_link_note(const struct world *w, const char *link)
{
	const struct note *note = find_note(w, link);

	return note && note->is_warning && strstr(note->text.p, "through the link") ? note : NULL;
}

TEST(a_write_entry_is_not_followed_through_a_link_in_what_is_writable)
{
	scoped_world w;

	world_init(&w, STEERABLE, "/repo");
	w.user = PROFILE
		"':root' = 'read'\n'/srv/build' = 'write'\n"
		"':workspace_roots' = { '.' = 'write', 'build' = 'write', 'meta' = 'write' }\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.bashrc"), ACCESS_READ);
	CHECK(untrusted_link_note(&w, "/repo/build"));
	/* Nor is the protection of what it leads to lifted. */
	CHECK_INT(world_access(&w, "/repo/.git/config"), ACCESS_READ);
	CHECK(untrusted_link_note(&w, "/repo/meta"));
	/* A link that nobody in a sandbox made is followed. */
	CHECK_INT(world_access(&w, "/data/x"), ACCESS_WRITE);
	CHECK(!find_note(&w, "/srv/build"));
	/* The target itself can be named. */
	w.user = PROFILE "':root' = 'read'\n':workspace_roots' = 'write'\n'~' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.bashrc"), ACCESS_WRITE);
}

TEST(a_narrower_entry_at_the_link_does_not_make_it_good)
{
	scoped_world w;

	world_init(&w, STEERABLE "l /repo/ro/out -> /home/me\n", "/repo");
	w.user = PROFILE "':root' = 'read'\n'/repo' = 'write'\n'/repo/ro' = 'deny'\n"
			 "'/repo/ro/out' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/x"), ACCESS_READ);
	CHECK(untrusted_link_note(&w, "/repo/ro/out"));
}

TEST(roots_and_temporary_directories_are_not_followed_either)
{
	scoped_world w;

	world_init(&w, STEERABLE "l /tmp/t -> /data\n", "/repo");
	w.tmpdir = "/tmp/t";
	w.user = "[permissions.p]\nextends = ':workspace'\n"
		 "workspace_roots = { '/repo/build' = true }\n";
	w.profile = "p";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/tmp/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/home/me/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/data/x"), ACCESS_READ);
	CHECK(untrusted_link_note(&w, "/repo/build"));
	CHECK(untrusted_link_note(&w, "/tmp/t"));
}

TEST(grants_are_followed_through_what_no_sandbox_made)
{
	struct permission paths[] = { { STR_INIT("/repo/build"), ACCESS_WRITE },
				      { STR_INIT("/srv/build"), ACCESS_WRITE } };
	struct permissions grants = { .paths = { .items = paths, .count = 2, .room = 2 } };
	scoped_world w;

	world_init(&w, STEERABLE, "/repo");
	w.user = PROFILE "':root' = 'read'\n':workspace_roots' = 'write'\n";
	w.grants = &grants;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/x"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/data/x"), ACCESS_WRITE);
	CHECK(untrusted_link_note(&w, "/repo/build"));
	/* A grant counts against other grants, and takes nothing from the base. */
	paths[0] = (struct permission){ STR_INIT("/srv"), ACCESS_WRITE };
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/srv/x"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/data/x"), ACCESS_READ);
	w.user = PROFILE "':root' = 'read'\n'/srv/build' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/data/x"), ACCESS_WRITE);
}

TEST(entries_through_links_are_judged_in_no_order)
{
	/* Each opens the place of the other's link; a third leads through an untrusted link and takes none with it. */
	static const char host[] = "d /a\nd /b\nd /c\nd /d\nd /w\nl /a/l -> /b\nl /b/l -> /a\n"
				   "l /c/l -> /d\nl /w/l -> /c\nl /e -> /e2\nl /e2/l -> .\n";
	static const char *const texts[] = {
		PROFILE "'/w' = 'write'\n'/a/l' = 'write'\n'/b/l' = 'write'\n"
			"'/c/l' = 'write'\n'/w/l' = 'write'\n'/e/l' = 'write'\n",
		PROFILE "'/e/l' = 'write'\n'/w/l' = 'write'\n'/c/l' = 'write'\n"
			"'/b/l' = 'write'\n'/a/l' = 'write'\n'/w' = 'write'\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		scoped_world w;

		world_init(&w, host, "/w");
		w.user = texts[i];
		REQUIRE(world_plan(&w));
		CHECK_INT(world_access(&w, "/w/x"), ACCESS_WRITE);
		CHECK_INT(world_access(&w, "/a/x"), ACCESS_DENY);
		CHECK_INT(world_access(&w, "/b/x"), ACCESS_DENY);
		CHECK_INT(world_access(&w, "/c/x"), ACCESS_DENY);
		CHECK_INT(world_access(&w, "/d/x"), ACCESS_WRITE);
		/* It would open the place of its own link. */
		CHECK_INT(world_access(&w, "/e2/x"), ACCESS_DENY);
	}
}

TEST(a_read_entry_through_such_a_link_narrows_but_opens_nothing)
{
	scoped_world w;

	world_init(&w, STEERABLE "l /repo/in -> src\nd /repo/src\n", "/repo");
	w.user = PROFILE
		"':workspace_roots' = { '.' = 'write', 'build' = 'read', 'in' = 'read' }\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/home/me/.bashrc"), ACCESS_DENY);
	CHECK(untrusted_link_note(&w, "/repo/build"));
	CHECK_INT(world_access(&w, "/repo/src/x"), ACCESS_READ);
	CHECK(!untrusted_link_note(&w, "/repo/in"));
	w.user = PROFILE "'/srv/build' = 'read'\n':workspace_roots' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/data/x"), ACCESS_READ);
}
