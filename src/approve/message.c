/* SPDX-License-Identifier: MIT */
/* See message.h. An answer is taken whole or not at all. */
#include "approve/message.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"

/* ---- Writing --------------------------------------------------------------------------------- */

enum { MAX_KEY = 40 };

static void add_base64(struct json_writer *w, struct str bytes)
{
	scoped_buf text = BUF_INIT((size_t)2 * ASK_MAX_BYTES);
	struct err e = ERR_INIT;

	base64_add(&text, bytes);
	if (buf_check(&text, &e) < 0)
		json_fail(w, e.code);
	json_add_str(w, buf_str(&text));
}

static bool is_text(struct str s)
{
	return utf8_check(s) == s.len;
}

/* KEY_base64, of what is not UTF-8. */
static void begin_base64(struct json_writer *w, const char *key)
{
	char name[MAX_KEY];
	struct buf b = BUF_OVER(name);

	buf_printf(&b, "%s_base64", key);
	json_key(w, name);
}

static void add_text(struct json_writer *w, const char *key, struct str text)
{
	json_key(w, key);
	json_add_str(w, text);
	if (is_text(text))
		return;
	begin_base64(w, key);
	add_base64(w, text);
}

static void add_text_or_null(struct json_writer *w, const char *key, struct str text)
{
	if (text.len) {
		add_text(w, key, text);
		return;
	}
	json_key(w, key);
	json_add_null(w);
}

/* argv_base64 has null for each word that is text. */
static void add_argv(struct json_writer *w, const struct ask *ask)
{
	bool is_all_text = true;

	json_key(w, "argv");
	json_begin_array(w);
	for (size_t i = 0; i < ask->argv_count; i++) {
		json_add_str(w, ask->argv[i]);
		is_all_text = is_all_text && is_text(ask->argv[i]);
	}
	json_end_array(w);
	if (is_all_text)
		return;
	begin_base64(w, "argv");
	json_begin_array(w);
	for (size_t i = 0; i < ask->argv_count; i++) {
		if (is_text(ask->argv[i]))
			json_add_null(w);
		else
			add_base64(w, ask->argv[i]);
	}
	json_end_array(w);
}

static void add_rule(struct json_writer *w, const struct ask *ask)
{
	struct str file = str_of(ask->origin.file ? ask->origin.file : "");

	json_key(w, "rule");
	json_begin_object(w);
	add_text(w, "text", ask->rule);
	add_text_or_null(w, "file", file);
	json_key(w, "line");
	if (ask->origin.line)
		json_add_int(w, ask->origin.line);
	else
		json_add_null(w);
	json_end_object(w);
}

void message_add_grant(struct json_writer *w, const struct grant *grant)
{
	json_begin_object(w);
	json_key(w, "kind");
	json_add_text(w, ask_kind_name(grant->kind));
	if (grant->kind == ASK_WRITE || grant->kind == ASK_UNIX_SOCKET)
		add_text(w, "path", grant->subject);
	if (grant->kind == ASK_WRITE) {
		json_key(w, "dir");
		json_add_bool(w, grant->is_dir);
	}
	if (grant->kind == ASK_CONNECT)
		add_text(w, "host", grant->subject);
	json_end_object(w);
}

static void add_offer(struct json_writer *w, const struct offer *offer)
{
	json_begin_object(w);
	json_key(w, "grant");
	message_add_grant(w, &offer->grant);
	json_key(w, "scopes");
	json_begin_array(w);
	for (unsigned scope = 0; scope <= SCOPE_ALWAYS; scope++) {
		if (offer->scopes & SCOPE_BIT(scope))
			json_add_text(w, grant_scope_name((enum grant_scope)scope));
	}
	json_end_array(w);
	json_end_object(w);
}

static void begin_message(struct json_writer *w, const char *type, uint64_t id)
{
	json_begin_object(w);
	json_key(w, "v");
	json_add_int(w, MESSAGE_VERSION);
	json_key(w, "type");
	json_add_text(w, type);
	json_key(w, "id");
	json_add_int(w, (int64_t)id);
}

static void add_attempt(struct json_writer *w, const struct ask *ask)
{
	json_key(w, "kind");
	json_add_text(w, ask_kind_name(ask->kind));
	json_key(w, "operation");
	if (ask->kind == ASK_ESCALATE)
		json_add_null(w);
	else
		json_add_text(w, operation_name(ask->operation));
	add_text(w, "subject", ask->subject);
	add_text_or_null(w, "named", ask->named);
	add_text_or_null(w, "program", ask->program);
	json_key(w, "pid");
	if (ask->pid)
		json_add_int(w, ask->pid);
	else
		json_add_null(w);
	add_argv(w, ask);
	add_text_or_null(w, "cwd", ask->cwd);
	add_rule(w, ask);
	add_text_or_null(w, "reason", ask->reason);
}

void message_add_request(struct buf *out, const struct message_run *run, const struct ask *ask,
			 uint64_t deadline_ms)
{
	struct json_writer w = JSON_LINE_INIT(out);

	begin_message(&w, "request", ask->id);
	add_text(&w, "run", run->run);
	add_text_or_null(&w, "session", run->session);
	add_attempt(&w, ask);
	json_key(&w, "offers");
	json_begin_array(&w);
	for (size_t i = 0; i < ask->offer_count; i++)
		add_offer(&w, &ask->offers[i]);
	json_end_array(&w);
	json_key(&w, "deadline_ms");
	json_add_int(&w, (int64_t)deadline_ms);
	json_end_object(&w);
}

void message_add_withdrawn(struct buf *out, uint64_t id)
{
	struct json_writer w = JSON_LINE_INIT(out);

	begin_message(&w, "withdrawn", id);
	json_end_object(&w);
}

/* ---- Reading --------------------------------------------------------------------------------- */

#define REFUSE(e, ...) FAIL(e, ERR_SYNTAX, __VA_ARGS__)

enum { SHOWN_BYTES = 80 };
#define SHOWN(s) utf8_show((s), (char[SHOWN_BYTES]){ 0 }, SHOWN_BYTES)

/* `known` ends in NULL. */
static int check_members(const struct json *object, const char *const *known, const char *what,
			 struct err *e)
{
	for (size_t i = 0; i < object->object.count; i++) {
		struct str name = object->object.items[i].name;
		size_t k = 0;

		while (known[k] && !str_is(name, known[k]))
			k++;
		if (!known[k])
			return REFUSE(e, "%s has no member '%s'", what, SHOWN(name));
	}
	return 0;
}

/* A string that is there. */
static int read_string(const struct json *object, const char *name, struct str *out, struct err *e)
{
	const struct json *value = json_find(object, name);

	if (!value || value->type != JSON_STRING)
		return REFUSE(e, "'%s' is %s", name, value ? "no string" : "missing");
	*out = value->string;
	return 0;
}

/* Leaves `*out` if it is not there. */
static int read_bool(const struct json *object, const char *name, bool *out, struct err *e)
{
	const struct json *value = json_find(object, name);

	if (value && value->type != JSON_BOOL)
		return REFUSE(e, "'%s' is neither true nor false", name);
	if (value)
		*out = value->boolean;
	return 0;
}

/* "path", or in its place "path_base64". */
static int read_path(struct arena *a, const struct json *object, struct str *out, struct err *e)
{
	const struct json *text = json_find(object, "path");
	char bytes[PATH_MAX_BYTES];
	struct str encoded;
	size_t len;

	if (text && json_find(object, "path_base64"))
		return REFUSE(e, "'path_base64' stands in the place of 'path'");
	if (text || !json_find(object, "path_base64"))
		return read_string(object, "path", out, e);
	if (read_string(object, "path_base64", &encoded, e) < 0)
		return err_result(e);
	if (!base64_decode(encoded, bytes, sizeof(bytes), &len))
		return REFUSE(e, "'path_base64' is no path in base64");
	return arena_copy(a, (struct str){ bytes, len }, out, e);
}

static int read_host(struct arena *a, const struct json *object, struct grant *out, struct err *e)
{
	struct hostname host;
	struct str text;
	uint16_t port;

	if (read_string(object, "host", &text, e) < 0 ||
	    hostname_parse_port(a, text, &host, &port, e) < 0)
		return err_result(e);
	return grant_of_host(a, &host, port, out, e);
}

static int read_grant(struct arena *a, const struct json *object, struct grant *out, struct err *e)
{
	static const char *const members[][5] = {
		[ASK_WRITE] = { "kind", "path", "path_base64", "dir" },
		[ASK_CONNECT] = { "kind", "host" },
		[ASK_UNIX_SOCKET] = { "kind", "path", "path_base64" },
		[ASK_ESCALATE] = { "kind" },
	};
	struct grant grant = { .subject = STR_EMPTY };
	struct str kind;

	if (object->type != JSON_OBJECT)
		return REFUSE(e, "'grant' is no object");
	if (read_string(object, "kind", &kind, e) < 0)
		return err_result(e);
	if (!ask_kind_parse(kind, &grant.kind))
		return REFUSE(e, "there is no kind '%s'", SHOWN(kind));
	if (check_members(object, members[grant.kind], "this grant", e) < 0)
		return err_result(e);
	if (grant.kind == ASK_WRITE && !json_find(object, "dir"))
		return REFUSE(e, "'dir' is missing");
	if ((grant.kind == ASK_WRITE || grant.kind == ASK_UNIX_SOCKET) &&
	    (read_path(a, object, &grant.subject, e) < 0 ||
	     read_bool(object, "dir", &grant.is_dir, e) < 0))
		return err_result(e);
	if (grant.kind == ASK_CONNECT && read_host(a, object, &grant, e) < 0)
		return err_result(e);
	if (!grant_is_well_formed(&grant))
		return REFUSE(e, "'%s' is no plain absolute path", SHOWN(grant.subject));
	*out = grant;
	return 0;
}

static int read_scope(const struct json *object, struct answer *out, struct err *e)
{
	struct str text;

	out->scope = SCOPE_RUN;
	if (!json_find(object, "scope"))
		return 0;
	if (read_string(object, "scope", &text, e) < 0)
		return err_result(e);
	if (grant_lasting_parse(text, &out->scope, &out->minutes))
		return 0;
	if (str_has_prefix(text, STR("minutes")))
		return REFUSE(e, "minutes are written as minutes:N, from 1 to %d", ASK_MAX_MINUTES);
	return REFUSE(e, "there is no scope '%s'", SHOWN(text));
}

static int read_allow(struct arena *a, const struct json *object, struct answer *out, struct err *e)
{
	const struct json *grant = json_find(object, "grant");

	if (json_find(object, "rest"))
		return REFUSE(e, "'rest' belongs to a deny");
	out->is_narrowest = !grant;
	if (grant && read_grant(a, grant, &out->grant, e) < 0)
		return err_result(e);
	return read_scope(object, out, e);
}

static int read_deny(const struct json *object, struct answer *out, struct err *e)
{
	if (json_find(object, "scope") || json_find(object, "grant"))
		return REFUSE(e, "only an answer \"allow\" may have 'scope' or 'grant'");
	return read_bool(object, "rest", &out->denies_rest, e);
}

static int read_answer(struct arena *a, const struct json *object, struct answer *out,
		       struct err *e)
{
	static const char *const members[] = { "id",	  "decision", "scope", "grant",
					       "message", "rest",     NULL };
	struct answer answer = { .message = STR_EMPTY, .grant = { .subject = STR_EMPTY } };
	struct str decision;

	if (check_members(object, members, "an answer", e) < 0 ||
	    read_string(object, "decision", &decision, e) < 0)
		return err_result(e);
	answer.is_allow = str_is(decision, "allow");
	if (!answer.is_allow && !str_is(decision, "deny"))
		return REFUSE(e, "there is no decision '%s'", SHOWN(decision));
	if (json_find(object, "message") && read_string(object, "message", &answer.message, e) < 0)
		return err_result(e);
	if (answer.is_allow ? read_allow(a, object, &answer, e) < 0
			    : read_deny(object, &answer, e) < 0)
		return err_result(e);
	*out = answer;
	return 0;
}

int message_parse_answer(struct arena *a, struct str line, uint64_t *id, struct answer *out,
			 struct err *e)
{
	const struct json *object, *number;

	*id = 0;
	if (str_has_suffix(line, STR("\n")))
		line.len--;
	if (line.len > MESSAGE_MAX_ANSWER)
		return FAIL(e, ERR_LIMIT, "the line is longer than 64 KiB");
	object = json_parse(a, line, e);
	if (!object)
		return err_result(e);
	if (object->type != JSON_OBJECT)
		return REFUSE(e, "an answer is an object");
	number = json_find(object, "id");
	if (!number || number->type != JSON_INT || number->integer < 1)
		return REFUSE(e, "'id' is %s", number ? "no number from 1 on" : "missing");
	*id = (uint64_t)number->integer;
	return read_answer(a, object, out, e);
}
