/* SPDX-License-Identifier: MIT */
/* See hook.h. The names are those of Claude Code 2.1, Gemini CLI 0.61, opencode 1.18 and Qwen Code 0.15. */
#include "agents/hook.h"

#include <stdio.h>

#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"

/* ---- What each agent calls things ------------------------------------------------------------ */

enum tool_kind {
	TOOL_READS,
	TOOL_WRITES,
	TOOL_LOOKS,   /* below a directory, which may be left out */
	TOOL_GLOBS,   /* the same, with a "pattern" that may lead elsewhere */
	TOOL_MATCHES, /* a list of globs */
	TOOL_PATCHES,
	TOOL_RUNS, /* commands */
};

struct tool_row {
	const char *name;
	enum tool_kind kind;
	const char *member, *or_member; /* that has the path */
};

struct event_row {
	const char *name;
	bool is_after;
};

struct hook_dialect {
	const char *agent;
	const char *event, *tool, *input, *directory; /* the members of what it sends */
	const struct event_row *events;		      /* a name NULL behind the last */
	const struct tool_row *tools;		      /* likewise */
	bool answers_as_claude, has_dialog;	      /* in which a person can be asked */
};

static const struct event_row claude_events[] = { { "PreToolUse", false },
						  { "PostToolUse", true },
						  { "PostToolUseFailure", true },
						  { NULL, false } };
static const struct event_row gemini_events[] = { { "BeforeTool", false },
						  { "AfterTool", true },
						  { NULL, false } };
static const struct event_row opencode_events[] = { { "tool.execute.before", false },
						    { "tool.execute.after", true },
						    { NULL, false } };

static const struct tool_row claude_tools[] = {
	{ "Read", TOOL_READS, "file_path", NULL },
	{ "Edit", TOOL_WRITES, "file_path", NULL },
	{ "MultiEdit", TOOL_WRITES, "file_path", NULL },
	{ "Write", TOOL_WRITES, "file_path", NULL },
	{ "NotebookEdit", TOOL_WRITES, "notebook_path", NULL },
	{ "NotebookRead", TOOL_READS, "notebook_path", NULL },
	{ "Glob", TOOL_GLOBS, "path", NULL },
	{ "Grep", TOOL_LOOKS, "path", NULL },
	{ "LS", TOOL_LOOKS, "path", NULL },
	{ "Bash", TOOL_RUNS, NULL, NULL },
	{ NULL, TOOL_RUNS, NULL, NULL },
};
static const struct tool_row gemini_tools[] = {
	{ "read_file", TOOL_READS, "file_path", "absolute_path" },
	{ "replace", TOOL_WRITES, "file_path", NULL },
	{ "write_file", TOOL_WRITES, "file_path", NULL },
	{ "list_directory", TOOL_LOOKS, "dir_path", "path" },
	{ "glob", TOOL_GLOBS, "dir_path", "path" },
	{ "grep_search", TOOL_LOOKS, "dir_path", "path" },
	{ "search_file_content", TOOL_LOOKS, "dir_path", "path" },
	{ "read_many_files", TOOL_MATCHES, "include", "paths" },
	{ "run_shell_command", TOOL_RUNS, NULL, NULL },
	{ NULL, TOOL_RUNS, NULL, NULL },
};
static const struct tool_row opencode_tools[] = {
	{ "read", TOOL_READS, "filePath", NULL },
	{ "edit", TOOL_WRITES, "filePath", NULL },
	{ "multiedit", TOOL_WRITES, "filePath", NULL },
	{ "write", TOOL_WRITES, "filePath", NULL },
	{ "patch", TOOL_PATCHES, "patchText", NULL },
	{ "apply_patch", TOOL_PATCHES, "patchText", NULL },
	{ "list", TOOL_LOOKS, "path", NULL },
	{ "glob", TOOL_GLOBS, "path", NULL },
	{ "grep", TOOL_LOOKS, "path", NULL },
	{ "bash", TOOL_RUNS, NULL, NULL },
	{ NULL, TOOL_RUNS, NULL, NULL },
};

static const struct tool_row qwen_tools[] = {
	{ "read_file", TOOL_READS, "file_path", "absolute_path" },
	{ "edit", TOOL_WRITES, "file_path", NULL },
	{ "write_file", TOOL_WRITES, "file_path", NULL },
	{ "list_directory", TOOL_LOOKS, "path", NULL },
	{ "glob", TOOL_GLOBS, "path", NULL },
	{ "grep_search", TOOL_LOOKS, "path", NULL },
	{ "read_many_files", TOOL_MATCHES, "paths", "include" },
	{ "run_shell_command", TOOL_RUNS, NULL, NULL },
	{ NULL, TOOL_RUNS, NULL, NULL },
};

static const struct hook_dialect dialects[] = {
	{ "claude", "hook_event_name", "tool_name", "tool_input", "cwd", claude_events,
	  claude_tools, true, true },
	{ "gemini", "hook_event_name", "tool_name", "tool_input", "cwd", gemini_events,
	  gemini_tools, false, false },
	/* It has no hooks but plugins: this is what ours sends. */
	{ "opencode", "event", "tool", "args", "directory", opencode_events, opencode_tools, false,
	  false },
	/* Its hooks are Claude's; but to "ask" is to refuse there. */
	{ "qwen", "hook_event_name", "tool_name", "tool_input", "cwd", claude_events, qwen_tools,
	  true, false },
};

const char hook_agents[] = "claude, gemini, opencode and qwen";

const struct hook_dialect *hook_find(const char *agent)
{
	for (size_t i = 0; i < COUNT_OF(dialects); i++)
		if (str_is(str_of(agent), dialects[i].agent))
			return &dialects[i];
	return NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int take_text(const struct json *object, const char *name, struct str *out, struct err *e)
{
	const struct json *value = json_find(object, name);

	if (!value || value->type != JSON_STRING || !value->string.len)
		return FAIL(e, ERR_SYNTAX, "the hook's input has no text '%s'", name);
	*out = value->string;
	return 0;
}

static int add_file(struct arena *a, struct hook_call *call, struct str path, bool is_written,
		    struct err *e)
{
	struct hook_file *file;

	if (!path.len || str_has_nul(path))
		return FAIL(e, ERR_SYNTAX, "the tool names no path");
	if (path.len >= PATH_MAX_BYTES)
		return FAIL(e, ERR_LIMIT, "the tool names a path that is too long");
	file = VEC_PUSH(a, &call->files, e);
	if (!file)
		return err_result(e);
	*file = (struct hook_file){ path, is_written };
	return 0;
}

static bool is_wild(char c)
{
	return strchr("*?[{(!", c) != NULL;
}

/* Of a glob, the directory that all that it matches is in. */
static struct str find_fixed(struct str glob)
{
	size_t end = 0, i = 0;

	for (; i < glob.len && !is_wild(glob.p[i]); i++)
		if (glob.p[i] == '/')
			end = i + 1;
	if (i == glob.len)
		return glob;
	return end ? str_first(glob, end) : STR(".");
}

/*
 * Whether a glob may lead out of find_fixed(): by a ".." behind a wildcard, by one that alternatives or
 * backslashes make, or by an alternative that is an absolute path.
 */
static bool may_leave(struct str glob)
{
	struct str fixed = find_fixed(glob);
	size_t start = str_is(fixed, ".") ? 0 : fixed.len;

	if (str_find(glob, '\\') < glob.len)
		return true;
	for (size_t i = start; i < glob.len; i++) {
		const char c = glob.p[i], before = i > start ? glob.p[i - 1] : '/',
			   after = i + 1 < glob.len ? glob.p[i + 1] : '/';

		if (c == '.' && strchr("/{,(|[.)}", before) && strchr("/,|.])}", after))
			return true;
		if ((c == '/' || c == '~') && strchr("{,(|", before))
			return true;
	}
	return false;
}

static int add_matches(struct arena *a, struct hook_call *call, const struct json *list,
		       struct err *e)
{
	if (list->type != JSON_ARRAY || !list->array.count)
		return FAIL(e, ERR_SYNTAX, "the tool names no paths");
	for (size_t i = 0; i < list->array.count; i++) {
		const struct json *item = &list->array.items[i];

		if (item->type != JSON_STRING)
			return FAIL(e, ERR_SYNTAX, "a path of the tool is no text");
		if (add_file(a, call, find_fixed(item->string), false, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int add_patched(struct arena *a, struct hook_call *call, struct str text, struct err *e)
{
	static const char *const heads[] = { "*** Add File: ", "*** Update File: ",
					     "*** Delete File: ", "*** Move to: " };
	struct str line;

	while (str_next_line(&text, &line))
		for (size_t i = 0; i < COUNT_OF(heads); i++) {
			struct str head = str_of(heads[i]);

			if (!str_has_prefix(line, head))
				continue;
			line = str_from(line, head.len);
			while (line.len && line.p[line.len - 1] == '\r')
				line.len--;
			if (add_file(a, call, line, true, e) < 0)
				return err_result(e);
			break;
		}
	return call->files.count ? 0 : FAIL(e, ERR_SYNTAX, "the patch names no file");
}

static int add_files(struct arena *a, struct hook_call *call, const struct tool_row *row,
		     const struct json *input, struct err *e)
{
	const bool may_be_left_out = row->kind == TOOL_LOOKS || row->kind == TOOL_GLOBS;
	const struct json *value = json_find(input, row->member);

	if (!value && row->or_member)
		value = json_find(input, row->or_member);
	if (may_be_left_out && (!value || value->type == JSON_NULL))
		return add_file(a, call, call->directory, false, e);
	if (value && row->kind == TOOL_MATCHES)
		return add_matches(a, call, value, e);
	if (!value || value->type != JSON_STRING)
		return FAIL(e, ERR_SYNTAX, "the tool names no path in '%s'", row->member);
	if (row->kind == TOOL_PATCHES)
		return add_patched(a, call, value->string, e);
	/* An empty one is left out, where that is possible. */
	if (may_be_left_out && !value->string.len)
		return add_file(a, call, call->directory, false, e);
	return add_file(a, call, value->string, row->kind == TOOL_WRITES, e);
}

/* What a glob names beside the directory that it starts in. */
static int add_glob(struct arena *a, struct hook_call *call, const struct json *input,
		    struct err *e)
{
	const struct str start = call->files.items[call->files.count - 1].path;
	struct str fixed, path;

	if (take_text(input, "pattern", &fixed, e) < 0)
		return err_result(e);
	if (may_leave(fixed))
		return FAIL(e, ERR_SYNTAX, "it can't be judged where the tool's pattern leads");
	fixed = find_fixed(fixed);
	if (str_is(fixed, "."))
		return 0;
	if (path_is_absolute(fixed) || str_has_prefix(fixed, STR("~")))
		return add_file(a, call, fixed, false, e);
	if (arena_printf(a, &path, e, "%.*s/%.*s", STR_ALL(start), STR_ALL(fixed)) < 0)
		return err_result(e);
	return add_file(a, call, path, false, e);
}

static int add_tool(struct arena *a, struct hook_call *call, const struct tool_row *row,
		    const struct json *input, struct err *e)
{
	if (add_files(a, call, row, input, e) < 0)
		return err_result(e);
	return row->kind == TOOL_GLOBS ? add_glob(a, call, input, e) : 0;
}

static int find_event(struct hook_call *call, struct str name, struct err *e)
{
	char shown[64];

	for (const struct event_row *row = call->dialect->events; row->name; row++)
		if (str_is(name, row->name)) {
			call->event = row->name;
			call->is_after = row->is_after;
			return 0;
		}
	return FAIL(e, ERR_SYNTAX, "there is no hook for the event '%s'",
		    utf8_show(name, shown, sizeof(shown)));
}

/* SECURITY: in other modes nobody may be asked, and then "ask" may be a yes. */
static bool asks_people(const struct json *root)
{
	static const char *const modes[] = { "default", "acceptEdits", "plan" };
	const struct json *mode = json_find(root, "permission_mode");

	for (size_t i = 0; mode && mode->type == JSON_STRING && i < COUNT_OF(modes); i++)
		if (str_is(mode->string, modes[i]))
			return true;
	return false;
}

int hook_read(struct arena *a, const struct hook_dialect *dialect, struct str text,
	      struct hook_call *out, struct err *e)
{
	struct hook_call call = { .dialect = dialect };
	const struct json *root, *input;
	struct str event;

	if (text.len > HOOK_MAX_BYTES)
		return FAIL(e, ERR_LIMIT, "the hook's input is over %d MiB", HOOK_MAX_BYTES >> 20);
	root = json_parse(a, text, e);
	if (!root)
		return err_wrap(e, "the hook's input");
	if (root->type != JSON_OBJECT)
		return FAIL(e, ERR_SYNTAX, "the hook's input is no object");
	if (take_text(root, dialect->event, &event, e) < 0 || find_event(&call, event, e) < 0 ||
	    take_text(root, dialect->tool, &call.tool, e) < 0 ||
	    take_text(root, dialect->directory, &call.directory, e) < 0)
		return err_result(e);
	if (!path_is_absolute(call.directory) || str_has_nul(call.directory))
		return FAIL(e, ERR_SYNTAX, "'%s' is no absolute path", dialect->directory);
	input = json_find(root, dialect->input);
	if (!input || input->type != JSON_OBJECT)
		return FAIL(e, ERR_SYNTAX, "the hook's input has no object '%s'", dialect->input);
	call.can_ask = dialect->has_dialog && asks_people(root);
	for (const struct tool_row *row = dialect->tools; row->name; row++) {
		if (!str_is(call.tool, row->name))
			continue;
		call.is_shell = row->kind == TOOL_RUNS;
		if (!call.is_after && !call.is_shell && add_tool(a, &call, row, input, e) < 0)
			return err_result(e);
	}
	*out = call;
	return 0;
}

/* ---- Paths --------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

int hook_find_readings(struct arena *a, struct str path, struct str home,
		       struct str out[HOOK_READINGS], size_t *count, struct err *e)
{
	struct str bare = path;
	size_t n = 0;

	out[n++] = path;
	while (bare.len && is_blank(bare.p[0]))
		bare = str_from(bare, 1);
	while (bare.len && is_blank(bare.p[bare.len - 1]))
		bare.len--;
	if (!bare.len)
		return FAIL(e, ERR_SYNTAX, "the tool names no path");
	if (bare.len != path.len)
		out[n++] = bare;
	if (home.len && (str_is(bare, "~") || str_has_prefix(bare, STR("~/")))) {
		if (arena_printf(a, &out[n], e, "%.*s%.*s", STR_ALL(home),
				 STR_ALL(str_from(bare, 1))) < 0)
			return err_result(e);
		n++;
	}
	*count = n;
	return 0;
}

/* ---- Answers ---------------------------------------------------------------------------------------- */

static void add_member(struct json_writer *w, const char *name, struct str text)
{
	json_key(w, name);
	json_add_str(w, text);
}

static void begin_specific(struct json_writer *w, const struct hook_call *call)
{
	json_begin_object(w);
	json_key(w, "hookSpecificOutput");
	json_begin_object(w);
	add_member(w, "hookEventName", str_of(call->event));
}

void hook_print_refusal(struct buf *out, const struct hook_call *call, bool asks, struct str reason)
{
	struct json_writer w = JSON_LINE_INIT(out);

	if (call->dialect->answers_as_claude) {
		begin_specific(&w, call);
		add_member(&w, "permissionDecision", asks ? STR("ask") : STR("deny"));
		add_member(&w, "permissionDecisionReason", reason);
		json_end_object(&w);
	} else {
		json_begin_object(&w);
		add_member(&w, "decision", STR("deny"));
		add_member(&w, "reason", reason);
	}
	json_end_object(&w);
}

void hook_print_context(struct buf *out, const struct hook_call *call, struct str text)
{
	struct json_writer w = JSON_LINE_INIT(out);

	begin_specific(&w, call);
	add_member(&w, "additionalContext", text);
	json_end_object(&w);
	json_end_object(&w);
}
