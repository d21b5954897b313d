/* SPDX-License-Identifier: MIT */
/* Approvals that outlive a run, through libcordon: what was granted in one run is not asked about in the next. */
#include "host.h"

struct asked {
	const char *scope; /* NULL: no */
	uint64_t scopes;   /* of all offers of the last request */
	unsigned count;
};

static void allow(void *user, const struct cordon_ask_request *request,
		  struct cordon_answer *answer)
{
	struct asked *asked = user;

	asked->count++;
	asked->scopes = 0;
	for (uint64_t i = 0; i < request->offer_count; i++)
		asked->scopes |= request->offers[i].scopes;
	answer->decision = asked->scope ? CORDON_DECISION_ALLOW : CORDON_DECISION_DENY;
	answer->scope = asked->scope;
}

/* A home and a state of its own for each test. */
static const char *const *world(const char *name)
{
	static char words[2][160];
	static const char *list[3] = { words[0], words[1], NULL };

	(void)snprintf(words[0], sizeof(words[0]), "HOME=%s/%s", scratch_top, name);
	(void)snprintf(words[1], sizeof(words[1]), "XDG_STATE_HOME=%s/%s/state", scratch_top, name);
	(void)mkdir(name, 0700);
	(void)mkdir("ws", 0700);
	(void)mkdir("ws2", 0700);
	(void)nftw("out", scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	(void)mkdir("out", 0755);
	return list;
}

static void prepare(struct ask *ask, const char *const *environment, struct asked *asked)
{
	ask_script(ask, "native", "echo new > ../out/new");
	ask->load.environment = environment;
	ask->load.directory = "ws";
	ask->run.timeout_ms = 60000;
	ask->run.flags |= CORDON_RUN_QUIET;
	if (asked) {
		ask->run.on_ask = allow;
		ask->run.run_user = asked;
	}
}

/* The status of the command; -1: there was no run. */
static int status_of(const struct ask *ask)
{
	cordon_result *result = run_it(ask);
	int status = result ? (int)cordon_result_status(result) : -1;

	cordon_result_free(result);
	return status;
}

static bool is_written(void)
{
	return unlink("out/new") == 0;
}

static int count_kept(const struct ask *ask)
{
	cordon_report *report = NULL;
	const char *text;
	int count = 0;

	if (cordon_approvals(&ask->load, NULL, 0, &report, NULL) < 0)
		return -1;
	text = cordon_report_text(report, CORDON_TEXT_BRIEF);
	for (; text && *text; text++)
		count += *text == '\n';
	cordon_report_free(report);
	return count;
}

TEST(what_was_allowed_always_is_not_asked_about_again)
{
	struct asked asked = { .scope = "always" };
	const char *const *environment = world("always");
	struct ask first, next, elsewhere;

	prepare(&first, environment, &asked);
	CHECK_INT(status_of(&first), 0);
	CHECK_INT(asked.count, 1);
	CHECK(is_written());
	CHECK_INT(count_kept(&first), 1);
	/* Nobody to ask is needed. */
	prepare(&next, environment, NULL);
	CHECK_INT(status_of(&next), 0);
	CHECK(is_written());
	prepare(&elsewhere, environment, &asked);
	elsewhere.load.directory = "ws2";
	CHECK_INT(status_of(&elsewhere), 0);
	CHECK(is_written());
	CHECK_INT(asked.count, 1);
}

TEST(what_was_allowed_for_less_is_asked_about_again)
{
	static const char *const scopes[] = { "run", "minutes:10" };
	const char *const *environment = world("less");

	for (size_t i = 0; i < 2; i++) {
		struct asked asked = { .scope = scopes[i] };
		struct ask ask;

		prepare(&ask, environment, &asked);
		CHECK_INT(status_of(&ask), 0);
		CHECK(is_written());
		CHECK_INT(status_of(&ask), 0);
		CHECK(is_written());
		CHECK_INT(asked.count, 2);
		CHECK_INT(count_kept(&ask), 0);
		prepare(&ask, environment, NULL);
		CHECK(status_of(&ask) != 0);
		CHECK(!is_written());
	}
}

TEST(what_a_session_allows_is_not_asked_about_in_it_and_is_elsewhere)
{
	struct asked asked = { .scope = "session" };
	const char *const *environment = world("session");
	struct ask ask;

	prepare(&ask, environment, &asked);
	ask.load.session = "work";
	CHECK_INT(status_of(&ask), 0);
	CHECK(is_written());
	CHECK(asked.scopes & CORDON_SCOPE_SESSION);
	CHECK_INT(status_of(&ask), 0);
	CHECK(is_written());
	CHECK_INT(asked.count, 1);
	/* Also in a run that asks nobody. */
	ask.run.on_ask = NULL;
	CHECK_INT(status_of(&ask), 0);
	CHECK(is_written());
	ask.load.directory = "ws2";
	CHECK(status_of(&ask) != 0);
	ask.load.directory = "ws";
	ask.load.session = "other";
	CHECK(status_of(&ask) != 0);
	ask.load.session = NULL;
	CHECK(status_of(&ask) != 0 && !is_written());
	ask.run.on_ask = allow;
	asked.scope = "run";
	CHECK_INT(status_of(&ask), 0);
	CHECK(is_written());
	CHECK(!(asked.scopes & CORDON_SCOPE_SESSION));
}

TEST(what_is_ended_while_a_run_goes_on_is_refused_in_it)
{
	struct asked asked = { .scope = "always" };
	const char *const *environment = world("ended");
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	cordon_report *report = NULL;
	struct ask ask;

	prepare(&ask, environment, &asked);
	ask.words[2] =
		"echo one > ../out/one; while echo x 2>/dev/null > ../out/two; do sleep 0.05; "
		"done; echo shut";
	REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
	while (!asked.count && cordon_poll(run, 1000, NULL) == 0)
		continue;
	for (int i = 0; i < 10; i++)
		(void)cordon_poll(run, 50, NULL);
	asked.scope = NULL;
	CHECK_INT(cordon_approvals_end(&ask.load, NULL, 0, &report, NULL), 0);
	cordon_report_free(report);
	CHECK_INT(count_kept(&ask), 0);
	REQUIRE(cordon_wait(run, &result, NULL) == 0);
	CHECK_STR(cordon_result_output(result, CORDON_STREAM_STDOUT, NULL), "shut\n");
	CHECK_INT(asked.count, 2); /* it is asked about again, and denied */
	cordon_result_free(result);
}
