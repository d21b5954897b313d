/* SPDX-License-Identifier: MIT */
/* See toolbox.h and box.h. */
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "tools/box.h"
#include "tools/check.h"

enum {
	BOX_MAX_BYTES = 256 << 20,
	CALL_ARENA_BYTES = 128 << 20,
	MESSAGE_BYTES = 4096,
};

void box_log(const struct toolbox *box, const char *fmt, ...)
{
	scoped_buf shown = BUF_INIT(64 << 10);
	char text[MESSAGE_BYTES];
	va_list args;

	if (!box->options.log)
		return;
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	utf8_add_shown(&shown, str_of(text));
	if (shown.failed == ERR_OK && shown.p)
		box->options.log(box->options.user, shown.p);
}

/* ---- Answers --------------------------------------------------------------------------------------- */

static void unlink_call(struct toolbox_call *call)
{
	struct toolbox_call **at = &call->box->calls;

	while (*at && *at != call)
		at = &(*at)->next;
	if (*at)
		*at = call->next;
}

static void free_call(struct toolbox_call *call)
{
	unlink_call(call);
	buf_done(&call->text);
	arena_done(&call->arena);
	mem_free(call);
}

struct str box_text(const struct json *object, const char *name)
{
	const struct json *value = json_find(object, name);

	return value && value->type == JSON_STRING ? value->string : STR_EMPTY;
}

void box_keep_denial(const struct toolbox_call *call, struct str path, struct str rule)
{
	const struct tool *tool = call->request.tool;
	struct toolbox *box = call->box;
	struct err ignored = ERR_INIT;
	struct box_denial *d;

	for (size_t i = 0; i < box->denials.count; i++) {
		d = &box->denials.items[i];
		if (d->tool == tool->name && str_eq(d->path, path)) {
			d->count++;
			return;
		}
	}
	if (box->denials.count >= BOX_MAX_DENIALS)
		return;
	d = VEC_PUSH(&box->arena, &box->denials, &ignored);
	if (!d)
		return;
	*d = (struct box_denial){
		.tool = tool->name, .path = STR_EMPTY, .rule = STR_EMPTY, .count = 1
	};
	(void)!arena_copy(&box->arena, path, &d->path, &ignored);
	(void)!arena_copy(&box->arena, rule, &d->rule, &ignored);
}

static void count(struct toolbox_call *call, const struct tool_result *result)
{
	struct audit_tool_sums *c = &call->box->counts[call->request.tool->id];
	struct err ignored = ERR_INIT;
	const struct json *parsed, *error;

	c->calls++;
	if (!result->is_error) {
		c->hits += !call->was_denied;
		c->denials += call->was_denied;
		return;
	}
	parsed = json_parse(&call->arena, result->structured, &ignored);
	error = parsed ? json_find(parsed, "error") : NULL;
	if (!error || !str_is(box_text(error, "kind"), "violation")) {
		c->misses++;
		return;
	}
	c->denials++;
	box_keep_denial(call, box_text(call->arguments, "path"), box_text(error, "rule"));
}

void box_finish(struct toolbox_call *call, const struct tool_result *result)
{
	const struct toolbox_request request = call->request;

	count(call, result);
	unlink_call(call);
	request.done(request.user, result);
	free_call(call);
}

void box_refuse(struct toolbox_call *call, enum tool_refusal_kind kind, const char *fmt, ...)
{
	const struct scope none = { .sandbox = STR_EMPTY, .home = STR_EMPTY };
	const struct json empty = { .type = JSON_OBJECT };
	char text[MESSAGE_BYTES];
	struct tool_result result = { .text = STR("out of memory"),
				      .structured = STR("{}"),
				      .is_error = true };
	struct err ignored = ERR_INIT;
	struct call made;
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	call_init(&made, &call->arena, &none, &empty);
	(void)!call_finish(&made, call_refuse(&made, kind, "%s", text), &result, &ignored);
	box_finish(call, &result);
	call_done(&made);
}

static int keep_result(struct toolbox_call *call, const struct tool_result *result, struct err *e)
{
	call->refused.is_error = result->is_error;
	if (arena_copy(&call->arena, result->text, &call->refused.text, e) < 0)
		return err_result(e);
	return arena_copy(&call->arena, result->structured, &call->refused.structured, e);
}

/* A violation that a grant would end: somebody is asked, once. */
void box_take(struct toolbox_call *call, const struct tool_result *result)
{
	struct err ignored = ERR_INIT;
	const struct json *parsed, *error, *needs = NULL;
	struct str path, plain;

	if (call->request.tool->access == TOOL_APPROVES) {
		approve_take(call, result);
		return;
	}
	/* SECURITY: no refusal of a tool that only reads ends by a grant, so the worker has made it up. */
	if (!result->is_error || call->was_asked || (!call->request.ask && !call->box->is_outer) ||
	    call->request.tool->is_read_only) {
		box_finish(call, result);
		return;
	}
	parsed = json_parse(&call->arena, result->structured, &ignored);
	error = parsed ? json_find(parsed, "error") : NULL;
	needs = error ? json_find(error, "needs") : NULL;
	path = needs ? box_text(needs, "path") : STR_EMPTY;
	/* SECURITY: the worker names it; a person is asked about nothing that has dots in it. */
	if (!path.len || path_plain(&call->arena, STR("/"), path, &plain, &ignored) < 0 ||
	    !str_eq(path, plain) || !str_is(box_text(needs, "capability"), "write") ||
	    keep_result(call, result, &ignored) < 0 || !asking_begin(call, path))
		box_finish(call, result);
}

/* ---- Calls -------------------------------------------------------------------------------------------- */

/* The project of a patch is that of the first absolute path in it. */
static struct str find_patched(struct str patch)
{
	static const char *const heads[] = { "*** Add File: ", "*** Update File: ",
					     "*** Delete File: " };
	struct str line;

	while (str_next_line(&patch, &line))
		for (size_t i = 0; i < COUNT_OF(heads); i++) {
			struct str path = str_from(line, strlen(heads[i]));

			if (str_has_prefix(line, str_of(heads[i])) && path_is_absolute(path))
				return path;
		}
	return STR_EMPTY;
}

static struct str find_place(const struct toolbox_call *call)
{
	struct str place;

	if (call->request.tool->access == TOOL_APPROVES) {
		approve_place(call, &place);
		return place;
	}
	if (call->request.tool->id == TOOL_APPLY_PATCH)
		return find_patched(box_text(call->arguments, "patch"));
	return box_text(call->arguments,
			call->request.tool->access == TOOL_EXECUTES ? "cwd" : "path");
}

static void begin_worker(struct toolbox_call *call)
{
	struct err e = ERR_INIT;

	call->sent_as = call->request.tool->id;
	if (line_send(call, &e) < 0)
		box_refuse(call, REFUSAL_CONFLICT, "the sandbox can't be started: %s", e.text);
}

void box_begin(struct toolbox_call *call)
{
	const struct tool *tool = call->request.tool;
	struct err e = ERR_INIT;
	char why[WHY_BYTES];

	if (!check_arguments(tool, call->arguments, why, sizeof(why))) {
		box_refuse(call, REFUSAL_INVALID, "%s", why);
		return;
	}
	asking_look(call->box);
	if (box_choose_project(call, tool->access == TOOL_OPENS ? STR_EMPTY : find_place(call),
			       &e) < 0) {
		box_refuse(call, REFUSAL_VIOLATION, "%s", e.text);
		return;
	}
	if (tool->access == TOOL_OPENS) {
		box_take_project(call);
		return;
	}
	if (!box_project_is_there(call->project)) {
		box_refuse(call, REFUSAL_CONFLICT,
			   "'%.*s' is not the directory any more that was opened as a project",
			   STR_ARG(call->project->path));
		return;
	}
	if (tool->access == TOOL_EXECUTES)
		command_begin(call);
	else if (tool->access == TOOL_APPROVES)
		approve_begin(call);
	else
		begin_worker(call);
}

static struct toolbox_call *find_new(const struct toolbox *box, bool executes)
{
	struct toolbox_call *call = box->calls;

	while (call && (call->state != CALL_NEW ||
			(call->request.tool->access == TOOL_EXECUTES) != executes))
		call = call->next;
	return call;
}

static bool begin_one(const struct toolbox *box, bool executes)
{
	struct toolbox_call *call = find_new(box, executes);

	if (!call)
		return false;
	call->state = CALL_RUNS;
	box_begin(call);
	return true;
}

/* In a large tree a sandbox takes long to start, so other calls get their turn between two of them. */
void toolbox_begin(struct toolbox *box)
{
	while (begin_one(box, false))
		;
	if (begin_one(box, true) && find_new(box, true))
		loop_set_next_step(box->loop, &box->later);
}

static int begin_later(void *user, struct err *e)
{
	(void)e;
	toolbox_begin(user);
	return 0;
}

static int copy_arguments(struct toolbox_call *call, const struct json *arguments, struct err *e)
{
	struct json_writer w = JSON_LINE_INIT(&call->text);

	call->text = (struct buf)BUF_INIT((size_t)2 * TOOL_ARGUMENTS_MAX_BYTES);
	if (arguments) {
		json_add_value(&w, arguments);
	} else {
		json_begin_object(&w);
		json_end_object(&w);
	}
	if (buf_check(&call->text, e) < 0)
		return err_result(e);
	call->arguments = json_parse(&call->arena, buf_str(&call->text), e);
	return call->arguments ? 0 : err_result(e);
}

int toolbox_start(struct toolbox *box, const struct toolbox_request *request,
		  struct toolbox_call **out, struct err *e)
{
	struct toolbox_call *call = mem_new(sizeof(*call), e);
	struct toolbox_call **last = &box->calls;

	if (!call)
		return err_result(e);
	*call = (struct toolbox_call){ .box = box,
				       .request = *request,
				       .arena = ARENA_INIT(CALL_ARENA_BYTES),
				       .number = ++box->last_call,
				       .watcher = { .fd = -1 } };
	if (copy_arguments(call, request->arguments, e) < 0 ||
	    ceiling_keep(call, request->sandbox_state, e) < 0 ||
	    loop_prepare_timers(box->loop, e) < 0) {
		free_call(call);
		return err_result(e);
	}
	while (*last)
		last = &(*last)->next;
	*last = call;
	*out = call;
	return 0;
}

void toolbox_cancel(struct toolbox_call *call)
{
	if (call->state == CALL_ASKS)
		asking_withdraw(call);
	if (call->state == CALL_SENT)
		line_cancel(call);
	if (call->run)
		command_cancel(call);
	free_call(call);
}

/* ---- The session ----------------------------------------------------------------------------------------- */

static int open_roots(struct toolbox *box, struct err *e)
{
	const char *const *roots = box->options.roots;
	char shown[256];

	for (size_t i = 0; roots && roots[i]; i++) {
		int r = toolbox_add_root(box, roots[i], e);

		if (r > 0)
			r = FAIL(e, ERR_POLICY,
				 "the policy does not let '%s' be read, so it can't be a project",
				 utf8_show(str_of(roots[i]), shown, sizeof(shown)));
		if (r < 0)
			return r;
	}
	return 0;
}

static int open_session(struct toolbox *box, struct err *e)
{
	if (options_read_run(box->options.run, &box->run, e) < 0 ||
	    options_read(box->run.load, &box->load, e) < 0)
		return err_result(e);
	if (!box->run.ask_timeout_ms)
		box->run.ask_timeout_ms = box->options.ask_timeout_ms;
	if (box_find_outer(box, e) < 0 || !box_open_project(box, STR_EMPTY, false, e) ||
	    asking_init(box, e) < 0)
		return err_result(e);
	return open_roots(box, e);
}

int toolbox_new(const struct toolbox_options *options, struct toolbox **out, struct err *e)
{
	struct toolbox *box = mem_new(sizeof(*box), e);

	if (!box)
		return err_result(e);
	*box = (struct toolbox){ .arena = ARENA_INIT(BOX_MAX_BYTES),
				 .lasting_arena = ARENA_INIT(BOX_MAX_BYTES),
				 .options = *options,
				 .loop = options->loop };
	box->later = (struct timer){ .due = begin_later, .user = box };
	if (open_session(box, e) < 0) {
		toolbox_free(box);
		return err_result(e);
	}
	*out = box;
	return 0;
}

void toolbox_free(struct toolbox *box)
{
	if (!box)
		return;
	while (box->calls)
		toolbox_cancel(box->calls);
	asking_done(box);
	box_free_projects(box);
	loop_drop_timer(box->loop, &box->later);
	arena_done(&box->arena);
	mem_free(box);
}
