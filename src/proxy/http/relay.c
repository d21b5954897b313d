/* SPDX-License-Identifier: MIT */
/*
 * Forwards a request to the server and its answer back, at the same time, because an answer may
 * come before the request has ended. A message that is malformed or ends early never looks complete
 * to its receiver.
 */
#include "proxy/http/client.h"

#include "os/fd.h"

static struct buf scratch_text(struct server *s)
{
	return (struct buf){ .p = s->scratch, .room = BLOCK_BYTES, .max = BLOCK_BYTES - 1 };
}

static enum http_step end(struct client *c)
{
	client_end(c);
	return HTTP_ENDED;
}

/*
 * Lets the client read the last answer. If the client sends nothing more, a plain close does that.
 */
static enum http_step end_gently(struct client *c)
{
	const struct http *h = c->http;

	if (h->client_ended || (!h->client_keeps && h->up_state == FLOW_DONE))
		client_end(c);
	else
		client_end_gently(c);
	return HTTP_ENDED;
}

void http_note_bytes(struct client *c)
{
	struct http *h = c->http;

	if (h->phase != HTTP_RELAYS || h->is_refused || !c->exchange)
		return;
	c->exchange->record.bytes_up += h->up.body.bytes;
	c->exchange->record.bytes_down += h->down.body.bytes;
	h->up.body.bytes = h->down.body.bytes = 0;
}

/* ---- Failures of the server ------------------------------------------------------------------ */

/* The requests before this one succeeded, so their record stays as it is. */
static bool part_record(struct client *c)
{
	struct exchange *x = c->exchange;
	UNINITIALIZED struct exchange old;

	if (x->record.count == 1)
		return true;
	x->record.count--;
	old = *x;
	if (!exchange_begin(c, PROXY_BY_HTTP))
		return false;
	x = c->exchange;
	x->target = old.target;
	x->judgement = old.judgement;
	x->record.port = old.record.port;
	x->record.has_address = old.record.has_address;
	x->record.address = old.record.address;
	x->record.rule_line = old.record.rule_line;
	memcpy(x->record.host, old.record.host, sizeof(old.record.host));
	memcpy(x->record.method, old.record.method, sizeof(old.record.method));
	memcpy(x->record.rule, old.record.rule, sizeof(old.record.rule));
	memcpy(x->record.rule_file, old.record.rule_file, sizeof(old.record.rule_file));
	return true;
}

enum http_step http_fail(struct client *c, enum proxy_reason reason, const char *detail,
			 unsigned status)
{
	struct http *h = c->http;

	http_close_server(h);
	/* No other answer can follow an interim one that was half sent. */
	if (h->down.head || !part_record(c))
		return end(c);
	http_flow_done(c->server, &h->down);
	http_flow_forget(c->server, &h->up);
	exchange_set_reason(c->exchange, reason, 0);
	return http_refuse(c, str_of(detail), status);
}

/*
 * The server closed before it answered. If the connection was idle before, the server may have
 * timed it out.
 */
static enum http_step fail_or_retry(struct client *c, bool is_in_answer)
{
	struct http *h = c->http;

	if (!is_in_answer && h->head_bytes > 0) {
		if (!part_record(c))
			return end(c);
		http_flow_forget(c->server, &h->up);
		return http_dial(c);
	}
	return http_fail(c, PROXY_FAILED_RESPONSE,
			 is_in_answer ? "it ended in the middle of its answer"
				      : "it closed the connection without an answer",
			 0);
}

/* In the middle of an answer: resets, so that the client sees that it is incomplete. */
static enum http_step cut(struct client *c)
{
	struct http *h = c->http;
	bool ends_by_closing = h->down.body.kind == HTTP_UNTIL_CLOSE || h->down.body.is_bare;

	if (ends_by_closing)
		client_reset(c);
	else
		client_end_gently(c);
	return HTTP_ENDED;
}

/* ---- To the server ----------------------------------------------------------------------------- */

static enum http_step after_up(struct client *c, enum http_flow_state state,
			       const struct http_fault *fault)
{
	struct http *h = c->http;

	h->up_state = (uint8_t)state;
	switch (state) {
	case FLOW_DONE:
	case FLOW_WAITS_SOURCE:
		http_flow_rest(c->server, &h->up);
		return HTTP_CONTINUES;
	case FLOW_WAITS_SINK:
		return HTTP_CONTINUES;
	case FLOW_STARVES:
		client_set_deadline(c, HTTP_STARVED_MS);
		return HTTP_CONTINUES;
	case FLOW_SOURCE_ENDED:
	case FLOW_SOURCE_FAILED:
		break; /* in the middle of a request: nobody can want the answer */
	case FLOW_SINK_FAILED:
		/* The server may have answered before it closed. */
		h->server_is_deaf = true;
		return HTTP_CONTINUES;
	case FLOW_MALFORMED:
		if (h->has_answer)
			return end_gently(c);
		h->client_keeps = false;
		return http_fail(c, PROXY_BAD_REQUEST, fault->text, fault->status);
	}
	return end(c);
}

static bool is_up_done(const struct http *h)
{
	return h->up_state == FLOW_DONE;
}

/* The answer does not depend on this, except that the client may have ended. */
static enum http_step pump_up(struct client *c)
{
	struct http *h = c->http;
	struct http_fault fault = { 0, NULL };
	int sink = h->is_refused ? -1 : h->server.fd;
	enum http_step step;

	if (is_up_done(h) || (h->server_is_deaf && !h->is_refused))
		return HTTP_CONTINUES;
	if (h->is_refused && !h->keeps)
		return HTTP_CONTINUES;
	step = after_up(c, http_flow_run(c->server, &h->up, c->watcher.fd, sink, &fault), &fault);
	/* A client that sends this much does not read the answer. */
	if (step != HTTP_ENDED && h->is_refused && h->up.body.bytes > HTTP_DRAIN_BYTES)
		h->keeps = false;
	return step;
}

bool http_may_send_again(struct str method)
{
	return http_method_is(method, "GET") || http_method_is(method, "HEAD") ||
	       http_method_is(method, "OPTIONS");
}

static void begin_relay(struct http *h)
{
	h->phase = HTTP_RELAYS;
	h->interim = 0;
	h->answer_seen = 0;
	h->is_refused = h->has_answer = h->keeps = h->server_keeps = h->server_is_deaf = false;
	h->is_full = false;
	h->up_state = h->down_state = FLOW_WAITS_SOURCE;
	h->down.body = (struct http_body){ .kind = HTTP_NO_BODY, .is_whole = true };
	h->down.is_dry = true; /* it has to be asked first */
}

enum http_step http_forward(struct client *c, const struct http_request *r, bool is_reused)
{
	struct http *h = c->http;
	struct buf head = scratch_text(c->server);
	struct http_fault fault = { 0, NULL };
	enum http_flow_state state;

	begin_relay(h);
	open_records_add(c);
	h->upgrades = r->fields.is_websocket && http_method_is(r->method, "GET") && !r->is_1_0 &&
		      h->up.body.is_whole && !rules_are_limited(c->server->rules);
	h->has_odd_body = http_has_odd_body(r);
	http_request_write(r, &c->exchange->target, h->upgrades, &head);
	if (!is_reused || !h->up.body.is_whole || !http_may_send_again(r->method)) {
		http_flow_skip(&h->up, h->head_bytes);
		h->head_bytes = 0;
	}
	client_set_deadline(c, h->client_ended ? (uint32_t)HTTP_HALF_CLOSED_MS
					       : c->server->limits.idle_ms);
	state = http_flow_begin(c->server, &h->up, h->server.fd, buf_str(&head), &fault);
	if (state == FLOW_STARVES)
		return end(c);
	if (state == FLOW_DONE && !h->up.body.is_whole)
		state = FLOW_WAITS_SOURCE;
	return after_up(c, state, &fault);
}

/* ---- To the client ------------------------------------------------------------------------------- */

static enum http_step after_down(struct client *c, enum http_flow_state state)
{
	struct http *h = c->http;

	h->down_state = (uint8_t)state;
	switch (state) {
	case FLOW_DONE:
	case FLOW_WAITS_SINK:
		return HTTP_CONTINUES;
	case FLOW_WAITS_SOURCE:
		http_flow_rest(c->server, &h->down);
		return HTTP_CONTINUES;
	case FLOW_STARVES:
		client_set_deadline(c, HTTP_STARVED_MS);
		return HTTP_CONTINUES;
	case FLOW_SOURCE_ENDED:
		if (h->down.body.kind != HTTP_UNTIL_CLOSE)
			return cut(c);
		h->down_state = FLOW_DONE;
		return HTTP_CONTINUES;
	case FLOW_SOURCE_FAILED:
	case FLOW_MALFORMED:
		return cut(c);
	case FLOW_SINK_FAILED:
		break;
	}
	return end(c);
}

static enum http_step run_down(struct client *c)
{
	struct http *h = c->http;
	struct http_fault fault;

	return after_down(c,
			  http_flow_run(c->server, &h->down, h->server.fd, c->watcher.fd, &fault));
}

/* Writes a head and what has come of its body. */
static enum http_step write_answer(struct client *c, struct str head)
{
	struct http *h = c->http;
	struct http_fault fault;
	enum http_flow_state state =
		http_flow_begin(c->server, &h->down, c->watcher.fd, head, &fault);

	if (state == FLOW_STARVES)
		return end(c);
	return state == FLOW_DONE ? run_down(c) : after_down(c, state);
}

enum http_step http_answer(struct client *c, struct str answer, bool keeps)
{
	struct http *h = c->http;

	if (h->phase != HTTP_RELAYS)
		begin_relay(h);
	h->is_refused = h->has_answer = true;
	h->keeps = keeps;
	h->up_state = h->up.body.is_whole ? FLOW_DONE : FLOW_WAITS_SOURCE;
	h->down.body = (struct http_body){ .kind = HTTP_NO_BODY, .is_whole = true };
	client_set_deadline(c, c->server->limits.header_ms);
	return write_answer(c, answer);
}

/* The parsed head of the answer, and its position. */
static enum http_step take_interim(struct client *c, const struct http_response *r, size_t len)
{
	struct http *h = c->http;
	struct buf head = scratch_text(c->server);
	const struct http_answer how = { .keeps = true };

	if (++h->interim > HTTP_MAX_INTERIM)
		return http_fail(c, PROXY_FAILED_RESPONSE, "it sends interim answers without end",
				 0);
	http_response_write(r, &how, &head);
	http_flow_skip(&h->down, len);
	h->answer_seen = 0;
	return h->is_to_1_0 ? HTTP_CONTINUES : write_answer(c, buf_str(&head));
}

/* Writes the rewritten head before what followed the original, in one block. */
static bool put_before(struct http *h, struct str head, struct str *out)
{
	struct block *b = h->down.block;
	struct str rest = http_flow_raw(&h->down);

	if (head.len + rest.len > BLOCK_BYTES)
		return false;
	memmove(b->bytes + head.len, rest.p, rest.len);
	memcpy(b->bytes, head.p, head.len);
	*out = (struct str){ b->bytes, head.len + rest.len };
	return true;
}

static enum http_step take_upgrade(struct client *c, const struct http_response *r, size_t len)
{
	struct http *h = c->http;
	struct buf head = scratch_text(c->server);
	const struct http_answer how = { .keeps = true, .is_websocket = true };
	struct str first;
	int fd;

	if (!h->upgrades || !r->fields.is_websocket)
		return http_fail(c, PROXY_FAILED_RESPONSE, "it upgrades to what nobody asked for",
				 0);
	if (h->down.head)
		return end(c);
	http_response_write(r, &how, &head);
	http_flow_skip(&h->down, len);
	if (!part_record(c) || !put_before(h, buf_str(&head), &first))
		return end(c);
	fd = h->server.fd;
	loop_remove(&c->server->loop, &h->server);
	h->server.fd = -1;
	return http_tunnel(c, fd, first);
}

enum http_step http_tunnel(struct client *c, int fd, struct str to_client)
{
	struct server *s = c->server;
	struct http *h = c->http;

	c->http = NULL;
	tunnel_start(c, fd, to_client, http_flow_raw(&h->up));
	/* The client may have ended by now. */
	http_give(s, h);
	return HTTP_ENDED;
}

/* The client has closed its side, and all its requests are answered. */
static bool has_no_more(const struct http *h)
{
	return h->client_ended && http_flow_raw(&h->up).len == 0;
}

static bool server_may_stay(const struct http *h, const struct http_response *r)
{
	const struct http_fields *f = &r->fields;
	bool has_odd_body = r->status == 204 && (f->is_chunked || f->length > 0);

	return !r->is_1_0 && !f->says_close && !has_odd_body && !h->has_odd_body &&
	       !h->server_is_deaf && h->down.body.kind != HTTP_UNTIL_CLOSE && is_up_done(h);
}

static enum http_step take_answer(struct client *c, const struct http_response *r, size_t len)
{
	struct http *h = c->http;
	struct buf head = scratch_text(c->server);
	struct http_body body = http_response_body(r, h->is_to_head);
	struct http_answer how = {
		.is_chunked = body.kind == HTTP_CHUNKED && !h->is_to_1_0,
		.has_length = r->status != 204,
		.is_to_1_0 = h->is_to_1_0,
	};

	body.is_bare = body.kind == HTTP_CHUNKED && h->is_to_1_0;
	h->down.body = body;
	h->server_keeps = server_may_stay(h, r);
	/* A client that has not sent all of a request can't begin another. */
	h->keeps = h->client_keeps && !has_no_more(h) && body.kind != HTTP_UNTIL_CLOSE &&
		   !body.is_bare && is_up_done(h);
	how.keeps = h->keeps;
	h->has_answer = true;
	http_response_write(r, &how, &head);
	http_flow_skip(&h->down, len);
	return write_answer(c, buf_str(&head));
}

static enum http_step take_head(struct client *c, size_t len)
{
	UNINITIALIZED struct http_response r;
	struct http *h = c->http;
	struct http_fault fault;

	if (!http_response_parse(str_first(http_flow_raw(&h->down), len), &r, &fault))
		return http_fail(c, PROXY_FAILED_RESPONSE, fault.text, 0);
	if (r.status == 101)
		return take_upgrade(c, &r, len);
	return r.status < 200 ? take_interim(c, &r, len) : take_answer(c, &r, len);
}

static enum http_step read_more(struct client *c, bool is_in_answer)
{
	struct http *h = c->http;
	enum http_flow_state state;

	if (h->down.is_dry) {
		h->down.is_dry = false;
		h->down_state = FLOW_WAITS_SOURCE;
		http_flow_rest(c->server, &h->down);
		return HTTP_WAITS;
	}
	state = http_flow_read(c->server, &h->down, h->server.fd);
	h->down_state = (uint8_t)state;
	switch (state) {
	case FLOW_DONE:
		/* The server answers, so the request need not be sent again. */
		http_flow_skip(&h->up, h->head_bytes);
		h->head_bytes = 0;
		http_flow_rest(c->server, &h->up);
		return HTTP_CONTINUES;
	case FLOW_WAITS_SOURCE:
		return HTTP_WAITS;
	case FLOW_STARVES:
		client_set_deadline(c, HTTP_STARVED_MS);
		return HTTP_WAITS;
	case FLOW_WAITS_SINK:
	case FLOW_SOURCE_ENDED:
	case FLOW_SOURCE_FAILED:
	case FLOW_SINK_FAILED:
	case FLOW_MALFORMED:
		break;
	}
	return fail_or_retry(c, is_in_answer);
}

/* Continues if there is an answer, or one of ours. */
static enum http_step read_answer(struct client *c)
{
	struct http *h = c->http;
	enum http_step step = HTTP_CONTINUES;

	while (step == HTTP_CONTINUES && !h->has_answer && h->phase == HTTP_RELAYS) {
		struct str raw = http_flow_raw(&h->down);
		struct http_fault fault = { 0, NULL };
		size_t len = 0;

		/* An interim answer that is half sent goes first. */
		if (h->down.head && run_down(c) == HTTP_ENDED)
			return HTTP_ENDED;
		if (h->down.head)
			return HTTP_WAITS;
		if (!http_response_may_begin(raw))
			return http_fail(c, PROXY_FAILED_RESPONSE,
					 "it does not begin as HTTP/1 does", 0);
		if (raw.len > 0)
			len = http_head_end(raw, &h->answer_seen, &fault);
		if (fault.text)
			return http_fail(c, PROXY_FAILED_RESPONSE, fault.text, 0);
		step = len > 0 ? take_head(c, len) : read_more(c, raw.len > 0);
	}
	return step;
}

static enum http_step pump_down(struct client *c)
{
	return c->http->has_answer ? run_down(c) : read_answer(c);
}

/* ---- The end of it -------------------------------------------------------------------------------- */

static void begin_idle(struct client *c)
{
	struct http *h = c->http;
	const struct proxy_limits *limits = &c->server->limits;
	/*
	 * SECURITY: a client that has not shown the token gets a short deadline. Else a stranger
	 * could hold all connections open and lock others out.
	 */
	uint32_t in_ms = h->is_known ? limits->idle_ms : limits->header_ms;

	h->phase = HTTP_READS_HEAD;
	h->request_seen = 0;
	h->has_skipped = false;
	h->up_state = h->down_state = FLOW_DONE;
	h->is_full = false;
	http_flow_rest(c->server, &h->up);
	if (c->exchange &&
	    (!http_has_server(h) || loop_now() - c->exchange->began_ms >= HTTP_RECORD_MS))
		exchange_finish(c);
	if (c->exchange) {
		open_records_remove(c->server, c->exchange);
		in_ms = MIN_OF(in_ms, (uint32_t)HTTP_RECORD_MS);
	}
	client_set_deadline(c, in_ms);
}

static enum http_step finish(struct client *c)
{
	struct http *h = c->http;

	http_note_bytes(c);
	if (!h->is_refused) {
		/*
		 * SECURITY: close a server connection that has sent more than its answer. Nobody
		 * asked for those bytes, and the client would take them for the answer to its next
		 * request.
		 */
		if (!h->server_keeps || http_flow_has_any(&h->down))
			http_close_server(h);
		http_flow_done(c->server, &h->down);
	}
	if (!h->keeps || has_no_more(h))
		return end_gently(c);
	begin_idle(c);
	return HTTP_CONTINUES;
}

static uint64_t bytes_moved(const struct http *h)
{
	return h->up.body.bytes + h->down.body.bytes;
}

static bool is_starving(const struct http *h)
{
	return h->up_state == FLOW_STARVES || h->down_state == FLOW_STARVES;
}

/* Every process inside has ended: forward what they sent, and nothing else. */
static enum http_step relay_last(struct client *c)
{
	struct http *h = c->http;

	if (!h->is_refused && pump_up(c) == HTTP_ENDED)
		return HTTP_ENDED;
	if (!h->is_refused && !is_up_done(h) && !h->server_is_deaf)
		return HTTP_WAITS;
	if (http_has_server(h))
		stream_throw_away(c->server, h->server.fd);
	return end(c);
}

enum http_step http_relay(struct client *c)
{
	struct http *h = c->http;
	uint64_t before = bytes_moved(h);

	if (c->server->is_finishing)
		return relay_last(c);
	if (pump_up(c) == HTTP_ENDED || (h->phase == HTTP_RELAYS && pump_down(c) == HTTP_ENDED))
		return HTTP_ENDED;
	if (h->phase != HTTP_RELAYS)
		return HTTP_WAITS;
	if (bytes_moved(h) != before && !is_starving(h))
		client_set_deadline(c, c->server->limits.idle_ms);
	if (!h->has_answer || h->down_state != FLOW_DONE || (h->keeps && !is_up_done(h)))
		return HTTP_WAITS;
	return finish(c);
}
