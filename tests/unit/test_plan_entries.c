/* SPDX-License-Identifier: MIT */
/* What becomes of entries (P5, P8, P11, P18), seen in the rules and notes of whole plans. */
#include "test.h"
#include "world.h"

static const char files[] = "d /repo/src\n"
			    "d /home/me\n"
			    "d /data/real\n"
			    "l /repo/link -> /data/real\n"
			    "l /repo/alias -> src\n"
			    "h /closed\n"
			    "d /usr/bin\n"
			    "l /bin -> usr/bin\n";

#define PROFILE "default_permissions = 'p'\n[permissions.p.filesystem]\n"

static const struct rule *find_rule(const struct world *w, enum rule_kind kind, const char *path)
{
	for (size_t i = 0; i < w->plan->rules.count; i++) {
		const struct rule *rule = &w->plan->rules.items[i];

		if (rule->kind == kind && str_is(rule->path, path))
			return rule;
	}
	return NULL;
}

static const struct note *find_note(const struct world *w, const char *part)
{
	for (size_t i = 0; i < w->plan->notes.count; i++)
		if (strstr(w->plan->notes.items[i].text.p, part))
			return &w->plan->notes.items[i];
	return NULL;
}

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

TEST(what_is_hidden_is_kept)
{
	scoped_world w;

	world_init(&w, files, "/repo");
	w.user = PROFILE "'/closed/a' = 'read'\n'/closed/b' = 'write'\n";
	REQUIRE(world_plan(&w));
	CHECK(find_rule(&w, RULE_ENTRY, "/closed/a") != NULL);
	CHECK(find_rule(&w, RULE_ENTRY, "/closed/b") != NULL);
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

TEST(what_a_project_says_is_kept_even_if_missing)
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
