/* SPDX-License-Identifier: MIT */
/* Tests of src/lib/approvals.c and src/policy/digest.c: what is kept in one run counts in the next. */
#include <sys/stat.h>
#include <unistd.h>

#include "lib/lib.h"
#include "scratch.h"
#include "test.h"

static char warned[4096];

static void keep_warning(void *user, const char *text)
{
	(void)user;
	(void)snprintf(warned + strlen(warned), sizeof(warned) - strlen(warned), "%s\n", text);
}

struct fixture {
	char home[256], repo[256], other[256], etc[256], out[256];
	const char *environment[2];
	struct cordon_load_options options;
};

static bool fixture_init(struct fixture *f, const char *name)
{
	char top[200];

	memset(f, 0, sizeof(*f));
	if (chdir(scratch_top) < 0 || mkdir(name, 0700) < 0 || chdir(name) < 0 ||
	    mkdir("home", 0700) < 0 || mkdir("repo", 0700) < 0 || mkdir("other", 0700) < 0 ||
	    mkdir("etc", 0700) < 0 || mkdir("out", 0700) < 0 || mkdir("home/.config", 0700) < 0 ||
	    mkdir("home/.config/cordon", 0700) < 0 || !getcwd(top, sizeof(top)))
		return false;
	(void)snprintf(f->home, sizeof(f->home), "HOME=%s/home", top);
	(void)snprintf(f->repo, sizeof(f->repo), "%s/repo", top);
	(void)snprintf(f->other, sizeof(f->other), "%s/other", top);
	(void)snprintf(f->etc, sizeof(f->etc), "%s/etc", top);
	(void)snprintf(f->out, sizeof(f->out), "%s/out", top);
	f->environment[0] = f->home;
	f->options.size = sizeof(f->options);
	f->options.directory = f->repo;
	f->options.system_directory = f->etc;
	f->options.environment = f->environment;
	f->options.on_warning = keep_warning;
	f->options.profile = "p";
	f->options.session = "work";
	scratch_put("home/.config/cordon/config.toml",
		    "[permissions.p.filesystem]\n':root' = 'read'\n':workspace_roots' = 'write'\n");
	return true;
}

static cordon_policy *load(struct fixture *f)
{
	cordon_policy *policy = NULL;
	cordon_error *error = NULL;

	warned[0] = '\0';
	if (cordon_policy_load(&f->options, &policy, &error) < 0) {
		printf("# %s\n", cordon_error_text(error));
		cordon_error_free(error);
	}
	return policy;
}

static int access_of(const cordon_policy *policy, const char *path)
{
	uint32_t access = 99;

	if (!policy || cordon_policy_access(policy, path, strlen(path), 0, &access, NULL) < 0)
		return -1;
	return (int)access;
}

static int access_now(struct fixture *f)
{
	cordon_policy *policy = load(f);
	int access = access_of(policy, f->out);

	cordon_policy_free(policy);
	return access;
}

static bool keep(struct fixture *f, enum grant_scope scope, struct str *id)
{
	const struct grant grant = { .kind = ASK_WRITE, .subject = str_of(f->out), .is_dir = true };
	static struct arena arena = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	cordon_policy *policy = load(f);
	bool is_kept = policy &&
		       lasting_add(&arena, &policy->lasting, scope, &grant, "tty", id, &e) == 0;

	if (!is_kept)
		printf("# %s\n", e.text);
	cordon_policy_free(policy);
	return is_kept;
}

TEST(what_a_session_got_counts_in_its_next_run)
{
	struct fixture f;
	struct str id;

	REQUIRE(fixture_init(&f, "session"));
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
	REQUIRE(keep(&f, SCOPE_SESSION, &id));
	CHECK_INT(access_now(&f), CORDON_ACCESS_WRITE);
	CHECK_STR(warned, "");
	f.options.session = "other";
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
	f.options.session = NULL;
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
}

TEST(what_a_session_got_does_not_count_elsewhere)
{
	static const char *const narrower[] = { "permissions.p.limits.processes=7" };
	const char *denied;
	struct fixture f;
	struct str id;

	REQUIRE(fixture_init(&f, "bound") && keep(&f, SCOPE_SESSION, &id));
	CHECK_INT(access_now(&f), CORDON_ACCESS_WRITE);
	f.options.directory = f.other;
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
	CHECK(strstr(warned, "sessions/work:") && strstr(warned, "another workspace"));
	f.options.directory = f.repo;
	f.options.overrides = narrower;
	f.options.override_count = 1;
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
	f.options.override_count = 0;
	denied = f.other;
	f.options.deny = &denied;
	f.options.deny_count = 1;
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
	f.options.deny_count = 0;
	CHECK_INT(access_now(&f), CORDON_ACCESS_WRITE);
	/* A project that narrows is another policy, one that only says something is not. */
	REQUIRE(mkdir("repo/.cordon", 0700) == 0);
	scratch_put("repo/.cordon/config.toml", "[filesystem]\n'/etc' = 'deny'\n");
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
	REQUIRE(unlink("repo/.cordon/config.toml") == 0);
	CHECK_INT(access_now(&f), CORDON_ACCESS_WRITE);
	scratch_put("etc/requirements.toml", "[network]\nenabled = false\n");
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
}

TEST(how_a_policy_is_written_does_not_matter_to_a_session)
{
	struct fixture f;
	struct str id;

	REQUIRE(fixture_init(&f, "written") && keep(&f, SCOPE_SESSION, &id));
	scratch_put("home/.config/cordon/config.toml",
		    "# a comment\n[permissions.other]\n[permissions.p]\nfilesystem = { "
		    "':workspace_roots' = { '.' = 'write' }, ':root' = 'read' }\n");
	CHECK_INT(access_now(&f), CORDON_ACCESS_WRITE);
	scratch_put("home/.config/cordon/config.toml",
		    "[permissions.p.filesystem]\n':root' = 'read'\n':workspace_roots' = 'read'\n");
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
}

TEST(what_is_always_allowed_counts_everywhere_for_its_profile)
{
	struct fixture f;
	struct str id;

	REQUIRE(fixture_init(&f, "always"));
	f.options.session = NULL;
	REQUIRE(keep(&f, SCOPE_ALWAYS, &id));
	CHECK_INT(access_now(&f), CORDON_ACCESS_WRITE);
	f.options.directory = f.other;
	CHECK_INT(access_now(&f), CORDON_ACCESS_WRITE);
	f.options.profile = ":read-only";
	CHECK_INT(access_now(&f), CORDON_ACCESS_READ);
	CHECK_STR(warned, "");
	f.options.profile = ":danger-full-access";
	CHECK_INT(access_now(&f), CORDON_ACCESS_WRITE);
}

TEST(a_policy_that_was_loaded_before_a_revoke_does_not_outlive_it)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct str id;
	size_t count = 0;
	const struct run_needs needs = { .port_option = NULL };
	cordon_policy *policy, *again;
	struct lasting lasting;

	REQUIRE(fixture_init(&f, "revoke") && keep(&f, SCOPE_ALWAYS, &id));
	policy = load(&f);
	REQUIRE(policy);
	lasting = policy->lasting;
	CHECK(!lasting_changed(&lasting));
	again = load_again(policy, &f.options, &needs, &e);
	CHECK_INT(access_of(again, f.out), CORDON_ACCESS_WRITE);
	cordon_policy_free(again);
	REQUIRE(store_revoke(&lasting.always, &id, 1, &count, &e) == 0 && count == 1);
	CHECK(lasting_changed(&lasting));
	again = load_again(policy, &f.options, &needs, &e);
	CHECK_INT(access_of(again, f.out), CORDON_ACCESS_READ);
	cordon_policy_free(again);
	cordon_policy_free(policy);
}

TEST(who_decides_is_protected_also_with_a_policy_that_was_loaded_before)
{
	struct fixture f;
	struct err e = ERR_INIT;
	char decide[300];
	struct run_needs needs = { .asks = true, .decider = STR_EMPTY };
	cordon_policy *policy, *again;

	REQUIRE(fixture_init(&f, "decider"));
	(void)snprintf(decide, sizeof(decide), "%s/decide", f.repo);
	policy = load(&f);
	REQUIRE(policy);
	again = load_again(policy, &f.options, &needs, &e);
	CHECK_INT(access_of(again, decide), CORDON_ACCESS_WRITE);
	cordon_policy_free(again);
	needs.decider = str_of(decide);
	again = load_again(policy, &f.options, &needs, &e);
	CHECK_INT(access_of(again, decide), CORDON_ACCESS_READ);
	CHECK_INT(access_of(again, f.repo), CORDON_ACCESS_WRITE);
	/* And so are the other files of Cordon. */
	CHECK_INT(access_of(again, f.etc), CORDON_ACCESS_READ);
	cordon_policy_free(again);
	CHECK_INT(access_of(policy, decide), CORDON_ACCESS_WRITE);
	cordon_policy_free(policy);
}

TEST(homes_are_known_wherever_something_may_be_granted)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct run_needs needs = { .asks = false };
	cordon_policy *policy, *again;

	REQUIRE(fixture_init(&f, "homes"));
	f.options.profile = ":read-only";
	policy = load(&f);
	REQUIRE(policy);
	again = load_again(policy, &f.options, &needs, &e);
	REQUIRE(again);
	CHECK_INT(again->plan_inputs.places.home_count, 0);
	cordon_policy_free(again);
	needs.asks = true;
	again = load_again(policy, &f.options, &needs, &e);
	REQUIRE(again);
	CHECK(again->plan_inputs.places.home_count > 0);
	cordon_policy_free(again);
	cordon_policy_free(policy);
}

TEST(a_repeated_run_has_what_was_granted_only_as_it_was)
{
	struct fixture f;
	struct err e = ERR_INIT;
	struct grant grant = { .kind = ASK_WRITE, .is_dir = true };
	const struct run_needs needs = { .asks = true, .grants = &grant, .grant_count = 1 };
	cordon_policy *policy, *again;

	REQUIRE(fixture_init(&f, "repeated"));
	grant.subject = str_of(f.out);
	policy = load(&f);
	REQUIRE(policy);
	again = load_again(policy, &f.options, &needs, &e);
	CHECK_INT(access_of(again, f.out), CORDON_ACCESS_WRITE);
	cordon_policy_free(again);
	/* The first run has put a file in the place of the directory. */
	REQUIRE(rmdir("out") == 0);
	scratch_put("out", "");
	again = load_again(policy, &f.options, &needs, &e);
	CHECK_INT(access_of(again, f.out), CORDON_ACCESS_READ);
	cordon_policy_free(again);
	REQUIRE(unlink("out") == 0 && symlink("other", "out") == 0);
	again = load_again(policy, &f.options, &needs, &e);
	CHECK_INT(access_of(again, f.out), CORDON_ACCESS_READ);
	CHECK_INT(access_of(again, f.other), CORDON_ACCESS_READ);
	cordon_policy_free(again);
	cordon_policy_free(policy);
}

TEST(what_would_ask_has_the_same_digest_as_what_would_not)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	struct profile profile = { .name = STR("p") };
	struct layer layer = { .kind = LAYER_PROFILE };
	struct policy policy = { .profile = &profile,
				 .layers = { .items = &layer, .count = 1, .room = 1 } };
	struct net_rule rule = { .is_allow = true };
	struct str off, asking, managed, with_rule, exact, asking_exact, asking_with_rule;

	REQUIRE(policy_digest(&a, &policy, &off, &e) == 0);
	REQUIRE(policy_digest_exact(&a, &policy, &exact, &e) == 0);
	layer.net.access = NET_MANAGED;
	layer.net.access_origin.file = "--ask";
	REQUIRE(policy_digest(&a, &policy, &asking, &e) == 0);
	REQUIRE(policy_digest_exact(&a, &policy, &asking_exact, &e) == 0);
	layer.net.access_origin.file = "config.toml";
	REQUIRE(policy_digest(&a, &policy, &managed, &e) == 0);
	REQUIRE(domain_parse(&a, STR("example.com"), &rule.domain, &e) == 0);
	layer.net.rules.items = &rule;
	layer.net.rules.count = 1;
	REQUIRE(policy_digest(&a, &policy, &with_rule, &e) == 0);
	layer.net.access_origin.file = "--ask";
	REQUIRE(policy_digest_exact(&a, &policy, &asking_with_rule, &e) == 0);
	CHECK(str_eq(off, asking));
	CHECK(str_eq(off, exact) && str_eq(off, asking_exact) && !str_eq(off, asking_with_rule));
	CHECK(!str_eq(off, managed) && !str_eq(managed, with_rule));
	CHECK(str_has_prefix(off, STR("sha256:")));
}
