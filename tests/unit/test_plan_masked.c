/* SPDX-License-Identifier: MIT */
/* The names that globs deny, P6 (plan/masked.c). */
#include "test.h"

#include "plan_lists.h"

static bool plan(struct world *w, const char *user)
{
	w->user = user;
	w->profile = "dev";
	if (world_plan(w))
		return true;
	printf("# %s\n", w->e.text);
	return false;
}

TEST(existing_names_are_found_whatever_they_are)
{
	scoped_world w;

	world_init(&w,
		   "f /repo/.env\nf /repo/a/b/.env\nd /repo/c/.env/x\no /repo/d/.env\n"
		   "f /repo/a/.env.md\nd /repo/.git\nf /other/.env\n",
		   "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/.env' = 'deny'\n"));
	CHECK_INT(w.plan->masked.count, 4);
	REQUIRE(find_masked(&w, "/repo/c/.env"));
	CHECK_INT(find_masked(&w, "/repo/c/.env")->type, HOST_DIR);
	CHECK(is_of_plan(&w, find_masked(&w, "/repo/c/.env")->rule));
	CHECK_INT(find_masked(&w, "/repo/c/.env")->rule->kind, RULE_GLOB);
	CHECK(find_masked(&w, "/repo/d/.env"));
	CHECK_INT(world_access(&w, "/repo/a/b/.env"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/repo/a/.env.md"), ACCESS_WRITE);
	CHECK(find_pin(&w, "/repo/a/b"));
	CHECK(has_note(&w, "when they are seen"));
}

TEST(the_placeholder_of_another_run_changes_nothing)
{
	static const char *const trees[] = { "d /repo/sub\nf /repo/x\n",
					     "d /repo/sub\nf /repo/x\np /repo/.codex\n"
					     "p /repo/sub/.codex\n" };
	size_t placeholders[2];

	for (size_t i = 0; i < COUNT_OF(trees); i++) {
		scoped_world w;

		world_init(&w, trees[i], "/repo");
		REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/.codex' = 'deny'\n"));
		CHECK_INT(w.plan->masked.count, 0);
		CHECK(find_placeholder(&w, "/repo/.codex"));
		CHECK_INT(world_access(&w, "/repo/.codex"), ACCESS_DENY);
		placeholders[i] = w.plan->placeholders.count;
	}
	CHECK_INT(placeholders[0], placeholders[1]);
}

TEST(a_secret_that_an_entry_lifts_is_not_masked)
{
	scoped_world w;

	world_init(&w, "f /repo/.env\nf /repo/a/.env\nd /repo/d/.env/x\nf /repo/d/.env/.env\n",
		   "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "':secrets' = 'deny'\n'/repo/.env' = 'read'\n"
				       "'/repo/d' = { '.env' = 'write' }\n"));
	CHECK_INT(world_access(&w, "/repo/.env"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/a/.env"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/repo/d/.env/x/y"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/d/.env/.env"), ACCESS_DENY);
	CHECK(!find_masked(&w, "/repo/.env") && !find_masked(&w, "/repo/d/.env"));
	CHECK(find_masked(&w, "/repo/a/.env") && find_masked(&w, "/repo/d/.env/.env"));
	/* A glob that the user wrote is no secret. */
	REQUIRE(plan(&w, WORKSPACE("") "':secrets' = 'deny'\n'/repo/.env' = 'read'\n"
				       "'/repo/*.env' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/repo/.env"), ACCESS_DENY);
	CHECK(find_masked(&w, "/repo/.env"));
}

TEST(a_link_is_not_masked_when_an_entry_lifts_what_it_leads_to)
{
	scoped_world w;

	world_init(&w, "d /repo\nl /repo/.env -> ../shared/env\nf /shared/env\n", "/repo");
	REQUIRE(plan(&w, "[permissions.dev.filesystem]\n'/' = 'read'\n':secrets' = 'deny'\n"));
	CHECK(find_masked(&w, "/repo/.env"));
	CHECK_INT(world_access(&w, "/shared/env"), ACCESS_DENY);
	REQUIRE(plan(&w, "[permissions.dev.filesystem]\n'/' = 'read'\n':secrets' = 'deny'\n"
			 "'/repo/.env' = 'read'\n"));
	CHECK(!find_masked(&w, "/repo/.env"));
	CHECK_INT(world_access(&w, "/shared/env"), ACCESS_READ);
	REQUIRE(w.plan->lifted.count == 1);
	CHECK(str_is(w.plan->lifted.items[0], "/repo/.env"));
}

/* Whichever of them comes first. */
TEST(a_link_that_another_glob_denies_too_is_not_lifted)
{
	static const char *const denies[] = { "':secrets' = 'deny'\n'/repo/**/.env' = 'deny'\n",
					      "'/repo/**/.env' = 'deny'\n':secrets' = 'deny'\n" };
	scoped_world w;

	world_init(&w, "d /repo\nl /repo/.env -> ../shared/env\nf /shared/env\n", "/repo");
	for (size_t i = 0; i < COUNT_OF(denies); i++) {
		char text[300];

		(void)snprintf(text, sizeof(text), "%s'/' = 'read'\n%s'/shared/env' = 'read'\n",
			       "[permissions.dev.filesystem]\n", denies[i]);
		REQUIRE(plan(&w, text));
		CHECK(find_masked(&w, "/repo/.env"));
		CHECK_INT(world_access(&w, "/shared/env"), ACCESS_DENY);
		CHECK_INT(w.plan->lifted.count, 0);
	}
}

TEST(strict_globs_say_nothing_of_a_watch)
{
	scoped_world w;

	world_init(&w, "f /repo/.env\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("globs = 'strict'\n") "'/repo/**/.env' = 'deny'\n"));
	CHECK(find_masked(&w, "/repo/.env"));
	CHECK(!has_note(&w, "when they are seen"));
}

TEST(a_matching_link_is_denied_with_its_target)
{
	scoped_world w;

	world_init(&w,
		   "l /repo/a/.env -> ../../data/secret\nf /data/secret\nf /data/other\n"
		   "l /repo/b/.env -> gone\nl /repo/c/.env -> .env\n",
		   "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/.env' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/data/secret"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/data/other"), ACCESS_READ);
	CHECK_INT(world_access(&w, "/repo/b/gone"), ACCESS_DENY);
	CHECK(find_placeholder(&w, "/repo/b/gone"));
	REQUIRE(find_link(&w, "/repo/a/.env"));
	CHECK(str_is(find_link(&w, "/repo/a/.env")->target, "/data/secret"));
	CHECK(is_of_plan(&w, find_link(&w, "/repo/a/.env")->rule));
	CHECK(find_link(&w, "/repo/c/.env"));
	REQUIRE(find_rule(&w, RULE_ENTRY, "/data/secret"));
	CHECK(strstr(find_rule(&w, RULE_ENTRY, "/data/secret")->note.p, "/repo/a/.env"));
}

TEST(linked_directories_are_not_followed)
{
	scoped_world w;

	world_init(&w, "l /repo/link -> /data\nf /data/.env\nl /repo/self -> .\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/.env' = 'deny'\n"));
	CHECK_INT(w.plan->masked.count, 0);
	CHECK_INT(world_access(&w, "/data/.env"), ACCESS_READ);
}

TEST(a_matching_directory_is_entered_only_for_what_is_reopened)
{
	scoped_world w;

	world_init(&w, "f /repo/x/deps/a/deps/f\nf /repo/y/deps/a/deps/f\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/deps' = 'deny'\n'/repo/x/deps/a' = 'write'\n"));
	CHECK_INT(w.plan->masked.count, 3);
	CHECK(find_masked(&w, "/repo/x/deps"));
	CHECK(find_masked(&w, "/repo/x/deps/a/deps"));
	CHECK(find_masked(&w, "/repo/y/deps"));
	CHECK_INT(world_access(&w, "/repo/x/deps/a/g"), ACCESS_WRITE);
	CHECK_INT(world_access(&w, "/repo/x/deps/a/deps/f"), ACCESS_DENY);
}

TEST(links_below_a_match_are_denied_with_their_targets)
{
	scoped_world w;

	/* One profile: the second glob masks the directory, the first one still counts in it. */
	world_init(&w,
		   "l /repo/conf/server.key -> ../../keys/real\nf /keys/real\n"
		   "l /repo/conf/sub/x -> /keys/x\nf /keys/x\nf /keys/other\n",
		   "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/*.key' = 'deny'\n'/repo/con?' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/repo/conf/server.key"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/keys/real"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/keys/x"), ACCESS_READ);
	/* What is masked with its directory is not listed again. */
	CHECK_INT(w.plan->masked.count, 1);
	CHECK(find_masked(&w, "/repo/conf"));
	/* The same glob that masks the directory matches what is in it. */
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/conf/**' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/keys/real"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/keys/x"), ACCESS_DENY);
	CHECK_INT(world_access(&w, "/keys/other"), ACCESS_READ);
	CHECK_INT(w.plan->masked.count, 1);
}

TEST(a_projects_glob_takes_no_deny_of_the_user_away)
{
	static const char *const projects[] = {
		"[filesystem]\n':workspace_roots' = { 'con?' = 'deny' }\n",
		"[filesystem]\n':workspace_roots' = { '**/server.*' = 'deny' }\n",
		"[filesystem]\n':workspace_roots' = { 'conf/*' = 'deny' }\n",
	};

	for (size_t i = 0; i < COUNT_OF(projects); i++) {
		scoped_world w;

		world_init(&w,
			   "l /repo/conf/server.key -> /keys/real\nf /keys/real/a\n"
			   "f /keys/other\n",
			   "/repo");
		w.project = projects[i];
		REQUIRE(plan(&w, "[permissions.dev.filesystem]\n':root' = 'read'\n"
				 "':workspace_roots' = { '.' = 'write', '**/*.key' = 'deny' }\n"));
		CHECK_INT(world_access(&w, "/repo/conf/server.key"), ACCESS_DENY);
		CHECK_INT(world_access(&w, "/keys/real/a"), ACCESS_DENY);
		CHECK_INT(world_access(&w, "/keys/other"), ACCESS_READ);
		REQUIRE(find_rule(&w, RULE_ENTRY, "/keys/real"));
		CHECK_INT(find_rule(&w, RULE_ENTRY, "/keys/real")->layer, 0);
	}
}

TEST(a_link_that_two_layers_match_is_denied_in_both)
{
	scoped_world w;

	/* The profile reopens part of the target; the project, which may narrow, does not. */
	world_init(&w, "l /repo/a.key -> /keys\nf /keys/open\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/*.key' = 'deny'\n'/keys/open' = 'read'\n"));
	CHECK_INT(world_access(&w, "/keys/open"), ACCESS_READ);
	w.project = "[filesystem]\n'/repo/**/a.*' = 'deny'\n";
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/*.key' = 'deny'\n'/keys/open' = 'read'\n"));
	CHECK_INT(world_access(&w, "/keys/open"), ACCESS_DENY);
	CHECK_INT(w.plan->links.count, 1);
	CHECK_INT(w.plan->masked.count, 1);
	/* Also when the two globs start at different directories. */
	w.project = "[filesystem]\n'/repo/a*' = 'deny'\n";
	REQUIRE(plan(&w, WORKSPACE("") "'/**/*.key' = 'deny'\n'/keys/open' = 'read'\n"));
	CHECK_INT(world_access(&w, "/keys/open"), ACCESS_DENY);
	CHECK_INT(w.plan->links.count, 1);
}

TEST(links_inside_a_match_to_what_it_masks_add_no_rules)
{
	size_t rules;
	scoped_world w;

	world_init(&w, "f /repo/deps/store/x\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/deps/**' = 'deny'\n"));
	rules = w.plan->rules.count;
	fake_host_add(&w.host, "l /repo/deps/a -> store/x\nl /repo/deps/b -> ../deps/store\n");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/deps/**' = 'deny'\n"));
	CHECK_INT(w.plan->rules.count, rules);
	fake_host_add(&w.host, "l /repo/deps/c -> /repo/gone\n");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/deps/**' = 'deny'\n"));
	CHECK_INT(world_access(&w, "/repo/gone"), ACCESS_DENY);
}

TEST(several_globs_share_a_walk_and_a_name_is_listed_once)
{
	size_t calls;
	scoped_world w;

	world_init(&w, "f /repo/a/k.pem\nf /repo/b/x.key\nf /repo/.env\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/*.pem' = 'deny'\n"));
	calls = w.host.calls;
	w.host.calls = 0;
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/*.pem' = 'deny'\n'/repo/**/k.*' = 'deny'\n"
				       "'/repo/**/{.env,*.key}' = 'deny'\n"));
	CHECK_INT(w.plan->masked.count, 3);
	CHECK(str_is(w.plan->masked.items[0].path, "/repo/.env"));
	CHECK(w.host.calls <= calls + 4);
}

TEST(directories_where_nothing_can_match_are_left_out)
{
	size_t calls;
	scoped_world w;

	world_init(&w, "f /repo/a/secret\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("nested = 'report'\n") "'/repo/a/s*' = 'deny'\n"));
	calls = w.host.calls;
	CHECK(find_masked(&w, "/repo/a/secret"));
	fake_host_add(&w.host, "f /repo/b/c/d/e\nf /repo/a/b/c/d\n");
	w.host.calls = 0;
	REQUIRE(plan(&w, WORKSPACE("nested = 'report'\n") "'/repo/a/s*' = 'deny'\n"));
	CHECK_INT(w.host.calls, calls);
}

TEST(directories_that_the_kernel_makes_up_are_not_searched)
{
	scoped_world w;

	world_init(&w, "f /proc/1/.env\nf /sys/.env\nf /dev/.env\nf /srv/.env\nd /repo\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/**/.env' = 'deny'\n"));
	CHECK_INT(w.plan->masked.count, 1);
	CHECK(find_masked(&w, "/srv/.env"));
	CHECK_INT(world_access(&w, "/proc/1/.env"), ACCESS_DENY);
}

TEST(a_directory_that_can_not_be_listed_gets_a_warning)
{
	scoped_world w;

	world_init(&w, "h /repo/locked\nf /repo/.env\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/repo/**/.env' = 'deny'\n"));
	CHECK_INT(w.plan->masked.count, 1);
	CHECK(has_note(&w, "/repo/locked can't be listed"));
}

TEST(a_locked_directory_in_a_scan_is_an_error)
{
	static const char *const closed[] = { "c /repo/locked\n", "x /repo/locked\n",
					      "l /repo/.env -> /locked/x\nc /locked\n" };

	for (size_t i = 0; i < COUNT_OF(closed); i++) {
		scoped_world w;

		world_init(&w, closed[i], "/repo");
		CHECK(!plan(&w, WORKSPACE("") "'/repo/**/.env' = 'deny'\n"));
		CHECK_INT(w.e.code, ERR_POLICY);
		CHECK(strstr(w.e.text, "user.toml:6:1: \"/repo/**/.env\""));
		CHECK_INT(w.e.cause, CAUSE_PATH_LOCKED);
		CHECK(strstr(w.e.text, "/locked "));
		/* Where nothing can match, nothing is lost. */
		CHECK(i == 2 || plan(&w, WORKSPACE("") "'/repo/l*' = 'deny'\n"));
	}
}

TEST(a_glob_of_a_missing_directory_finds_nothing)
{
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	REQUIRE(plan(&w, WORKSPACE("") "'/gone/**/.env' = 'deny'\n"));
	CHECK_INT(w.plan->masked.count, 0);
	CHECK_INT(world_access(&w, "/gone/a/.env"), ACCESS_DENY);
}

TEST(a_projects_glob_counts_as_well)
{
	scoped_world w;

	world_init(&w, "f /repo/a/.env\nl /repo/b/.env -> /data/s\nf /data/s\n", "/repo");
	w.project = "[filesystem]\n'/repo/**/.env' = 'deny'\n";
	REQUIRE(plan(&w, WORKSPACE("")));
	CHECK(find_masked(&w, "/repo/a/.env"));
	CHECK_INT(world_access(&w, "/data/s"), ACCESS_DENY);
	CHECK_INT(find_rule(&w, RULE_ENTRY, "/data/s")->layer, 1);
}

/* ---- Limits: a host with as many names as are asked for ------------------- */

struct crowd {
	size_t names;
	size_t matches;
	const char *prefix; /* of each name */
};

static int crowd_look(void *user, struct str path, struct host_file *out, struct err *e)
{
	(void)user;
	(void)e;
	*out = (struct host_file){ .type = HOST_DIR, .device = 1, .inode = 1 };
	if (!str_is(path, "/") && !str_is(path, "/repo"))
		out->type = HOST_MISSING;
	return 0;
}

static int crowd_list(void *user, struct str path,
		      int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		      void *arg, struct err *e)
{
	const struct crowd *c = user;
	char name[256];
	int r = 0;

	(void)path;
	for (size_t i = 0; r == 0 && i < c->names; i++) {
		snprintf(name, sizeof(name), i < c->matches ? "%s%zu.key" : "%s%zu.txt",
			 c->prefix ? c->prefix : "", i);
		r = each(arg, str_of(name), HOST_FILE, e);
	}
	return r;
}

static bool plan_crowd(struct world *w, struct crowd crowd)
{
	struct host host = { .user = &crowd, .look = crowd_look, .list = crowd_list };

	if (!world_policy(w))
		return false;
	w->in.policy = w->policy;
	w->in.host = &host;
	w->plan = plan_build(&w->a, &w->in, &w->e);
	w->in.host = &w->host.host;
	return w->plan != NULL;
}

TEST(too_many_names_or_matches_are_an_error_that_names_the_glob)
{
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	w.user = "[permissions.dev.filesystem]\n':root' = 'read'\n'/repo/**/*.key' = 'deny'\n";
	w.profile = "dev";
	REQUIRE(plan_crowd(&w, (struct crowd){ .names = 1000000, .matches = 10000 }));
	CHECK_INT(w.plan->masked.count, 10000);
	CHECK(!plan_crowd(&w, (struct crowd){ .names = 1000001 }));
	CHECK_INT(w.e.code, ERR_LIMIT);
	CHECK(strstr(w.e.text, "/repo/**/*.key"));
	CHECK_INT(w.e.cause, CAUSE_GLOB_LIMIT);
	CHECK(!plan_crowd(&w, (struct crowd){ .names = 100001, .matches = 100001 }));
	CHECK_INT(w.e.code, ERR_LIMIT);
	CHECK(strstr(w.e.text, "matches"));
}

/* A profile with `count` globs, each with its number between `before` and `after`. */
static const char *many_globs(const char *before, const char *after, size_t count)
{
	static char text[1 << 20];
	size_t len = (size_t)snprintf(text, sizeof(text),
				      "[permissions.dev.filesystem]\n':root' = 'read'\n");

	for (size_t i = 0; i < count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"'/repo/**/%s%zu%s' = 'deny'\n", before, i, after);
	return text;
}

TEST(a_scan_that_would_take_too_long_is_an_error_that_names_the_glob)
{
	static const char braces[] = "{a*,b*}{a*,b*}{a*,b*}{a*,b*}{a*,b*}{a*,b*}{a*,b*}";
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	w.profile = "dev";
	/* What people write, on a tree larger than most. */
	w.user = many_globs("*.k", "", 12);
	CHECK(plan_crowd(&w, (struct crowd){ .names = 500000 }));
	w.user = many_globs("{*.k", ",id_*.[a-z]*,.env}", 12);
	CHECK(plan_crowd(&w, (struct crowd){ .names = 500000 }));
	w.user = many_globs("*.k", "", 1000);
	CHECK(plan_crowd(&w, (struct crowd){ .names = 10000 }));
	CHECK(!plan_crowd(&w, (struct crowd){ .names = 500000 }));
	CHECK_INT(w.e.code, ERR_LIMIT);
	w.user = many_globs(braces, "", 200);
	CHECK(plan_crowd(&w, (struct crowd){ .names = 1000 }));
	CHECK(!plan_crowd(&w, (struct crowd){ .names = 100000, .prefix = "aaaaaaaaaaaaaaaaaaaa" }));
	CHECK_INT(w.e.code, ERR_LIMIT);
	CHECK(strstr(w.e.text, "user.toml:"));
	CHECK(strstr(w.e.text, "{a*,b*}"));
	CHECK_INT(w.e.cause, CAUSE_GLOB_LIMIT);
}

TEST(many_globs_and_many_entries_together_are_an_error)
{
	static char text[1 << 22];
	size_t len = (size_t)snprintf(text, sizeof(text), "[filesystem]\n");
	scoped_world w;

	world_init(&w, "d /repo\n", "/repo");
	w.profile = ":workspace";
	w.project = text;
	for (size_t i = 0; i < 40000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "'/gone/%zu' = 'deny'\n",
					i);
	CHECK(world_plan(&w));
	for (size_t i = 0; i < 4000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"'/gone/**/z%zu*' = 'deny'\n", i);
	CHECK(!world_plan(&w));
	CHECK_INT(w.e.code, ERR_LIMIT);
	CHECK(strstr(w.e.text, "project.toml:"));
}
