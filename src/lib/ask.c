/* SPDX-License-Identifier: MIT */
/*
 * --ask: who is asked about what the policy refuses (P18), and the caller as the one who is. What
 * the session does with the answers is in session/approvals.c.
 */
#include "approve/rules.h"
#include "base/utf8.h"
#include "lib/run.h"
#include "os/os.h"

enum { REQUEST_MAX_BYTES = 2 << 20, LASTING_MAX_BYTES = 64 << 20 };

/* ---- An answer of the caller ------------------------------------------------------------------ */

static int read_scope(const char *text, struct answer *out, struct err *e)
{
	struct str scope = text ? str_of(text) : STR("run");
	char shown[64];

	if (grant_lasting_parse(scope, &out->scope, &out->minutes))
		return 0;
	if (str_has_prefix(scope, STR("minutes:")))
		return FAIL(e, ERR_ARGUMENT, "cordon_answer.scope '%s': 1 to %d minutes",
			    utf8_show(scope, shown, sizeof(shown)), ASK_MAX_MINUTES);
	return FAIL(e, ERR_ARGUMENT, "cordon_answer: there is no scope '%s'",
		    utf8_show(scope, shown, sizeof(shown)));
}

static int read_grant(const struct cordon_grant *in, struct answer *out, struct err *e)
{
	char shown[64];

	if (!in) {
		out->is_narrowest = true;
		return 0;
	}
	if (!in->kind || !ask_kind_parse(str_of(in->kind), &out->grant.kind))
		return FAIL(e, ERR_ARGUMENT, "cordon_grant: there is no kind '%s'",
			    utf8_show(str_of(in->kind ? in->kind : ""), shown, sizeof(shown)));
	out->grant.subject = str_of(in->subject ? in->subject : "");
	out->grant.is_dir = in->is_directory != 0;
	return 0;
}

int ask_read_answer(const struct cordon_answer *in, struct answer *out, struct err *e)
{
	struct answer x = { .by = "callback" };

	if (in->decision != CORDON_DECISION_ALLOW && in->decision != CORDON_DECISION_DENY)
		return FAIL(e, ERR_ARGUMENT,
			    "cordon_answer.decision must be CORDON_DECISION_ALLOW or "
			    "CORDON_DECISION_DENY");
	x.is_allow = in->decision == CORDON_DECISION_ALLOW;
	x.denies_rest = in->denies_rest != 0;
	x.message = str_of(in->message ? in->message : "");
	if (x.is_allow && (read_scope(in->scope, &x, e) < 0 || read_grant(in->grant, &x, e) < 0))
		return err_result(e);
	*out = x;
	return 0;
}

/* ---- A request to the caller ------------------------------------------------------------------- */

static int copy_or_null(struct arena *a, struct str text, const char **out, struct err *e)
{
	struct str copy;

	*out = NULL;
	if (!text.len)
		return 0;
	if (arena_copy(a, text, &copy, e) < 0)
		return err_result(e);
	*out = copy.p;
	return 0;
}

static int fill_argv(struct arena *a, const struct ask *ask, struct cordon_ask_request *out,
		     struct err *e)
{
	const char **argv;

	if (!ask->argv_count)
		return 0;
	argv = arena_array(a, ask->argv_count + 1, sizeof(*argv), e);
	if (!argv)
		return err_result(e);
	for (size_t i = 0; i < ask->argv_count; i++) {
		struct str copy;

		if (arena_copy(a, ask->argv[i], &copy, e) < 0)
			return err_result(e);
		argv[i] = copy.p;
	}
	out->argv = argv;
	return 0;
}

static int fill_offers(struct arena *a, const struct ask *ask, struct cordon_ask_request *out,
		       struct err *e)
{
	struct cordon_grant *offers = arena_array(a, ask->offer_count + 1, sizeof(*offers), e);

	if (!offers)
		return err_result(e);
	for (size_t i = 0; i < ask->offer_count; i++) {
		struct str subject;

		if (arena_copy(a, ask->offers[i].grant.subject, &subject, e) < 0)
			return err_result(e);
		offers[i] = (struct cordon_grant){
			.kind = ask_kind_name(ask->offers[i].grant.kind),
			.subject = subject.p,
			.is_directory = ask->offers[i].grant.is_dir,
			.scopes = ask->offers[i].scopes,
		};
	}
	out->offers = offers;
	out->offer_count = ask->offer_count;
	return 0;
}

int ask_fill_request(struct arena *a, const struct ask *ask, uint64_t deadline_ms,
		     struct cordon_ask_request *out, struct err *e)
{
	struct cordon_ask_request x = { .size = sizeof(x),
					.id = ask->id,
					.kind = ask_kind_name(ask->kind),
					.operation = operation_name(ask->operation),
					.pid = ask->pid > 0 ? (uint64_t)ask->pid : 0,
					.rule_file = ask->origin.file,
					.rule_line = ask->origin.line,
					.deadline_ms = deadline_ms };

	if (copy_or_null(a, ask->subject, &x.subject, e) < 0 ||
	    copy_or_null(a, ask->named, &x.named, e) < 0 ||
	    copy_or_null(a, ask->program, &x.program, e) < 0 ||
	    copy_or_null(a, ask->cwd, &x.cwd, e) < 0 ||
	    copy_or_null(a, ask->rule, &x.rule, e) < 0 ||
	    copy_or_null(a, ask->reason, &x.reason, e) < 0 || fill_argv(a, ask, &x, e) < 0 ||
	    fill_offers(a, ask, &x, e) < 0)
		return err_result(e);
	*out = x;
	return 0;
}

/* ---- The caller as a decider --------------------------------------------------------------------- */

static const struct answer refusal = { .by = "callback" };

/* Without a usable answer it is denied: the caller waits. */
static bool callback_asks(void *self, const struct ask *ask, uint64_t deadline_ms)
{
	const struct callbacks *callbacks = self;
	scoped_arena a = ARENA_INIT(REQUEST_MAX_BYTES);
	struct cordon_answer given = { .size = sizeof(given) };
	struct cordon_ask_request request;
	struct answer answer = refusal;
	struct err e = ERR_INIT;

	if (ask_fill_request(&a, ask, deadline_ms, &request, &e) < 0) {
		broker_decide(callbacks->broker, ask->id, &refusal, loop_now());
		return true;
	}
	callbacks->run.on_ask(callbacks->run.run_user, &request, &given);
	if (given.decision == CORDON_DECISION_ASK)
		return true;
	if (ask_read_answer(&given, &answer, &e) < 0)
		broker_reject(callbacks->broker, request.id, e.text);
	broker_decide(callbacks->broker, request.id, &answer, loop_now());
	return true;
}

static void callback_withdraws(void *self, uint64_t id)
{
	const struct callbacks *callbacks = self;

	if (callbacks->run.on_withdraw)
		callbacks->run.on_withdraw(callbacks->run.run_user, id);
}

static void callback_stops(void *self)
{
	struct callbacks *callbacks = self;

	callbacks->broker = NULL;
}

static int start_callback(struct callbacks *callbacks, struct decider *out)
{
	*out = (struct decider){ .by = "callback",
				 .ask = callback_asks,
				 .withdraw = callback_withdraws,
				 .stop = callback_stops,
				 .self = callbacks };
	return 0;
}

static int start(void *user, struct arena *a, struct str run, struct loop *loop,
		 struct broker *broker, struct decider *out, struct err *e)
{
	struct callbacks *callbacks = user;
	const struct decider_setup setup = { .loop = loop,
					     .broker = broker,
					     .plan = callbacks->plan,
					     .run = &callbacks->messages,
					     .environment = callbacks->run.environment
								    ? callbacks->run.environment
								    : os_environment(),
					     .errors = 2 };

	callbacks->broker = broker;
	callbacks->messages.run = run;
	return callbacks->ask.kind == DECIDER_NONE
		       ? start_callback(callbacks, out)
		       : decider_open(a, &callbacks->ask, &setup, out, e);
}

/* ---- For the session -------------------------------------------------------------------------------- */

int ask_read_option(struct arena *a, const struct cordon_run_options *run, struct ask_option *out,
		    struct err *e)
{
	const char *const *environment = run->environment ? run->environment : os_environment();

	*out = (struct ask_option){ .kind = DECIDER_NONE };
	if (!run->ask)
		return 0;
	if (ask_parse(run->ask, out, e) < 0)
		return err_result(e);
	if (out->kind != DECIDER_NONE && run->on_ask)
		return FAIL_CAUSE(e, CAUSE_OPTION_CONFLICT,
				  "'ask' and 'on_ask' can't be used together");
	return ask_find(a, out, os_environment_find(environment, "PATH"), e);
}

bool ask_is_wanted(const struct cordon_run_options *run)
{
	return run->ask ? strcmp(run->ask, "off") != 0 : run->on_ask != NULL;
}

static int keep(void *user, const struct answer *answer, struct err *e)
{
	const struct callbacks *callbacks = user;
	scoped_arena a = ARENA_INIT(LASTING_MAX_BYTES);
	struct str id;

	return lasting_add(&a, &callbacks->lasting, answer->scope, &answer->grant, answer->by, &id,
			   e);
}

/* A file that can't be read now may be readable later; until then nothing was revoked. */
static bool look_kept(void *user)
{
	struct callbacks *callbacks = user;
	struct arena a = ARENA_INIT(LASTING_MAX_BYTES);
	struct err ignored = ERR_INIT;

	if (!lasting_changed(&callbacks->lasting))
		return false;
	if (lasting_read(&a, &callbacks->lasting, &callbacks->lasting, &ignored) < 0) {
		arena_done(&a);
		return false;
	}
	arena_done(&callbacks->lasting_arena);
	callbacks->lasting_arena = a;
	return true;
}

static bool is_kept(void *user, enum grant_scope scope, const struct grant *grant)
{
	const struct callbacks *callbacks = user;

	return lasting_has(&callbacks->lasting, scope, grant);
}

static void tell_request(void *user, const struct ask *ask, uint64_t deadline_ms)
{
	struct callbacks *callbacks = user;

	events_tell_request(&callbacks->events, callbacks, callbacks->run_id, ask, deadline_ms);
}

static void tell_answer(void *user, const struct ask *ask, const struct answer *answer)
{
	struct callbacks *callbacks = user;

	events_tell_answer(&callbacks->events, callbacks, callbacks->run_id, ask, answer);
}

/* At the terminal, which is known to be one. */
static bool wants_colour(const struct cordon_run_options *run)
{
	const char *const *environment = run->environment ? run->environment : os_environment();
	const char *no = os_environment_find(environment, "NO_COLOR");
	const char *term = os_environment_find(environment, "TERM");

	return !(no && no[0]) && term && strcmp(term, "dumb") != 0;
}

int asked_approvals(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		    struct callbacks *callbacks, struct session_request *out, struct err *e)
{
	const scope_set here = SCOPE_BIT(SCOPE_ONCE) | SCOPE_BIT(SCOPE_RUN) |
			       SCOPE_BIT(SCOPE_MINUTES);
	const struct cordon_run_options *run = &asked->run;
	struct session_approvals *approvals;

	if (!ask_is_wanted(run)) {
		if (run->flags & CORDON_RUN_RETRY)
			return FAIL_CAUSE(e, CAUSE_OPTION_USELESS, "--retry needs --ask");
		if (run->ask_timeout_ms)
			return FAIL_CAUSE(e, CAUSE_OPTION_USELESS, "--ask-timeout needs --ask");
		return 0;
	}
	approvals = ARENA_NEW(a, struct session_approvals, e);
	if (!approvals)
		return err_result(e);
	*approvals = (struct session_approvals){ .deadline_ms = run->ask_timeout_ms,
						 .session = policy->inputs.session,
						 .program = callbacks->ask.kind == DECIDER_PROGRAM
								    ? callbacks->ask.text
								    : STR_EMPTY,
						 .scopes = here | lasting_scopes(&policy->lasting),
						 .host_now = host_now(),
						 .start = start,
						 .keep = keep,
						 .look_kept = look_kept,
						 .is_kept = is_kept,
						 .tell_request = tell_request,
						 .tell_answer = tell_answer };
	callbacks->lasting = policy->lasting;
	callbacks->plan = policy->plan;
	callbacks->messages.session = policy->inputs.session;
	if (approve_rules_new(a, &policy->plan_inputs, &approvals->rules, e) < 0)
		return err_result(e);
	out->approvals = approvals;
	out->asks_at_terminal = callbacks->ask.kind == DECIDER_TTY;
	out->has_colour = wants_colour(run);
	out->asks_after = (run->flags & CORDON_RUN_RETRY) != 0;
	return 0;
}

int cordon_revoke(cordon_run_handle *run, const struct cordon_grant *grant, cordon_error **error)
{
	struct err e = ERR_INIT;
	struct answer read = { .by = "callback" };

	if (!grant)
		(void)FAIL(&e, ERR_ARGUMENT, "the grant is NULL");
	else if (read_grant(grant, &read, &e) == 0 &&
		 session_revoke(run_session(run), &read.grant, &e) == 0)
		return 0;
	return error_give(&e, error);
}

int cordon_answer(cordon_run_handle *run, uint64_t id, const struct cordon_answer *answer,
		  cordon_error **error)
{
	struct err e = ERR_INIT;
	struct cordon_answer own;
	struct answer read;

	if (!answer)
		(void)FAIL(&e, ERR_ARGUMENT, "the answer is NULL");
	else if (options_read_answer(answer, &own, &e) == 0 &&
		 ask_read_answer(&own, &read, &e) == 0 &&
		 session_answer(run_session(run), id, &read, &e) == 0)
		return 0;
	return error_give(&e, error);
}
