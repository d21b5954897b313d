/* SPDX-License-Identifier: MIT */
/* Tests of agents/hook.c: what agents write to their hooks, and what they are answered. */
#include "agents/hook.h"

#include <stdio.h>

#include "test.h"

struct seen {
	struct arena a;
	struct hook_call call;
	struct err e;
};
#define scoped_seen SCOPED(seen_done) struct seen

static void seen_done(struct seen *s)
{
	arena_done(&s->a);
}

static int read_call(struct seen *s, const char *agent, const char *text)
{
	*s = (struct seen){ .a = ARENA_INIT(64 << 20), .e = ERR_INIT };
	return hook_read(&s->a, hook_find(agent), str_of(text), &s->call, &s->e);
}

static int read_claude(struct seen *s, const char *event, const char *tool, const char *input)
{
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "{\"session_id\": \"s\", \"cwd\": \"/repo\", \"permission_mode\": "
		       "\"default\", \"hook_event_name\": \"%s\", \"tool_name\": \"%s\", "
		       "\"tool_input\": %s}",
		       event, tool, input);
	return read_call(s, "claude", text);
}

TEST(paths_of_tools_are_found_with_what_is_done_to_them)
{
	static const struct {
		const char *agent, *tool, *input;
		bool is_written;
		const char *path;
	} rows[] = {
		{ "claude", "Read", "{\"file_path\": \"/x\"}", false, "/x" },
		{ "claude", "Write", "{\"file_path\": \"x\", \"content\": \"\"}", true, "x" },
		{ "claude", "NotebookEdit", "{\"notebook_path\": \"/x\"}", true, "/x" },
		{ "claude", "Glob", "{\"pattern\": \"*\"}", false, "/repo" },
		{ "claude", "Grep", "{\"pattern\": \"*\", \"path\": \"/etc\"}", false, "/etc" },
		{ "gemini", "read_file", "{\"absolute_path\": \"/x\"}", false, "/x" },
		{ "gemini", "replace", "{\"file_path\": \"/x\"}", true, "/x" },
		{ "gemini", "list_directory", "{\"dir_path\": \"/x\"}", false, "/x" },
		{ "gemini", "read_many_files", "{\"include\": [\"a/b*/c\"]}", false, "a/" },
		{ "gemini", "read_many_files", "{\"include\": [\"*.c\"]}", false, "." },
		{ "opencode", "edit", "{\"filePath\": \"/x\"}", true, "/x" },
		{ "opencode", "apply_patch",
		  "{\"patchText\": \"*** Begin Patch\\n*** Delete File: /x\\n*** End Patch\"}",
		  true, "/x" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		bool is_opencode = strcmp(rows[i].agent, "opencode") == 0;
		bool is_claude = strcmp(rows[i].agent, "claude") == 0;
		char text[1024];
		scoped_seen s;

		(void)snprintf(text, sizeof(text),
			       "{\"%s\": \"%s\", \"%s\": \"%s\", \"%s\": \"/repo\", \"%s\": %s}",
			       is_opencode ? "event" : "hook_event_name",
			       is_claude     ? "PreToolUse"
			       : is_opencode ? "tool.execute.before"
					     : "BeforeTool",
			       is_opencode ? "tool" : "tool_name", rows[i].tool,
			       is_opencode ? "directory" : "cwd",
			       is_opencode ? "args" : "tool_input", rows[i].input);
		CHECK_INT(read_call(&s, rows[i].agent, text), 0);
		REQUIRE(s.call.files.count == 1);
		CHECK(str_is(s.call.files.items[0].path, rows[i].path));
		CHECK_INT(s.call.files.items[0].is_written, rows[i].is_written);
	}
}

TEST(what_opens_no_file_names_none)
{
	scoped_seen s;

	CHECK_INT(read_claude(&s, "PreToolUse", "Bash", "{\"command\": \"x\"}"), 0);
	CHECK(s.call.is_shell && !s.call.is_after && s.call.files.count == 0);
	seen_done(&s);
	CHECK_INT(read_claude(&s, "PreToolUse", "WebFetch", "{}"), 0);
	CHECK(!s.call.is_shell && s.call.files.count == 0);
	seen_done(&s);
	CHECK_INT(read_claude(&s, "PostToolUse", "Read", "{}"), 0);
	CHECK(s.call.is_after && !s.call.is_shell && s.call.files.count == 0);
}

TEST(what_can_not_be_read_is_an_error)
{
	static const char *const inputs[] = {
		"{\"file_path\": 7}",	 "{\"file_path\": null}",  "{}", "[]", "\"x\"",
		"{\"file_path\": \"\"}", "{\"filePath\": \"/x\"}",
	};
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"hook_event_name\": \"PreToolUse\"}",
		"{\"hook_event_name\": \"PreToolUse\", \"tool_name\": \"Read\", \"cwd\": \"repo\", "
		"\"tool_input\": {\"file_path\": \"/x\"}}",
		"{\"hook_event_name\": \"Stop\", \"tool_name\": \"Read\", \"cwd\": \"/repo\", "
		"\"tool_input\": {\"file_path\": \"/x\"}}",
		"{\"hook_event_name\": \"PreToolUse\", \"hook_event_name\": \"PostToolUse\"}",
		"\xff",
	};
	char deep[300];

	for (size_t i = 0; i < COUNT_OF(inputs); i++) {
		scoped_seen s;

		CHECK(read_claude(&s, "PreToolUse", "Read", inputs[i]) < 0);
	}
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		scoped_seen s;

		CHECK(read_call(&s, "claude", texts[i]) < 0 && s.e.text[0]);
	}
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	{
		scoped_seen s;

		CHECK_INT(read_call(&s, "gemini", deep), -ERR_LIMIT);
	}
	CHECK(!hook_find("codex") && !hook_find(""));
}

TEST(only_claude_asks_and_only_where_a_person_is)
{
	static const struct {
		const char *mode;
		bool asks;
	} rows[] = { { "\"default\"", true },
		     { "\"acceptEdits\"", true },
		     { "\"bypassPermissions\"", false },
		     { "\"dontAsk\"", false },
		     { "\"auto\"", false },
		     { "7", false } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[512];
		scoped_seen s;

		(void)snprintf(text, sizeof(text),
			       "{\"cwd\": \"/repo\", \"permission_mode\": %s, \"hook_event_name\": "
			       "\"PreToolUse\", \"tool_name\": \"Bash\", \"tool_input\": {}}",
			       rows[i].mode);
		CHECK_INT(read_call(&s, "claude", text), 0);
		CHECK_INT(s.call.can_ask, rows[i].asks);
	}
}

TEST(answers_are_those_of_the_agent)
{
	scoped_buf refusal = BUF_INIT(4096), question = BUF_INIT(4096), context = BUF_INIT(4096);
	scoped_buf other = BUF_INIT(4096);
	scoped_seen s, o;

	REQUIRE(read_claude(&s, "PreToolUse", "Read", "{\"file_path\":\"/x\"}") == 0);
	hook_print_refusal(&refusal, &s.call, false, STR("no"));
	CHECK_STR(refusal.p, "{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\","
			     "\"permissionDecision\":\"deny\",\"permissionDecisionReason\":"
			     "\"no\"}}\n");
	hook_print_refusal(&question, &s.call, true, STR("no"));
	CHECK(strstr(question.p, "\"permissionDecision\":\"ask\""));
	hook_print_context(&context, &s.call, STR("a\nb"));
	CHECK(strstr(context.p, "\"additionalContext\":\"a\\nb\""));
	REQUIRE(read_call(&o, "gemini",
			  "{\"hook_event_name\":\"BeforeTool\", \"tool_name\":\"x\", \"cwd\": "
			  "\"/repo\", \"tool_input\":{}}") == 0);
	hook_print_refusal(&other, &o.call, true, STR("no"));
	CHECK_STR(other.p, "{\"decision\":\"deny\",\"reason\":\"no\"}\n");
}

TEST(a_path_is_judged_in_every_way_that_an_agent_may_read_it)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct str out[HOOK_READINGS];
	struct err e = ERR_INIT;
	size_t count;

	REQUIRE(hook_find_readings(&a, STR("/x"), STR("/home/me"), out, &count, &e) == 0);
	CHECK_INT(count, 1);
	REQUIRE(hook_find_readings(&a, STR(" ~/x\n"), STR("/home/me"), out, &count, &e) == 0);
	CHECK_INT(count, 3);
	CHECK(str_is(out[0], " ~/x\n") && str_is(out[1], "~/x") && str_is(out[2], "/home/me/x"));
	REQUIRE(hook_find_readings(&a, STR("~"), STR("/home/me"), out, &count, &e) == 0);
	CHECK(count == 2 && str_is(out[1], "/home/me"));
	CHECK(hook_find_readings(&a, STR("  "), STR("/home/me"), out, &count, &e) < 0);
}
