/* SPDX-License-Identifier: MIT */
/* What becomes of a message. See mcp.h. */
#include "mcp/server.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

/* ---- Sending ---------------------------------------------------------------------------------- */

static void batch_send(struct mcp *m, struct batch *b)
{
	if (b->out.len && b->out.failed == ERR_OK) {
		buf_add_text(&b->out, "]\n");
		m->host.send(m->host.user, buf_str(&b->out));
	}
	buf_clear(&b->out);
}

static void batch_free(struct batch *b)
{
	buf_done(&b->out);
	mem_free(b);
}

void mcp_batch_leave(struct mcp *m, struct batch *batch)
{
	if (!batch || --batch->pending > 0 || batch->is_reading)
		return;
	batch_send(m, batch);
	batch_free(batch);
}

/* What would make it too long goes into an array of its own. */
static void batch_add(struct mcp *m, struct batch *b, struct str line)
{
	struct str answer = str_first(line, line.len - 1);

	if (b->out.len && b->out.len + answer.len + 3 > RPC_MAX_ANSWER)
		batch_send(m, b);
	buf_add_char(&b->out, b->out.len ? ',' : '[');
	buf_add(&b->out, answer);
	mcp_batch_leave(m, b);
}

static void send_line(struct mcp *m, const struct addressee *to, struct str line)
{
	if (to->batch && to->id.kind != RPC_ID_NONE)
		batch_add(m, to->batch, line);
	else
		m->host.send(m->host.user, line);
}

static void reply_init(struct reply *r)
{
	r->buf = (struct buf)BUF_INIT(RPC_MAX_ANSWER);
	r->w = (struct json_writer)JSON_LINE_INIT(&r->buf);
}

void mcp_reply_begin(struct reply *r, const struct addressee *to)
{
	reply_init(r);
	rpc_begin(&r->w, &to->id);
	json_key(&r->w, "result");
	json_begin_object(&r->w);
}

bool mcp_reply_end(struct mcp *m, struct reply *r, const struct addressee *to)
{
	enum err_code failed;

	json_end_object(&r->w);
	json_end_object(&r->w);
	failed = r->buf.failed;
	if (failed == ERR_OK)
		send_line(m, to, buf_str(&r->buf));
	else if (failed == ERR_NOMEM)
		mcp_refuse(m, to, RPC_INTERNAL, "out of memory");
	buf_done(&r->buf);
	return failed != ERR_LIMIT;
}

/* Works without memory. */
static void send_problem(struct mcp *m, const struct addressee *to,
			 const struct rpc_problem *problem)
{
	char space[8 * RPC_MAX_ID];
	struct buf line = BUF_OVER(space);

	rpc_add_error(&line, problem);
	send_line(m, to, buf_str(&line));
}

void mcp_refuse(struct mcp *m, const struct addressee *to, enum rpc_code code, const char *fmt, ...)
{
	struct rpc_problem problem = { .code = code, .id = to->id };
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(problem.text, sizeof(problem.text), fmt, args);
	va_end(args);
	send_problem(m, to, &problem);
}

void mcp_notice_begin(struct reply *r, const char *method)
{
	reply_init(r);
	rpc_begin(&r->w, NULL);
	json_key(&r->w, "method");
	json_add_text(&r->w, method);
	json_key(&r->w, "params");
	json_begin_object(&r->w);
}

/* What does not fit, or has no memory, is left out: nobody waits for it. */
void mcp_notice_end(struct mcp *m, struct reply *r)
{
	json_end_object(&r->w);
	mcp_ask_end(m, r);
}

uint64_t mcp_ask_begin(struct mcp *m, struct reply *r, const char *method)
{
	const struct rpc_id id = { .kind = RPC_ID_NUMBER, .number = (int64_t)++m->last_request };

	reply_init(r);
	rpc_begin(&r->w, &id);
	json_key(&r->w, "method");
	json_add_text(&r->w, method);
	return m->last_request;
}

void mcp_ask_end(struct mcp *m, struct reply *r)
{
	json_end_object(&r->w);
	if (r->buf.failed == ERR_OK)
		m->host.send(m->host.user, buf_str(&r->buf));
	buf_done(&r->buf);
}

/* ---- Messages --------------------------------------------------------------------------------- */

static void take_response(struct mcp *m, const struct rpc_message *message)
{
	uint64_t number;

	/* Ids of this server's requests are numbers. What answers none of them is nobody's. */
	if (message->id.kind != RPC_ID_NUMBER || message->id.number <= 0)
		return;
	number = (uint64_t)message->id.number;
	if (number == m->roots_request)
		mcp_roots_take(m, message->result);
	else
		(void)mcp_asks_take(m, number, message->result);
}

static void take_notification(struct mcp *m, const struct rpc_message *message)
{
	if (str_is(message->method, "notifications/cancelled"))
		mcp_call_cancel(m, message->params);
	else if (str_is(message->method, "notifications/initialized"))
		mcp_session_begin(m);
	else if (str_is(message->method, "notifications/roots/list_changed") && m->has_roots)
		mcp_roots_ask(m);
}

static void take_request(struct mcp *m, struct arena *a, const struct rpc_message *message,
			 struct batch *batch)
{
	struct request rq = {
		.m = m,
		.a = a,
		.message = message,
		.to = { .id = message->id, .version = m->version, .batch = batch },
	};

	/* Not with that id: it would pass for the answer to the call that runs. */
	if (mcp_call_is_known(m, &message->id)) {
		rq.to = (struct addressee){ .version = m->version };
		mcp_refuse(m, &rq.to, RPC_INVALID, "the id of a request is in use");
		return;
	}
	if (batch)
		batch->pending++;
	if (mcp_session_find(&rq))
		mcp_methods_dispatch(&rq);
}

static void take_message(struct mcp *m, struct arena *a, const struct json *value,
			 struct batch *batch)
{
	const struct addressee nobody = { .version = m->version };
	struct rpc_message message;
	struct rpc_problem problem;

	if (!rpc_read(value, &message, &problem)) {
		struct addressee to = { .id = problem.id, .batch = batch };

		if (batch && problem.id.kind != RPC_ID_NONE)
			batch->pending++;
		send_problem(m, problem.id.kind == RPC_ID_NONE ? &nobody : &to, &problem);
	} else if (message.kind == RPC_REQUEST) {
		take_request(m, a, &message, batch);
	} else if (message.kind == RPC_NOTIFICATION) {
		take_notification(m, &message);
	} else {
		take_response(m, &message);
	}
}

static void take_batch(struct mcp *m, struct arena *a, const struct json *value)
{
	const struct addressee nobody = { .version = m->version };
	struct err e = ERR_INIT;
	struct batch *batch;

	if (m->version != MCP_2025_03_26) {
		mcp_refuse(m, &nobody, RPC_INVALID, "batches belong to revision 2025-03-26 alone");
		return;
	}
	if (value->array.count == 0 || value->array.count > MCP_MAX_BATCH) {
		mcp_refuse(m, &nobody, RPC_INVALID, "a batch has 1 to %d messages", MCP_MAX_BATCH);
		return;
	}
	batch = mem_new(sizeof(*batch), &e);
	if (!batch) {
		mcp_refuse(m, &nobody, RPC_INTERNAL, "out of memory");
		return;
	}
	batch->out = (struct buf)BUF_INIT(RPC_MAX_ANSWER + 2);
	batch->is_reading = true;
	for (size_t i = 0; i < value->array.count; i++)
		take_message(m, a, &value->array.items[i], batch);
	batch->is_reading = false;
	batch->pending++;
	mcp_batch_leave(m, batch);
}

/* An id of a message that could not be read, unless it is in use. */
static struct rpc_id find_salvaged(const struct mcp *m, const struct salvage *s)
{
	const struct rpc_id none = { .kind = RPC_ID_NONE };
	struct str text = salvage_id(s);
	struct rpc_id id = { .kind = RPC_ID_NUMBER };

	if (!text.len)
		return none;
	if (text.p[0] == '"') {
		id.kind = RPC_ID_TEXT;
		id.text = str_from(str_first(text, text.len - 1), 1);
	} else {
		bool is_negative = text.p[0] == '-';

		for (size_t i = is_negative; i < text.len; i++)
			id.number = id.number * 10 + (text.p[i] - '0');
		id.number = is_negative ? -id.number : id.number;
	}
	return mcp_call_is_known(m, &id) ? none : id;
}

static void refuse_unread(struct mcp *m, const struct salvage *s, enum rpc_code code,
			  const char *text)
{
	struct addressee to = { .id = find_salvaged(m, s) };

	mcp_refuse(m, &to, code, "%s", text);
}

static void take_line(struct mcp *m, struct str line)
{
	scoped_arena a = ARENA_INIT(MCP_MESSAGE_BYTES);
	const struct json *value;
	struct err e = ERR_INIT;
	struct salvage salvage;
	char shown[sizeof(e.text)];

	value = json_parse(&a, line, &e);
	if (value && value->type == JSON_ARRAY) {
		take_batch(m, &a, value);
	} else if (value) {
		take_message(m, &a, value, NULL);
	} else {
		salvage_init(&salvage);
		salvage_feed(&salvage, line);
		refuse_unread(m, &salvage,
			      e.code == ERR_SYNTAX  ? RPC_PARSE
			      : e.code == ERR_LIMIT ? RPC_INVALID
						    : RPC_INTERNAL,
			      err_print(&e, shown, sizeof(shown)));
	}
}

static bool is_blank(struct str line)
{
	for (size_t i = 0; i < line.len; i++)
		if (line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r')
			return false;
	return true;
}

static void take_frame(struct mcp *m, enum frame_result result, struct str line)
{
	if (result == FRAME_LINE && !is_blank(line))
		take_line(m, line);
	else if (result == FRAME_DROPPED)
		refuse_unread(m, &m->frame.salvage,
			      m->frame.why == ERR_LIMIT ? RPC_INVALID : RPC_INTERNAL,
			      m->frame.why == ERR_LIMIT ? "the message is longer than 10 MiB"
							: "out of memory");
}

void mcp_feed(struct mcp *m, struct str bytes)
{
	struct str line = STR_EMPTY;

	while (bytes.len) {
		enum frame_result result = frame_take(&m->frame, &bytes, &line);

		take_frame(m, result, line);
	}
}

void mcp_feed_end(struct mcp *m)
{
	struct str line = STR_EMPTY;
	enum frame_result result = frame_end(&m->frame, &line);

	take_frame(m, result, line);
}

/* ---- Life ------------------------------------------------------------------------------------- */

int mcp_new(const struct mcp_host *host, const struct ticket_key *key, struct mcp **out,
	    struct err *e)
{
	struct mcp *m = mem_new(sizeof(*m), e);

	if (!m)
		return err_result(e);
	m->host = *host;
	m->key = *key;
	m->frame = (struct frame)FRAME_INIT;
	m->level = MCP_LEVEL_warning;
	*out = m;
	return 0;
}

void mcp_free(struct mcp *m)
{
	if (!m)
		return;
	while (m->calls)
		mcp_call_drop(m->calls);
	frame_done(&m->frame);
	mem_free(m);
}
