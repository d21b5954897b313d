/* SPDX-License-Identifier: MIT */
/*
 * Approvals through libcordon (P18): the caller is asked about what the policy refuses, and the same
 * process goes on, or gets its errno. Real commands write to a directory outside of their workspace.
 */
#include "host.h"

enum { SOON_MS = 20000 };

/* ---- The world and who is asked ---------------------------------------------------------------- */

struct asked {
	uint64_t decision;
	const char *scope;
	const char *message;
	uint64_t denies_rest;
	unsigned count, withdrawn;
	uint64_t id, pid, offers, dir, scopes;
	char kind[32], operation[32], subject[512], offer[512], program[256], word[64], rule[128];
};

static void take(char *out, size_t size, const char *text)
{
	(void)snprintf(out, size, "%s", text ? text : "");
}

static void decide(void *user, const struct cordon_ask_request *request,
		   struct cordon_answer *answer)
{
	struct asked *asked = user;

	asked->count++;
	asked->id = request->id;
	asked->pid = request->pid;
	asked->offers = request->offer_count;
	take(asked->kind, sizeof(asked->kind), request->kind);
	take(asked->operation, sizeof(asked->operation), request->operation);
	take(asked->subject, sizeof(asked->subject), request->subject);
	take(asked->program, sizeof(asked->program), request->program);
	take(asked->rule, sizeof(asked->rule), request->rule);
	take(asked->word, sizeof(asked->word), request->argv ? request->argv[0] : NULL);
	/* The narrowest that lasts for the run. */
	for (uint64_t i = request->offer_count; i > 0; i--) {
		if (!(request->offers[i - 1].scopes & CORDON_SCOPE_RUN))
			continue;
		take(asked->offer, sizeof(asked->offer), request->offers[i - 1].subject);
		asked->dir = request->offers[i - 1].is_directory;
		asked->scopes = request->offers[i - 1].scopes;
	}
	answer->decision = asked->decision;
	answer->scope = asked->scope;
	answer->message = asked->message;
	answer->denies_rest = asked->denies_rest;
}

static void withdraw(void *user, uint64_t id)
{
	struct asked *asked = user;

	asked->withdrawn += id == asked->id;
}

static char home[64], state[64], outside[64];

static const char *const *world(void)
{
	static const char *list[3];
	static char words[2][96];

	if (list[0])
		return list;
	(void)snprintf(home, sizeof(home), "%s/home", scratch_top);
	(void)snprintf(state, sizeof(state), "%s/state", scratch_top);
	(void)snprintf(outside, sizeof(outside), "%s/out", scratch_top);
	(void)mkdir("home", 0700);
	(void)mkdir("ws", 0700);
	(void)snprintf(words[0], sizeof(words[0]), "HOME=%s", home);
	(void)snprintf(words[1], sizeof(words[1]), "XDG_STATE_HOME=%s", state);
	list[0] = words[0];
	list[1] = words[1];
	return list;
}

/* The directory outside of the workspace is new in each test. */
static void ask_about(struct ask *ask, const char *script, struct asked *asked)
{
	(void)nftw("out", scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	(void)mkdir("out", 0755);
	scratch_put("out/old", "old\n");
	ask_script(ask, "native", script);
	ask->load.environment = world();
	ask->load.directory = "ws";
	ask->run.timeout_ms = 60000;
	if (asked) {
		ask->run.on_ask = decide;
		ask->run.on_withdraw = withdraw;
		ask->run.run_user = asked;
	}
}

static cordon_result *run_asked(const char *script, struct asked *asked)
{
	struct ask ask;

	ask_about(&ask, script, asked);
	return run_it(&ask);
}

static const char *output(const cordon_result *result)
{
	return cordon_result_output(result, CORDON_STREAM_STDOUT, NULL);
}

static bool holds(const char *name, const char *text)
{
	char found[256] = "";
	FILE *f = fopen(name, "r");
	size_t n = f ? fread(found, 1, sizeof(found) - 1, f) : 0;

	if (f)
		(void)fclose(f);
	found[n] = '\0';
	return strcmp(found, text) == 0;
}

static bool reports(cordon_result *result, const char *text)
{
	const char *report = cordon_report_json(cordon_result_report(result));

	if (report && strstr(report, text))
		return true;
	printf("# no %s\n", text);
	return false;
}

/* ---- Yes and no -------------------------------------------------------------------------------- */

TEST(without_anybody_to_ask_it_is_refused)
{
	cordon_result *result = run_asked("echo new > ../out/new; echo $?", NULL);

	REQUIRE(result);
	CHECK_STR(output(result), "2\n");
	CHECK(access("out/new", F_OK) < 0);
	CHECK_INT(cordon_result_denial_count(result), 1);
	CHECK(reports(result, "\"approvals\": null"));
	cordon_result_free(result);
}

TEST(what_is_allowed_goes_on_in_the_same_process)
{
	struct asked asked = { .decision = CORDON_DECISION_ALLOW };
	cordon_result *result = run_asked(
		"echo $$; echo new > ../out/new; echo $?; echo $$; echo more > ../out/b", &asked);
	const char *said;
	char first[16] = "";

	REQUIRE(result);
	said = output(result);
	(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(said, "\n"), said);
	CHECK(strstr(said, "\n0\n") != NULL);
	CHECK(strstr(strstr(said, "\n0\n"), first) != NULL);
	CHECK(holds("out/new", "new\n"));
	CHECK(holds("out/b", "more\n"));
	CHECK_INT(asked.count, 1); /* for both: the directory was granted */
	CHECK_STR(asked.kind, "write");
	CHECK_STR(asked.operation, "create");
	CHECK(strstr(asked.subject, "/out/new") != NULL);
	CHECK_STR(asked.offer, outside);
	CHECK_INT(asked.dir, 1);
	CHECK(asked.scopes & CORDON_SCOPE_RUN);
	CHECK(!(asked.scopes & CORDON_SCOPE_SESSION));
	CHECK(asked.scopes & CORDON_SCOPE_ALWAYS);
	CHECK(asked.pid > 0);
	CHECK_STR(asked.word, "/bin/sh");
	CHECK_INT(cordon_result_denial_count(result), 0);
	CHECK(reports(result, "\"by\": \"callback\""));
	CHECK(reports(result, "\"allowed\": 1"));
	cordon_result_free(result);
}

TEST(what_is_denied_fails_as_without_a_question)
{
	struct asked asked = { .decision = CORDON_DECISION_DENY,
			       .message = "use the build directory" };
	cordon_result *result = run_asked("echo new > ../out/new; echo $?;"
					  "echo again > ../out/new; echo $?",
					  &asked);

	REQUIRE(result);
	CHECK_STR(output(result), "2\n2\n");
	CHECK(strstr(cordon_result_output(result, CORDON_STREAM_STDERR, NULL),
		     "Read-only file system") != NULL);
	CHECK(access("out/new", F_OK) < 0);
	CHECK_INT(asked.count, 1); /* not asked twice */
	CHECK_INT(cordon_result_denial_count(result), 2);
	REQUIRE(cordon_result_denial(result, 0));
	CHECK_STR(cordon_result_denial(result, 0)->operation, "create");
	CHECK_INT(cordon_result_denial(result, 0)->os_error, EROFS);
	CHECK(reports(result, "\"message\": \"use the build directory\""));
	cordon_result_free(result);
}

TEST(deny_all_is_not_asked_again)
{
	struct asked asked = { .decision = CORDON_DECISION_DENY, .denies_rest = 1 };
	cordon_result *result =
		run_asked("mkdir ../out/a; echo $?; echo x >> ../out/old; echo $?", &asked);

	REQUIRE(result);
	CHECK_STR(output(result), "1\n2\n");
	CHECK_INT(asked.count, 1);
	cordon_result_free(result);
}

TEST(what_an_entry_denies_is_never_asked_about)
{
	struct asked asked = { .decision = CORDON_DECISION_ALLOW };
	const char *denies[] = { "out" };
	struct ask ask;
	cordon_result *result;

	ask_about(&ask, "echo new > ../out/new; echo $?; mkdir .git; echo $?", &asked);
	ask.load.deny = denies;
	ask.load.deny_count = 1;
	result = run_it(&ask);
	REQUIRE(result);
	CHECK(strstr(output(result), "0\n") == NULL);
	CHECK_INT(asked.count, 0);
	cordon_result_free(result);
}

TEST(once_is_for_one_call_alone)
{
	struct asked asked = { .decision = CORDON_DECISION_ALLOW, .scope = "once" };
	cordon_result *result = run_asked("echo one > ../out/one; echo $?;"
					  "echo two > ../out/two; echo $?;"
					  "echo more >> ../out/one; echo $?",
					  &asked);

	REQUIRE(result);
	CHECK_STR(output(result), "0\n0\n0\n");
	CHECK_INT(asked.count, 3);
	CHECK(holds("out/one", "one\nmore\n"));
	CHECK(holds("out/two", "two\n"));
	cordon_result_free(result);
}

TEST(a_scope_that_was_not_offered_grants_nothing)
{
	struct asked asked = { .decision = CORDON_DECISION_ALLOW, .scope = "session" };
	struct ask ask;
	cordon_result *result;

	ask_about(&ask, "echo new > ../out/new; echo $?", &asked);
	ask.run.ask_timeout_ms = 300;
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_STR(output(result), "2\n");
	CHECK(reports(result, "\"wrong\": 1"));
	CHECK(reports(result, "\"by\": \"deadline\""));
	cordon_result_free(result);
}

/* ---- Later, late, never -------------------------------------------------------------------------- */

static bool wait_for(cordon_run_handle *run, const unsigned *count, unsigned wanted)
{
	uint64_t until = now_ms() + SOON_MS;

	while (*count < wanted && now_ms() < until)
		if (cordon_poll(run, 100, NULL) != 0)
			break;
	return *count >= wanted;
}

static int answer_one(cordon_run_handle *run, uint64_t id, uint64_t decision)
{
	const struct cordon_answer answer = { .size = sizeof(answer), .decision = decision };

	return cordon_answer(run, id, &answer, NULL);
}

TEST(an_answer_may_come_later)
{
	for (uint64_t decision = CORDON_DECISION_DENY; decision <= CORDON_DECISION_ALLOW;
	     decision += 2) {
		struct asked asked = { .decision = CORDON_DECISION_ASK };
		cordon_run_handle *run = NULL;
		cordon_result *result = NULL;
		struct ask ask;

		ask_about(&ask, "echo new > ../out/new; echo $?", &asked);
		REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
		REQUIRE(wait_for(run, &asked.count, 1));
		CHECK_INT(cordon_poll(run, 100, NULL), 0);
		CHECK_INT(answer_one(run, asked.id, CORDON_DECISION_ASK), -CORDON_E_ARGUMENT);
		CHECK_INT(answer_one(run, asked.id + 1000, decision), 0);
		CHECK_INT(answer_one(run, asked.id, decision), 0);
		CHECK_INT(answer_one(run, asked.id, decision), 0);
		REQUIRE(cordon_wait(run, &result, NULL) == 0);
		CHECK_STR(output(result), decision == CORDON_DECISION_ALLOW ? "0\n" : "2\n");
		CHECK_INT(asked.withdrawn, 0);
		cordon_result_free(result);
	}
}

TEST(after_the_deadline_it_is_denied)
{
	struct asked asked = { .decision = CORDON_DECISION_ASK };
	struct ask ask;
	cordon_result *result;

	ask_about(&ask, "echo new > ../out/new; echo $?", &asked);
	ask.run.ask_timeout_ms = 200;
	result = run_it(&ask);
	REQUIRE(result);
	CHECK_STR(output(result), "2\n");
	CHECK_INT(asked.count, 1);
	CHECK_INT(asked.withdrawn, 1);
	CHECK(reports(result, "\"by\": \"deadline\""));
	cordon_result_free(result);
}

TEST(the_time_limit_waits_for_an_answer_for_one_deadline)
{
	struct asked asked = { .decision = CORDON_DECISION_ASK };
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	uint64_t started = now_ms();
	struct ask ask;

	ask_about(&ask, "echo new > ../out/new; echo $?; exec sleep 30", &asked);
	ask.run.timeout_ms = 1500;
	ask.run.ask_timeout_ms = 3000;
	REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
	REQUIRE(wait_for(run, &asked.count, 1));
	while (now_ms() - started < 2500)
		CHECK_INT(cordon_poll(run, 100, NULL), 0);
	CHECK_INT(answer_one(run, asked.id, CORDON_DECISION_ALLOW), 0);
	REQUIRE(cordon_wait(run, &result, NULL) == 0);
	CHECK_STR(output(result), "0\n");
	CHECK_INT(cordon_result_status(result), 124);
	CHECK(now_ms() - started < 12000);
	cordon_result_free(result);
}

TEST(what_nobody_waits_for_is_withdrawn)
{
	struct asked asked = { .decision = CORDON_DECISION_ASK };
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	struct ask ask;

	ask_about(&ask,
		  "sh -c 'echo new > ../out/new' & sleep 1; kill -9 $!; wait; sleep 1; echo over",
		  &asked);
	REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
	REQUIRE(wait_for(run, &asked.count, 1));
	CHECK(wait_for(run, &asked.withdrawn, 1));
	CHECK_INT(answer_one(run, asked.id, CORDON_DECISION_ALLOW), 0);
	REQUIRE(cordon_wait(run, &result, NULL) == 0);
	CHECK_STR(output(result), "over\n");
	CHECK(access("out/new", F_OK) < 0);
	cordon_result_free(result);
}

TEST(a_run_that_is_cancelled_asks_nobody_any_more)
{
	struct asked asked = { .decision = CORDON_DECISION_ASK };
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	int before = count_descriptors();
	struct ask ask;

	ask_about(&ask, "echo new > ../out/new", &asked);
	REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
	REQUIRE(wait_for(run, &asked.count, 1));
	cordon_cancel(run);
	CHECK_INT(answer_one(run, asked.id, CORDON_DECISION_ALLOW) <= 0, 1);
	REQUIRE(cordon_wait(run, &result, NULL) == 0);
	CHECK(cordon_result_cancelled(result));
	CHECK(access("out/new", F_OK) < 0);
	cordon_result_free(result);
	CHECK_INT(count_descriptors(), before);
}

/* ---- Many ---------------------------------------------------------------------------------------- */

TEST(a_thousand_may_wait_at_the_same_time)
{
	struct asked asked = { .decision = CORDON_DECISION_ASK };
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	struct ask ask;

	ask_about(&ask,
		  "i=0; while [ $i -lt 1000 ]; do (echo x > ../out/f$i) & i=$((i+1)); done; wait;"
		  "ls ../out | grep -c ^f",
		  &asked);
	REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
	REQUIRE(wait_for(run, &asked.count, 1));
	for (int i = 0; i < 30; i++)
		CHECK_INT(cordon_poll(run, 100, NULL), 0);
	CHECK_INT(asked.count, 1); /* all want the same directory */
	CHECK_INT(answer_one(run, asked.id, CORDON_DECISION_ALLOW), 0);
	REQUIRE(cordon_wait(run, &result, NULL) == 0);
	CHECK_INT(atoi(output(result)), 1000);
	CHECK_INT(asked.count, 1);
	cordon_result_free(result);
}

/* ---- Taking back ------------------------------------------------------------------------------------ */

static void hear(void *user, uint32_t stream, const char *bytes, size_t length)
{
	struct asked *asked = user;

	(void)bytes;
	if (stream == CORDON_STREAM_STDOUT && length)
		asked->offers = 1000;
}

TEST(what_is_revoked_is_refused_and_asked_about_again)
{
	struct asked asked = { .decision = CORDON_DECISION_ALLOW };
	struct cordon_grant grant = { .kind = "write", .is_directory = 1 };
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	struct ask ask;

	ask_about(&ask,
		  "echo one > ../out/one; echo said; "
		  "while echo x 2>/dev/null > ../out/two; do sleep 0.02; done; echo shut",
		  &asked);
	ask.run.on_output = hear;
	REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
	while (asked.offers != 1000 && cordon_poll(run, 1000, NULL) == 0)
		continue;
	asked.decision = CORDON_DECISION_DENY;
	grant.subject = outside;
	CHECK_INT(cordon_revoke(run, &grant, NULL), 0);
	REQUIRE(cordon_wait(run, &result, NULL) == 0);
	CHECK_STR(output(result), "said\nshut\n");
	CHECK_INT(asked.count, 2);
	CHECK(holds("out/one", "one\n"));
	cordon_result_free(result);
}

/* Between the answer and the step in which it would count. */
TEST(what_is_revoked_before_it_counts_is_refused)
{
	for (int revokes = 0; revokes < 2; revokes++) {
		struct asked asked = { .decision = CORDON_DECISION_ASK };
		struct cordon_grant grant = { .kind = "write", .subject = outside };
		cordon_run_handle *run = NULL;
		cordon_result *result = NULL;
		struct ask ask;

		grant.is_directory = 1;
		ask_about(&ask, "echo new > ../out/new; echo $?", &asked);
		REQUIRE(cordon_start(NULL, &ask.run, &run, NULL) == 0);
		REQUIRE(wait_for(run, &asked.count, 1));
		CHECK_INT(answer_one(run, asked.id, CORDON_DECISION_ALLOW), 0);
		if (revokes)
			CHECK_INT(cordon_revoke(run, &grant, NULL), 0);
		REQUIRE(cordon_wait(run, &result, NULL) == 0);
		CHECK_STR(output(result), revokes ? "2\n" : "0\n");
		CHECK_INT(has_warning(result, "revoked"), revokes);
		cordon_result_free(result);
	}
}

/* ---- What is asked for ------------------------------------------------------------------------------ */

TEST(an_option_that_can_not_be_is_refused)
{
	struct asked asked = { .decision = CORDON_DECISION_DENY };
	struct ask ask;

	ask_about(&ask, "true", &asked);
	ask.run.ask = "cmd:/bin/true";
	CHECK_INT(refusal(&ask, "option_conflict"), CORDON_E_ARGUMENT);
	ask_about(&ask, "true", NULL);
	ask.run.ask = "nobody";
	CHECK_INT(refusal(&ask, "--ask"), CORDON_E_ARGUMENT);
	ask_about(&ask, "true", NULL);
	ask.run.flags |= CORDON_RUN_RETRY;
	CHECK_INT(refusal(&ask, "option_useless"), CORDON_E_ARGUMENT);
}
