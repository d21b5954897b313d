/* SPDX-License-Identifier: MIT */
/* Commands that are run outside for a command in a sandbox, as a host program sees them. */
#include "host.h"

static char state[256], config[256], script_text[1024];

#define ALL_ALLOWED "allow = [\"none\", \"escalate\"]\n"

/* A run that has `words` run outside, in ws/; the rules are in config.toml. */
static bool prepare(struct ask *ask, const char *rules, const char *words)
{
	static const char *environment[3];
	const char *program = getenv("CORDON");

	if (!program)
		return false;
	(void)mkdir("ws", 0700);
	(void)mkdir("system", 0700);
	scratch_put("config.toml", rules);
	scratch_put("system/requirements.toml", ALL_ALLOWED);
	(void)snprintf(state, sizeof(state), "XDG_STATE_HOME=%s/state", scratch_top);
	(void)snprintf(config, sizeof(config), "%s/config.toml", scratch_top);
	(void)snprintf(script_text, sizeof(script_text), "exec %s escalate -- %s 2>&1", program,
		       words);
	environment[0] = "HOME=/nonexistent";
	environment[1] = state;
	ask_script(ask, "native", script_text);
	ask->load.environment = environment;
	ask->load.directory = "ws";
	ask->load.system_directory = "system";
	ask->load.config_file = config;
	return true;
}

#define RULE(argv, run) "[[exec]]\nargv = " argv "\ndecision = 'allow'\nrun = '" run "'\n"

/* The status, or -1. */
static int status_of(const struct ask *ask)
{
	cordon_result *result = run_it(ask);
	int status = result ? cordon_result_status(result) : -1;

	if (result && status)
		printf("# %s\n", cordon_result_output(result, CORDON_STREAM_STDOUT, NULL));
	cordon_result_free(result);
	return status;
}

TEST(the_requirements_hold_against_rules)
{
	struct ask ask;

	if (!prepare(&ask, RULE("['true']", ":danger-full-access") RULE("['pwd']", ":read-only"),
		     "true"))
		SKIP("CORDON does not name the program");
	CHECK_INT(status_of(&ask), 0);
	scratch_put("system/requirements.toml", "allow = [\"escalate\"]\n");
	CHECK_INT(status_of(&ask), 1);
	scratch_put("system/requirements.toml", "allow = [\"none\"]\n");
	CHECK_INT(status_of(&ask), 1);

	REQUIRE(prepare(&ask, RULE("['pwd']", ":read-only"), "pwd"));
	scratch_put("system/requirements.toml", "allow = [\"escalate\"]\n");
	CHECK_INT(status_of(&ask), 0);
	scratch_put("system/requirements.toml", "allow = [\"none\"]\n");
	CHECK_INT(status_of(&ask), 1);
}

TEST(the_requirements_narrow_what_runs_outside)
{
	struct ask ask;

	if (!prepare(&ask, RULE("['cat', '/etc/hostname']", ":read-only"), "cat /etc/hostname"))
		SKIP("CORDON does not name the program");
	CHECK_INT(status_of(&ask), 0);
	scratch_put("system/requirements.toml",
		    ALL_ALLOWED "[filesystem]\n\"/etc/hostname\" = \"deny\"\n");
	CHECK_INT(status_of(&ask), 1);
}

TEST(a_loaded_policy_has_nothing_run_outside)
{
	cordon_policy *policy = NULL;
	struct ask ask;

	if (!prepare(&ask, RULE("['true']", ":danger-full-access"), "true"))
		SKIP("CORDON does not name the program");
	REQUIRE(cordon_policy_load(&ask.load, &policy, NULL) == 0);
	ask.load = (struct cordon_load_options){ .size = sizeof(ask.load) };
	ask.run.policy = policy;
	CHECK_INT(status_of(&ask), 1);
	cordon_policy_free(policy);
}

TEST(a_shell_of_cordon_has_nothing_run_without_a_sandbox)
{
	struct ask ask;

	if (!prepare(&ask, RULE("['true']", ":danger-full-access"), "true"))
		SKIP("CORDON does not name the program");
	ask.run.flags |= CORDON_RUN_SHELL;
	CHECK_INT(status_of(&ask), 1);
	REQUIRE(prepare(&ask, RULE("['true']", ":read-only"), "true"));
	ask.run.flags |= CORDON_RUN_SHELL;
	CHECK_INT(status_of(&ask), 0);
}

/* ---- The caller decides -------------------------------------------------------------------------- */

struct decided {
	size_t asked;
	bool is_allow, is_right;
};

static void decide(void *user, const struct cordon_ask_request *request,
		   struct cordon_answer *answer)
{
	struct decided *d = user;

	d->asked++;
	d->is_right = strcmp(request->kind, "escalate") == 0 && request->argv &&
		      strcmp(request->argv[0], "touch") == 0 && request->offer_count == 1 &&
		      !(request->offers[0].scopes & (CORDON_SCOPE_ALWAYS | CORDON_SCOPE_SESSION));
	answer->decision = d->is_allow ? CORDON_DECISION_ALLOW : CORDON_DECISION_DENY;
	answer->scope = "once";
}

TEST(the_caller_is_asked_about_what_no_rule_names)
{
	struct decided decided = { .asked = 0 };
	struct stat st;
	struct ask ask;

	if (!prepare(&ask, "", "touch made"))
		SKIP("CORDON does not name the program");
	ask.load.mode = "read-only";
	ask.run.on_ask = decide;
	ask.run.run_user = &decided;
	CHECK_INT(status_of(&ask), 1);
	CHECK(decided.asked == 1 && decided.is_right);
	CHECK(stat("ws/made", &st) < 0);
	decided = (struct decided){ .is_allow = true };
	CHECK_INT(status_of(&ask), 0);
	CHECK(decided.asked == 1 && decided.is_right);
	CHECK(stat("ws/made", &st) == 0);
}

/* ---- What is left --------------------------------------------------------------------------------- */

TEST(nothing_is_left_of_it)
{
	struct ask ask;
	int before;

	if (!prepare(&ask, RULE("['true']", ":danger-full-access"), "true"))
		SKIP("CORDON does not name the program");
	CHECK_INT(status_of(&ask), 0);
	before = count_descriptors();
	for (int i = 0; i < 5; i++)
		CHECK_INT(status_of(&ask), 0);
	CHECK_INT(count_descriptors(), before);
}

TEST(outside_of_a_sandbox_nobody_answers)
{
	static const char *const words[] = { "true", NULL };
	static const char *const none[] = { NULL };
	struct cordon_escalate_options options = { .size = sizeof(options),
						   .command = words,
						   .signals = -1 };
	cordon_report *report = NULL;
	int status;

	CHECK_INT(cordon_escalate(&options, &status, &report, NULL), -CORDON_E_NOTFOUND);
	CHECK_INT(cordon_escalate(&options, NULL, &report, NULL), -CORDON_E_ARGUMENT);
	CHECK_INT(cordon_escalate(NULL, &status, &report, NULL), -CORDON_E_ARGUMENT);
	options.command = none;
	CHECK_INT(cordon_escalate(&options, &status, &report, NULL), -CORDON_E_ARGUMENT);
	CHECK(report == NULL);
}
