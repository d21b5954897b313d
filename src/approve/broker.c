/* SPDX-License-Identifier: MIT */
/*
 * See broker.h. A *question* is what the decider is asked: the requests that are answered together.
 *
 * Events and the decider may call back, so a question leaves the list before anybody is told of its
 * answer, and no loop goes on from a question after such a call.
 */
#include "approve/broker.h"

#include "approve/history.h"
#include "approve/rules.h"
#include "base/buf.h"
#include "base/mem.h"

enum {
	MINUTE_MS = 60 * 1000,
	MAX_ENDED = 1024,
};

struct question {
	struct question *next;
	uint64_t id; /* of the request in whose words it is asked */
	uint64_t ends_ms;
	bool is_asked;
	struct kept *waiters, **last; /* at least one */
};

/* The last questions that ended, to say what is wrong with an answer. */
struct ended {
	uint64_t id;
	const char *how;
};

/* broker_ask() is at work on it: its answer is given back, not told. */
struct asking {
	uint64_t id;
	bool is_answered;
	struct answer answer;
	struct kept *strings; /* of the answer */
};

struct broker {
	struct broker_options options;
	struct broker_counts counts;
	uint64_t now;
	struct question *questions;
	struct history history;
	size_t waiting;
	struct asking *asking;
	bool is_asking_decider;
	bool has_lost_decider;
	bool denies_rest;
	struct kept *rest;	   /* with the message of that deny, or NULL */
	struct kept *last_strings; /* of the last answer that broker_ask() gave back */
	uint64_t sent_ms[BROKER_PER_MINUTE];
	size_t sent; /* questions, in all */
	struct ended ended[MAX_ENDED];
	size_t ended_count;
	unsigned wrong_in_row;
	char text[512]; /* of an answer by a rule */
};

static const struct answer no_answer = { .message = { "", 0 }, .grant = { .subject = { "", 0 } } };

int broker_new(const struct broker_options *options, struct broker **out, struct err *e)
{
	struct broker *b = mem_new(sizeof(*b), e);

	if (!b)
		return err_result(e);
	b->options = *options;
	if (!b->options.deadline_ms)
		b->options.deadline_ms = BROKER_DEADLINE_MS;
	*out = b;
	return 0;
}

void broker_free(struct broker *b)
{
	if (!b)
		return;
	while (b->questions) {
		struct question *q = b->questions;

		b->questions = q->next;
		history_drop_all(&b->history, q->waiters);
		mem_free(q);
	}
	history_drop(&b->history, b->rest);
	history_drop(&b->history, b->last_strings);
	history_done(&b->history);
	mem_free(b);
}

static void update_clock(struct broker *b, uint64_t now)
{
	if (now <= b->now)
		return;
	if (b->waiting)
		b->counts.held_ms += now - b->now;
	b->now = now;
}

bool broker_remember(struct broker *b, const struct grant *grant, enum grant_scope scope)
{
	struct ask ask = { .kind = grant->kind, .subject = grant->subject, .cwd = STR_EMPTY };

	return history_add_granted(&b->history, &ask, grant, scope, 0);
}

void broker_forget(struct broker *b, const struct grant *grant)
{
	history_forget(&b->history, grant);
}

bool broker_holds(const struct broker *b, const struct grant *grant, uint64_t now)
{
	return history_holds(&b->history, grant, now);
}

/* ---- Telling --------------------------------------------------------------------------------- */

static void count_answer(struct broker *b, const struct ask *ask, const struct answer *answer)
{
	if (answer->is_allow)
		b->counts.allowed++;
	else
		b->counts.denied++;
	if (b->options.events.decided)
		b->options.events.decided(b->options.events.user, ask, answer);
}

/* For who called broker_ask(): the strings have to live on. */
static void keep_answer(struct broker *b, const struct answer *answer)
{
	struct ask holder = { .kind = answer->grant.kind, .offer_count = 1 };
	struct asking *asking = b->asking;

	holder.offers[0].grant = answer->grant;
	asking->is_answered = true;
	asking->answer = *answer;
	asking->strings = history_keep(&b->history, &holder, answer->message);
	if (asking->strings) {
		asking->answer.grant = asking->strings->ask.offers[0].grant;
		asking->answer.message = asking->strings->message;
		return;
	}
	asking->answer = no_answer;
	asking->answer.by = "limit";
}

static void tell(struct broker *b, const struct kept *waiter, const struct answer *answer)
{
	const struct broker_events *events = &b->options.events;

	if (b->asking && b->asking->id == waiter->ask.id) {
		keep_answer(b, answer);
		count_answer(b, &waiter->ask, &b->asking->answer);
		return;
	}
	count_answer(b, &waiter->ask, answer);
	if (events->answered)
		events->answered(events->user, waiter->ask.id, answer);
}

static void reject(struct broker *b, uint64_t id, const char *why)
{
	if (b->options.events.rejected)
		b->options.events.rejected(b->options.events.user, id, why);
}

/* ---- Questions ------------------------------------------------------------------------------- */

static struct question *find_question(const struct broker *b, uint64_t id)
{
	struct question *q = b->questions;

	while (q && !(q->is_asked && q->id == id))
		q = q->next;
	return q;
}

bool broker_is_asked(const struct broker *b, uint64_t id)
{
	return find_question(b, id) != NULL;
}

bool broker_has_decider(const struct broker *b)
{
	return b->options.decider && !b->has_lost_decider;
}

static void add_ended(struct broker *b, uint64_t id, const char *how)
{
	b->ended[b->ended_count++ % MAX_ENDED] = (struct ended){ id, how };
}

static void unlink_question(struct broker *b, struct question *q, const char *how)
{
	struct question **at = &b->questions;

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	q->next = NULL;
	if (q->is_asked)
		add_ended(b, q->id, how);
	for (const struct kept *k = q->waiters; k; k = k->next)
		b->waiting--;
}

static void withdraw_question(struct broker *b, uint64_t id)
{
	const struct decider *d = b->options.decider;

	if (broker_has_decider(b) && d->withdraw)
		d->withdraw(d->self, id);
}

static void tell_all(struct broker *b, const struct question *q, const struct answer *answer)
{
	for (const struct kept *k = q->waiters; k; k = k->next)
		tell(b, k, answer);
}

/* One that is in the list no more. */
static void free_question(struct broker *b, struct question *q)
{
	history_drop_all(&b->history, q->waiters);
	mem_free(q);
}

static void settle(struct broker *b, struct question *q, const struct answer *answer,
		   const char *how)
{
	unlink_question(b, q, how);
	tell_all(b, q, answer);
	free_question(b, q);
}

/* The same where the decider has not answered it. If it does so when it hears of this, it is too late. */
static void settle_unanswered(struct broker *b, struct question *q, const struct answer *answer,
			      const char *how)
{
	unlink_question(b, q, how);
	if (q->is_asked)
		withdraw_question(b, q->id);
	tell_all(b, q, answer);
	free_question(b, q);
}

static struct answer make_deny(const char *by)
{
	struct answer answer = no_answer;

	answer.by = by;
	return answer;
}

static void deny_question(struct broker *b, struct question *q, const char *by, const char *how)
{
	struct answer answer = make_deny(by);

	settle_unanswered(b, q, &answer, how);
}

static void lose_decider(struct broker *b, const char *why)
{
	const struct broker_events *events = &b->options.events;

	if (!broker_has_decider(b))
		return;
	b->has_lost_decider = true;
	while (b->questions)
		deny_question(b, b->questions, "nobody", "the decider was not asked any more");
	if (events->lost)
		events->lost(events->user, why);
}

void broker_lose_decider(struct broker *b, uint64_t now)
{
	update_clock(b, now);
	lose_decider(b, "the decider has ended");
}

/* False: too many reached the decider within the last minute. */
static bool take_rate(struct broker *b)
{
	uint64_t *oldest = &b->sent_ms[b->sent % BROKER_PER_MINUTE];

	if (b->sent >= BROKER_PER_MINUTE && b->now - *oldest < MINUTE_MS)
		return false;
	*oldest = b->now;
	b->sent++;
	return true;
}

static void ask_about(struct broker *b, struct question *q)
{
	const struct decider *d = b->options.decider;

	if (!take_rate(b)) {
		for (const struct kept *k = q->waiters; k; k = k->next)
			b->counts.limited++;
		deny_question(b, q, "limit", "there were too many");
		return;
	}
	q->is_asked = true;
	q->ends_ms = b->now + b->options.deadline_ms;
	if (!d->ask(d->self, &q->waiters->ask, b->options.deadline_ms))
		lose_decider(b, "the decider can't be asked");
}

static struct question *find_unasked(const struct broker *b)
{
	struct question *q = b->questions;

	while (q && q->is_asked)
		q = q->next;
	return q;
}

/* Not while it is at work further up: that one goes on with what was added. */
static void ask_decider(struct broker *b)
{
	struct question *q;

	if (b->is_asking_decider)
		return;
	b->is_asking_decider = true;
	while ((q = find_unasked(b)))
		ask_about(b, q);
	b->is_asking_decider = false;
}

/* Of what can be had for longer than one call. */
static scope_set lasting_scopes(const struct ask *ask)
{
	scope_set scopes = 0;

	for (size_t i = 0; i < ask->offer_count; i++)
		scopes |= ask->offers[i].scopes;
	return scopes & ~SCOPE_BIT(SCOPE_ONCE);
}

static void add_waiter(struct broker *b, struct question *q, struct kept *k)
{
	k->next = NULL;
	*q->last = k;
	q->last = &k->next;
	b->waiting++;
}

/* False: no memory, or no room. */
static bool add_question(struct broker *b, struct kept *first)
{
	struct err e = ERR_INIT;
	struct question *q = mem_new(sizeof(*q), &e);
	struct question **at = &b->questions;

	if (!q)
		return false;
	q->id = first->ask.id;
	q->last = &q->waiters;
	while (*at)
		at = &(*at)->next;
	*at = q;
	add_waiter(b, q, first);
	return true;
}

static bool joins(const struct ask *first, const struct ask *ask)
{
	return !first->is_alone && !ask->is_alone && ask_is_same(first, ask) &&
	       lasting_scopes(first) == lasting_scopes(ask);
}

/* Joins an equal question, or makes a new one. */
static bool enqueue(struct broker *b, const struct ask *ask)
{
	struct question *q = b->questions;
	struct kept *k;

	if (b->waiting >= BROKER_MAX_WAITING || history_is_full(&b->history))
		return false;
	k = history_keep(&b->history, ask, STR_EMPTY);
	if (!k)
		return false;
	while (q && !joins(&q->waiters->ask, ask))
		q = q->next;
	if (q) {
		add_waiter(b, q, k);
		return true;
	}
	if (add_question(b, k))
		return true;
	history_drop(&b->history, k);
	return false;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* Leaves out scopes that this run does not have, and that a rule denies; then offers without one. */
static void limit_offers(struct broker *b, struct ask *ask, uint32_t denied)
{
	size_t kept = 0;

	for (size_t i = 0; i < ask->offer_count; i++) {
		struct offer offer = ask->offers[i];

		offer.scopes &= b->options.scopes;
		if (denied & UINT32_C(1) << i)
			offer.scopes &= SCOPE_BIT(SCOPE_ONCE);
		if (offer.scopes)
			ask->offers[kept++] = offer;
	}
	ask->offer_count = kept;
}

static struct answer answer_again(const struct kept *denied)
{
	struct answer answer = make_deny("cache");

	if (denied)
		answer.message = denied->message;
	return answer;
}

static struct answer allow_again(const struct broker *b, const struct kept *granted)
{
	struct answer answer = no_answer;
	uint64_t left_ms = granted->expires_ms ? granted->expires_ms - b->now : 0;

	answer.by = "cache";
	answer.is_allow = true;
	answer.scope = granted->scope;
	answer.minutes = (uint32_t)((left_ms + MINUTE_MS - 1) / MINUTE_MS);
	answer.grant = granted->ask.offers[0].grant;
	return answer;
}

static void name_rule(struct broker *b, const struct origin *origin, struct answer *answer)
{
	struct buf text = BUF_OVER(b->text);

	if (origin->file)
		buf_printf(&text, "the rule at %.300s:%u", origin->file, (unsigned)origin->line);
	else
		buf_add_text(&text, "a rule of [[approve]]");
	answer->message = buf_str(&text);
}

/* What the rules say. */
static enum ruling_answer ask_rules(struct broker *b, struct ask *ask, struct answer *out)
{
	struct ruling ruling = { .answer = RULED_NOT };

	*out = make_deny("rule");
	if (!b->options.rules)
		return RULED_NOT;
	approve_rules_judge(b->options.rules, ask, &ruling);
	if (ruling.answer == RULED_ALLOW) {
		out->is_allow = true;
		out->scope = ruling.scope;
		out->grant = ask->offers[ruling.offer].grant;
	}
	limit_offers(b, ask, ruling.denied_offers);
	if (!ask->offer_count)
		ruling.answer = RULED_DENY;
	name_rule(b, &ruling.origin, out);
	return ruling.answer;
}

/* Whether nobody has to be asked. `ask` is the caller's own copy. */
static bool answer_at_once(struct broker *b, struct ask *ask, struct answer *out)
{
	enum ruling_answer ruling;
	const struct kept *known;

	limit_offers(b, ask, 0);
	if (!ask->offer_count) {
		*out = make_deny("nobody");
		return true;
	}
	/* First, because a deny was remembered with the offers that the rules leave. */
	ruling = ask_rules(b, ask, out);
	known = history_find_denied(&b->history, ask);
	if (b->denies_rest || known) {
		b->counts.cache_hits++;
		*out = answer_again(b->denies_rest ? b->rest : known);
		return true;
	}
	if (ruling == RULED_DENY || ruling == RULED_ALLOW)
		return true;
	known = history_find_granted(&b->history, ask, b->now);
	if (known) {
		b->counts.cache_hits++;
		*out = allow_again(b, known);
		return true;
	}
	b->counts.cache_misses++;
	*out = make_deny("nobody");
	return !broker_has_decider(b);
}

static bool is_waiting(const struct broker *b, uint64_t id)
{
	for (const struct question *q = b->questions; q; q = q->next) {
		for (const struct kept *k = q->waiters; k; k = k->next) {
			if (k->ask.id == id)
				return true;
		}
	}
	return false;
}

/* As broker_ask(), for what has to be asked. */
static int ask_somebody(struct broker *b, const struct ask *ask, struct answer *out)
{
	struct asking asking = { .id = ask->id };
	bool is_outermost = !b->asking;

	if (!ask->id || is_waiting(b, ask->id) || !enqueue(b, ask)) {
		b->counts.limited++;
		*out = make_deny("limit");
		count_answer(b, ask, out);
		return 0;
	}
	if (is_outermost)
		/* cppcheck-suppress autoVariables; it is taken back before this function ends */
		b->asking = &asking;
	ask_decider(b);
	if (is_outermost)
		b->asking = NULL;
	if (!asking.is_answered)
		return 1;
	b->last_strings = asking.strings;
	*out = asking.answer;
	return 0;
}

int broker_ask(struct broker *b, const struct ask *ask, uint64_t now, struct answer *out)
{
	struct ask own = *ask;

	update_clock(b, now);
	b->counts.requests++;
	if (!b->asking) {
		history_drop(&b->history, b->last_strings);
		b->last_strings = NULL;
	}
	if (ask->offer_count > ASK_MAX_OFFERS || ask->argv_count > ASK_MAX_ARGV) {
		b->counts.limited++;
		*out = make_deny("limit");
	} else if (!answer_at_once(b, &own, out)) {
		return ask_somebody(b, &own, out);
	}
	count_answer(b, ask, out);
	return 0;
}

/* Takes the waiter out; false if none has that id. */
static bool remove_waiter(struct broker *b, struct question *q, uint64_t id)
{
	struct kept **at = &q->waiters;
	struct kept *k;

	while (*at && (*at)->ask.id != id)
		at = &(*at)->next;
	k = *at;
	if (!k)
		return false;
	*at = k->next;
	if (!*at)
		q->last = at;
	history_drop(&b->history, k);
	b->waiting--;
	return true;
}

void broker_withdraw(struct broker *b, uint64_t id, uint64_t now)
{
	struct question *q = b->questions;

	update_clock(b, now);
	while (q && !remove_waiter(b, q, id))
		q = q->next;
	if (!q)
		return;
	b->counts.withdrawn++;
	if (!q->waiters) {
		bool was_asked = q->is_asked;
		uint64_t asked = q->id;

		unlink_question(b, q, "nobody waits for it any more");
		mem_free(q);
		if (was_asked)
			withdraw_question(b, asked);
	}
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void count_wrong(struct broker *b, uint64_t id, const char *why)
{
	b->counts.wrong++;
	reject(b, id, why);
	if (++b->wrong_in_row >= BROKER_MAX_WRONG)
		lose_decider(b, "too many of its answers in a row were wrong");
}

void broker_reject(struct broker *b, uint64_t id, const char *why)
{
	count_wrong(b, id, why);
}

/* No request waits for it. That it is late is not the decider's fault. */
static void reject_unknown(struct broker *b, uint64_t id)
{
	for (size_t i = 0; i < b->ended_count && i < MAX_ENDED; i++) {
		if (b->ended[i].id == id) {
			b->counts.late++;
			reject(b, id, b->ended[i].how);
			return;
		}
	}
	count_wrong(b, id, "there is no such request");
}

/* What is wrong with an allow, or NULL; `*grant` is then what it grants. */
static const char *check_allow(const struct ask *ask, const struct answer *answer,
			       const struct grant **grant)
{
	const char *why = "its grant is wider than every offer";

	if ((unsigned)answer->scope > SCOPE_ALWAYS)
		return "there is no such scope";
	if (answer->scope == SCOPE_MINUTES &&
	    (answer->minutes < 1 || answer->minutes > ASK_MAX_MINUTES))
		return "its minutes are not from 1 to 10080";
	for (size_t i = 0; answer->is_narrowest && i < ask->offer_count; i++) {
		*grant = &ask->offers[i].grant;
		if (ask->offers[i].scopes & SCOPE_BIT(answer->scope))
			return NULL;
	}
	if (answer->is_narrowest)
		return "its scope was not offered";
	*grant = &answer->grant;
	if (!grant_is_well_formed(*grant))
		return "its grant is not a plain path, or not a host and a port";
	for (size_t i = 0; i < ask->offer_count; i++) {
		if (!grant_covers(&ask->offers[i].grant, *grant))
			continue;
		if (ask->offers[i].scopes & SCOPE_BIT(answer->scope))
			return NULL;
		why = "its scope was not offered";
	}
	return why;
}

/* Takes the questions out of the list that need not be asked any more. */
static struct question *take_granted(struct broker *b)
{
	struct question *next, *taken = NULL, **last = &taken;

	for (struct question *q = b->questions; q; q = next) {
		next = q->next;
		if (!history_find_granted(&b->history, &q->waiters->ask, b->now))
			continue;
		unlink_question(b, q, "it was granted meanwhile");
		*last = q;
		last = &q->next;
	}
	return taken;
}

/* For who waits for what was granted for another: the same answer, which is remembered now. */
static void finish_granted(struct broker *b, struct question *q, const struct answer *answer)
{
	struct answer again = *answer;

	again.by = "cache";
	while (q) {
		struct question *next = q->next;

		b->counts.cache_hits++;
		if (q->is_asked)
			withdraw_question(b, q->id);
		tell_all(b, q, &again);
		free_question(b, q);
		q = next;
	}
}

static void allow_lasting(struct broker *b, struct question *q, const struct answer *answer)
{
	struct question *others;
	uint64_t expires_ms = 0;

	if (answer->scope == SCOPE_MINUTES)
		expires_ms = b->now + (uint64_t)answer->minutes * MINUTE_MS;
	if (!history_add_granted(&b->history, &q->waiters->ask, &answer->grant, answer->scope,
				 expires_ms)) {
		struct answer limit = make_deny("limit");

		for (const struct kept *k = q->waiters; k; k = k->next)
			b->counts.limited++;
		settle(b, q, &limit, "it was answered before");
		return;
	}
	unlink_question(b, q, "it was answered before");
	others = take_granted(b);
	tell_all(b, q, answer);
	/* The grant may be an offer of `q`, which is therefore freed last. */
	finish_granted(b, others, answer);
	free_question(b, q);
}

/*
 * Only for the request in whose words it was asked. The others are asked about again, and so are all
 * if that one is gone.
 */
static void allow_once(struct broker *b, struct question *q, const struct answer *answer)
{
	struct kept *k = q->waiters;
	uint64_t asked = q->id;
	bool is_gone = k->ask.id != asked;

	if (!is_gone && !k->next) {
		settle(b, q, answer, "it was answered before");
		return;
	}
	add_ended(b, asked, "it was answered before");
	q->is_asked = false;
	if (!is_gone) {
		q->waiters = k->next;
		b->waiting--;
	}
	q->id = q->waiters->ask.id;
	if (is_gone) {
		b->counts.late++;
		reject(b, asked, "nobody waits for it any more");
	} else {
		tell(b, k, answer);
		history_drop(&b->history, k);
	}
	ask_decider(b);
}

static void deny(struct broker *b, struct question *q, const struct answer *answer)
{
	history_add_denied(&b->history, &q->waiters->ask, answer->message);
	if (answer->denies_rest && !b->denies_rest) {
		b->denies_rest = true;
		b->rest = history_keep(&b->history, &q->waiters->ask, answer->message);
	}
	settle(b, q, answer, "it was answered before");
	while (answer->denies_rest && b->questions)
		settle_unanswered(b, b->questions, answer, "all were denied");
}

void broker_decide(struct broker *b, uint64_t id, const struct answer *answer, uint64_t now)
{
	const struct grant *grant = NULL;
	struct question *q;
	struct answer final;
	const char *why;

	update_clock(b, now);
	q = find_question(b, id);
	if (!q) {
		reject_unknown(b, id);
		return;
	}
	final = *answer;
	/* One that asks on behalf of others says who it was. */
	final.by = answer->by ? answer->by : b->options.decider->by;
	if (!answer->is_allow) {
		b->wrong_in_row = 0;
		deny(b, q, &final);
		return;
	}
	why = check_allow(&q->waiters->ask, answer, &grant);
	if (why) {
		count_wrong(b, id, why);
		return;
	}
	b->wrong_in_row = 0;
	final.grant = *grant;
	final.is_narrowest = final.denies_rest = false;
	if (final.scope == SCOPE_ONCE)
		allow_once(b, q, &final);
	else
		allow_lasting(b, q, &final);
}

/* ---- Time ------------------------------------------------------------------------------------ */

uint64_t broker_next_ms(const struct broker *b)
{
	uint64_t next = history_next_ms(&b->history);

	for (const struct question *q = b->questions; q; q = q->next) {
		if (q->is_asked && (!next || q->ends_ms < next))
			next = q->ends_ms;
	}
	return next;
}

static struct question *find_overdue(const struct broker *b)
{
	struct question *q = b->questions;

	while (q && !(q->is_asked && q->ends_ms <= b->now))
		q = q->next;
	return q;
}

void broker_tick(struct broker *b, uint64_t now)
{
	const struct broker_events *events = &b->options.events;
	struct question *q;
	struct kept *k;

	update_clock(b, now);
	while ((q = find_overdue(b))) {
		history_add_denied(&b->history, &q->waiters->ask, STR_EMPTY);
		deny_question(b, q, "deadline", "it is too late");
	}
	while ((k = history_take_expired(&b->history, b->now))) {
		if (events->expired)
			events->expired(events->user, &k->ask.offers[0].grant);
		history_drop(&b->history, k);
	}
}

uint64_t broker_extension_ms(const struct broker *b, uint64_t now)
{
	uint64_t held = b->counts.held_ms;

	if (b->waiting && now > b->now)
		held += now - b->now;
	return MIN_OF(held, b->options.deadline_ms);
}

size_t broker_waiting(const struct broker *b)
{
	return b->waiting;
}

const struct broker_counts *broker_counts(const struct broker *b)
{
	return &b->counts;
}
