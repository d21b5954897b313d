/* SPDX-License-Identifier: MIT */
/*
 * Questions of the broker in the client. Up to 2025-11-25 each is a request of its own, while the call
 * goes on. Since then the call is answered with its questions and *parked*: it waits here, with what it
 * has begun, until the client repeats it with the answers and the ticket.
 */
#include "mcp/server.h"

#include <stdio.h>

enum { KEY_BYTES = 32 };

/* How the client names a question of a parked call. */
static const char *question_key(const struct question *q, char key[KEY_BYTES])
{
	(void)snprintf(key, KEY_BYTES, "q%llu", (unsigned long long)q->id);
	return key;
}

static void deny(struct mcp_call *call, uint64_t id, const char *why)
{
	const struct cordon_answer answer = {
		.size = sizeof(answer),
		.decision = CORDON_DECISION_DENY,
		.message = why,
	};

	call->m->host.answer(call->m->host.user, id, call->by, &answer);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static void send_request(struct mcp_call *call, struct question *q)
{
	struct reply r;

	q->request = mcp_ask_begin(call->m, &r, "elicitation/create");
	json_key(&r.w, "params");
	elicit_print(&q->elicit, call->to.version >= MCP_2025_11_25, &r.w);
	mcp_ask_end(call->m, &r);
}

static void add_question(struct json_writer *w, const struct question *q)
{
	char key[KEY_BYTES];

	json_key(w, question_key(q, key));
	json_begin_object(w);
	json_key(w, "method");
	json_add_text(w, "elicitation/create");
	json_key(w, "params");
	elicit_print(&q->elicit, true, w);
	json_end_object(w);
}

/* All that the client is shown of them. */
static void hash_questions(const struct mcp_call *call, char out[SHA256_HEX_BYTES])
{
	struct buf text = BUF_INIT(RPC_MAX_ANSWER);
	struct json_writer w = JSON_LINE_INIT(&text);

	json_begin_object(&w);
	for (const struct question *q = call->questions; q; q = q->next)
		add_question(&w, q);
	json_end_object(&w);
	/* Without memory it is of less; a ticket of the same call is no answer to anything else. */
	sha256_hex(buf_str(&text), out);
	buf_done(&text);
}

static struct ticket_subject subject_of(const struct mcp_call *call, const char *arguments)
{
	return (struct ticket_subject){
		.tool = str_of(call->tool->name),
		.arguments = str_of(arguments),
		.policy = str_of(call->policy),
		.questions = str_of(call->asked),
	};
}

/* The client gets the questions as an answer, and nobody waits any more. */
static void park(struct mcp_call *call)
{
	struct mcp *m = call->m;
	char space[TICKET_BYTES];
	struct buf state = BUF_OVER(space);
	struct ticket_subject subject;
	struct reply r;

	hash_questions(call, call->asked);
	(void)snprintf(call->policy, sizeof(call->policy), "%s", m->host.digest(m->host.user));
	call->ticket = (struct ticket){
		.number = ++m->last_ticket,
		.expires_ms = m->host.now_ms(m->host.user) + MCP_PARKED_MS,
	};
	subject = subject_of(call, call->arguments);
	ticket_print(&m->key, &call->ticket, &subject, &state);
	mcp_reply_begin(&r, &call->to);
	json_key(&r.w, "resultType");
	json_add_text(&r.w, "input_required");
	json_key(&r.w, "inputRequests");
	json_begin_object(&r.w);
	for (struct question *q = call->questions; q; q = q->next) {
		add_question(&r.w, q);
		q->is_shown = true;
	}
	json_end_object(&r.w);
	json_key(&r.w, "requestState");
	json_add_str(&r.w, buf_str(&state));
	call->is_parked = true;
	if (!mcp_reply_end(m, &r, &call->to))
		mcp_refuse(m, &call->to, RPC_INTERNAL, "the questions would be longer than 10 MiB");
	call->to.id = (struct rpc_id){ .kind = RPC_ID_NONE };
}

static struct question *question_new(struct mcp_call *call, const struct cordon_ask_request *ask)
{
	struct err e = ERR_INIT;
	struct question *q, **last = &call->questions;
	size_t count = 0;

	for (; *last; last = &(*last)->next)
		count++;
	if (count == MCP_MAX_QUESTIONS)
		return NULL;
	q = ARENA_NEW(&call->arena, struct question, &e);
	if (!q ||
	    elicit_make(&call->arena, ask, call->tool->access == TOOL_EXECUTES, &q->elicit, &e) < 0)
		return NULL;
	q->id = ask->id;
	*last = q;
	return q;
}

void mcp_call_ask(void *user, const struct cordon_ask_request *ask)
{
	struct mcp_call *call = user;
	struct question *q = question_new(call, ask);

	if (!q)
		deny(call, ask->id, "too many questions were asked");
	else if (!mcp_call_parks(call))
		send_request(call, q);
	else if (!call->is_parked && !call->is_busy)
		park(call);
}

bool mcp_call_parks(const struct mcp_call *call)
{
	return call->to.version >= MCP_2026_07_28;
}

/* ---- Not asking any more ------------------------------------------------------------------------ */

static void remove_question(struct mcp_call *call, const struct question *gone)
{
	struct question **link = &call->questions;

	while (*link && *link != gone)
		link = &(*link)->next;
	if (*link)
		*link = gone->next;
}

static void withdraw(struct mcp_call *call, const struct question *q)
{
	struct reply r;

	remove_question(call, q);
	if (!q->request)
		return;
	mcp_notice_begin(&r, "notifications/cancelled");
	json_key(&r.w, "requestId");
	json_add_int(&r.w, (int64_t)q->request);
	json_key(&r.w, "reason");
	json_add_text(&r.w, "nobody waits for the answer any more");
	mcp_notice_end(call->m, &r);
}

void mcp_asks_withdraw_all(struct mcp_call *call)
{
	while (call->questions)
		withdraw(call, call->questions);
}

void mcp_call_withdraw(void *user, uint64_t id)
{
	struct mcp_call *call = user;
	struct question *q = call->questions;

	while (q && q->id != id)
		q = q->next;
	if (q)
		withdraw(call, q);
}

/* ---- Being answered ----------------------------------------------------------------------------- */

/* `q` stays in the arena of the call; the call may be gone afterwards, unless it is busy. */
static void give_answer(struct mcp_call *call, struct question *q, const struct json *result)
{
	struct mcp *m = call->m;
	struct cordon_answer answer;

	remove_question(call, q);
	elicit_read(&q->elicit, result, &answer);
	m->host.answer(m->host.user, q->id, call->by, &answer);
}

bool mcp_asks_take(struct mcp *m, uint64_t request, const struct json *result)
{
	for (struct mcp_call *call = m->calls; call; call = call->next) {
		struct question *q = call->questions;

		while (q && q->request != request)
			q = q->next;
		if (!q)
			continue;
		/* The call may end by it, so it is told of afterwards. */
		call->is_busy = true;
		give_answer(call, q, result);
		call->is_busy = false;
		if (call->is_done)
			mcp_call_tell(call);
		return true;
	}
	return false;
}

struct mcp_call *mcp_asks_find(const struct request *rq, struct str state, const char *arguments)
{
	const struct json *name = rpc_param(rq->message->params, "name");
	struct ticket_subject subject;
	struct ticket ticket;

	if (!ticket_parse(state, &ticket))
		return NULL;
	for (struct mcp_call *c = rq->m->calls; c; c = c->next) {
		/* SECURITY: a ticket counts for the last question of its call, and is good once. */
		if (!c->is_parked || c->ticket.number != ticket.number)
			continue;
		subject = subject_of(c, arguments);
		subject.tool = name->string;
		return ticket_is_ours(&rq->m->key, state, &ticket, &subject) ? c : NULL;
	}
	return NULL;
}

/* Whether what was asked is still what would be asked. */
static bool is_current(const struct mcp_call *call)
{
	const struct mcp_host *host = &call->m->host;

	return host->now_ms(host->user) < call->ticket.expires_ms &&
	       strcmp(call->policy, host->digest(host->user)) == 0;
}

static void take_answers(struct mcp_call *call, const struct json *responses)
{
	struct question *q = call->questions, *next;
	char key[KEY_BYTES];

	for (; q; q = next) {
		const struct json *response = json_find(responses, question_key(q, key));

		next = q->next;
		if (q->is_shown && response && response->type == JSON_OBJECT)
			give_answer(call, q, response);
	}
}

void mcp_asks_resume(struct mcp_call *call, const struct request *rq)
{
	const struct json *responses = rpc_param(rq->message->params, "inputResponses");
	bool counts = responses && responses->type == JSON_OBJECT && is_current(call);

	call->is_parked = false;
	if (counts) {
		call->is_busy = true;
		take_answers(call, responses);
		call->is_busy = false;
	}
	if (call->is_done)
		mcp_call_tell(call);
	else if (call->questions)
		park(call);
}
