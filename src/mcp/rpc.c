/* SPDX-License-Identifier: MIT */
/* See rpc.h. */
#include "mcp/rpc.h"

#include <stdio.h>

#include "base/utf8.h"

bool rpc_id_equal(const struct rpc_id *a, const struct rpc_id *b)
{
	if (a->kind != b->kind)
		return false;
	return a->kind == RPC_ID_NUMBER ? a->number == b->number : str_eq(a->text, b->text);
}

const struct json *rpc_param(const struct json *params, const char *name)
{
	return params ? json_find(params, name) : NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool mcp_refuse(struct rpc_problem *problem, enum rpc_code code, const char *text)
{
	problem->code = code;
	(void)snprintf(problem->text, sizeof(problem->text), "%s", text);
	return false;
}

static bool read_id(const struct json *value, struct rpc_id *out)
{
	if (value->type == JSON_INT)
		*out = (struct rpc_id){ .kind = RPC_ID_NUMBER, .number = value->integer };
	else if (value->type == JSON_STRING && value->string.len <= RPC_MAX_ID)
		*out = (struct rpc_id){ .kind = RPC_ID_TEXT, .text = value->string };
	else
		return false;
	return true;
}

static bool read_response(const struct json *value, struct rpc_message *out,
			  struct rpc_problem *problem)
{
	const struct json *result = json_find(value, "result");
	const struct json *error = json_find(value, "error");

	/* Whoever sent a response waits for none: its id is not one of the sender's requests. */
	problem->id = (struct rpc_id){ .kind = RPC_ID_NONE };
	if (!result == !error)
		return mcp_refuse(problem, RPC_INVALID,
				  "a message has a method, or else either a result or an error");
	out->kind = RPC_RESPONSE;
	out->result = result;
	return true;
}

bool rpc_read(const struct json *value, struct rpc_message *out, struct rpc_problem *problem)
{
	const struct json *version, *method, *id;

	*out = (struct rpc_message){ .kind = RPC_NOTIFICATION };
	*problem = (struct rpc_problem){ .code = RPC_INVALID };
	if (value->type != JSON_OBJECT)
		return mcp_refuse(problem, RPC_INVALID, "a message is an object");
	version = json_find(value, "jsonrpc");
	method = json_find(value, "method");
	id = json_find(value, "id");
	if (id && !read_id(id, &out->id))
		return mcp_refuse(problem, RPC_INVALID,
				  "an id is an integer, or a string of up to 1024 bytes");
	if (method)
		problem->id = out->id;
	if (!version || version->type != JSON_STRING || !str_is(version->string, "2.0"))
		return mcp_refuse(problem, RPC_INVALID, "'jsonrpc' is not \"2.0\"");
	if (!method)
		return read_response(value, out, problem);
	if (method->type != JSON_STRING)
		return mcp_refuse(problem, RPC_INVALID, "'method' is no string");
	out->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
	out->method = method->string;
	out->params = json_find(value, "params");
	if (out->params && out->params->type != JSON_OBJECT)
		return mcp_refuse(problem, RPC_PARAMS, "'params' is no object");
	return true;
}

/* ---- Writing --------------------------------------------------------------------------------- */

void rpc_add_id(struct json_writer *w, const struct rpc_id *id)
{
	if (id->kind == RPC_ID_NUMBER)
		json_add_int(w, id->number);
	else
		json_add_str(w, id->text);
}

void rpc_add_text(struct json_writer *w, struct str text)
{
	struct buf clean;

	if (utf8_check(text) == text.len) {
		json_add_str(w, text);
		return;
	}
	clean = (struct buf)BUF_INIT(RPC_MAX_ANSWER);
	utf8_add_quoted(&clean, text, false);
	if (clean.failed != ERR_OK)
		json_fail(w, clean.failed);
	json_add_raw(w, buf_str(&clean));
	buf_done(&clean);
}

/* The next "\udcNN" from `at` on, or the end; a pair of backslashes is none of its begin. */
static size_t find_stray(struct str json, size_t at)
{
	while (at < json.len) {
		at += str_find(str_from(json, at), '\\');
		if (str_has_prefix(str_from(json, at), STR("\\udc")))
			return at;
		at += 2;
	}
	return json.len;
}

void rpc_add_json(struct json_writer *w, struct str json)
{
	enum { ESCAPE_BYTES = 6 };
	size_t at = 0, stray;
	struct buf clean = BUF_INIT(RPC_MAX_ANSWER);

	/* The writer ends a value with a newline, which would end the message. */
	if (str_has_suffix(json, STR("\n")))
		json.len--;
	stray = find_stray(json, 0);
	if (stray == json.len) {
		json_add_raw(w, json);
		return;
	}
	for (; at < json.len; stray = find_stray(json, at)) {
		buf_add(&clean, str_first(str_from(json, at), stray - at));
		buf_add_text(&clean, stray < json.len ? "\\ufffd" : "");
		at = stray + ESCAPE_BYTES;
	}
	if (clean.failed != ERR_OK)
		json_fail(w, clean.failed);
	json_add_raw(w, buf_str(&clean));
	buf_done(&clean);
}

void rpc_begin(struct json_writer *w, const struct rpc_id *id)
{
	json_begin_object(w);
	json_key(w, "jsonrpc");
	json_add_text(w, "2.0");
	if (!id || id->kind == RPC_ID_NONE)
		return;
	json_key(w, "id");
	rpc_add_id(w, id);
}

void rpc_add_error(struct buf *out, const struct rpc_problem *problem)
{
	struct json_writer w = JSON_LINE_INIT(out);

	rpc_begin(&w, &problem->id);
	json_key(&w, "error");
	json_begin_object(&w);
	json_key(&w, "code");
	json_add_int(&w, problem->code);
	json_key(&w, "message");
	rpc_add_text(&w, str_of(problem->text));
	json_end_object(&w);
	json_end_object(&w);
}
