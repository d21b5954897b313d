/* SPDX-License-Identifier: MIT */
/* One decision: checks the policy, asks the user if needed, dials, and records the outcome. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "proxy/server.h"

enum { MAX_QUESTIONS = 512 };

struct question {
	struct question *next, *previous;
	struct client *client;
	uint64_t id; /* 0: it is being answered */
	uint64_t until_ms;
};

struct questions {
	struct pool pool;
	struct question *first, *last; /* oldest first: all have the same time limit */
	struct timer timer;
	uint64_t last_id;
};

static uint64_t real_time_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Clears only what is needed, because this runs for each request; texts end at their NUL. */
static void clear(struct exchange *x)
{
	struct proxy_record *r = &x->record;

	x->next = x->previous = NULL;
	x->client = NULL;
	x->peer_port = 0;
	x->send_ms = 0;
	x->hash = 0;
	x->is_final = false;
	x->target.is_ip = false;
	x->target.port = 0;
	x->target.name[0] = '\0';
	memset(&x->judgement, 0, offsetof(struct judgement, rule));
	x->judgement.rule[0] = x->judgement.rule_file[0] = '\0';
	x->judgement.rule_line = 0;
	x->judgement.profile[0] = '\0';
	memset(r, 0, offsetof(struct proxy_record, program));
	r->count = 1;
	r->program[0] = r->host[0] = r->method[0] = r->rule[0] = r->rule_file[0] = '\0';
}

struct exchange *exchange_take(struct server *s, enum proxy_protocol protocol)
{
	struct exchange *x = pool_take(&s->exchanges);

	if (!x)
		return NULL;
	clear(x);
	x->began_ms = loop_now();
	x->record.started_ms = real_time_ms();
	x->record.protocol = (uint8_t)protocol;
	return x;
}

bool exchange_begin(struct client *c, enum proxy_protocol protocol)
{
	struct server *s = c->server;

	exchange_finish(c);
	c->exchange = outbox_has_room(s) ? exchange_take(s, protocol) : NULL;
	if (c->exchange)
		return true;
	client_set_waiting(c);
	return false;
}

/* ---- Policy ---------------------------------------------------------------------------------- */

/* Compares texts of the same size, up to their NUL. */
static void copy_text(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size - 1);

	memcpy(to, from, n);
	to[n] = '\0';
}

void exchange_note_target(struct exchange *x)
{
	x->record.port = x->target.port;
	copy_text(x->record.host, x->target.name, sizeof(x->record.host));
}

void exchange_set_address(struct exchange *x, const struct ip *ip, uint16_t port)
{
	struct buf text = BUF_OVER(x->target.name);

	x->target.is_ip = true;
	x->target.ip = *ip;
	x->target.port = port;
	ip_print(&text, ip);
}

void exchange_note_judgement(struct exchange *x)
{
	struct proxy_record *r = &x->record;

	copy_text(r->rule, x->judgement.rule, sizeof(r->rule));
	copy_text(r->rule_file, x->judgement.rule_file, sizeof(r->rule_file));
	r->rule_line = x->judgement.rule_line;
}

enum decision exchange_look(struct server *s, struct exchange *x)
{
	exchange_note_target(x);
	rules_judge(s->rules, &x->target, &x->judgement);
	exchange_note_judgement(x);
	if (x->judgement.decision == DECISION_DENY)
		exchange_set_reason(x, x->judgement.reason, 0);
	return x->judgement.decision;
}

bool exchange_look_again(struct server *s, struct exchange *x, const struct target *named)
{
	struct judgement second;

	rules_judge(s->rules, named, &second);
	if (second.decision == DECISION_ALLOW)
		return true;
	x->target = *named;
	x->judgement = second;
	exchange_note_target(x);
	exchange_note_judgement(x);
	return false;
}

enum judged exchange_judge(struct client *c)
{
	switch (exchange_look(c->server, c->exchange)) {
	case DECISION_ALLOW:
		return JUDGED_ALLOWED;
	case DECISION_ASK:
		if (question_ask(c))
			return JUDGED_LATER;
		exchange_set_reason(c->exchange, PROXY_DENIED_ASKED, 0);
		return JUDGED_REFUSED;
	case DECISION_DENY:
		break;
	}
	return JUDGED_REFUSED;
}

bool exchange_may_tunnel(struct client *c)
{
	return exchange_allows_tunnel(c->server, c->exchange);
}

bool exchange_allows_tunnel(struct server *s, struct exchange *x)
{
	if (!rules_are_limited(s->rules))
		return true;
	rules_judge_method(s->rules, STR_EMPTY, &x->judgement);
	exchange_note_judgement(x);
	exchange_set_reason(x, PROXY_DENIED_TUNNEL, 0);
	return false;
}

void exchange_set_reason(struct exchange *x, enum proxy_reason reason, int os_error)
{
	if (x->is_final)
		return;
	x->is_final = true;
	x->record.reason = (uint8_t)reason;
	x->record.os_error = os_error;
}

struct refusal exchange_refusal(const struct exchange *x)
{
	/* The name is allowed, but not an address that it resolves to. */
	bool is_by_address =
		x->record.has_address && !x->target.is_ip &&
		(x->record.reason == PROXY_DENIED_PRIVATE || x->record.reason == PROXY_DENIED_RULE);

	return (struct refusal){
		.reason = x->record.reason,
		.os_error = x->record.os_error,
		.target = x->target.is_ip || x->target.name[0] ? &x->target : NULL,
		.judgement = proxy_is_denial(x->record.reason) ? &x->judgement : NULL,
		.address = is_by_address ? &x->record.address : NULL,
		.method = str_of(x->record.method),
		.detail = STR_EMPTY,
	};
}

/* ---- Dialling -------------------------------------------------------------------------------- */

static void dialled(void *user, const struct dial_result *result)
{
	struct client *c = user;
	struct exchange *x = c->exchange;

	c->dial = NULL;
	x->record.has_address = result->has_address;
	x->record.address = result->address;
	if (result->fd < 0) {
		/* The name is allowed, but not an address that it resolves to. */
		if (proxy_is_denial(result->reason)) {
			x->judgement = result->judgement;
			exchange_note_judgement(x);
		}
		exchange_set_reason(x, result->reason, result->os_error);
	}
	c->protocol->dialled(c, result);
}

bool exchange_dial(struct client *c)
{
	c->dial = dial_start(c->server->dialer, &c->exchange->target, dialled, c);
	if (c->dial)
		return true;
	exchange_set_reason(c->exchange, PROXY_FAILED_RESOURCES, 0);
	return false;
}

bool exchange_dial_address(struct client *c, int fd, const struct ip *ip, uint16_t port)
{
	exchange_note_target(c->exchange);
	c->dial = dial_address(c->server->dialer, fd, ip, port, dialled, c);
	if (c->dial)
		return true;
	exchange_set_reason(c->exchange, PROXY_FAILED_RESOURCES, 0);
	return false;
}

/* ---- Its end ----------------------------------------------------------------------------------- */

void exchange_send(struct server *s, struct exchange *x)
{
	x->record.duration_ms = loop_now() - x->began_ms;
	outbox_add(s, x);
}

static void note_client(struct proxy_record *r, const struct client *c)
{
	r->pid = c->pid;
	copy_text(r->program, c->program, sizeof(r->program));
}

bool exchange_tell_open(struct exchange *x)
{
	struct proxy_message m = { .kind = PROXY_RECORD };
	struct server *s = x->client->server;

	/* The last places are for answers, which somebody waits for. */
	if (!outbox_takes_orders(s))
		return false;
	m.record = x->record;
	m.record.connection = s->open_records.told + 1;
	m.record.is_open = true;
	m.record.duration_ms = loop_now() - x->began_ms;
	m.record.count = m.record.bytes_up = m.record.bytes_down = 0;
	note_client(&m.record, x->client);
	if (!outbox_post(s, &m))
		return false;
	x->record.connection = ++s->open_records.told;
	return true;
}

void exchange_finish(struct client *c)
{
	struct exchange *x = c->exchange;

	c->exchange = NULL;
	if (!x)
		return;
	open_records_remove(c->server, x);
	note_client(&x->record, c);
	if (!c->pid && attribution_can_come(c)) {
		x->peer = c->peer;
		x->peer_port = c->peer_port;
		x->host_port = attribution_host_port(c);
	}
	exchange_send(c->server, x);
}

/* ---- Questions ---------------------------------------------------------------------------------- */

static int questions_expire(void *user, struct err *e)
{
	struct server *s = user;
	uint64_t now = loop_now();

	(void)e;
	while (s->questions->first && s->questions->first->until_ms <= now)
		question_answer(s, s->questions->first->id, false);
	if (s->questions->first)
		loop_set_timer(&s->loop, &s->questions->timer, s->questions->first->until_ms);
	return 0;
}

int questions_make(struct questions **out, struct err *e)
{
	struct questions *q = pool_map(sizeof(*q), e);

	if (!q)
		return err_result(e);
	if (pool_make(&q->pool, sizeof(struct question), MAX_QUESTIONS, e) < 0)
		return err_result(e);
	*out = q;
	return 0;
}

/*
 * The id of a pending question about the same request; 0: none. SECURITY: everything that the user
 * saw in the question must be equal, and the process must be known. Else one process could use an
 * answer that was meant for another process or another request.
 */
static uint64_t asked_already(const struct questions *all, const struct client *c)
{
	const struct exchange *x = c->exchange;

	for (const struct question *q = all->first; q; q = q->next) {
		const struct exchange *other = q->client->exchange;

		if (target_is_same(&other->target, &x->target) && c->pid != 0 &&
		    q->client->pid == c->pid && other->record.protocol == x->record.protocol &&
		    strcmp(other->record.method, x->record.method) == 0 &&
		    strcmp(q->client->program, c->program) == 0)
			return q->id;
	}
	return 0;
}

static bool post_question(struct client *c, uint64_t id)
{
	struct proxy_message m = { .kind = PROXY_ASKS, .id = id };

	m.record = c->exchange->record;
	note_client(&m.record, c);
	return outbox_post(c->server, &m);
}

static void add_question(struct questions *all, struct question *q)
{
	if (all->last)
		all->last->next = q;
	else
		all->first = q;
	all->last = q;
}

/* A program that opens ten connections at once causes one question. */
bool question_ask(struct client *c)
{
	struct server *s = c->server;
	struct questions *all = s->questions;
	uint64_t id = asked_already(all, c);
	struct question *q = pool_take(&all->pool);

	if (!q)
		return false;
	if (!id && !post_question(c, all->last_id + 1)) {
		pool_give(&all->pool, q);
		return false;
	}
	*q = (struct question){ .previous = all->last,
				.client = c,
				.id = id ? id : ++all->last_id,
				.until_ms = loop_now() + s->limits.ask_ms };
	add_question(all, q);
	c->question = q;
	/* The client has no deadline while the user is asked. */
	client_set_deadline(c, 0);
	all->timer.due = questions_expire;
	all->timer.user = s;
	if (all->timer.at_ms == 0)
		loop_set_timer(&s->loop, &all->timer, q->until_ms);
	return true;
}

static void remove_question(struct questions *all, struct question *q)
{
	if (q->previous)
		q->previous->next = q->next;
	else
		all->first = q->next;
	if (q->next)
		q->next->previous = q->previous;
	else
		all->last = q->previous;
	pool_give(&all->pool, q);
}

static void forget_question(struct client *c)
{
	remove_question(c->server->questions, c->question);
	c->question = NULL;
}

/* Nobody has said yes. */
void question_drop(struct client *c)
{
	if (!c->question)
		return;
	exchange_set_reason(c->exchange, PROXY_DENIED_ASKED, 0);
	forget_question(c);
}

static struct question *find_question(struct server *s, uint64_t id)
{
	struct question *q = s->questions->first;

	while (q && q->id != id)
		q = q->next;
	return q;
}

/*
 * It is fine if no such question is left: the clients have gone, or time is up. The answer applies
 * to the questions of now: a client that is told may ask again at once, and that is a new question.
 */
void question_answer(struct server *s, uint64_t id, bool is_allowed)
{
	struct question *q;

	for (q = s->questions->first; q; q = q->next)
		if (q->id == id)
			q->id = 0;
	while ((q = find_question(s, 0)) != NULL) {
		struct client *c = q->client;

		forget_question(c);
		if (!is_allowed)
			exchange_set_reason(c->exchange, PROXY_DENIED_ASKED, 0);
		c->protocol->judged(c, is_allowed);
	}
}
