/* SPDX-License-Identifier: MIT */
/* The tools in cordon.h: a toolbox with a loop of its own. */
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "tools/box.h"

enum { ARGUMENTS_MAX_BYTES = 64 << 20 };

struct cordon_session {
	struct cordon_session_options options;
	struct loop loop;
	struct toolbox *box;
	struct buf tools;
};

struct cordon_tool_result {
	struct arena arena;
	struct tool_result result;
};

/* What one call waits for. */
struct waiting {
	cordon_session *session;
	cordon_tool_result *out;
	int fd; /* of open_file; -1: none */
	bool is_done;
	struct err e;
};

static void tell_log(void *user, const char *text)
{
	const cordon_session *s = user;

	if (s->options.on_log)
		s->options.on_log(s->options.user, text);
}

static int session_begin(cordon_session *s, struct err *e)
{
	static const char *const command[] = { "cordon-tools", NULL };
	static const struct cordon_run_options none = { .size = sizeof(none), .command = command };
	const struct toolbox_options options = { .run = s->options.run ? s->options.run : &none,
						 .roots = s->options.roots,
						 .read_only = s->options.read_only,
						 .loop = &s->loop,
						 .user = s,
						 .log = tell_log };

	if (loop_init(&s->loop, e) < 0)
		return err_result(e);
	return toolbox_new(&options, &s->box, e);
}

int cordon_session_new(const struct cordon_session_options *options, cordon_session **session,
		       cordon_error **error)
{
	struct err e = ERR_INIT;
	cordon_session *s = NULL;

	if (!session) {
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_session_new: session is NULL");
		return error_give(&e, error);
	}
	s = mem_new(sizeof(*s), &e);
	if (!s)
		return error_give(&e, error);
	s->loop = (struct loop)LOOP_NONE;
	s->tools = (struct buf)BUF_INIT(1 << 20);
	if (options_read_session(options, &s->options, &e) < 0 || session_begin(s, &e) < 0) {
		cordon_session_free(s);
		return error_give(&e, error);
	}
	*session = s;
	return 0;
}

void cordon_session_free(cordon_session *session)
{
	if (!session)
		return;
	toolbox_free(session->box);
	loop_done(&session->loop);
	buf_done(&session->tools);
	mem_free(session);
}

int cordon_scope_add(cordon_session *session, const char *path, cordon_error **error)
{
	struct err e = ERR_INIT;
	int r;

	if (!path)
		r = FAIL(&e, ERR_ARGUMENT, "cordon_scope_add: path is NULL");
	else
		r = toolbox_add_root(session->box, path, &e);
	if (r > 0)
		r = FAIL(&e, ERR_POLICY, "the policy does not allow this project to be read");
	return r < 0 ? error_give(&e, error) : 0;
}

const cordon_policy *cordon_session_policy(const cordon_session *session, const char *path)
{
	return toolbox_policy(session->box, str_of(path ? path : ""));
}

static void add_schema(struct json_writer *w, struct arena *a, const char *name, const char *schema)
{
	struct err e = ERR_INIT;
	const struct json *value = json_parse(a, str_of(schema), &e);

	json_key(w, name);
	if (value)
		json_add_value(w, value);
	else
		json_fail(w, e.code);
}

static void add_annotation(struct json_writer *w, const char *name, bool value)
{
	json_key(w, name);
	json_add_bool(w, value);
}

const char *cordon_tools_json(cordon_session *session)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct json_writer w = JSON_LINE_INIT(&session->tools);

	buf_clear(&session->tools);
	json_begin_array(&w);
	for (size_t i = 0; i < TOOL_COUNT; i++) {
		json_begin_object(&w);
		json_key(&w, "name");
		json_add_text(&w, tools[i].name);
		json_key(&w, "description");
		json_add_text(&w, tools[i].description);
		add_schema(&w, &a, "inputSchema", tools[i].input_schema);
		add_schema(&w, &a, "outputSchema", tools[i].output_schema);
		json_key(&w, "annotations");
		json_begin_object(&w);
		add_annotation(&w, "readOnlyHint", tools[i].is_read_only);
		add_annotation(&w, "destructiveHint", tools[i].is_destructive);
		add_annotation(&w, "idempotentHint", tools[i].is_idempotent);
		json_end_object(&w);
		json_end_object(&w);
	}
	json_end_array(&w);
	return session->tools.failed == ERR_OK ? session->tools.p : NULL;
}

/* ---- Calls ------------------------------------------------------------------------------------ */

static void take_result(void *user, const struct tool_result *result)
{
	struct waiting *w = user;
	cordon_tool_result *out = w->out;

	w->is_done = true;
	out->result.is_error = result->is_error;
	if (arena_copy(&out->arena, result->text, &out->result.text, &w->e) == 0)
		(void)!arena_copy(&out->arena, result->structured, &out->result.structured, &w->e);
}

static void take_output(void *user, int stream, struct str bytes)
{
	const struct waiting *w = user;
	const struct cordon_session_options *o = &w->session->options;

	if (o->on_output)
		o->on_output(o->user, (uint32_t)stream, bytes.p, bytes.len);
}

static void take_question(void *user, const struct cordon_ask_request *request)
{
	const struct waiting *w = user;
	struct cordon_answer answer = { .size = sizeof(answer) };
	struct err ignored = ERR_INIT;

	w->session->options.on_ask(w->session->options.user, request, &answer);
	if (answer.decision == CORDON_DECISION_ASK)
		answer.decision = CORDON_DECISION_DENY;
	(void)!toolbox_answer(w->session->box, request->id, "callback", &answer, &ignored);
}

static void take_descriptor(void *user, int fd)
{
	struct waiting *w = user;

	w->fd = fd;
}

static int call_and_wait(struct waiting *w, const struct tool *tool, const char *arguments,
			 struct err *e)
{
	scoped_arena a = ARENA_INIT(ARGUMENTS_MAX_BYTES);
	struct toolbox_request request = { .tool = tool,
					   .user = w,
					   .done = take_result,
					   .output = take_output,
					   .opened = take_descriptor };
	struct toolbox_call *call;

	if (arguments && !(request.arguments = json_parse(&a, str_of(arguments), e)))
		return err_result(e);
	if (w->session->options.on_ask)
		request.ask = take_question;
	if (toolbox_start(w->session->box, &request, &call, e) < 0)
		return err_result(e);
	toolbox_begin(w->session->box);
	while (!w->is_done)
		if (loop_step(&w->session->loop, -1, e) < 0) {
			if (!w->is_done)
				toolbox_cancel(call);
			return err_result(e);
		}
	if (w->e.code != ERR_OK)
		*e = w->e;
	return w->e.code == ERR_OK ? 0 : err_result(e);
}

/* `*fd` may be NULL, and then there is none. */
static int call_tool(cordon_session *session, const struct tool *tool, const char *arguments,
		     cordon_tool_result **result, int *fd, struct err *e)
{
	struct waiting w = { .session = session, .fd = -1 };

	w.out = mem_new(sizeof(*w.out), e);
	if (!w.out)
		return err_result(e);
	w.out->arena = (struct arena)ARENA_INIT(ARGUMENTS_MAX_BYTES);
	if (call_and_wait(&w, tool, arguments, e) < 0) {
		fd_done(&w.fd);
		cordon_tool_result_free(w.out);
		return err_result(e);
	}
	if (fd)
		*fd = w.fd;
	*result = w.out;
	return 0;
}

int cordon_tool_call(cordon_session *session, const char *tool, const char *arguments,
		     cordon_tool_result **result, cordon_error **error)
{
	struct err e = ERR_INIT;
	const struct tool *found = tool ? tool_find(str_of(tool)) : NULL;

	if (!found || !result) {
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_tool_call: there is no such tool");
		return error_give(&e, error);
	}
	return call_tool(session, found, arguments, result, NULL, &e) < 0 ? error_give(&e, error)
									  : 0;
}

/* ---- For host programs -------------------------------------------------------------------------- */

/* {"path": PATH, "access": ACCESS}; NULL: without an access. */
static int call_for_path(cordon_session *session, enum tool_id tool, const char *path,
			 const char *access, cordon_tool_result **result, int *fd, struct err *e)
{
	scoped_buf arguments = BUF_INIT((size_t)8 * PATH_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&arguments);

	if (utf8_check(str_of(path)) < strlen(path))
		return FAIL(e, ERR_SYNTAX, "the path is not UTF-8");
	json_begin_object(&w);
	json_key(&w, "path");
	json_add_text(&w, path);
	if (access) {
		json_key(&w, "access");
		json_add_text(&w, access);
	}
	json_end_object(&w);
	if (buf_check(&arguments, e) < 0)
		return err_wrap(e, "the path is too long");
	return call_tool(session, &tools[tool], arguments.p, result, fd, e);
}

static enum cause cause_of(struct str kind)
{
	if (str_is(kind, "violation"))
		return CAUSE_POLICY;
	if (str_is(kind, "not_found"))
		return CAUSE_NOTFOUND;
	return str_is(kind, "conflict") ? CAUSE_SYS : CAUSE_SYNTAX;
}

static int give_refusal(const cordon_tool_result *result, struct err *e)
{
	scoped_arena a = ARENA_INIT(ARGUMENTS_MAX_BYTES);
	const struct json *parsed = json_parse_paths(&a, result->result.structured, e);
	const struct json *error = parsed ? json_find(parsed, "error") : NULL;
	const struct json *kind = error ? json_find(error, "kind") : NULL;
	const struct json *message = error ? json_find(error, "message") : NULL;

	if (!kind || kind->type != JSON_STRING || !message || message->type != JSON_STRING)
		return FAIL(e, ERR_SYS, "the file can't be opened");
	err_fail_cause(e, ERR_HERE, cause_of(kind->string), 0, "%.*s", STR_ARG(message->string));
	return err_result(e);
}

int cordon_open(cordon_session *session, const char *path, uint32_t how, intptr_t *fd,
		cordon_error **error)
{
	static const char *const accesses[] = {
		[CORDON_OPEN_READ] = "read", [CORDON_OPEN_WRITE] = "write", [CORDON_OPEN_CREATE] = "create"
	};
	cordon_tool_result *result = NULL;
	struct err e = ERR_INIT;
	int opened = -1;

	if (!path || !fd || how >= COUNT_OF(accesses))
		(void)FAIL(&e, ERR_ARGUMENT,
			   "cordon_open was called with a NULL or an unknown way to open");
	else if (call_for_path(session, TOOL_OPEN_FILE, path, accesses[how], &result, &opened,
			       &e) == 0 &&
		 opened < 0)
		(void)give_refusal(result, &e);
	cordon_tool_result_free(result);
	if (e.code != ERR_OK)
		return error_give(&e, error);
	*fd = opened;
	return 0;
}

int cordon_scope_check(cordon_session *session, const char *path, cordon_tool_result **result,
		       cordon_error **error)
{
	struct err e = ERR_INIT;

	if (!path || !result)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_scope_check was called with a NULL");
	else
		(void)!call_for_path(session, TOOL_CHECK_PATH, path, NULL, result, NULL, &e);
	return e.code != ERR_OK ? error_give(&e, error) : 0;
}

void cordon_tool_result_free(cordon_tool_result *result)
{
	if (!result)
		return;
	arena_done(&result->arena);
	mem_free(result);
}

const char *cordon_tool_result_text(const cordon_tool_result *result, size_t *length)
{
	if (length)
		*length = result->result.text.len;
	return result->result.text.p;
}

const char *cordon_tool_result_json(const cordon_tool_result *result)
{
	return result->result.structured.p;
}

int cordon_tool_result_is_error(const cordon_tool_result *result)
{
	return result->result.is_error;
}
