/* SPDX-License-Identifier: MIT */
/*
 * The tool execute_command: a run like any other, in a sandbox of the project's policy. SECURITY: there
 * is no other way from a tool to a program.
 */
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/os.h"
#include "tools/box.h"

enum {
	TIMEOUT_MS = 50 * 1000,
	STREAM_MAX_BYTES = 1 << 20,
	/* Of a stream as JSON: control characters become six times as long. */
	STREAM_MAX_WRITTEN = 7 << 19,
	DENIALS_SHOWN = 100,
	DENIALS_TOLD = 10, /* in the text */
};

/* ---- Output --------------------------------------------------------------------------------------- */

/* Whole characters, and U+FFFD for what is none: JSON has nothing else for it. */
static bool add_stream(struct json_writer *w, const char *name, struct str bytes)
{
	scoped_buf text = BUF_INIT((size_t)4 * STREAM_MAX_BYTES);
	size_t at = 0, written = 0;

	while (at < bytes.len && written < STREAM_MAX_WRITTEN) {
		size_t from = at;
		uint32_t c;

		if (!utf8_next(bytes, &at, &c) || c == 0) {
			buf_add_text(&text, "\xef\xbf\xbd");
			at = from + 1;
			written += 3;
			continue;
		}
		buf_add(&text, (struct str){ bytes.p + from, at - from });
		written += c < 0x20 || c == 0x7f ? 6 : c == '"' || c == '\\' ? 2 : at - from;
	}
	json_key(w, name);
	json_add_str(w, buf_str(&text));
	return at < bytes.len;
}

static size_t skip_rest(struct str s, size_t at)
{
	while (at < s.len && ((unsigned char)s.p[at] & 0xc0) == 0x80)
		at++;
	return at;
}

/* Its head and its tail. */
static void add_cut(struct buf *out, struct str bytes, size_t room)
{
	size_t half = room / 2, from;

	if (bytes.len <= room) {
		utf8_check(bytes) == bytes.len ? buf_add(out, bytes) : utf8_add_shown(out, bytes);
		return;
	}
	from = skip_rest(bytes, bytes.len - half);
	buf_add(out, str_first(bytes, skip_rest(bytes, half)));
	buf_printf(out, "\n[… %zu bytes left out …]\n", from - half);
	buf_add(out, str_from(bytes, from));
}

static void add_text(struct call *made, const cordon_result *result)
{
	size_t out_len, err_len;
	const char *out = cordon_result_output(result, CORDON_STREAM_STDOUT, &out_len);
	const char *err = cordon_result_output(result, CORDON_STREAM_STDERR, &err_len);
	const char *why = cordon_result_exec_error(result);
	scoped_buf shown = BUF_INIT((size_t)8 * TOOL_TEXT_MAX_BYTES);
	size_t room = TOOL_TEXT_MAX_BYTES - 1024;
	struct str clean;

	add_cut(&shown, (struct str){ out, out_len }, err_len ? room / 2 : room);
	if (err_len && shown.len && shown.p[shown.len - 1] != '\n')
		buf_add_char(&shown, '\n');
	add_cut(&shown, (struct str){ err, err_len }, room > shown.len ? room - shown.len : 1024);
	if (shown.len && shown.p[shown.len - 1] != '\n')
		buf_add_char(&shown, '\n');
	clean = buf_str(&shown);
	if (utf8_check(clean) == clean.len)
		buf_add(&made->text, clean);
	else
		utf8_add_shown(&made->text, clean);
	if (cordon_result_timed_out(result))
		buf_add_text(&made->text, "[timed out]");
	else if (why)
		buf_printf(&made->text, "[%s]", why);
	else if (cordon_result_signal(result))
		buf_printf(&made->text, "[killed by signal %d]", cordon_result_signal(result));
	else
		buf_printf(&made->text, "[status %d]", cordon_result_status(result));
}

static void add_member(struct json_writer *w, const char *name, const char *text)
{
	if (!text)
		return;
	json_key(w, name);
	json_add_str(w, str_of(text));
}

static void add_denials(struct toolbox_call *call, struct call *made, cordon_result *result)
{
	struct json_writer *w = &made->json;
	const struct cordon_denial *d;
	struct str grant;

	json_key(w, "denials");
	json_begin_array(w);
	for (uint64_t i = 0; i < DENIALS_SHOWN && (d = cordon_result_denial(result, i)); i++) {
		json_begin_object(w);
		add_member(w, "kind", d->kind);
		add_member(w, "operation", d->operation);
		add_member(w, "subject", d->subject);
		add_member(w, "rule", d->rule);
		add_member(w, "program", d->program);
		add_member(w, "advice", d->advice);
		if (d->is_guess) {
			json_key(w, "guess");
			json_add_bool(w, true);
		}
		json_key(w, "count");
		json_add_int(w, (int64_t)d->count);
		if (asking_could_grant(call, d, &grant))
			call_add_need(w, "write", d->operation, grant);
		json_end_object(w);
		box_keep_denial(call, str_of(d->subject ? d->subject : ""),
				str_of(d->rule ? d->rule : ""));
		if (i < DENIALS_TOLD)
			buf_printf(&made->text, "\n[refused: %s]", d->advice);
	}
	json_end_array(w);
	call->was_denied = cordon_result_denial_count(result) > 0;
}

static void answer(struct toolbox_call *call, cordon_result *result)
{
	struct scope scope = { .sandbox = STR_EMPTY, .home = STR_EMPTY };
	size_t out_len, err_len;
	const char *out = cordon_result_output(result, CORDON_STREAM_STDOUT, &out_len);
	const char *text = cordon_result_output(result, CORDON_STREAM_STDERR, &err_len);
	struct tool_result given;
	struct err e = ERR_INIT;
	struct call made;
	struct json_writer *w = &made.json;
	bool is_cut = cordon_result_truncated(result, 1) || cordon_result_truncated(result, 2);
	int r = box_print_sandbox(&call->arena, call->project, cordon_result_backend(result),
				  &scope.sandbox, &e);

	call_init(&made, &call->arena, &scope, call->arguments);
	json_key(w, "status");
	json_add_int(w, cordon_result_status(result));
	if (cordon_result_signal(result)) {
		json_key(w, "signal");
		json_add_int(w, cordon_result_signal(result));
	}
	is_cut |= add_stream(w, "stdout", (struct str){ out, out_len });
	is_cut |= add_stream(w, "stderr", (struct str){ text, err_len });
	json_key(w, "timed_out");
	json_add_bool(w, cordon_result_timed_out(result));
	if (is_cut) {
		json_key(w, "truncated");
		json_add_bool(w, true);
	}
	add_text(&made, result);
	add_denials(call, &made, result);
	if (call->box->is_outer)
		box_add_outer_refusals(call, &made.text);
	if (r == 0)
		r = call_finish(&made, 0, &given, &e);
	if (r < 0)
		box_refuse(call, REFUSAL_TOO_LARGE, "%s", e.text);
	else
		box_finish(call, &given);
	call_done(&made);
}

/* ---- The run ----------------------------------------------------------------------------------------- */

static void end_run(struct toolbox_call *call)
{
	cordon_result *result = NULL;
	cordon_error *error = NULL;
	cordon_run_handle *run = call->run;

	loop_remove(call->box->loop, &call->watcher);
	call->run = NULL;
	if (cordon_wait(run, &result, &error) < 0)
		box_refuse(call, REFUSAL_CONFLICT, "the command can't be run: %s",
			   cordon_error_text(error));
	else
		answer(call, result);
	cordon_error_free(error);
	cordon_result_free(result);
}

static int run_is_ready(void *user, uint32_t events, struct err *e)
{
	struct toolbox_call *call = user;
	cordon_error *error = NULL;
	int r = cordon_poll(call->run, 0, &error);

	(void)events;
	(void)e;
	cordon_error_free(error);
	if (r != 0)
		end_run(call);
	return 0;
}

static void take_output(void *user, uint32_t stream, const char *bytes, size_t length)
{
	const struct toolbox_call *call = user;

	if (call->request.output)
		call->request.output(call->request.user, (int)stream,
				     (struct str){ bytes, length });
}

static void take_question(void *user, const struct cordon_ask_request *request,
			  struct cordon_answer *given)
{
	asking_relay(user, request, given);
}

static void take_withdrawal(void *user, uint64_t id)
{
	const struct toolbox_call *call = user;

	if (call->request.withdraw)
		call->request.withdraw(call->request.user, id);
}

static void take_warning(void *user, const char *text)
{
	const struct toolbox_call *call = user;

	box_log(call->box, "%s", text);
}

/* The words of the command; a line is for a shell. */
static const char *const *find_words(struct toolbox_call *call, struct err *e)
{
	const struct json *command = json_find(call->arguments, "command");
	size_t count = command->type == JSON_ARRAY ? command->array.count : 3;
	const char **words = arena_array(&call->arena, count + 1, sizeof(*words), e);

	if (!words)
		return NULL;
	if (command->type == JSON_STRING) {
		words[0] = "/bin/sh";
		words[1] = "-c";
		words[2] = command->string.p;
		return words;
	}
	for (size_t i = 0; i < count; i++)
		words[i] = command->array.items[i].string.p;
	return words;
}

/* In the project that the path lies in, which becomes that of the call. */
static bool is_denied(struct toolbox_call *call, struct str path)
{
	struct err ignored = ERR_INIT;

	return box_choose_project(call, path, &ignored) < 0 ||
	       plan_resolve(call->project->policy->plan, path).access == ACCESS_DENY;
}

/*
 * Where it starts: in a project, whose policy it gets. SECURITY: what is no such place is refused in one
 * way, be it missing, elsewhere or denied, so nobody learns which directories there are.
 */
static bool find_directory(struct toolbox_call *call, struct str *out)
{
	struct str named = box_text(call->arguments, "cwd"), plain;
	struct err ignored = ERR_INIT;

	*out = call->project->path;
	if (!named.len)
		return true;
	if (path_plain(&call->arena, call->box->projects->path, named, &plain, &ignored) < 0 ||
	    is_denied(call, plain) ||
	    os_canonical_directory(&call->arena, plain, out, &ignored) < 0 || is_denied(call, *out))
		return false;
	return path_is_under(*out, call->project->path);
}

static int start(struct toolbox_call *call, struct str directory, struct err *e)
{
	const struct json *limit = json_find(call->arguments, "timeout_ms");
	const struct cordon_load_options load = { .size = sizeof(load),
						  .on_warning = take_warning,
						  .user = call };
	/* Inside, the supervisor of the sandbox around it asks. */
	bool asks = call->request.ask && !call->box->is_outer;
	struct cordon_run_options run = call->box->run;
	cordon_policy *elsewhere = NULL;
	cordon_error *error = NULL;
	int r;

	run.command = find_words(call, e);
	if (!run.command)
		return err_result(e);
	if (!str_eq(directory, call->project->path)) {
		elsewhere = box_load(call->project, directory, e);
		if (!elsewhere)
			return err_result(e);
	}
	run.policy = elsewhere ? elsewhere : call->project->policy;
	run.sandbox = call->project->asked.run.sandbox;
	run.enable = run.disable = NULL;
	run.load = &load;
	run.flags = CORDON_RUN_CAPTURE | CORDON_RUN_NO_STDIN | CORDON_RUN_QUIET;
	run.capture_limit = STREAM_MAX_BYTES;
	run.timeout_ms = limit ? (uint64_t)limit->integer : TIMEOUT_MS;
	run.run_user = call;
	run.on_output = take_output;
	run.on_trace = NULL;
	run.on_done = NULL;
	run.on_denial = NULL;
	run.decide_host = NULL;
	run.ask = NULL;
	run.events = NULL;
	run.ask_timeout_ms = asks ? run.ask_timeout_ms : 0;
	run.on_ask = asks ? take_question : NULL;
	run.on_withdraw = asks ? take_withdrawal : NULL;
	r = cordon_start(NULL, &run, &call->run, &error);
	cordon_policy_free(elsewhere);
	if (r < 0)
		(void)FAIL(e, ERR_WEAKER, "%s", cordon_error_text(error));
	cordon_error_free(error);
	return r < 0 ? err_result(e) : 0;
}

void command_begin(struct toolbox_call *call)
{
	struct err e = ERR_INIT;
	struct str directory;

	if (!find_directory(call, &directory)) {
		box_refuse(call, REFUSAL_VIOLATION,
			   "a command starts in a directory of a project, and this is none; "
			   "open_project opens another project");
		return;
	}
	if (start(call, directory, &e) < 0) {
		box_refuse(call, REFUSAL_CONFLICT, "the command can't be run: %s", e.text);
		return;
	}
	call->watcher = (struct watcher){ .fd = cordon_run_descriptor(call->run),
					  .ready = run_is_ready,
					  .user = call };
	if (loop_add(call->box->loop, &call->watcher, LOOP_IN, &e) < 0) {
		cordon_cancel(call->run);
		end_run(call);
	}
}

void command_cancel(struct toolbox_call *call)
{
	cordon_error *error = NULL;

	loop_remove(call->box->loop, &call->watcher);
	cordon_cancel(call->run);
	(void)cordon_wait(call->run, NULL, &error);
	cordon_error_free(error);
	call->run = NULL;
}
