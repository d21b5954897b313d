/* SPDX-License-Identifier: MIT */
/* See approvals.h. */
#include <stdio.h>

#include "approve/offers.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "session/run.h"

enum { LOOK_MS = 500, TOLD_AT_ONCE = 32, AFTER_MAX = 100, SCRATCH_BYTES = 768 << 20 };
enum { WRITERS_MAX_BYTES = 64 << 10, TEXT_MAX_BYTES = 64 << 10 };

/* ---- What waits ------------------------------------------------------------------------------ */

static struct waiting *find_waiting(struct approvals *a, uint64_t id)
{
	for (size_t i = 0; i < a->waiting_count; i++)
		if (a->waiting[i].id == id)
			return &a->waiting[i];
	return NULL;
}

static struct waiting *add_waiting(struct approvals *a)
{
	struct waiting *free = find_waiting(a, 0);

	if (free || a->waiting_count == BROKER_MAX_WAITING)
		return free;
	return &a->waiting[a->waiting_count++];
}

static void forget(struct approvals *a, struct waiting *waiting)
{
	if (waiting->is_answered)
		a->answered_count--;
	mem_free(waiting->needs);
	mem_free(waiting->texts);
	*waiting = (struct waiting){ .id = 0 };
}

/* A copy of both, one behind the other; NULL without memory. */
static char *copy_texts(struct str one, struct str other)
{
	struct err ignored = ERR_INIT;
	char *copy = mem_new(one.len + other.len + 2, &ignored);

	if (!copy)
		return NULL;
	if (one.len)
		memcpy(copy, one.p, one.len);
	if (other.len)
		memcpy(copy + one.len + 1, other.p, other.len);
	return copy;
}

/* ---- The broker's time ------------------------------------------------------------------------ */

static void set_tick(struct session *s)
{
	struct approvals *a = &s->approvals;

	if (!a->is_ended)
		loop_set_timer(&s->loop, &a->tick, broker_next_ms(a->broker));
}

uint64_t approvals_most_extension(const struct session *s)
{
	if (!s->approvals.is_on)
		return 0;
	return s->in.approvals->deadline_ms ? s->in.approvals->deadline_ms : BROKER_DEADLINE_MS;
}

uint64_t approvals_extension(const struct session *s)
{
	if (!s->approvals.is_on || !s->approvals.broker)
		return 0;
	return broker_extension_ms(s->approvals.broker, loop_now());
}

/* ---- What a grant becomes ----------------------------------------------------------------------- */

static void add_grant(struct buf *out, const struct grant *grant)
{
	buf_printf(out, "%s '", grant->kind == ASK_WRITE ? "writing" : "connecting to");
	utf8_add_shown(out, grant->subject);
	buf_add_char(out, '\'');
}

/* What was granted and can't be had is not granted: it is asked for again. */
static void warn_not_live(struct session *s, const struct grant *grant, const struct err *why)
{
	scoped_buf text = BUF_INIT(TEXT_MAX_BYTES);

	add_grant(&text, grant);
	if (text.failed == ERR_OK)
		session_warn(&s->in, "%s was granted, but is refused: %s", text.p, why->text);
	broker_forget(s->approvals.broker, grant);
}

static void fail(struct session *s, const struct err *e)
{
	if (s->approvals.failure.code == ERR_OK)
		s->approvals.failure = *e;
	if (s->approvals.is_ended)
		return;
	loop_set_next_step(&s->loop, &s->approvals.later);
}

static void close_grant(struct session *s, const struct grant *grant, const char *why)
{
	scoped_buf writers = BUF_INIT(WRITERS_MAX_BYTES);
	scoped_buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct err e = ERR_INIT;

	/* SECURITY: what can't be taken back ends with the run, at once. */
	if (live_close(s, grant, &writers, &e) < 0) {
		fail(s, &e);
		return;
	}
	add_grant(&text, grant);
	if (!writers.len || writers.failed != ERR_OK || text.failed != ERR_OK)
		return;
	session_warn(&s->in, "%s is %s, but %s may write to files there that were open", text.p,
		     why, writers.p);
}

/* Another process may revoke what is kept: `cordon approvals revoke`. */
static int look_for_revoked(void *user, struct err *e)
{
	struct session *s = user;
	const struct session_approvals *in = s->in.approvals;
	const struct live *live = &s->approvals.live;

	(void)e;
	loop_set_timer(&s->loop, &s->approvals.look, loop_now() + LOOK_MS);
	if (!in->look_kept(s->in.user))
		return 0;
	for (size_t i = live->count; i > 0; i--) {
		const struct live_grant *open = &live->grants[i - 1];
		const struct grant grant = open->grant;

		if ((open->scope != SCOPE_SESSION && open->scope != SCOPE_ALWAYS) ||
		    in->is_kept(s->in.user, open->scope, &grant))
			continue;
		broker_forget(s->approvals.broker, &grant);
		close_grant(s, &grant, "revoked");
	}
	return 0;
}

/* What is not in the files can't be revoked there: it counts as long as the run, for the broker too. */
static void limit_to_run(struct session *s, const struct grant *grant)
{
	live_set_scope(s, grant, SCOPE_RUN);
	broker_forget(s->approvals.broker, grant);
	if (!broker_remember(s->approvals.broker, grant, SCOPE_RUN))
		session_trace(&s->in, "no memory for a grant: it is asked about again");
}

/* That a later run has to ask again is no reason to refuse it in this one. */
static void keep_for_later(struct session *s, const struct answer *answer)
{
	struct err e = ERR_INIT;

	if (answer->scope != SCOPE_SESSION && answer->scope != SCOPE_ALWAYS)
		return;
	if (s->in.approvals->keep(s->in.user, answer, &e) < 0) {
		session_warn(&s->in, "a grant could not be kept for later runs: %s", e.text);
		limit_to_run(s, &answer->grant);
		return;
	}
	/* As long as there is something that could be revoked. */
	if (!s->approvals.look.at_ms)
		loop_set_timer(&s->loop, &s->approvals.look, loop_now() + LOOK_MS);
}

/* The answer is told a step after it was given. A rule's comes at once, and nobody holds it. */
static bool is_held(const struct session *s, const struct answer *answer)
{
	return strcmp(answer->by, "rule") == 0 ||
	       broker_holds(s->approvals.broker, &answer->grant, loop_now());
}

/* SECURITY: what it changes by this one call counts as the command's for `cordon escalate` as well. */
static bool note_once(struct session *s, const struct asker *asker, const struct grant *grant)
{
	struct err e = ERR_INIT;

	if (live_note_opened(s, grant->subject, &e) == 0 &&
	    (!asker->subject.len || live_note_opened(s, asker->subject, &e) == 0))
		return true;
	warn_not_live(s, grant, &e);
	return false;
}

static bool make_live(struct session *s, const struct asker *asker, const struct answer *answer)
{
	struct err e = ERR_INIT;
	int status;

	if (s->approvals.failure.code != ERR_OK)
		return false;
	if (answer->grant.kind == ASK_ESCALATE)
		return true;
	if (answer->scope == SCOPE_ONCE)
		return answer->grant.kind != ASK_WRITE || note_once(s, asker, &answer->grant);
	/* SECURITY: nothing would end it any more. */
	status = is_held(s, answer) ? live_open(s, &answer->grant, answer->scope, &e)
				    : FAIL(&e, ERR_POLICY, "it was revoked or has expired since");
	if (status < 0)
		warn_not_live(s, &answer->grant, &e);
	else if (status == 0)
		keep_for_later(s, answer);
	return status >= 0;
}

static void expired(void *user, const struct grant *grant)
{
	close_grant(user, grant, "no longer granted");
}

/* ---- Answers --------------------------------------------------------------------------------------- */

static void tell_asker(struct session *s, struct waiting *waiting)
{
	/* Telling it may make it ask again, and that may take this place. */
	struct waiting told = *waiting;
	const struct answer *answer = &told.answer;

	*waiting = (struct waiting){ .id = 0 };
	s->approvals.answered_count--;
	if (answer->is_allow && !make_live(s, &told.asker, answer)) {
		told.answer.is_allow = false;
		told.answer.message = STR("it was granted, but can't be had here");
	}
	told.asker.told(s, &told.asker, answer);
	mem_free(told.needs);
	mem_free(told.texts);
}

/* A few in each step: what the supervisor does for one has an answer of its own, to be read. */
static void tell_askers(struct session *s)
{
	struct approvals *a = &s->approvals;
	size_t told = 0;

	for (size_t i = 0; i < a->waiting_count && a->answered_count && told < TOLD_AT_ONCE; i++) {
		if (!a->waiting[i].is_answered)
			continue;
		tell_asker(s, &a->waiting[i]);
		told++;
	}
	if (a->answered_count)
		loop_set_next_step(&s->loop, &a->later);
}

/* An error of the log, or of what had to be taken back, ends the run. */
static int tell_later(void *user, struct err *e)
{
	struct session *s = user;

	tell_askers(s);
	if (s->approvals.broker)
		set_tick(s);
	if (s->approvals.failure.code == ERR_OK)
		return 0;
	*e = s->approvals.failure;
	return err_result(e);
}

static int tick(void *user, struct err *e)
{
	struct session *s = user;

	broker_tick(s->approvals.broker, loop_now());
	return tell_later(s, e);
}

/* Keeps it: the broker must not be called from within itself. */
static void keep_answer(struct session *s, struct waiting *waiting, const struct answer *answer)
{
	const struct answer *in = answer;
	struct answer *out = &waiting->answer;

	*out = *in;
	waiting->texts = copy_texts(in->grant.subject, in->message);
	out->grant.subject.p = waiting->texts;
	out->message.p = waiting->texts ? waiting->texts + in->grant.subject.len + 1 : NULL;
	if (!waiting->texts) {
		out->is_allow = false;
		out->grant.subject = out->message = STR_EMPTY;
	}
	waiting->is_answered = true;
	s->approvals.answered_count++;
}

static void answered(void *user, uint64_t id, const struct answer *answer)
{
	struct session *s = user;
	struct waiting *waiting = find_waiting(&s->approvals, id);

	if (!waiting || waiting->is_answered || s->approvals.is_ended)
		return;
	keep_answer(s, waiting, answer);
	loop_set_next_step(&s->loop, &s->approvals.later);
}

/* SECURITY: an answer that can't be logged is a deny, and the run ends (P25). */
static void decided(void *user, const struct ask *ask, const struct answer *answer)
{
	struct session *s = user;
	struct err e = ERR_INIT;

	if (approval_log_answer(s, ask, answer, &e) < 0)
		fail(s, &e);
}

static void rejected(void *user, uint64_t id, const char *why)
{
	struct session *s = user;
	struct err e = ERR_INIT;

	session_trace(&s->in, "an answer changes nothing: %s", why);
	approval_log_tell_unusable(s, why);
	if (approval_log_rejected(s, id, why, &e) < 0)
		fail(s, &e);
}

static void lost(void *user, const char *why)
{
	const struct session *s = user;

	session_warn(&s->in, "nobody is asked any more, and what would be asked is refused: %s",
		     why);
}

bool approvals_ask(struct session *s, struct ask *ask, const struct asker *asker, uint64_t *id)
{
	struct approvals *a = &s->approvals;
	struct waiting *waiting;
	struct answer answer;

	if (!a->is_on || !a->broker || a->is_ended || !ask->offer_count ||
	    (!a->is_after && !run_is_alive(s->state)))
		return false;
	waiting = add_waiting(a);
	if (!waiting)
		return false;
	*waiting = (struct waiting){ .asker = *asker,
				     .needs = copy_texts(asker->needs, asker->subject) };
	if (!waiting->needs)
		return false;
	waiting->asker.needs.p = waiting->needs;
	waiting->asker.subject.p = waiting->needs + asker->needs.len + 1;
	ask->id = waiting->id = *id = ++a->last_id;
	if (s->in.approvals->tell_request)
		s->in.approvals->tell_request(s->in.user, ask, approvals_most_extension(s));
	if (broker_ask(a->broker, ask, loop_now(), &answer) == 0)
		keep_answer(s, waiting, &answer);
	if (waiting->is_answered)
		tell_asker(s, waiting);
	set_tick(s);
	return true;
}

void approvals_withdraw(struct session *s, uint64_t id)
{
	struct approvals *a = &s->approvals;
	struct waiting *waiting = a->is_on && id ? find_waiting(a, id) : NULL;

	if (!waiting)
		return;
	forget(a, waiting);
	broker_withdraw(a->broker, id, loop_now());
	set_tick(s);
}

/* ---- Held calls --------------------------------------------------------------------------------------- */

static enum release find_release(const struct session *s, const struct asker *asker,
				 const struct answer *answer)
{
	if (!answer->is_allow)
		return RELEASE_REFUSE;
	if (answer->scope == SCOPE_ONCE)
		return asker->can_once ? RELEASE_ONCE : RELEASE_REFUSE;
	/* A grant may be narrower than the attempt. */
	if (asker->needs.len && plan_resolve(live_plan(s), asker->needs).access < ACCESS_WRITE)
		return RELEASE_REFUSE;
	return RELEASE_GO_ON;
}

static void call_told(struct session *s, const struct asker *asker, const struct answer *answer)
{
	supervisor_release(s->supervisor, asker->call, find_release(s, asker, answer));
}

/* Where no path can be opened, this one call is all that can be had. */
static void limit_offers(const struct session *s, struct ask *ask)
{
	size_t left = 0;

	if (ask->kind != ASK_WRITE || s->approvals.can_open || s->approvals.is_after)
		return;
	for (size_t i = 0; i < ask->offer_count; i++) {
		ask->offers[i].scopes &= SCOPE_BIT(SCOPE_ONCE);
		if (ask->offers[i].scopes)
			ask->offers[left++] = ask->offers[i];
	}
	ask->offer_count = left;
}

static int find_offers(struct session *s, struct arena *a, const struct held_call *call,
		       struct ask *out, struct err *e)
{
	const struct denial *attempt = call->attempt;
	struct plan_inputs moment = *live_inputs(s);
	const struct plan_inputs *in = &moment;
	struct live_host *around;
	struct attempt_needs needs = { .subject = attempt->subject, .access = ACCESS_WRITE };

	if (live_look(s, a, attempt->subject, &around, e) < 0)
		return err_result(e);
	moment.host = live_host(around);
	if (attempt->kind == DENIAL_UNIX_SOCKET)
		return path_is_absolute(attempt->subject)
			       ? offers_for_socket(a, in, live_plan(s), attempt->subject,
						   call->can_once, out, e)
			       : 0;
	needs.opens = denial_opens(a, in, live_plan(s), attempt);
	/* One new file directly in a home can be had once; the home itself is no offer. */
	if (!needs.opens.len && attempt->operation == OPERATION_CREATE && call->can_once)
		needs.opens = attempt->opens;
	return needs.opens.len ? offers_for_path(a, in, live_plan(s), &needs, attempt->operation,
						 call->can_once, out, e)
			       : 0;
}

/* What can't be found out is not asked about. */
static bool fill_call(struct session *s, struct arena *a, const struct held_call *call,
		      struct buf *rule, struct ask *out)
{
	const struct denial *attempt = call->attempt;
	struct err ignored = ERR_INIT;

	*out = (struct ask){
		.kind = attempt->kind == DENIAL_UNIX_SOCKET ? ASK_UNIX_SOCKET : ASK_WRITE,
		.operation = attempt->operation,
		.subject = attempt->subject,
		.named = attempt->named,
		.program = attempt->executable.len ? attempt->executable : attempt->program,
		.pid = attempt->pid,
		.argv = call->argv,
		.argv_count = call->argv_count,
		.cwd = call->cwd,
		.origin = denial_origin(attempt),
		.reason = STR_EMPTY,
	};
	denial_add_rule(rule, attempt);
	if (rule->failed != ERR_OK || find_offers(s, a, call, out, &ignored) < 0)
		return false;
	out->rule = buf_str(rule);
	limit_offers(s, out);
	return out->offer_count > 0;
}

bool approvals_hold(void *user, const struct held_call *call)
{
	struct session *s = user;
	struct approvals *a = &s->approvals;
	scoped_arena scratch = ARENA_INIT(SCRATCH_BYTES);
	scoped_buf rule = BUF_INIT(TEXT_MAX_BYTES);
	const struct asker asker = {
		.told = call_told,
		.call = call->id,
		.needs = call->attempt->kind == DENIAL_PATH ? call->attempt->opens : STR_EMPTY,
		.subject = call->attempt->kind == DENIAL_PATH ? call->attempt->subject : STR_EMPTY,
		.can_once = call->can_once
	};
	struct ask ask;
	uint64_t id;

	if (!a->is_on || !fill_call(s, &scratch, call, &rule, &ask))
		return false;
	return approvals_ask(s, &ask, &asker, &id);
}

void approvals_unhold(void *user, uint64_t call)
{
	struct session *s = user;
	const struct approvals *a = &s->approvals;

	for (size_t i = 0; i < a->waiting_count; i++) {
		const struct waiting *waiting = &a->waiting[i];

		if (!waiting->id || waiting->asker.told != call_told || waiting->asker.call != call)
			continue;
		approvals_withdraw(s, waiting->id);
		return;
	}
}

/* ---- Hosts ---------------------------------------------------------------------------------------- */

static void host_told(struct session *s, const struct asker *asker, const struct answer *answer)
{
	struct err e = ERR_INIT;

	/* Then the proxy denies it when its time is over. */
	if (session_decide(s, asker->call, answer->is_allow, &e) < 0)
		session_trace(&s->in, "the proxy was not told: %s", e.text);
}

enum decision approvals_ask_host(struct session *s, uint64_t id, const struct proxy_record *record)
{
	scoped_arena scratch = ARENA_INIT(SCRATCH_BYTES);
	const struct asker asker = { .told = host_told, .call = id };
	struct ask ask = { .kind = ASK_CONNECT,
			   .operation = OPERATION_CONNECT,
			   .program = str_of(record->program),
			   .pid = record->pid,
			   .rule = STR("no rule allows it") };
	struct err ignored = ERR_INIT;
	struct hostname host;
	uint64_t request;

	if (hostname_parse(&scratch, str_of(record->host), &host, &ignored) < 0 ||
	    offers_for_host(&scratch, live_inputs(s), &host, record->port, true, &ask, &ignored) <
		    0)
		return DECISION_DENY;
	return approvals_ask(s, &ask, &asker, &request) ? DECISION_ASK : DECISION_DENY;
}

/* ---- After the command ----------------------------------------------------------------------------- */

static void after_told(struct session *s, const struct asker *asker, const struct answer *answer)
{
	(void)s, (void)asker, (void)answer;
}

/* This one call is over, and minutes are of one run. */
static void drop_short_scopes(struct ask *ask)
{
	const scope_set less = SCOPE_BIT(SCOPE_ONCE) | SCOPE_BIT(SCOPE_MINUTES);
	size_t left = 0;

	for (size_t i = 0; i < ask->offer_count; i++) {
		ask->offers[i].scopes &= ~less;
		if (ask->offers[i].scopes)
			ask->offers[left++] = ask->offers[i];
	}
	ask->offer_count = left;
}

static void ask_about(struct session *s, const struct denial *denial)
{
	scoped_arena scratch = ARENA_INIT(SCRATCH_BYTES);
	scoped_buf rule = BUF_INIT(TEXT_MAX_BYTES);
	const struct held_call call = { .id = 1, .attempt = denial };
	const struct asker asker = { .told = after_told };
	struct ask ask;
	uint64_t ignored;

	if (denial->kind == DENIAL_HOST || denial_access(denial) != ACCESS_WRITE ||
	    !fill_call(s, &scratch, &call, &rule, &ask))
		return;
	drop_short_scopes(&ask);
	(void)approvals_ask(s, &ask, &asker, &ignored);
}

/* What was granted for minutes of the run that has ended. */
static void drop_minutes(struct session *s)
{
	struct live *live = &s->approvals.live;

	for (size_t i = live->count; i > 0; i--) {
		const struct live_grant open = live->grants[i - 1];

		if (open.scope != SCOPE_MINUTES)
			continue;
		broker_forget(s->approvals.broker, &open.grant);
		close_grant(s, &open.grant, "no longer granted");
	}
}

static bool has_failed(const struct session *s)
{
	const struct outcome *o = &s->outcome;

	return o->is_sandboxed && o->has_started && o->status != 0 && o->signal == 0 &&
	       !o->timed_out && !o->was_cancelled;
}

bool approvals_ask_after(struct session *s)
{
	struct approvals *a = &s->approvals;
	const struct denials *d = &s->outcome.denials;

	if (!a->is_on || !a->broker || a->is_ended || !s->in.asks_after || a->can_open ||
	    !has_failed(s))
		return false;
	if (!a->has_asked_after) {
		a->has_asked_after = a->is_after = true;
		drop_minutes(s);
		/* Those that are denied or granted meanwhile are answered by what the broker knows. */
		for (size_t i = 0; i < MIN_OF(d->items.count, (size_t)AFTER_MAX); i++)
			ask_about(s, &d->items.items[i]);
	}
	return broker_waiting(a->broker) > 0 || a->answered_count > 0;
}

const struct live_grant *session_granted(const struct session *s, size_t *count)
{
	*count = s->approvals.is_after ? s->approvals.live.count : 0;
	return s->approvals.live.grants;
}

/* ---- For the caller ------------------------------------------------------------------------------ */

static int check_asking(const struct session *s, struct err *e)
{
	if (!s->approvals.is_on)
		return FAIL(e, ERR_ARGUMENT, "nobody is asked in this run");
	if (!s->approvals.broker || s->approvals.is_ended ||
	    (!s->approvals.is_after && !run_is_alive(s->state)))
		return FAIL_CAUSE(e, CAUSE_RUN_ENDED, "the command has ended");
	return 0;
}

int session_answer(struct session *s, uint64_t id, const struct answer *answer, struct err *e)
{
	if (check_asking(s, e) < 0)
		return err_result(e);
	broker_decide(s->approvals.broker, id, answer, loop_now());
	set_tick(s);
	return 0;
}

int session_revoke(struct session *s, const struct grant *grant, struct err *e)
{
	if (check_asking(s, e) < 0)
		return err_result(e);
	broker_forget(s->approvals.broker, grant);
	close_grant(s, grant, "revoked");
	return 0;
}

/* ---- Begin and end ------------------------------------------------------------------------------ */

void approvals_init(struct session *s)
{
	s->approvals = (struct approvals){
		.is_on = s->in.approvals != NULL,
		.tick = { .due = tick, .user = s },
		.look = { .due = look_for_revoked, .user = s },
		.later = { .due = tell_later, .user = s },
	};
}

/* ---- At the terminal ---------------------------------------------------------------------------- */

static void take_answer(void *user, uint64_t id, const struct answer *answer)
{
	const struct session *s = user;

	broker_decide(s->approvals.broker, id, answer, loop_now());
}

/* As store.h has it, but for the id and the date. */
static void show_entry(void *user, const struct grant *grant, struct buf *out)
{
	const struct session *s = user;

	buf_add_text(out, "every run with the profile ");
	utf8_add_shown(out, s->in.plan->policy->profile->name);
	buf_add_text(out, " (written to approvals.toml)\n");
	buf_printf(out, "[[grant]] kind = \"%s\", subject = ", ask_kind_name(grant->kind));
	utf8_add_quoted(out, grant->subject, false);
	if (grant->kind == ASK_WRITE && grant->is_dir)
		buf_add_text(out, ", dir = true");
	buf_add_text(out, ", profile = ");
	utf8_add_quoted(out, s->in.plan->policy->profile->name, false);
}

/* Without a sandbox there is no relay, and nothing to ask about. */
static int start_at_terminal(struct session *s, struct err *e)
{
	struct decide_tty_options options = { .loop = &s->loop,
					      .has_colour = s->in.has_colour,
					      .answer = take_answer,
					      .show_entry = show_entry,
					      .user = s };

	if (!s->relay)
		return 0;
	options.terminal = relay_lend(s->relay);
	if (decide_tty_new(&options, &s->approvals.at_terminal, e) < 0)
		return err_result(e);
	relay_serve(s->relay, s->approvals.at_terminal);
	s->approvals.decider = *decide_tty_decider(s->approvals.at_terminal);
	return 0;
}

/* ---- Begin ---------------------------------------------------------------------------------------- */

/*
 * SECURITY: the command can't write there now, or the decider would have been refused; nor may a
 * grant ever let it (P25).
 */
static int own_places(struct session *s, struct err *e)
{
	const struct decider *d = &s->approvals.decider;
	struct plan_inputs *in = &s->approvals.inputs;
	struct own_file *own = arena_array(s->a, in->own_count + d->place_count, sizeof(*own), e);

	if (!own)
		return err_result(e);
	for (size_t i = 0; i < in->own_count; i++)
		own[i] = in->own[i];
	for (size_t i = 0; i < d->place_count; i++)
		own[in->own_count++] = (struct own_file){ .path = d->places[i],
							  .access = ACCESS_READ,
							  .what = "who decides (--ask)" };
	in->own = own;
	return 0;
}

/* Who asks to be asked, and never is, would take it for a yes. */
static void warn_of_few_questions(const struct session *s)
{
	if (!s->outcome.is_sandboxed)
		session_warn(&s->in, "--ask has no effect: without a sandbox nothing is refused");
	else if (!s->approvals.can_open && !s->in.asks_after)
		session_warn(
			&s->in,
			"the %s backend can't open paths while the command runs%s; to be asked "
			"when it has failed, add --retry",
			s->outcome.backend->name,
			s->in.plan->policy->profile->allows_userns
				? ", since the profile allows user namespaces"
				: "");
}

void approvals_begin(struct session *s)
{
	s->approvals.can_open = supervisor_can_open(s->supervisor);
	if (s->approvals.is_on && !s->in.is_quiet)
		warn_of_few_questions(s);
}

int approvals_prepare(struct session *s, struct err *e)
{
	const struct session_approvals *in = s->in.approvals;
	struct approvals *a = &s->approvals;
	const struct broker_options options = {
		.rules = in ? in->rules : NULL,
		.decider = in && (in->start || s->relay) ? &a->decider : NULL,
		.scopes = in ? in->scopes : 0,
		.deadline_ms = in ? in->deadline_ms : 0,
		.events = { .user = s,
			    .answered = answered,
			    .decided = decided,
			    .rejected = rejected,
			    .expired = expired,
			    .lost = lost },
	};

	if (!a->is_on)
		return 0;
	a->inputs = *s->in.plan_inputs;
	a->waiting = arena_array(s->a, BROKER_MAX_WAITING, sizeof(*a->waiting), e);
	if (!a->waiting || loop_prepare_timers(&s->loop, e) < 0 || approval_log_open(s, e) < 0 ||
	    broker_new(&options, &a->broker, e) < 0)
		return err_result(e);
	if (s->in.asks_at_terminal)
		return start_at_terminal(s, e);
	if (!in->start)
		return 0;
	if (in->start(s->in.user, s->a, s->outcome.run_id, &s->loop, a->broker, &a->decider, e) < 0)
		return err_result(e);
	return own_places(s, e);
}

void approvals_end(struct session *s)
{
	struct approvals *a = &s->approvals;

	if (!a->broker || a->is_ended)
		return;
	a->is_ended = true;
	/* The decider is told of each before it goes. */
	for (size_t i = 0; i < a->waiting_count; i++)
		if (a->waiting[i].id)
			approvals_withdraw(s, a->waiting[i].id);
	if (a->decider.stop)
		a->decider.stop(a->decider.self);
	loop_drop_timer(&s->loop, &a->tick);
	loop_drop_timer(&s->loop, &a->look);
	loop_drop_timer(&s->loop, &a->later);
	s->outcome.approvals.counts = *broker_counts(a->broker);
	approval_log_tell_unheard(s);
}

void approvals_close(struct session *s)
{
	struct approvals *a = &s->approvals;
	struct err e = ERR_INIT;

	approvals_end(s);
	if (a->log && approval_log_end(s, &e) < 0)
		session_warn(&s->in, "%s", e.text);
	approval_log_close(s);
	broker_free(a->broker);
	a->broker = NULL;
	if (s->relay)
		relay_serve(s->relay, NULL);
	decide_tty_free(a->at_terminal);
	a->at_terminal = NULL;
}

void approvals_done(struct session *s)
{
	live_done(&s->approvals.live);
}
