/* SPDX-License-Identifier: MIT */
/*
 * HTTP, the client's side. It reads the complete head of each request and checks it on its own,
 * whatever the connection was used for before. Only then does it look for a server.
 */
#include "proxy/http/client.h"

#include "os/fd.h"
#include "os/socket.h"

struct http_pool {
	struct pool pool;
};

int http_make(struct http_pool **out, uint32_t connections, struct err *e)
{
	struct http_pool *p = pool_map(sizeof(*p), e);

	if (!p)
		return err_result(e);
	if (pool_make(&p->pool, sizeof(struct http), connections, e) < 0)
		return err_result(e);
	*out = p;
	return 0;
}

/* ---- What is waited for -------------------------------------------------------------------- */

static bool has_room(const struct http_flow *f)
{
	return !f->block || f->block->start > 0 || f->block->end < BLOCK_BYTES;
}

static bool may_read_ahead(const struct http *h)
{
	return !h->client_ended && !h->is_full && has_room(&h->up);
}

static uint32_t client_wants(const struct http *h)
{
	uint32_t events = 0;

	switch ((enum http_phase)h->phase) {
	case HTTP_READS_HEAD:
		return h->up_state == FLOW_STARVES ? LOOP_GONE : LOOP_IN;
	case HTTP_WAITS_ROOM:
		return LOOP_GONE;
	case HTTP_IS_JUDGED:
	case HTTP_DIALS:
		return may_read_ahead(h) ? LOOP_IN : LOOP_GONE;
	case HTTP_RELAYS:
		break;
	}
	if (h->down_state == FLOW_WAITS_SINK)
		events |= LOOP_OUT;
	if (h->up_state == FLOW_WAITS_SOURCE || (h->up_state == FLOW_DONE && may_read_ahead(h)))
		events |= LOOP_IN;
	return events ? events : LOOP_GONE;
}

static uint32_t server_wants(const struct http *h)
{
	uint32_t events = 0;

	if (!http_has_server(h))
		return 0;
	if (h->phase != HTTP_RELAYS || h->is_refused)
		return LOOP_IN; /* any further bytes were not asked for */
	if (h->up_state == FLOW_WAITS_SINK && !h->server_is_deaf)
		events |= LOOP_OUT;
	if (h->down_state == FLOW_WAITS_SOURCE && !h->client->server->is_finishing)
		events |= LOOP_IN;
	return events || h->server_has_hung_up ? events : LOOP_GONE;
}

static enum http_step read_head(struct client *c);

/* Does what it can without waiting, and then waits. */
static void advance(struct client *c, enum http_step step)
{
	struct http *h = c->http;

	while (step == HTTP_CONTINUES) {
		if (h->phase == HTTP_READS_HEAD)
			step = read_head(c);
		else
			step = h->phase == HTTP_RELAYS ? http_relay(c) : HTTP_WAITS;
	}
	if (step == HTTP_ENDED)
		return;
	if (!server_wait(c->server, &h->server, &h->server_events, server_wants(h)))
		client_end(c);
	else
		(void)client_wait(c, client_wants(h));
}

void http_close_server(struct http *h)
{
	loop_remove(&h->client->server->loop, &h->server);
	fd_close(&h->server.fd);
	h->server_events = 0;
}

/* ---- Refusals ------------------------------------------------------------------------------ */

static void skip_head(struct http *h)
{
	http_flow_skip(&h->up, h->head_bytes);
	h->head_bytes = 0;
}

/* Reads and drops the rest of the request, so that another may follow. */
static bool may_drain(const struct http *h)
{
	const struct http_body *b = &h->up.body;

	if (b->is_whole)
		return true;
	return !h->expects_continue && (b->kind != HTTP_SIZED || b->left <= HTTP_DRAIN_BYTES);
}

enum http_step http_refuse(struct client *c, struct str detail, unsigned status)
{
	struct http *h = c->http;
	struct refusal r = exchange_refusal(c->exchange);
	struct buf answer = { .p = c->server->scratch,
			      .room = BLOCK_BYTES,
			      .max = BLOCK_BYTES - 1 };
	bool keeps = h->client_keeps && !h->is_to_1_0 && !h->is_connect && may_drain(h);

	r.detail = detail;
	r.status = status;
	skip_head(h);
	refusal_answer(&r, h->wants_json, h->is_to_head, !keeps, &answer);
	exchange_finish(c);
	return http_answer(c, buf_str(&answer), keeps);
}

static enum http_step wait_for_room(struct client *c)
{
	c->http->phase = HTTP_WAITS_ROOM;
	client_set_deadline(c, 0);
	return HTTP_WAITS;
}

/* A request that can't be parsed has no known end, so the connection closes. */
static enum http_step refuse_malformed(struct client *c, const struct http_fault *fault)
{
	struct http *h = c->http;

	if (!exchange_begin(c, PROXY_BY_HTTP))
		return wait_for_room(c);
	exchange_set_reason(c->exchange, PROXY_BAD_REQUEST, 0);
	h->client_keeps = h->wants_json = h->is_to_head = false;
	h->up.body = (struct http_body){ .kind = HTTP_NO_BODY, .is_whole = true };
	return http_refuse(c, str_of(fault->text), fault->status);
}

/* ---- Requests ------------------------------------------------------------------------------ */

void http_request_again(struct http *h, struct http_request *out)
{
	struct http_fault ignored;

	/* The same bytes were parsed before. */
	(void)!http_request_parse(str_first(http_flow_raw(&h->up), h->head_bytes), out, &ignored);
}

/* Every process inside has ended, and nobody would read the answer. */
static bool is_for_nobody(const struct client *c)
{
	return c->server->is_finishing &&
	       (c->http->is_connect || http_may_send_again(str_of(c->exchange->record.method)));
}

enum http_step http_dial(struct client *c)
{
	struct http *h = c->http;

	http_close_server(h);
	if (is_for_nobody(c)) {
		client_end(c);
		return HTTP_ENDED;
	}
	h->rules = rules_added(c->server->rules);
	if (!exchange_dial(c))
		return http_refuse(c, STR_EMPTY, 0);
	h->phase = HTTP_DIALS;
	/* The dial has one. */
	client_set_deadline(c, c->server->is_finishing ? FINISH_DIAL_MS : 0);
	return HTTP_WAITS;
}

/*
 * Whether the open connection is one to `t`. SECURITY: after a rule was added, dial again, which
 * checks the address again. Else a client could go on with a server that the new rule denies.
 */
static bool has_server_for(const struct client *c, const struct target *t)
{
	const struct http *h = c->http;

	return http_has_server(h) && !h->is_connect && target_is_same(&h->target, t) &&
	       h->rules == rules_added(c->server->rules);
}

/* P14: limited methods are for reading. A request body could carry data out. */
static bool passes_method(const struct client *c, const struct http_request *r)
{
	return rules_pass_method(c->server->rules, r->method) &&
	       !(rules_are_limited(c->server->rules) && http_has_odd_body(r));
}

/* P14: checks the method, after P13 has allowed the host. */
static bool may_ask(struct client *c, const struct http_request *r)
{
	struct exchange *x = c->exchange;

	if (r->form == HTTP_AUTHORITY)
		return exchange_may_tunnel(c);
	if (passes_method(c, r))
		return true;
	if (rules_pass_method(c->server->rules, r->method)) {
		struct buf method = BUF_OVER(x->record.method);

		buf_add(&method, str_first(r->method, 8));
		buf_add_text(&method, " with a body");
	}
	rules_judge_method(c->server->rules, str_of(x->record.method), &x->judgement);
	exchange_note_judgement(x);
	exchange_set_reason(x, PROXY_DENIED_METHOD, 0);
	return false;
}

static enum http_step ask_server(struct client *c, const struct http_request *r)
{
	struct http *h = c->http;
	struct exchange *x = c->exchange;

	if (!may_ask(c, r))
		return http_refuse(c, STR_EMPTY, 0);
	if (!has_server_for(c, &x->target))
		return http_dial(c);
	x->record.has_address = h->has_address;
	x->record.address = h->address;
	return http_forward(c, r, true);
}

static bool same_rule(const struct judgement *a, const struct judgement *b)
{
	return a->decision == b->decision && a->rule_line == b->rule_line &&
	       strcmp(a->rule, b->rule) == 0 && strcmp(a->rule_file, b->rule_file) == 0;
}

/*
 * Whether the open record counts this request too: same server, same method, and allowed by the
 * same rule now.
 */
static bool joins_record(struct client *c, const struct http_request *r, const struct target *t)
{
	struct exchange *x = c->exchange;
	UNINITIALIZED struct judgement j;

	if (!x || !has_server_for(c, t) || !target_is_same(&x->target, t) ||
	    !str_is(r->method, x->record.method) || !passes_method(c, r))
		return false;
	rules_judge(c->server->rules, t, &j);
	if (j.decision != DECISION_ALLOW || !same_rule(&j, &x->judgement))
		return false;
	x->record.count++;
	return true;
}

static void note_method(struct exchange *x, struct str method)
{
	method = str_first(method, sizeof(x->record.method) - 1);
	memcpy(x->record.method, method.p, method.len);
	x->record.method[method.len] = '\0';
}

static enum http_step judge(struct client *c, const struct http_request *r, const struct target *t)
{
	struct http *h = c->http;
	struct exchange *x;

	if (joins_record(c, r, t))
		return ask_server(c, r);
	if (!exchange_begin(c, h->is_connect ? PROXY_BY_CONNECT : PROXY_BY_HTTP))
		return wait_for_room(c);
	x = c->exchange;
	x->target = *t;
	note_method(x, r->method);
	switch (exchange_judge(c)) {
	case JUDGED_ALLOWED:
		return ask_server(c, r);
	case JUDGED_REFUSED:
		return http_refuse(c, STR_EMPTY, 0);
	case JUDGED_LATER:
		break;
	}
	h->phase = HTTP_IS_JUDGED;
	return HTTP_WAITS;
}

static bool shows_token(const struct client *c, const struct http_request *r)
{
	char room[TOKEN_BYTES + 256];
	struct str password;

	if (!server_has_token(c->server))
		return true;
	return http_password(&r->fields, room, sizeof(room), &password) &&
	       server_is_token(c->server, password);
}

static enum http_step refuse_token(struct client *c)
{
	if (!exchange_begin(c, c->http->is_connect ? PROXY_BY_CONNECT : PROXY_BY_HTTP))
		return wait_for_room(c);
	exchange_set_reason(c->exchange, PROXY_BAD_TOKEN, 0);
	return http_refuse(c, STR_EMPTY, 0);
}

static enum http_step take_request(struct client *c, size_t head_bytes)
{
	UNINITIALIZED struct http_request r;
	UNINITIALIZED struct target t;
	UNINITIALIZED char detail[128];
	struct http *h = c->http;
	struct http_fault fault;

	h->is_timed = false;
	h->head_bytes = head_bytes;
	if (!http_request_parse(str_first(http_flow_raw(&h->up), head_bytes), &r, &fault))
		return refuse_malformed(c, &fault);
	h->client_keeps = r.is_1_0 ? r.fields.says_keep_alive && !r.fields.says_close
				   : !r.fields.says_close;
	h->wants_json = http_wants_json(&r.fields);
	h->is_to_head = http_method_is(r.method, "HEAD");
	h->is_connect = r.form == HTTP_AUTHORITY;
	h->is_to_1_0 = r.is_1_0;
	h->expects_continue = r.fields.expects_continue;
	h->up.body = http_request_body(&r);
	if (!http_request_target(&r, &t, &fault, detail, sizeof(detail)))
		return refuse_malformed(c, &fault);
	h->is_known = shows_token(c, &r);
	return h->is_known ? judge(c, &r, &t) : refuse_token(c);
}

/* The deadline of a head counts from its first byte. */
static void set_head_deadline(struct client *c)
{
	struct http *h = c->http;

	if (h->is_timed)
		return;
	h->is_timed = true;
	client_set_deadline(c, c->server->limits.header_ms);
}

/*
 * The beginning of a request, after at most one empty line; a second one is a fault. Empty while it
 * may still turn out to be such a line.
 */
static struct str skip_empty_line(struct http *h)
{
	struct str raw = http_flow_raw(&h->up);
	size_t bytes = h->has_skipped ? 0 : http_empty_line(raw);

	if (bytes == 1)
		return STR_EMPTY;
	if (bytes == 0)
		return raw;
	h->has_skipped = true;
	http_flow_skip(&h->up, bytes);
	return http_flow_raw(&h->up);
}

static enum http_step read_head(struct client *c)
{
	struct http *h = c->http;
	struct str raw = skip_empty_line(h);
	struct http_fault fault = { 0, NULL };
	size_t head_bytes = raw.len ? http_head_end(raw, &h->request_seen, &fault) : 0;

	if (fault.text)
		return refuse_malformed(c, &fault);
	if (head_bytes > 0)
		return take_request(c, head_bytes);
	if (raw.len > 0)
		set_head_deadline(c);
	if (h->up.is_dry) {
		h->up.is_dry = false;
		http_flow_rest(c->server, &h->up);
		return HTTP_WAITS;
	}
	h->up_state = (uint8_t)http_flow_read(c->server, &h->up, c->watcher.fd);
	if (h->up_state == FLOW_DONE)
		return HTTP_CONTINUES;
	if (h->up_state == FLOW_STARVES)
		client_set_deadline(c, HTTP_STARVED_MS);
	if (h->up_state == FLOW_STARVES || h->up_state == FLOW_WAITS_SOURCE)
		return HTTP_WAITS;
	client_end(c);
	return HTTP_ENDED;
}

/* ---- Events -------------------------------------------------------------------------------- */

/* Keeps what comes early, as far as there is room. */
static void read_ahead(struct client *c)
{
	struct http *h = c->http;
	enum http_flow_state state = http_flow_read(c->server, &h->up, c->watcher.fd);

	h->is_full = state == FLOW_STARVES;
	if (state == FLOW_SOURCE_ENDED) {
		h->client_ended = true;
		if (h->phase == HTTP_RELAYS)
			client_set_deadline(c, HTTP_HALF_CLOSED_MS);
	}
}

static void ready(struct client *c, uint32_t events)
{
	struct http *h = c->http;

	if (events & LOOP_GONE) {
		client_end(c);
		return;
	}
	if (events & LOOP_IN) {
		if (h->phase != HTTP_READS_HEAD &&
		    (h->phase != HTTP_RELAYS || h->up_state == FLOW_DONE))
			read_ahead(c);
		else
			h->up.is_dry = false;
	}
	advance(c, HTTP_CONTINUES);
}

static int server_ready(void *user, uint32_t events, struct err *e)
{
	struct http *h = user;
	struct client *c = h->client;

	(void)e;
	if (h->phase != HTTP_RELAYS || h->is_refused) {
		http_close_server(h);
		return 0;
	}
	if (events & LOOP_GONE)
		h->server_has_hung_up = true;
	if (events & (LOOP_IN | LOOP_GONE))
		h->down.is_dry = false;
	advance(c, HTTP_CONTINUES);
	return 0;
}

static void judged(struct client *c, bool is_allowed)
{
	UNINITIALIZED struct http_request r;

	if (!is_allowed) {
		advance(c, http_refuse(c, STR_EMPTY, 0));
		return;
	}
	http_request_again(c->http, &r);
	advance(c, ask_server(c, &r));
}

static void dialled(struct client *c, const struct dial_result *result)
{
	UNINITIALIZED struct http_request r;
	struct http *h = c->http;

	if (result->fd < 0) {
		advance(c, http_refuse(c, STR_EMPTY, 0));
		return;
	}
	if (h->is_connect) {
		skip_head(h);
		(void)http_tunnel(c, result->fd,
				  STR("HTTP/1.1 200 Connection established\r\n\r\n"));
		return;
	}
	h->server = (struct watcher){ .fd = result->fd, .ready = server_ready, .user = h };
	server_limit_buffers(c->server, c->watcher.fd, result->fd);
	h->server_events = 0;
	h->server_has_hung_up = false;
	h->target = c->exchange->target;
	h->has_address = result->has_address;
	h->address = result->address;
	http_request_again(h, &r);
	advance(c, http_forward(c, &r, false));
}

static void resume(struct client *c)
{
	struct http *h = c->http;

	if (h->phase != HTTP_WAITS_ROOM)
		return;
	h->phase = HTTP_READS_HEAD;
	h->request_seen = 0;
	advance(c, HTTP_CONTINUES);
}

static void expired(struct client *c)
{
	struct http *h = c->http;

	if (h->up_state == FLOW_STARVES || h->down_state == FLOW_STARVES) {
		client_set_deadline(c, c->server->limits.idle_ms);
		h->up.is_dry = h->down.is_dry = false;
		advance(c, HTTP_CONTINUES);
		return;
	}
	if (h->phase == HTTP_READS_HEAD && !h->is_timed && c->exchange) {
		exchange_finish(c);
		client_set_deadline(c, c->server->limits.idle_ms);
		return;
	}
	if (h->phase == HTTP_RELAYS && !h->has_answer && !h->client_ended) {
		advance(c, http_fail(c, PROXY_FAILED_TIMEOUT, "", 0));
		return;
	}
	client_end(c);
}

void http_finish(struct client *c)
{
	struct http *h = c->http;

	switch ((enum http_phase)h->phase) {
	case HTTP_WAITS_ROOM:
		break;
	case HTTP_IS_JUDGED: /* don't ask the user for processes that have ended */
		client_end(c);
		break;
	case HTTP_DIALS:
		if (is_for_nobody(c))
			client_end(c);
		else
			client_set_deadline(c, FINISH_DIAL_MS);
		break;
	case HTTP_READS_HEAD:
	case HTTP_RELAYS:
		h->up.is_dry = false;
		advance(c, HTTP_CONTINUES);
		break;
	}
}

void http_cut(struct client *c)
{
	const struct http *h = c->http;

	if (http_has_server(h) && h->phase == HTTP_RELAYS)
		socket_reset_on_close(h->server.fd);
	client_end(c);
}

void http_give(struct server *s, struct http *h)
{
	http_flow_done(s, &h->up);
	http_flow_done(s, &h->down);
	if (http_has_server(h))
		http_close_server(h);
	pool_give(&s->http->pool, h);
}

static void ended(struct client *c)
{
	struct http *h = c->http;

	if (!h)
		return;
	http_note_bytes(c);
	c->http = NULL;
	http_give(c->server, h);
}

const struct protocol protocol_http = {
	.ready = ready,
	.judged = judged,
	.dialled = dialled,
	.resume = resume,
	.expired = expired,
	.ended = ended,
};

void http_begin(struct client *c, struct block *read)
{
	struct http *h = pool_take(&c->server->http->pool);

	c->http = h;
	if (!h) {
		block_give(c->server, &read);
		client_end(c);
		return;
	}
	*h = (struct http){
		.client = c,
		.server = { .fd = -1 },
		.is_timed = true,
		.up = HTTP_FLOW_NONE,
		.down = HTTP_FLOW_NONE,
	};
	h->up.block = read;
	h->up.ready = h->up.raw = read->start;
	h->up.is_dry = true;
	advance(c, HTTP_CONTINUES);
}
