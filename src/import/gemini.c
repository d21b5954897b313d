/* SPDX-License-Identifier: MIT */
/*
 * Gemini CLI: the rules of its policy files (TOML), which are about tools and not about paths, and its
 * settings (JSON).
 */
#include "agents/json_edit.h"
#include "base/toml.h"
#include "import/rules.h"

/* By their names and by their classes: both count. */
static const char *const writers[] = { "write_file", "replace",	      "edit", "WriteFileTool",
				       "EditTool",   "SmartEditTool", NULL };
static const char *const readers[] = { "read_file",
				       "read_many_files",
				       "glob",
				       "grep_search",
				       "search_file_content",
				       "list_directory",
				       "ReadFileTool",
				       "ReadManyFilesTool",
				       "GlobTool",
				       "GrepTool",
				       "RipGrepTool",
				       "LSTool",
				       NULL };
/* They neither write nor read the files that a policy is about, or are a shell, which is confined. */
static const char *const others[] = { "run_shell_command", "ShellTool",	     "google_web_search",
				      "WebSearchTool",	   "web_fetch",	     "WebFetchTool",
				      "save_memory",	   "MemoryTool",     "write_todos",
				      "ask_user",	   "activate_skill", "get_internal_docs",
				      "enter_plan_mode",   "exit_plan_mode", NULL };

/* What the rules take away. */
struct taken {
	bool writing, reading;
	struct origin writing_origin, reading_origin;
	struct str writing_text, reading_text;
};

static int take_writing(struct rules *r, struct str tool, bool has_pattern, struct origin origin,
			struct taken *t, struct err *e)
{
	if (has_pattern &&
	    rules_note(r, origin, e,
		       "'%.*s' is denied by a regular expression; here nothing is writable",
		       STR_ARG(tool)) < 0)
		return err_result(e);
	if (!t->writing) {
		t->writing_origin = origin;
		t->writing_text = tool;
	}
	t->writing = true;
	return 0;
}

static int take_reading(struct str tool, bool has_pattern, struct origin origin, struct taken *t,
			struct err *e)
{
	if (has_pattern)
		return FAIL_AT(e, ERR_POLICY, origin,
			       "'%.*s' is denied by a regular expression, which no profile can "
			       "say; take the rule out, "
			       "and deny those paths by hand",
			       STR_ARG(tool));
	if (!t->reading) {
		t->reading_origin = origin;
		t->reading_text = tool;
	}
	t->reading = true;
	return 0;
}

/* "mcp_SERVER_TOOL", or "SERVER__TOOL" */
static bool is_of_mcp(struct str tool)
{
	for (size_t i = 0; i + 1 < tool.len; i++)
		if (tool.p[i] == '_' && tool.p[i + 1] == '_')
			return true;
	return str_has_prefix(tool, STR("mcp_"));
}

static int take(struct rules *r, struct str tool, bool has_pattern, struct origin origin,
		struct taken *t, struct err *e)
{
	bool writes, reads, is_other;

	if (names_one_of(r, tool, writers, &writes, e) < 0 ||
	    names_one_of(r, tool, readers, &reads, e) < 0 ||
	    names_one_of(r, tool, others, &is_other, e) < 0)
		return err_result(e);
	if (!writes && !reads && !is_other && !is_of_mcp(tool))
		return FAIL_AT(e, ERR_POLICY, origin,
			       "Cordon does not know what the tool '%.*s' does; take it out, and "
			       "deny that by hand",
			       STR_ARG(tool));
	if ((writes && take_writing(r, tool, has_pattern, origin, t, e) < 0) ||
	    (reads && take_reading(tool, has_pattern, origin, t, e) < 0))
		return err_result(e);
	return 0;
}

/* `toolName` is a name, or a list of them. */
static int take_all(struct rules *r, const struct toml *tools, bool has_pattern,
		    struct origin origin, struct taken *t, struct err *e)
{
	if (tools->type == TOML_STRING)
		return take(r, tools->string, has_pattern, origin, t, e);
	for (size_t i = 0; tools->type == TOML_ARRAY && i < tools->array.count; i++)
		if (tools->array.items[i].type != TOML_STRING ||
		    take(r, tools->array.items[i].string, has_pattern, origin, t, e) < 0)
			return e->code != ERR_OK ? err_result(e)
						 : FAIL_AT(e, ERR_POLICY, tools->origin,
							   "'toolName' has to be names of tools");
	if (tools->type != TOML_ARRAY)
		return FAIL_AT(e, ERR_POLICY, tools->origin,
			       "'toolName' has to be a name of a tool");
	return 0;
}

static int add_rule(struct rules *r, const struct toml *rule, struct taken *t, struct err *e)
{
	const struct toml *tools = toml_find(rule, "toolName");
	const struct toml *decision = toml_find(rule, "decision");
	bool has_pattern = toml_find(rule, "argsPattern") != NULL;
	static const struct toml everything = { .type = TOML_STRING, .string = STR_INIT("*") };

	if (rule->type != TOML_TABLE || !decision || decision->type != TOML_STRING)
		return FAIL_AT(e, ERR_POLICY, rule->origin, "a rule has a 'decision'");
	if (!str_is(decision->string, "allow") && !toml_find(rule, "mcpName") &&
	    take_all(r, tools ? tools : &everything, has_pattern, rule->origin, t, e) < 0)
		return err_result(e);
	if (tools && tools->type == TOML_STRING)
		return rules_note(
			r, rule->origin, e,
			"the rule for '%.*s' (%.*s): only that files may not be written or read is "
			"carried over",
			STR_ARG(tools->string), STR_ARG(decision->string));
	return rules_note(
		r, rule->origin, e,
		"a rule (%.*s): only that files may not be written or read is carried over",
		STR_ARG(decision->string));
}

static int import_rules(struct rules *r, const struct import_file *file, struct taken *t,
			struct err *e)
{
	const struct toml *root = toml_parse(r->a, file->name, file->text, e), *rules;

	if (!root)
		return err_result(e);
	rules = toml_find(root, "rule");
	if (!rules || rules->type != TOML_ARRAY)
		return FAIL_AT(e, ERR_POLICY, root->origin, "there is no [[rule]] in it");
	for (size_t i = 0; i < rules->array.count; i++)
		if (add_rule(r, &rules->array.items[i], t, e) < 0)
			return err_result(e);
	return 0;
}

/* "write_file", or "run_shell_command(rm)". */
static struct str find_tool(const struct json *item)
{
	return str_first(item->string, str_find(item->string, '('));
}

static int exclude_tools(struct rules *r, const struct json *list, const struct import_file *file,
			 struct taken *t, struct err *e)
{
	for (size_t i = 0; list && i < list->array.count; i++) {
		const struct json *item = &list->array.items[i];
		struct str tool = find_tool(item);

		if (take(r, tool, tool.len < item->string.len, value_origin(file->name, item), t,
			 e) < 0)
			return err_result(e);
		if ((is_one_of(tool, others) || is_of_mcp(tool)) &&
		    rules_note(r, value_origin(file->name, item), e, "\"%.*s\": %s",
			       STR_ARG(item->string), no_such_rules) < 0)
			return err_result(e);
	}
	return 0;
}

/* Where there is a list of the tools that are left, the others are excluded. */
static void keep_tools(const struct json *list, const struct import_file *file, struct taken *t)
{
	struct origin origin;
	bool writes = false, reads = false;

	if (!list)
		return;
	origin = value_origin(file->name, list);
	for (size_t i = 0; i < list->array.count; i++) {
		writes = writes || is_one_of(find_tool(&list->array.items[i]), writers);
		reads = reads || is_one_of(find_tool(&list->array.items[i]), readers);
	}
	if (!writes && !t->writing) {
		t->writing = true;
		t->writing_origin = origin;
		t->writing_text = STR("no tool that writes is among the tools");
	}
	if (!reads && !t->reading) {
		t->reading = true;
		t->reading_origin = origin;
		t->reading_text = STR("no tool that reads is among the tools");
	}
}

/* `object` is "tools", or everything, where the older names of the keys are. */
static int add_tools(struct rules *r, const struct json *object, const char *exclude,
		     const char *core, const struct import_file *file, struct taken *t,
		     struct err *e)
{
	const struct json *excluded, *kept;

	if (member_strings(object, file->name, exclude, &excluded, e) < 0 ||
	    member_strings(object, file->name, core, &kept, e) < 0 ||
	    exclude_tools(r, excluded, file, t, e) < 0)
		return err_result(e);
	keep_tools(kept, file, t);
	return 0;
}

static int import_settings(struct rules *r, const struct import_file *file, struct taken *t,
			   struct err *e)
{
	static const char *const known[] = { "tools",	  "context",
					     "coreTools", "excludeTools",
					     "$schema",	  "includeDirectories",
					     NULL };
	static const char *const known_tools[] = { "exclude", "core", NULL };
	const struct json *root = jsonc_parse(r->a, file->text, e), *tools, *context;

	if (!root)
		return err_wrap(e, "%s", file->name);
	if (root->type != JSON_OBJECT)
		return FAIL_AT(e, ERR_POLICY, value_origin(file->name, root),
			       "these are no settings of Gemini CLI");
	if (member_get(root, file->name, "tools", JSON_OBJECT, &tools, e) < 0 ||
	    member_get(root, file->name, "context", JSON_OBJECT, &context, e) < 0)
		return err_result(e);
	if (add_tools(r, root, "excludeTools", "coreTools", file, t, e) < 0 ||
	    member_paths(r, root, file, "includeDirectories", RULE_WRITE, e) < 0)
		return err_result(e);
	if (tools && (add_tools(r, tools, "exclude", "core", file, t, e) < 0 ||
		      members_note(r, tools, file->name, "tools", known_tools, false, e) < 0))
		return err_result(e);
	if (context && member_paths(r, context, file, "includeDirectories", RULE_WRITE, e) < 0)
		return err_result(e);
	return members_note_unrelated(r, root, file->name, known, e);
}

int import_gemini(struct rules *r, const struct import_file *files, size_t count, struct err *e)
{
	const struct origin whole = { .file = files[count - 1].name, .line = 1, .column = 1 };
	struct taken t = { 0 };

	for (size_t i = 0; i < count; i++) {
		bool is_rules = str_has_suffix(files[i].path, STR(".toml"));

		if (file_check_not_empty(&files[i], e) < 0 ||
		    (is_rules ? import_rules(r, &files[i], &t, e)
			      : import_settings(r, &files[i], &t, e)) < 0)
			return err_result(e);
	}
	/*
	 * A tool that may not read denies the project and the other directories; the programs of the system are
	 * not its files.
	 */
	for (size_t i = 0; t.reading && i < r->paths.count; i++)
		r->paths.items[i].kind = RULE_NOTHING;
	if (!t.writing && rules_add_path(r, RULE_WRITE, BASE_WORKSPACE, STR(""), SYNTAX_LITERAL,
					 STR("Gemini CLI works in the project"), whole, e) < 0)
		return err_result(e);
	if (t.reading && rules_add_path(r, RULE_NOTHING, BASE_WORKSPACE, STR(""), SYNTAX_LITERAL,
					t.reading_text, t.reading_origin, e) < 0)
		return err_result(e);
	if (!t.writing)
		return 0;
	return rules_add_path(r, RULE_NO_WRITE, BASE_ROOT, STR("/"), SYNTAX_LITERAL, t.writing_text,
			      t.writing_origin, e);
}
