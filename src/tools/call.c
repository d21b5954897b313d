/* SPDX-License-Identifier: MIT */
/* A call, from its arguments to its answer; see call.h. */
#include "tools/call.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

enum { MESSAGE_MAX_BYTES = 4096 };

void call_init(struct call *call, struct arena *a, const struct scope *scope,
	       const struct json *arguments)
{
	*call = (struct call){ .a = a,
			       .scope = scope,
			       .arguments = arguments,
			       .passed = -1,
			       .text = BUF_INIT(TOOL_ANSWER_MAX_BYTES),
			       .structured = BUF_INIT(TOOL_ANSWER_MAX_BYTES) };
	call->json = (struct json_writer)JSON_LINE_INIT(&call->structured);
	json_begin_object(&call->json);
}

void call_done(struct call *call)
{
	buf_done(&call->text);
	buf_done(&call->structured);
}

void call_add_need(struct json_writer *w, const char *capability, const char *blocked,
		   struct str path)
{
	json_key(w, "needs");
	json_begin_object(w);
	json_key(w, "type");
	json_add_text(w, "SandboxPermissionNeeded");
	json_key(w, "capability");
	json_add_text(w, capability);
	json_key(w, "call");
	json_add_text(w, blocked);
	json_key(w, "path");
	json_add_str(w, path);
	json_end_object(w);
}

static void add_refusal(struct call *call)
{
	const struct refusal *r = &call->refusal;
	struct json_writer *w = &call->json;

	json_key(w, "error");
	json_begin_object(w);
	json_key(w, "kind");
	json_add_text(w, tool_refusal_name(r->kind));
	json_key(w, "message");
	json_add_str(w, r->message);
	if (r->kind == REFUSAL_VIOLATION) {
		json_key(w, "rule");
		json_add_str(w, r->rule);
		json_key(w, "grant");
		json_add_str(w, r->grant_path);
		if (r->grant_path.len)
			call_add_need(w, access_name(r->wanted), call->tool ? call->tool : "",
				      r->path);
	}
	json_end_object(w);
}

static void add_sandbox(struct call *call)
{
	struct err ignored = ERR_INIT;
	const struct json *value;

	if (!call->scope->sandbox.len)
		return;
	value = json_parse(call->a, call->scope->sandbox, &ignored);
	if (!value)
		return;
	json_key(&call->json, "sandbox");
	json_add_value(&call->json, value);
}

static void start_again(struct call *call)
{
	buf_clear(&call->structured);
	call->json = (struct json_writer)JSON_LINE_INIT(&call->structured);
	json_begin_object(&call->json);
}

/* An answer that is too long for the line, or for the memory that one may have. */
static void replace_too_long(struct call *call)
{
	buf_clear(&call->text);
	start_again(call);
	call->refusal = (struct refusal){ .is_set = false };
	(void)call_refuse(call, REFUSAL_TOO_LARGE,
			  "the answer is longer than %d MiB; ask for less of it",
			  TOOL_ANSWER_MAX_BYTES >> 20);
	add_refusal(call);
	add_sandbox(call);
	json_end_object(&call->json);
	buf_add(&call->text, call->refusal.message);
}

int call_finish(struct call *call, int r, struct tool_result *out, struct err *e)
{
	if (r < 0 && !call->refusal.is_set)
		return err_result(e);
	if (call->refusal.is_set) {
		if (!call->refusal.keeps_members) {
			start_again(call);
			buf_clear(&call->text);
		}
		if (call->text.len)
			buf_add_char(&call->text, '\n');
		buf_add(&call->text, call->refusal.message);
		add_refusal(call);
	}
	add_sandbox(call);
	json_end_object(&call->json);
	if (call->structured.failed == ERR_LIMIT || call->text.failed == ERR_LIMIT ||
	    call->structured.len + call->text.len > TOOL_ANSWER_MAX_BYTES)
		replace_too_long(call);
	if (buf_check(&call->structured, e) < 0 || buf_check(&call->text, e) < 0)
		return err_result(e);
	*out = (struct tool_result){ .text = buf_str(&call->text),
				     .structured = buf_str(&call->structured),
				     .is_error = call->refusal.is_set };
	return 0;
}

int call_refuse(struct call *call, enum tool_refusal_kind kind, const char *fmt, ...)
{
	struct err ignored = ERR_INIT;
	char text[MESSAGE_MAX_BYTES];
	scoped_buf shown = BUF_INIT(64 << 10);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	utf8_add_shown(&shown, str_of(text));
	call->refusal = (struct refusal){ .is_set = true,
					  .kind = kind,
					  .message = STR("out of memory"),
					  .rule = STR_EMPTY,
					  .grant_path = STR_EMPTY };
	if (shown.failed == ERR_OK &&
	    arena_copy(call->a, buf_str(&shown), &call->refusal.message, &ignored) < 0)
		call->refusal.message = STR("out of memory");
	/* Whoever refuses by a rule of the policy says which; the others are a rule of their own. */
	if (kind == REFUSAL_VIOLATION)
		call->refusal.rule = call->refusal.message;
	return CALL_REFUSED;
}

int call_violates(struct call *call, struct str path, enum access wanted, struct err *e)
{
	struct scope_verdict v;
	scoped_buf shown = BUF_INIT(64 << 10);

	if (scope_judge(call->a, call->scope, path, &v, e) < 0)
		return err_result(e);
	utf8_add_shown(&shown, path);
	(void)call_refuse(call, REFUSAL_VIOLATION, "the policy does not let '%s' be %s (%.*s)",
			  shown.p ? shown.p : "", wanted == ACCESS_WRITE ? "written" : "read",
			  (int)v.rule.len, v.rule.p);
	call->refusal.rule = v.rule;
	call->refusal.wanted = wanted;
	if (arena_copy(call->a, path, &call->refusal.path, e) < 0)
		return err_result(e);
	call->refusal.opens = call->refusal.path;
	if (!v.is_fixed)
		call->refusal.grant_path = call->refusal.path;
	return CALL_REFUSED;
}

static int refuse_type(struct call *call, const char *name, const char *type)
{
	return call_refuse(call, REFUSAL_INVALID, "the argument '%s' has to be %s", name, type);
}

int call_get_str(struct call *call, const char *name, struct str *out)
{
	const struct json *value = json_find(call->arguments, name);

	if (!value)
		return 0;
	if (value->type != JSON_STRING)
		return refuse_type(call, name, "a string");
	*out = value->string;
	return 0;
}

int call_get_bool(struct call *call, const char *name, bool *out)
{
	const struct json *value = json_find(call->arguments, name);

	if (!value)
		return 0;
	if (value->type != JSON_BOOL)
		return refuse_type(call, name, "true or false");
	*out = value->boolean;
	return 0;
}

int call_get_int(struct call *call, const char *name, int64_t least, int64_t most, int64_t *out)
{
	const struct json *value = json_find(call->arguments, name);

	if (!value)
		return 0;
	if (value->type != JSON_INT)
		return refuse_type(call, name, "a whole number");
	if (value->integer < least || value->integer > most)
		return call_refuse(call, REFUSAL_INVALID,
				   "the argument '%s' has to be from %lld to %lld", name,
				   (long long)least, (long long)most);
	*out = value->integer;
	return 0;
}
