/* SPDX-License-Identifier: MIT */
/* tools/call: calls side by side, until each is answered, cancelled or forgotten by its client. */
#include <stdio.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "mcp/server.h"

enum { CALL_BYTES = 4 << 20, PROGRESS_MS = 100 };

/* ---- The list of them ---------------------------------------------------------------------------- */

static void call_free(struct mcp_call *call)
{
	struct mcp_call **link = &call->m->calls;

	while (*link != call)
		link = &(*link)->next;
	*link = call->next;
	call->m->call_count--;
	buf_done(&call->text);
	buf_done(&call->structured);
	arena_done(&call->arena);
	mem_free(call);
}

void mcp_call_drop(struct mcp_call *call)
{
	struct mcp *m = call->m;

	if (call->work)
		m->host.cancel(m->host.user, call->work);
	mcp_asks_withdraw_all(call);
	if (!call->is_parked)
		mcp_batch_leave(m, call->to.batch);
	call_free(call);
}

/* The one that the client waits for under that id. */
static struct mcp_call *find_waiting(const struct mcp *m, const struct rpc_id *id)
{
	for (struct mcp_call *c = m->calls; c; c = c->next)
		if (!c->is_parked && rpc_id_equal(&c->to.id, id))
			return c;
	return NULL;
}

bool mcp_call_is_known(const struct mcp *m, const struct rpc_id *id)
{
	return find_waiting(m, id) != NULL;
}

size_t mcp_waiting(const struct mcp *m)
{
	size_t n = 0;

	for (const struct mcp_call *c = m->calls; c; c = c->next)
		n += !c->is_parked;
	return n;
}

/* ---- The end of one ------------------------------------------------------------------------------ */

static void add_content(struct json_writer *w, struct str text)
{
	json_key(w, "content");
	json_begin_array(w);
	json_begin_object(w);
	json_key(w, "type");
	json_add_text(w, "text");
	json_key(w, "text");
	rpc_add_text(w, text);
	json_end_object(w);
	json_end_array(w);
}

static bool send_result(struct mcp_call *call, const struct tool_result *result)
{
	struct reply r;

	mcp_reply_begin(&r, &call->to);
	if (call->to.version >= MCP_2026_07_28) {
		json_key(&r.w, "resultType");
		json_add_text(&r.w, "complete");
	}
	add_content(&r.w, result->text);
	if (call->to.version >= MCP_2025_06_18 && result->structured.len) {
		json_key(&r.w, "structuredContent");
		rpc_add_json(&r.w, result->structured);
	}
	if (result->is_error) {
		json_key(&r.w, "isError");
		json_add_bool(&r.w, true);
	}
	return mcp_reply_end(call->m, &r, &call->to);
}

static void finish(struct mcp_call *call, const struct tool_result *result)
{
	static const struct tool_result too_large = {
		.text = STR_INIT("too_large: the answer would be longer than 10 MiB"),
		.structured =
			STR_INIT("{\"error\":{\"kind\":\"too_large\",\"message\":\"the answer "
				 "would be longer than 10 MiB\"}}"),
		.is_error = true,
	};

	mcp_asks_withdraw_all(call);
	if (!send_result(call, result))
		(void)send_result(call, &too_large);
	call_free(call);
}

static void keep(struct mcp_call *call, const struct tool_result *result)
{
	static const struct str lost = STR_INIT("the answer was lost: out of memory");

	call->text = (struct buf)BUF_INIT(RPC_MAX_ANSWER);
	call->structured = (struct buf)BUF_INIT(RPC_MAX_ANSWER);
	buf_add(&call->text, result->text);
	buf_add(&call->structured, result->structured);
	call->is_error = result->is_error;
	call->is_done = true;
	if (call->text.failed == ERR_OK && call->structured.failed == ERR_OK)
		return;
	buf_clear(&call->text);
	buf_clear(&call->structured);
	buf_add(&call->text, lost);
	call->is_error = true;
}

void mcp_call_tell(struct mcp_call *call)
{
	const struct tool_result result = {
		.text = buf_str(&call->text),
		.structured = buf_str(&call->structured),
		.is_error = call->is_error,
	};

	finish(call, &result);
}

void mcp_call_done(void *user, const struct tool_result *result)
{
	struct mcp_call *call = user;

	call->work = NULL;
	if (call->is_parked || call->is_busy)
		keep(call, result);
	else
		finish(call, result);
}

/* ---- Progress ------------------------------------------------------------------------------------ */

static bool wants_progress(const struct mcp_call *call)
{
	return call->progress.kind != RPC_ID_NONE && !call->is_parked;
}

/* It has to grow, so what a tool tells twice is told once. */
static void tell_progress(struct mcp_call *call, uint64_t done, uint64_t total, struct str message)
{
	struct reply r;

	call->next_told_ms = call->m->host.now_ms(call->m->host.user) + PROGRESS_MS;
	if (done <= call->told || done > INT64_MAX)
		return;
	call->told = done;
	mcp_notice_begin(&r, "notifications/progress");
	json_key(&r.w, "progressToken");
	rpc_add_id(&r.w, &call->progress);
	json_key(&r.w, "progress");
	json_add_int(&r.w, (int64_t)done);
	if (total >= done && total <= INT64_MAX) {
		json_key(&r.w, "total");
		json_add_int(&r.w, (int64_t)total);
	}
	if (message.len && call->to.version >= MCP_2025_03_26) {
		json_key(&r.w, "message");
		rpc_add_text(&r.w, message);
	}
	mcp_notice_end(call->m, &r);
}

/* Too soon after the last one, or the client is behind with its reading. */
static bool has_to_wait(struct mcp_call *call)
{
	const struct mcp_host *host = &call->m->host;
	uint64_t now = host->now_ms(host->user);

	if (now < call->next_told_ms)
		return true;
	if (!host->is_behind(host->user))
		return false;
	call->next_told_ms = now + PROGRESS_MS;
	return true;
}

static void keep_tail(struct mcp_call *call, struct str bytes)
{
	size_t room = sizeof(call->tail), keep;

	if (bytes.len > room)
		bytes = str_from(bytes, bytes.len - room);
	keep = MIN_OF(call->tail_bytes, room - bytes.len);
	memmove(call->tail, call->tail + call->tail_bytes - keep, keep);
	memcpy(call->tail + keep, bytes.p, bytes.len);
	call->tail_bytes = keep + bytes.len;
}

/* Clients show it to people: a command must not speak to their terminal, or hide what it says. */
static void add_plain(struct buf *out, struct str text)
{
	char escaped[16];
	size_t at = 0;

	/* The head of it may have been cut within a character. */
	while (at < text.len && at < 3 && ((unsigned char)text.p[at] & 0xc0) == 0x80)
		at++;
	while (at < text.len) {
		if (text.p[at] == '\n' || text.p[at] == '\t')
			buf_add_char(out, text.p[at++]);
		else
			buf_add(out, utf8_next_shown(text, &at, escaped));
	}
}

static void tell_output(struct mcp_call *call)
{
	scoped_buf text = BUF_INIT((size_t)16 * sizeof(call->tail));
	uint64_t done = call->told + call->unseen;

	if (!call->unseen || has_to_wait(call))
		return;
	add_plain(&text, (struct str){ call->tail, call->tail_bytes });
	call->unseen = 0;
	call->tail_bytes = 0;
	tell_progress(call, done, 0, text.failed == ERR_OK ? buf_str(&text) : STR_EMPTY);
}

/*
 * Its end alone, of much: all of it is in the answer. SECURITY: a command may write more than any client
 * reads, and must not keep others from being answered.
 */
void mcp_call_output(void *user, int stream, struct str bytes)
{
	struct mcp_call *call = user;

	(void)stream;
	if (!wants_progress(call) || !bytes.len)
		return;
	call->unseen += bytes.len;
	keep_tail(call, bytes);
	tell_output(call);
}

void mcp_call_progress(void *user, uint64_t done, uint64_t total, struct str message)
{
	struct mcp_call *call = user;

	if (wants_progress(call) && !has_to_wait(call))
		tell_progress(call, done, total, message);
}

/* ---- Time ---------------------------------------------------------------------------------------- */

/* When something is due for one of them; 0: never. */
static uint64_t call_next_ms(const struct mcp_call *call)
{
	if (call->is_parked)
		return call->ticket.expires_ms;
	return call->unseen ? call->next_told_ms : 0;
}

uint64_t mcp_next_ms(const struct mcp *m)
{
	uint64_t next = 0;

	for (const struct mcp_call *c = m->calls; c; c = c->next) {
		uint64_t due = call_next_ms(c);

		if (due && (!next || due < next))
			next = due;
	}
	return next;
}

void mcp_tick(struct mcp *m)
{
	struct mcp_call *next;

	for (struct mcp_call *c = m->calls; c; c = next) {
		next = c->next;
		if (!c->is_parked)
			tell_output(c);
		else if (c->ticket.expires_ms <= m->host.now_ms(m->host.user))
			mcp_call_drop(c);
	}
}

/* ---- The begin of one ---------------------------------------------------------------------------- */

static int copy_id(struct arena *a, const struct rpc_id *in, struct rpc_id *out, struct err *e)
{
	*out = *in;
	return in->kind == RPC_ID_TEXT ? arena_copy(a, in->text, &out->text, e) : 0;
}

/* Whoever waits for the answer: also of a call that goes on with another request. */
static int call_attach(struct mcp_call *call, const struct request *rq, struct err *e)
{
	const struct json *token = rpc_param(rq->meta, "progressToken");
	struct rpc_id progress = { .kind = RPC_ID_NONE };

	if (token && token->type == JSON_INT)
		progress = (struct rpc_id){ .kind = RPC_ID_NUMBER, .number = token->integer };
	else if (token && token->type == JSON_STRING && token->string.len <= RPC_MAX_ID)
		progress = (struct rpc_id){ .kind = RPC_ID_TEXT, .text = token->string };
	call->to = rq->to;
	call->level = rq->level;
	call->told = call->unseen = call->next_told_ms = 0;
	call->tail_bytes = 0;
	(void)snprintf(call->by, sizeof(call->by), "%s", rq->by);
	if (copy_id(&call->arena, &rq->to.id, &call->to.id, e) < 0)
		return err_result(e);
	return copy_id(&call->arena, &progress, &call->progress, e);
}

static void add_value(struct buf *text, const struct json *value)
{
	struct json_writer w = JSON_LINE_INIT(text);

	if (value)
		json_add_value(&w, value);
	else
		buf_add_text(text, "{}\n");
}

/* What a call is: its arguments (without them: an empty object), and its ceiling. */
static int hash_call(const struct mcp_start *what, char out[SHA256_HEX_BYTES], struct err *e)
{
	scoped_buf text = BUF_INIT((size_t)6 * FRAME_MAX_BYTES);

	add_value(&text, what->arguments);
	if (what->sandbox_state)
		add_value(&text, what->sandbox_state);
	if (buf_check(&text, e) < 0)
		return err_result(e);
	sha256_hex(buf_str(&text), out);
	return 0;
}

static struct mcp_call *call_new(struct request *rq, const struct tool *tool, struct err *e)
{
	struct mcp_call *call = mem_new(sizeof(*call), e);

	if (!call)
		return NULL;
	call->m = rq->m;
	call->arena = (struct arena)ARENA_INIT(CALL_BYTES);
	call->tool = tool;
	call->text = (struct buf)BUF_INIT(RPC_MAX_ANSWER);
	call->structured = (struct buf)BUF_INIT(RPC_MAX_ANSWER);
	if (call_attach(call, rq, e) < 0) {
		arena_done(&call->arena);
		mem_free(call);
		return NULL;
	}
	call->next = rq->m->calls;
	rq->m->calls = call;
	rq->m->call_count++;
	return call;
}

static const struct tool *find_tool(const struct mcp *m, struct str name)
{
	bool approves = m->host.approves && str_is(name, tools[TOOL_APPROVE].name);

	return approves ? &tools[TOOL_APPROVE] : tool_find(name);
}

static bool refuses_params(const struct request *rq, const struct json *name,
			   const struct json *arguments, const struct json *state)
{
	char shown[80];

	if (!name || name->type != JSON_STRING)
		mcp_refuse(rq->m, &rq->to, RPC_PARAMS, "'name' is no string");
	else if (!find_tool(rq->m, name->string))
		mcp_refuse(rq->m, &rq->to, RPC_PARAMS, "there is no tool '%s'",
			   utf8_show(name->string, shown, sizeof(shown)));
	else if (arguments && arguments->type != JSON_OBJECT)
		mcp_refuse(rq->m, &rq->to, RPC_PARAMS, "'arguments' is no object");
	else if (state && state->type != JSON_STRING)
		mcp_refuse(rq->m, &rq->to, RPC_PARAMS, "'requestState' is no string");
	else
		return false;
	return true;
}

/* What waits longest for its client makes room; calls that somebody waits for don't. */
static bool has_room(struct mcp *m)
{
	struct mcp_call *oldest = NULL;
	size_t parked = 0;

	for (struct mcp_call *c = m->calls; c; c = c->next) {
		parked += c->is_parked;
		if (c->is_parked && (!oldest || c->ticket.number < oldest->ticket.number))
			oldest = c;
	}
	if (oldest && (parked >= MCP_MAX_PARKED || m->call_count >= MCP_MAX_CALLS))
		mcp_call_drop(oldest);
	return m->call_count < MCP_MAX_CALLS;
}

static void start(struct request *rq, const struct mcp_start *what, const char *digest)
{
	struct mcp *m = rq->m;
	struct err e = ERR_INIT;
	struct mcp_call *call;

	if (!has_room(m)) {
		mcp_refuse(m, &rq->to, RPC_BUSY, "%d calls are running already: try again later",
			   MCP_MAX_CALLS);
		return;
	}
	call = call_new(rq, what->tool, &e);
	if (!call) {
		mcp_refuse(m, &rq->to, RPC_INTERNAL, "%s", e.text);
		return;
	}
	memcpy(call->arguments, digest, sizeof(call->arguments));
	if (m->host.start(m->host.user, call, what, &call->work, &e) == 0)
		return;
	mcp_refuse(m, &rq->to, RPC_INTERNAL, "%s", e.text);
	call->to.batch = NULL;
	call_free(call);
}

static bool is_same(const struct json *a, const struct json *b)
{
	scoped_buf first = BUF_INIT((size_t)6 * FRAME_MAX_BYTES);
	scoped_buf second = BUF_INIT((size_t)6 * FRAME_MAX_BYTES);

	add_value(&first, a);
	add_value(&second, b);
	return first.failed == ERR_OK && second.failed == ERR_OK &&
	       str_eq(buf_str(&first), buf_str(&second));
}

/*
 * What codex says of its own sandbox; newer ones say it under two names. SECURITY: one that says it in another
 * way does so because this server has declared that it obeys, so its calls go no further.
 */
static bool find_state(const struct request *rq, const struct json **out)
{
	const struct json *state = rpc_param(rq->meta, MCP_SANDBOX_STATE);
	const struct json *same = rpc_param(rq->meta, MCP_SANDBOX_STATE "-meta");

	*out = state ? state : same;
	if (state && same && !is_same(state, same)) {
		mcp_refuse(rq->m, &rq->to, RPC_PARAMS,
			   "the two states of codex's sandbox in '_meta' differ");
		return false;
	}
	if (!*out && rq->m->has_told_state) {
		mcp_refuse(rq->m, &rq->to, RPC_INVALID,
			   "this codex does not say with each call what its sandbox is, so that "
			   "can't be held: a newer one does");
		return false;
	}
	return true;
}

void mcp_call_begin(struct request *rq)
{
	const struct json *params = rq->message->params;
	const struct json *name = rpc_param(params, "name");
	const struct json *state = rpc_param(params, "requestState");
	struct mcp_start what = { .arguments = rpc_param(params, "arguments"),
				  .asks = rq->elicits };
	bool is_modern = rq->to.version >= MCP_2026_07_28;
	char digest[SHA256_HEX_BYTES] = "";
	struct mcp_call *call = NULL;
	struct err e = ERR_INIT;

	if (refuses_params(rq, name, what.arguments, state) || !find_state(rq, &what.sandbox_state))
		return;
	what.tool = find_tool(rq->m, name->string);
	/* For tickets alone. */
	if (is_modern && hash_call(&what, digest, &e) < 0) {
		mcp_refuse(rq->m, &rq->to, RPC_INTERNAL, "%s", e.text);
		return;
	}
	if (state && is_modern)
		call = mcp_asks_find(rq, state->string, digest);
	if (!call) {
		start(rq, &what, digest);
	} else if (call_attach(call, rq, &e) < 0) {
		mcp_refuse(rq->m, &rq->to, RPC_INTERNAL, "%s", e.text);
		mcp_call_drop(call);
	} else {
		mcp_asks_resume(call, rq);
	}
}

void mcp_call_cancel(struct mcp *m, const struct json *params)
{
	const struct json *value = rpc_param(params, "requestId");
	struct rpc_id id = { .kind = RPC_ID_NUMBER };
	struct mcp_call *call;

	if (value && value->type == JSON_INT)
		id.number = value->integer;
	else if (value && value->type == JSON_STRING)
		id = (struct rpc_id){ .kind = RPC_ID_TEXT, .text = value->string };
	else
		return;
	call = find_waiting(m, &id);
	if (call)
		mcp_call_drop(call);
}
