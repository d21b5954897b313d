/* SPDX-License-Identifier: MIT */
/*
 * What a tool was refused and may be granted (P18): the broker of the session asks whoever called, by the
 * hook of that call. A grant counts for the file tools of all projects; a command that asks for what was
 * granted to them gets it without a question.
 *
 * The number of a question has that of its call in its upper half; in the lower one either the number
 * that the run of a command has given, or OWN.
 */
#include "approve/offers.h"
#include "approve/rules.h"
#include "base/mem.h"
#include "plan/words.h"
#include "tools/box.h"

#define OWN UINT32_C(0x80000000)

enum { ASKING_MAX_BYTES = 64 << 20, WORDS_MAX_BYTES = 16 << 10 };

static uint64_t number_of(const struct toolbox_call *call, uint64_t low)
{
	return (uint64_t)call->number << 32 | low;
}

static struct toolbox_call *find_call(struct toolbox *box, uint64_t id)
{
	for (struct toolbox_call *c = box->calls; c; c = c->next)
		if (c->number == id >> 32)
			return c;
	return NULL;
}

static int set_tick(struct toolbox *box)
{
	loop_set_timer(box->loop, &box->tick, broker_next_ms(box->broker));
	return 0;
}

/* ---- The decider: whoever called --------------------------------------------------------------- */

static bool decider_asks(void *self, const struct ask *ask, uint64_t deadline_ms)
{
	struct toolbox *box = self;
	struct toolbox_call *call = find_call(box, ask->id);
	const struct answer denied = { .by = "nobody" };
	struct cordon_ask_request request;
	struct err ignored = ERR_INIT;

	if (!call || !call->request.ask ||
	    ask_fill_request(&call->arena, ask, deadline_ms, &request, &ignored) < 0)
		broker_decide(box->broker, ask->id, &denied, loop_now());
	else
		call->request.ask(call->request.user, &request);
	return true;
}

static void decider_withdraws(void *self, uint64_t id)
{
	struct toolbox_call *call = find_call(self, id);

	if (call && call->request.withdraw)
		call->request.withdraw(call->request.user, id);
}

static void decider_stops(void *self)
{
	(void)self;
}

/* ---- The log (P25) -------------------------------------------------------------------------------- */

static struct audit_approvals whose(const struct toolbox *box)
{
	return (struct audit_approvals){ .run = box->log_run,
					 .session = box->projects->policy->inputs.session };
}

static int open_log(struct toolbox *box, struct err *e)
{
	struct str state = box->projects->policy->inputs.state_dir, path;

	if (box->log)
		return 0;
	if (audit_approvals_path(&box->arena, state, &path, e) < 0 ||
	    audit_new_run(&box->arena, &box->log_run, e) < 0)
		return err_result(e);
	return audit_open(&box->arena, path, state, box->log_run, &box->log, e);
}

static bool can_log(struct toolbox *box)
{
	struct err e = ERR_INIT;

	if (!box->cant_log && open_log(box, &e) < 0) {
		box->cant_log = true;
		box_log(box,
			"nobody is asked about files, because the log of approvals can't be "
			"written: %s",
			e.text);
	}
	return !box->cant_log;
}

static void decided(void *user, const struct ask *ask, const struct answer *answer)
{
	struct toolbox *box = user;
	const struct audit_approvals of = whose(box);
	struct err e = ERR_INIT;

	if (box->log && audit_add_answer(box->log, &of, ask, answer, &e) == 0)
		return;
	box->cant_log = true;
	box_log(box, "the log of approvals can't be written: %s", e.text);
}

/* What the calls of this session came to. */
static void log_counts(struct toolbox *box)
{
	struct err e = ERR_INIT;

	for (size_t i = 0; i < TOOL_COUNT; i++) {
		struct audit_approvals of;

		if (!box->counts[i].calls)
			continue;
		if (open_log(box, &e) < 0)
			break;
		of = whose(box);
		if (audit_add_tool(box->log, &of, tools[i].name, &box->counts[i], &e) < 0)
			break;
	}
	if (e.code != ERR_OK)
		box_log(box, "the counters of the tools could not be logged: %s", e.text);
}

/* ---- Answers --------------------------------------------------------------------------------------- */

static int keep_grant(struct toolbox *box, const struct answer *answer, struct err *e)
{
	struct box_grant *g;

	for (size_t i = 0; i < box->grants.count; i++)
		if (box->grants.items[i].scope != SCOPE_MINUTES &&
		    grant_covers(&box->grants.items[i].grant, &answer->grant))
			return 0;
	g = VEC_PUSH(&box->arena, &box->grants, e);
	if (!g)
		return err_result(e);
	*g = (struct box_grant){ .grant = answer->grant, .scope = answer->scope };
	if (arena_copy(&box->arena, answer->grant.subject, &g->grant.subject, e) < 0 ||
	    arena_copy(&box->arena, str_of(answer->by ? answer->by : ""), &g->by, e) < 0) {
		box->grants.count--;
		return err_result(e);
	}
	return 0;
}

/* For later sessions of the same name. */
static void keep_for_later(struct toolbox *box, const struct answer *answer)
{
	struct cordon_policy *policy = box->projects->policy;
	scoped_arena a = ARENA_INIT(ASKING_MAX_BYTES);
	struct err e = ERR_INIT;
	struct str id;

	if (answer->scope != SCOPE_SESSION && answer->scope != SCOPE_ALWAYS)
		return;
	if (lasting_add(&a, &policy->lasting, answer->scope, &answer->grant,
			answer->by ? answer->by : "client", &id, &e) < 0)
		box_log(box, "the grant counts until this session ends, and could not be kept: %s",
			e.text);
}

static void finish_refused(struct toolbox_call *call)
{
	const struct tool_result result = call->refused;

	call->state = CALL_RUNS;
	box_finish(call, &result);
}

void asking_take(struct toolbox *box, struct toolbox_call *call, const struct answer *answer)
{
	struct err e = ERR_INIT;

	/* SECURITY: an answer that can't be logged is a deny (P25). */
	if (!answer->is_allow || box->cant_log || keep_grant(box, answer, &e) < 0) {
		finish_refused(call);
		return;
	}
	box->counts[call->request.tool->id].elevations_granted++;
	keep_for_later(box, answer);
	call->state = CALL_NEW;
	box_policy_changed(box);
	loop_set_next_step(box->loop, &box->later);
}

static void told(void *user, uint64_t id, const struct answer *answer)
{
	struct toolbox *box = user;
	struct toolbox_call *call = find_call(box, id);

	if (call && call->state == CALL_ASKS)
		asking_take(box, call, answer);
}

static void expired(void *user, const struct grant *grant)
{
	struct toolbox *box = user;

	for (size_t i = 0; i < box->grants.count; i++) {
		if (box->grants.items[i].scope != SCOPE_MINUTES ||
		    !str_eq(box->grants.items[i].grant.subject, grant->subject))
			continue;
		box->grants.items[i] = box->grants.items[--box->grants.count];
		box_policy_changed(box);
		return;
	}
}

static int tick_is_due(void *user, struct err *e)
{
	struct toolbox *box = user;

	(void)e;
	broker_tick(box->broker, loop_now());
	return set_tick(box);
}

/* ---- Questions --------------------------------------------------------------------------------------- */

/* Who wants it: of Claude's tools, the one that Claude asks about. */
static struct str name_program(const struct toolbox_call *call)
{
	const struct tool *tool = call->request.tool;
	const struct json *name = json_find(call->arguments, "tool_name");

	return tool->access == TOOL_APPROVES && name ? name->string : str_of(tool->name);
}

static int fill_ask(struct toolbox_call *call, struct str path, struct ask *ask, struct err *e)
{
	const struct tool_project *project = call->project ? call->project : call->box->projects;
	const struct cordon_policy *policy = line_policy(project);
	scoped_buf words = BUF_INIT(WORDS_MAX_BYTES);
	struct attempt_needs needs = { .subject = path, .opens = path, .access = ACCESS_WRITE };
	struct plan_inputs inputs;
	struct verdict verdict;

	if (!policy)
		policy = project->policy;
	inputs = policy->plan_inputs;
	inputs.host = host_now();
	verdict = plan_resolve(policy->plan, path);
	rule_add_words(&words, verdict.rule);
	*ask = (struct ask){ .id = number_of(call, OWN),
			     .kind = ASK_WRITE,
			     .operation = OPERATION_OPEN_WRITE,
			     .subject = path,
			     .named = path,
			     .program = name_program(call),
			     .cwd = call->box->projects->path,
			     .origin = verdict.rule->origin,
			     .reason = STR_EMPTY,
			     .is_alone = call->request.asks_alone };
	if (buf_check(&words, e) < 0 ||
	    arena_copy(&call->arena, buf_str(&words), &ask->rule, e) < 0)
		return err_result(e);
	return offers_for_path(&call->arena, &inputs, policy->plan, &needs, ask->operation, false,
			       ask, e);
}

bool asking_could_grant(struct toolbox_call *call, const struct cordon_denial *denial,
			struct str *out)
{
	struct err ignored = ERR_INIT;
	struct ask ask;

	if (strcmp(denial->kind, "path") != 0 || !denial->subject ||
	    fill_ask(call, str_of(denial->subject), &ask, &ignored) < 0 || !ask.offer_count)
		return false;
	*out = ask.offers[0].grant.subject;
	return true;
}

bool asking_begin(struct toolbox_call *call, struct str path)
{
	struct toolbox *box = call->box;
	struct err ignored = ERR_INIT;
	struct answer answer;
	struct ask ask;

	call->was_asked = true;
	if (fill_ask(call, path, &ask, &ignored) < 0 || !ask.offer_count)
		return false;
	/* The supervisor keeps its own log. */
	if (box->is_outer) {
		box->counts[call->request.tool->id].elevations_asked++;
		return box_ask_outer(call, path);
	}
	if (!can_log(box))
		return false;
	box->counts[call->request.tool->id].elevations_asked++;
	call->state = CALL_ASKS;
	if (broker_ask(box->broker, &ask, loop_now(), &answer) == 0)
		asking_take(box, call, &answer);
	(void)set_tick(box);
	return true;
}

/* Who else waits for the answer to its question would wait in vain: those begin again. */
void asking_withdraw(struct toolbox_call *call)
{
	struct toolbox *box = call->box;
	uint64_t id = number_of(call, OWN);

	if (box->is_outer) {
		box_leave_outer(call);
		return;
	}
	call->request.withdraw = NULL;
	broker_withdraw(box->broker, id, loop_now());
	if (!broker_is_asked(box->broker, id))
		return;
	for (struct toolbox_call *c = box->calls; c; c = c->next) {
		uint64_t other = number_of(c, OWN);

		if (c == call || c->state != CALL_ASKS || broker_is_asked(box->broker, other))
			continue;
		broker_withdraw(box->broker, other, loop_now());
		c->was_asked = false;
		c->state = CALL_NEW;
		loop_set_next_step(box->loop, &box->later);
	}
}

void asking_look(struct toolbox *box)
{
	struct arena a = ARENA_INIT(ASKING_MAX_BYTES);
	struct err ignored = ERR_INIT;

	if (!lasting_changed(&box->lasting))
		return;
	/* A file that can't be read now may be readable later; until then nothing was revoked. */
	if (lasting_read(&a, &box->lasting, &box->lasting, &ignored) < 0) {
		arena_done(&a);
		return;
	}
	arena_done(&box->lasting_arena);
	box->lasting_arena = a;
	for (size_t i = box->grants.count; i-- > 0;) {
		struct box_grant *g = &box->grants.items[i];

		if ((g->scope != SCOPE_SESSION && g->scope != SCOPE_ALWAYS) ||
		    lasting_has(&box->lasting, g->scope, &g->grant))
			continue;
		broker_forget(box->broker, &g->grant);
		*g = box->grants.items[--box->grants.count];
	}
	box_policy_changed(box);
}

/*
 * As long as this session goes on. What has an end of its own, or can be revoked, is no answer for as long as a command
 * runs: the command would keep it.
 */
static bool is_granted(const struct toolbox *box, const struct cordon_grant *offer)
{
	const struct grant wanted = { .kind = ASK_WRITE,
				      .subject = str_of(offer->subject),
				      .is_dir = offer->is_directory != 0 };

	if (strcmp(offer->kind, ask_kind_name(ASK_WRITE)) != 0)
		return false;
	for (size_t i = 0; i < box->grants.count; i++)
		if (box->grants.items[i].scope == SCOPE_RUN &&
		    grant_covers(&box->grants.items[i].grant, &wanted))
			return true;
	return false;
}

void asking_relay(struct toolbox_call *call, const struct cordon_ask_request *request,
		  struct cordon_answer *answer)
{
	struct cordon_ask_request own = *request;

	for (uint64_t i = 0; i < request->offer_count; i++) {
		/* A file that is missing can be had once only; its directory as long as the run. */
		if (!(request->offers[i].scopes & CORDON_SCOPE_RUN) ||
		    !is_granted(call->box, &request->offers[i]))
			continue;
		answer->decision = CORDON_DECISION_ALLOW;
		answer->scope = "run";
		answer->grant = &request->offers[i];
		return;
	}
	own.id = number_of(call, request->id);
	call->box->counts[call->request.tool->id].elevations_asked++;
	answer->decision = CORDON_DECISION_ASK;
	call->request.ask(call->request.user, &own);
}

int toolbox_answer(struct toolbox *box, uint64_t id, const char *by,
		   const struct cordon_answer *answer, struct err *e)
{
	struct toolbox_call *call = find_call(box, id);
	uint32_t low = (uint32_t)id;
	struct cordon_answer own;
	struct answer read;
	struct str who;

	if (!call)
		return FAIL(e, ERR_ARGUMENT, "nobody waits for that answer");
	/* What was answered is kept as long as the call. */
	if (options_read_answer(answer, &own, e) < 0 || ask_read_answer(&own, &read, e) < 0 ||
	    arena_copy(&call->arena, str_of(by), &who, e) < 0)
		return err_result(e);
	read.by = who.p;
	if (low != OWN && call->run) {
		box->counts[call->request.tool->id].elevations_granted += read.is_allow;
		return session_answer(run_session(call->run), low, &read, e);
	}
	broker_decide(box->broker, id, &read, loop_now());
	return set_tick(box);
}

/* ---- The broker ---------------------------------------------------------------------------------------- */

int asking_init(struct toolbox *box, struct err *e)
{
	const scope_set here = SCOPE_BIT(SCOPE_RUN) | SCOPE_BIT(SCOPE_MINUTES);
	struct cordon_policy *policy = box->projects->policy;
	struct broker_options options = {
		.decider = &box->decider,
		.scopes = here | lasting_scopes(&policy->lasting),
		.deadline_ms = box->run.ask_timeout_ms,
		.events = { .user = box, .answered = told, .decided = decided, .expired = expired }
	};

	box->decider = (struct decider){ .by = "client",
					 .ask = decider_asks,
					 .withdraw = decider_withdraws,
					 .stop = decider_stops,
					 .self = box };
	box->tick = (struct timer){ .due = tick_is_due, .user = box };
	box->lasting = policy->lasting;
	if (loop_prepare_timers(box->loop, e) < 0 ||
	    approve_rules_new(&box->arena, &policy->plan_inputs, &options.rules, e) < 0)
		return err_result(e);
	return broker_new(&options, &box->broker, e);
}

void asking_done(struct toolbox *box)
{
	loop_drop_timer(box->loop, &box->tick);
	broker_free(box->broker);
	box->broker = NULL;
	arena_done(&box->lasting_arena);
	if (box->projects && !box->is_outer)
		log_counts(box);
	if (box->log)
		audit_close(box->log);
	box->log = NULL;
}
