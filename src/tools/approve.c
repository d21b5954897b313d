/* SPDX-License-Identifier: MIT */
/*
 * The tool approve: Claude asks it, in place of a person (--permission-prompt-tool), whether one of its own
 * tools may go on. Only what the policy lets happen anyway is allowed, as it was asked for, and nothing is
 * granted by that; what is not known is denied.
 *
 * It is advice: Claude opens the file afterwards, by itself. SECURITY: that Claude's shell is cordon-sh is
 * proven by the supervisor that this server itself runs under, as Claude starts both in one way.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/path.h"
#include "base/utf8.h"
#include "session/outer.h"
#include "session/session.h"
#include "tools/box.h"

enum {
	MAX_MEMBERS = 6,
	WHY_SHOWN_BYTES = 200,
	QUOTED_BYTES = ADVICE_NAME_BYTES + 8,
	WORDS_BYTES = 4096
};

/* What Claude's tools do, and all that they are given. */
static const struct known {
	const char *name;
	const char *path; /* the member that names a file; NULL: a command is run */
	enum access access;
	const char *members[MAX_MEMBERS];
} known_tools[] = {
	{ "Bash",
	  NULL,
	  ACCESS_WRITE,
	  { "command", "timeout", "description", "run_in_background",
	    "dangerouslyDisableSandbox" } },
	{ "Read", "file_path", ACCESS_READ, { "file_path", "offset", "limit", "pages" } },
	{ "Write", "file_path", ACCESS_WRITE, { "file_path", "content" } },
	{ "Edit",
	  "file_path",
	  ACCESS_WRITE,
	  { "file_path", "old_string", "new_string", "replace_all" } },
	{ "MultiEdit", "file_path", ACCESS_WRITE, { "file_path", "edits" } },
	{ "NotebookEdit",
	  "notebook_path",
	  ACCESS_WRITE,
	  { "notebook_path", "cell_id", "new_source", "cell_type", "edit_mode" } },
};

/* A model reads it, and a name is no instruction. */
static const char *quote(struct str name, char out[QUOTED_BYTES])
{
	scoped_buf text = BUF_INIT(QUOTED_BYTES);

	advice_add_name(&text, name);
	(void)snprintf(out, QUOTED_BYTES, "%.*s", STR_ARG(buf_str(&text)));
	return out;
}

#define QUOTED(name) quote((name), (char[QUOTED_BYTES]){ "" })

/* ---- Answers ------------------------------------------------------------------------------------- */

/* In call->arena. Without `why` it is allowed. Claude takes the text alone, and nothing beside it. */
static int make_answer(struct toolbox_call *call, const char *why, struct tool_result *out,
		       struct err *e)
{
	scoped_buf text = BUF_INIT((size_t)2 * TOOL_ANSWER_MAX_BYTES);
	struct json_writer w = JSON_LINE_INIT(&text);

	json_begin_object(&w);
	json_key(&w, "behavior");
	json_add_text(&w, why ? "deny" : "allow");
	json_key(&w, why ? "message" : "updatedInput");
	if (why)
		json_add_text(&w, why);
	else
		json_add_value(&w, json_find(call->arguments, "input"));
	json_end_object(&w);
	*out = (struct tool_result){ .is_error = false, .structured = STR_EMPTY };
	if (buf_check(&text, e) < 0)
		return err_result(e);
	return arena_copy(&call->arena, str_first(buf_str(&text), text.len - 1), &out->text, e);
}

static void answer(struct toolbox_call *call, const char *why)
{
	struct tool_result result;
	struct err e = ERR_INIT;

	call->was_denied = why != NULL;
	if (make_answer(call, why, &result, &e) < 0)
		box_refuse(call, REFUSAL_TOO_LARGE, "%s", e.text);
	else
		box_finish(call, &result);
}

static void deny(struct toolbox_call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void deny(struct toolbox_call *call, const char *fmt, ...)
{
	char why[WORDS_BYTES];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	answer(call, why);
}

/* ---- What is asked --------------------------------------------------------------------------------- */

static const struct known *find_known(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(known_tools); i++)
		if (str_is(name, known_tools[i].name))
			return &known_tools[i];
	return NULL;
}

static bool has_member(const struct known *known, struct str name)
{
	for (size_t i = 0; i < MAX_MEMBERS && known->members[i]; i++)
		if (str_is(name, known->members[i]))
			return true;
	return false;
}

/* False: it was denied. */
static bool check_input(struct toolbox_call *call, const struct known *known, struct str name)
{
	const struct json *input = json_find(call->arguments, "input");

	if (!known) {
		deny(call,
		     "Cordon does not know what the tool %s does, so it does not allow it; the "
		     "user "
		     "can allow it in Claude's own settings",
		     QUOTED(name));
		return false;
	}
	for (size_t i = 0; i < input->object.count; i++) {
		if (has_member(known, input->object.items[i].name))
			continue;
		deny(call,
		     "Cordon does not know the argument %s of the tool %s, so it does not allow it",
		     QUOTED(input->object.items[i].name), known->name);
		return false;
	}
	return true;
}

static bool is_in_the_shell(void)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err ignored = ERR_INIT;
	struct outer outer;

	/* Another run may be that of this server alone. */
	return outer_find(&a, &outer, &ignored) == 0 && outer.is_shell;
}

static void judge_command(struct toolbox_call *call)
{
	const struct json *input = json_find(call->arguments, "input");
	const struct json *lowers = json_find(input, "dangerouslyDisableSandbox");

	if (lowers && !(lowers->type == JSON_BOOL && !lowers->boolean))
		deny(call, "Cordon lowers no sandbox of Claude's own: only the user may do that");
	else if (call->project->ceiling.len || !is_in_the_shell())
		deny(call, "Claude's shell does not run inside of Cordon; use the tool "
			   "execute_command, or ask the user to start Claude by cordon-claude");
	else
		answer(call, NULL);
}

/* ---- Files ----------------------------------------------------------------------------------------- */

static const struct known *known_of(const struct toolbox_call *call)
{
	return find_known(box_text(call->arguments, "tool_name"));
}

static struct str path_of(const struct toolbox_call *call)
{
	return box_text(json_find(call->arguments, "input"), known_of(call)->path);
}

/* `why` may quote the project. */
static void say_why(const struct toolbox_call *call, struct str why, bool may_ask,
		    char out[WORDS_BYTES])
{
	char shown[WHY_SHOWN_BYTES];

	(void)snprintf(
		out, WORDS_BYTES, "Cordon's policy does not let %s be %s (%s)%s",
		QUOTED(path_of(call)), known_of(call)->access == ACCESS_WRITE ? "written" : "read",
		utf8_show(why, shown, sizeof(shown)), may_ask ? "; ask the user to allow it" : "");
}

static void deny_path(struct toolbox_call *call, struct str why, bool may_ask)
{
	char text[WORDS_BYTES];

	say_why(call, why, may_ask, text);
	answer(call, text);
}

static void ask_worker(struct toolbox_call *call)
{
	struct json_writer w = JSON_LINE_INIT(&call->text);
	struct err e = ERR_INIT;

	buf_clear(&call->text);
	json_begin_object(&w);
	json_key(&w, "path");
	json_add_str(&w, path_of(call));
	json_end_object(&w);
	call->sent_as = TOOL_CHECK_PATH;
	if (buf_check(&call->text, &e) < 0 || line_send(call, &e) < 0)
		deny(call, "Cordon's sandbox can't be started: %s", e.text);
}

/* What JavaScript's trim() takes away. */
static bool is_space(uint32_t c)
{
	return c <= ' ' || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
	       c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000 ||
	       c == 0xFEFF;
}

/*
 * SECURITY: some resolve ".." in the text and some along links, and some take blanks from the end. A path that has more
 * than one reading is not judged.
 */
static bool has_one_reading(struct arena *a, struct str path)
{
	struct err ignored = ERR_INIT;
	struct str plain;
	uint32_t c = 0;

	/* One that is none, such as too long a name, whoever judges it refuses. */
	if (path_plain(a, STR("/"), path, &plain, &ignored) == 0 && !str_eq(plain, path))
		return false;
	for (size_t at = 0; at < path.len;)
		if (!utf8_next(path, &at, &c))
			return false;
	return !is_space(c) && !utf8_is_invisible(c);
}

void approve_begin(struct toolbox_call *call)
{
	struct str name = box_text(call->arguments, "tool_name");
	const struct known *known = find_known(name);
	scoped_arena a = ARENA_INIT(1 << 20);

	if (!check_input(call, known, name))
		return;
	if (!known->path)
		judge_command(call);
	else if (!path_is_absolute(path_of(call)) || str_has_nul(path_of(call)))
		deny(call, "the tool %s needs an absolute path", known->name);
	else if (!has_one_reading(&a, path_of(call)))
		deny(call, "the tool %s needs a path without '..', '//' and blanks at its end",
		     known->name);
	else if (is_in_the_shell() && !inside_lets(&a, path_of(call), known->access))
		deny_path(call, STR("as the sandbox that Claude's shell runs in"), true);
	else
		/* Of a name that is still missing, a glob that denies it is known to the policy alone. */
		ask_worker(call);
}

void approve_place(const struct toolbox_call *call, struct str *out)
{
	const struct known *known = known_of(call);
	const struct json *input = json_find(call->arguments, "input");

	*out = known && known->path && input ? box_text(input, known->path) : STR_EMPTY;
}

/* Whoever is asked decides for how long; what is granted then counts for this session's own tools too. */
static bool ask_person(struct toolbox_call *call, struct str path, struct str why)
{
	char text[WORDS_BYTES];
	struct err ignored = ERR_INIT;

	if (call->was_asked || !call->request.ask)
		return false;
	say_why(call, why, false, text);
	return make_answer(call, text, &call->refused, &ignored) == 0 && asking_begin(call, path);
}

/* What the worker says of the path; nothing of it is allowed if that is not understood. */
static bool is_let(const struct json *said, enum access wanted)
{
	const struct json *edit = json_find(said, "edit");
	struct str access = box_text(said, "access");

	if (wanted == ACCESS_WRITE)
		return edit && edit->type == JSON_BOOL && edit->boolean;
	return str_is(access, "read") || str_is(access, "write");
}

void approve_take(struct toolbox_call *call, const struct tool_result *result)
{
	enum access wanted = known_of(call)->access;
	struct err ignored = ERR_INIT;
	const struct json *said = json_parse(&call->arena, result->structured, &ignored);
	const struct json *error = said ? json_find(said, "error") : NULL;
	struct str grant, guard;

	if (!said || result->is_error) {
		deny_path(call, error ? box_text(error, "kind") : STR("no answer"), false);
		return;
	}
	guard = box_text(said, "guard");
	grant = box_text(said, "grant");
	if (is_let(said, wanted))
		answer(call, NULL);
	else if (str_is(box_text(said, "access"), "deny"))
		/* SECURITY: the rule would tell where a link leads into what the policy hides. */
		deny_path(call, STR("it is denied"), false);
	else if (wanted == ACCESS_READ || guard.len || !grant.len)
		deny_path(call, guard.len ? guard : box_text(said, "rule"), false);
	else if (!ask_person(call, grant, box_text(said, "rule")))
		deny_path(call, box_text(said, "rule"), true);
}
