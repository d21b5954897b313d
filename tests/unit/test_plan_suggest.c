/* SPDX-License-Identifier: MIT */
/*
 * Tests of plan/suggest_path.c and plan/suggest_host.c. That an edit really works is what
 * tests/property/prop_suggest.c is about; here it is which edit is suggested.
 */
#include "plan/suggest.h"

#include "test.h"
#include "world.h"

#define DEV "default_permissions = 'dev'\n[permissions.dev]\n"
#define FS  "[permissions.dev.filesystem]\n"
#define NET "[permissions.dev.network]\n"

static const char host_text[] =
	"d /repo/.git/hooks\nd /repo/docs/x\nf /repo/.env\nd /home/me/.ssh\n"
	"d /srv\nd /usr\nd /tmp\n";

static bool start(struct world *w, const char *user)
{
	world_init(w, host_text, "/repo");
	w->user = user;
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

static struct change suggest_path(struct world *w, const char *path, enum access wanted)
{
	struct change change = { .is_possible = false };

	if (plan_suggest_path(&w->a, &w->in, w->plan, str_of(path), wanted, &change, &w->e) < 0)
		printf("# %s\n", w->e.text);
	return change;
}

static struct change suggest_host(struct world *w, const char *host, enum decision wanted)
{
	struct change change = { .is_possible = false };
	struct hostname name;
	uint16_t port;

	if (hostname_parse_port(&w->a, str_of(host), &name, &port, &w->e) < 0 ||
	    plan_suggest_host(&w->a, &w->in, w->plan, &name, port, wanted, &change, &w->e) < 0)
		printf("# %s\n", w->e.text);
	return change;
}

TEST(line_about_this_very_path_is_changed)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n'/srv' = 'deny'\n"));
	f = suggest_path(&w, "/srv", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK(!f.needs_own_profile);
	CHECK_STR(f.edits[0].file.p, "user.toml");
	CHECK_INT(f.edits[0].line, 5);
	CHECK_STR(f.edits[0].table.p, "permissions.dev.filesystem");
	CHECK_STR(f.edits[0].key.p, "\"/srv\"");
	CHECK_STR(f.edits[0].value.p, "\"write\"");
	CHECK_STR(f.text.p, "change to \"/srv\" = \"write\" at user.toml:5");
	CHECK_STR(f.toml.p, "");
}

TEST(entry_is_added_below_what_decides)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n"));
	f = suggest_path(&w, "/repo/docs", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_INT(f.edits[0].line, 0);
	CHECK_STR(f.text.p, "in [permissions.dev.filesystem], which begins on line 3 of user.toml, "
			    "add the line: \"/repo/docs\" = \"write\"");
	f = suggest_path(&w, "/repo/docs", ACCESS_DENY);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].value.p, "\"deny\"");
}

TEST(nothing_changes_when_the_answer_is_right_already)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n"));
	f = suggest_path(&w, "/usr", ACCESS_READ);
	CHECK(f.is_possible);
	CHECK_INT(f.edit_count, 0);
	CHECK_STR(f.text.p, "nothing has to change");
}

TEST(built_in_profiles_are_extended)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, NULL));
	f = suggest_path(&w, "/srv", ACCESS_WRITE);
	REQUIRE(f.is_possible);
	CHECK(f.needs_own_profile);
	CHECK_STR(f.toml_top.p, "default_permissions = \"my-read-only\"\n");
	CHECK_STR(f.toml.p, "[permissions.my-read-only]\nextends = \":read-only\"\n"
			    "[permissions.my-read-only.filesystem]\n\"/srv\" = \"write\"\n");
}

TEST(missing_paths_are_created_and_opened_alone)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n"));
	f = suggest_path(&w, "/srv/new/deep", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.needs_path.p, "/srv/new/deep");
	CHECK_STR(f.edits[0].key.p, "\"/srv/new/deep\"");
	CHECK_STR(
		f.text.p,
		"create it first, then in [permissions.dev.filesystem], "
		"which begins on line 3 of user.toml, add the line: \"/srv/new/deep\" = \"write\"");
	f = suggest_path(&w, "/nonexistent/it's", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "\"/nonexistent/it's\"");
	CHECK(str_has_prefix(f.text, STR("create it first, then ")));
	/* What is there needs no creating, and what is denied may be named while it is missing. */
	CHECK_INT(suggest_path(&w, "/srv", ACCESS_WRITE).needs_path.len, 0);
	w.user = DEV FS "'/' = 'read'\n'/srv' = 'write'\n";
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/srv/new", ACCESS_DENY);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_INT(f.needs_path.len, 0);
}

TEST(missing_path_that_is_not_readable_is_opened_alone)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/usr' = 'read'\n"));
	f = suggest_path(&w, "/home/me/new", ACCESS_READ);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.needs_path.p, "/home/me/new");
	CHECK_STR(f.edits[0].key.p, "\"/home/me/new\"");
}

TEST(protected_name_that_is_missing_is_created_first)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n'/repo' = 'write'\n"));
	f = suggest_path(&w, "/repo/.codex", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.needs_path.p, "/repo/.codex");
	CHECK_STR(f.edits[0].key.p, "\"/repo/.codex\"");
}

TEST(protected_git_is_opened_by_the_narrowest_key_that_helps)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n'/repo' = 'write'\n"));
	fake_host_add(&w.host, "f /repo/.git/HEAD = ref: refs/heads/main\\n\nd /repo/.git/refs\n"
			       "d /repo/.git/objects\nf /repo/.git/config\n");
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/repo/.git/index", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "git");
	CHECK_STR(f.edits[0].value.p, "\"commit\"");
	CHECK_STR(f.edits[0].table.p, "permissions.dev");
	f = suggest_path(&w, "/repo/.git/hooks", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].value.p, "\"write\"");
}

TEST(protected_names_are_opened_by_an_entry)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n'/repo' = 'write'\n"));
	fake_host_add(&w.host, "d /repo/.codex\n");
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/repo/.codex", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "\"/repo/.codex\"");
}

TEST(a_glob_is_taken_out_where_no_entry_can_win)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n'/repo/**/.env' = 'deny'\n"));
	f = suggest_path(&w, "/repo/.env", ACCESS_READ);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_INT(f.edits[0].line, 5);
	CHECK_STR(f.edits[0].value.p, "");
	CHECK_STR(f.text.p,
		  "take out \"/repo/**/.env\" (which covers more than this) at user.toml:5");
	f = suggest_path(&w, "/repo/.env", ACCESS_WRITE);
	REQUIRE(f.is_possible);
	CHECK_INT(f.edit_count, 2);
}

TEST(secrets_are_not_given_up_as_a_whole)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n':secrets' = 'deny'\n"));
	f = suggest_path(&w, "/home/me/.ssh", ACCESS_READ);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "\"/home/me/.ssh\"");
	CHECK_STR(f.edits[0].value.p, "\"read\"");
	f = suggest_path(&w, "/repo/.env", ACCESS_READ);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "\"/repo/.env\"");
	w.user = DEV FS "'/' = 'read'\n':secrets' = 'deny'\n'/repo/**/.env' = 'deny'\n"
			"'/repo/**/*.pem' = 'deny'\n";
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/repo/.env", ACCESS_READ);
	REQUIRE(f.is_possible && f.edit_count == 2);
	CHECK_INT(f.edits[0].line, 0);
	CHECK_INT(f.edits[1].line, 6);
	/* What a trusted project says of them nobody lifts. */
	w.project = "[filesystem]\n':secrets' = 'deny'\n";
	w.trusts_project = true;
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/home/me/.ssh", ACCESS_READ);
	CHECK(!f.is_possible);
	CHECK(strstr(f.why_not.p, ":secrets (project.toml:2)"));
	w.project = NULL;
	w.trusts_project = false;
	fake_host_add(&w.host, "f /home/me/.ssh/known_hosts\n");
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/home/me/.ssh/known_hosts", ACCESS_READ);
	CHECK(f.is_possible && f.edit_count == 1);
}

TEST(entry_that_was_left_out_is_named)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n'/srv/a' = 'write'\n'/srv/b' = 'write'\n"
				 "'/usr/c' = 'deny'\n"));
	f = suggest_path(&w, "/srv/b/x", ACCESS_WRITE);
	REQUIRE(f.is_possible);
	CHECK_INT(f.edit_count, 0);
	CHECK_STR(f.needs_path.p, "/srv/b");
	CHECK_STR(f.text.p, "create it first (mkdir -p /srv/b); \"/srv/b\" = \"write\" "
			    "(user.toml:6) has no effect until then");
	f = suggest_path(&w, "/srv/bb", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.needs_path.p, "/srv/bb");
	w.project = "[filesystem]\n'/srv/b' = 'read'\n";
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/srv/b", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].file.p, "project.toml");
}

TEST(own_files_and_requirements_are_out_of_reach)
{
	static const struct own_file own = { STR_INIT("/srv/audit"), ACCESS_READ, "the audit log" };
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'write'\n"));
	w.own = &own;
	w.own_count = 1;
	w.requirements = "[filesystem]\n'/usr' = 'read'\n[network]\nenabled = false\n";
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/srv/audit", ACCESS_WRITE);
	CHECK(!f.is_possible);
	CHECK_STR(f.why_not.p, "/srv/audit belongs to Cordon itself, and no policy opens it");
	f = suggest_path(&w, "/usr/x", ACCESS_WRITE);
	CHECK(!f.is_possible);
	CHECK_STR(f.why_not.p,
		  "requirements.toml:2 is a requirement that only the administrator of this "
		  "machine can raise");
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	CHECK(!f.is_possible);
	CHECK_STR(f.why_not.p,
		  "requirements.toml:4 is a requirement that only the administrator of this "
		  "machine can raise");
}

TEST(projects_are_edited_in_their_own_file)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n'/repo' = 'write'\n"));
	w.project = "[filesystem]\n'/repo/docs' = 'deny'\n";
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/repo/docs", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "change to \"/repo/docs\" = \"write\" at project.toml:2");
	f = suggest_path(&w, "/repo/docs/x", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "in [filesystem], which begins on line 1 of project.toml, add the "
			    "line: \"/repo/docs/x\" = \"write\"");
}

TEST(trusted_projects_are_not_edited)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n"));
	w.project = "[filesystem]\n'/repo/docs' = 'write'\n'/repo/docs/x' = 'deny'\n"
		    "[network]\nenabled = false\n";
	w.trusts_project = true;
	REQUIRE(world_plan(&w));
	CHECK_INT(world_access(&w, "/repo/docs"), ACCESS_WRITE);
	CHECK_STR(w.policy->profile->origin.file, "user.toml");
	f = suggest_path(&w, "/srv", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "in [permissions.dev.filesystem], which begins on line 3 of user.toml, "
			    "add the line: \"/srv\" = \"write\"");
	/* Where the project's line wins, changing it would end the trust. */
	f = suggest_path(&w, "/repo/docs/x", ACCESS_WRITE);
	CHECK(!f.is_possible);
	CHECK_STR(f.why_not.p, "project.toml:3, in a trusted project's file, decides, and your "
			       "configuration can't override it; change that line, and trust the "
			       "changed file again");
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	CHECK(!f.is_possible);
	CHECK(str_has_prefix(f.why_not, STR("project.toml:5, in a trusted project's file, ")));
}

TEST(each_layer_in_the_way_gets_an_edit)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n"));
	w.project = "[filesystem]\n'/repo/docs' = 'deny'\n";
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/repo/docs", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 2);
	CHECK_STR(f.text.p, "change to \"/repo/docs\" = \"write\" at project.toml:2, and in "
			    "[permissions.dev.filesystem], which begins on line 3 of user.toml, "
			    "add the line: \"/repo/docs\" = \"write\"");
}

TEST(unsandboxed_profiles_can_not_be_narrowed)
{
	scoped_world w;

	REQUIRE(start(&w, NULL));
	w.profile = ":danger-full-access";
	REQUIRE(world_plan(&w));
	CHECK(!suggest_path(&w, "/usr", ACCESS_READ).is_possible);
	CHECK(!suggest_host(&w, "a.com", DECISION_DENY).is_possible);
	CHECK(suggest_host(&w, "a.com", DECISION_ALLOW).is_possible);
}

TEST(bytes_that_toml_can_not_hold_are_said)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n"));
	f = suggest_path(&w, "/srv/\xff", ACCESS_WRITE);
	CHECK(!f.is_possible);
	CHECK(f.why_not.len > 0);
}

TEST(special_characters_are_escaped)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV FS "'/' = 'read'\n"));
	fake_host_add(&w.host, "d /srv/a[b]*\n");
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/srv/a[b]*", ACCESS_WRITE);
	REQUIRE(f.is_possible);
	CHECK_STR(f.edits[0].key.p, "\"/srv/a\\\\[b]\\\\*\"");
}

TEST(hosts_are_added_where_nothing_matches)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV NET "enabled = true\nmode = 'full'\n"));
	f = suggest_host(&w, "a.com:443", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "add \"a.com:443\" = \"allow\" to [permissions.dev.network.domains] in "
			    "user.toml");
	f = suggest_host(&w, "10.0.0.1", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "\"10.0.0.1\"");
	f = suggest_host(&w, "[fd00::1]:80", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "\"[fd00::1]:80\"");
	f = suggest_host(&w, "localhost", DECISION_ALLOW);
	REQUIRE(f.is_possible);
	CHECK_INT(f.edit_count, 2);
}

TEST(this_machine_is_opened_for_the_port_asked_about)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV NET "enabled = true\nmode = 'full'\n"));
	f = suggest_host(&w, "localhost:3000", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 2);
	CHECK_STR(f.edits[0].key.p, "\"localhost:3000\"");
	CHECK_STR(f.edits[1].key.p, "\"127.0.0.1:3000\"");
	w.user = DEV NET "enabled = true\n[permissions.dev.network.domains]\n"
			 "'localhost:3000' = 'allow'\n'127.0.0.1:3000' = 'deny'\n";
	REQUIRE(world_plan(&w));
	f = suggest_host(&w, "localhost:3000", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "\"[::1]:3000\"");
}

TEST(network_that_is_off_is_enabled_for_one_host)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, NULL));
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.needs_own_profile);
	CHECK_STR(f.toml.p, "[permissions.my-read-only]\nextends = \":read-only\"\n"
			    "[permissions.my-read-only.network]\nenabled = true\n"
			    "[permissions.my-read-only.network.domains]\n\"a.com\" = \"allow\"\n");
}

TEST(line_that_says_off_is_changed)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV NET "enabled = false\ndomains = { 'b.com' = 'allow' }\n"));
	f = suggest_host(&w, "b.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "change to enabled = true at user.toml:4");
	w.user = DEV NET "enabled = false\n";
	REQUIRE(world_plan(&w));
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 2);
	CHECK_STR(f.text.p, "change to enabled = true at user.toml:4, and add \"a.com\" = "
			    "\"allow\" to [permissions.dev.network.domains] in user.toml");
	/* There is no such line where the table does not have one. */
	w.user = DEV NET "domains = { 'b.com' = 'allow' }\n";
	REQUIRE(world_plan(&w));
	f = suggest_host(&w, "b.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "in [permissions.dev.network], which begins on line 3 of user.toml, "
			    "add the line: enabled = true");
}

TEST(deny_of_some_port_is_taken_out)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV NET "enabled = true\n[permissions.dev.network.domains]\n"
				  "'*' = 'allow'\n'a.com:80' = 'deny'\n"));
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "take out \"a.com:80\" at user.toml:7");
}

TEST(rules_about_this_very_host_are_changed)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV NET "enabled = true\n[permissions.dev.network.domains]\n"
				  "'a.com' = 'deny'\n'*' = 'allow'\n'*.b.com' = 'deny'\n"));
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "change to \"a.com\" = \"allow\" at user.toml:6");
	f = suggest_host(&w, "x.b.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_INT(f.edits[0].line, 8);
	CHECK_STR(f.edits[0].value.p, "");
	f = suggest_host(&w, "c.com", DECISION_DENY);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.edits[0].key.p, "\"c.com\"");
}

TEST(full_network_stays_open_for_the_others)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV NET "enabled = true\n"));
	f = suggest_host(&w, "a.com", DECISION_DENY);
	REQUIRE(f.is_possible && f.edit_count == 2);
	CHECK_STR(f.toml.p, "# user.toml\n[permissions.dev.network.domains]\n\"*\" = \"allow\"\n"
			    "\"a.com\" = \"deny\"\n");
}

TEST(nobody_can_be_made_to_ask)
{
	scoped_world w;

	REQUIRE(start(&w, DEV NET "enabled = true\n"));
	CHECK(!suggest_host(&w, "a.com", DECISION_ASK).is_possible);
}

TEST(lines_are_added_to_tables_as_they_are_written)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, DEV NET "enabled = true\ndomains = { 'b.com' = 'allow' }\n"));
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p,
		  "inside domains = { ... } on line 5 of user.toml, add: \"a.com\" = \"allow\"");
	CHECK_STR(f.toml.p, "");
	w.user = DEV "network = { enabled = true, mode = 'full' }\n";
	REQUIRE(world_plan(&w));
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "inside network = { ... } on line 3 of user.toml, add: "
			    "domains.\"a.com\" = \"allow\"");
	w.user = DEV "network.enabled = true\nnetwork.domains.'b.com' = 'allow'\n";
	REQUIRE(world_plan(&w));
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_STR(f.text.p, "below line 4 of user.toml, add the line: "
			    "network.domains.\"a.com\" = \"allow\"");
	/* A table that is not there can be pasted. */
	w.user = DEV NET "enabled = true\nmode = 'full'\n";
	REQUIRE(world_plan(&w));
	f = suggest_host(&w, "a.com", DECISION_ALLOW);
	REQUIRE(f.is_possible);
	CHECK_STR(f.toml.p, "# user.toml\n[permissions.dev.network.domains]\n"
			    "\"a.com\" = \"allow\"\n");
}

TEST(own_profile_is_chosen_by_what_chooses_now)
{
	scoped_world w;
	struct change f;

	REQUIRE(start(&w, "default_permissions = ':read-only'\n[permissions.my-read-only]\n"));
	f = suggest_path(&w, "/srv", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.needs_own_profile && f.edit_count == 2);
	CHECK_STR(f.profile.p, "my-read-only-2"); /* the other name is taken */
	CHECK_INT(f.toml_top.len, 0);
	CHECK_STR(f.toml.p, "# user.toml\n[permissions.my-read-only-2]\nextends = \":read-only\"\n"
			    "[permissions.my-read-only-2.filesystem]\n\"/srv\" = \"write\"\n");
	CHECK_STR(f.edits[1].key.p, "default_permissions");
	CHECK_INT(f.edits[1].line, 1);
	CHECK(strstr(f.text.p, ", and change to default_permissions = \"my-read-only-2\" at "
			       "user.toml:1"));
	w.profile = ":workspace";
	REQUIRE(world_plan(&w));
	f = suggest_path(&w, "/srv", ACCESS_WRITE);
	REQUIRE(f.is_possible && f.edit_count == 1);
	CHECK_INT(f.toml_top.len, 0);
	CHECK_STR(f.chosen_by, "-P");
	CHECK(strstr(f.text.p, "; and use -P my-workspace in place of -P :workspace"));
}
