/* SPDX-License-Identifier: MIT */
/*
 * See hooks.h. SECURITY: agents go on when a hook can't be started or is not called, so all this is advice
 * (hook.h); what can be seen of that, `cordon setup --check` says.
 */
#include "agents/hooks.h"

#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"

static void add_member(struct json_writer *w, const char *name, const char *value)
{
	json_key(w, name);
	json_add_text(w, value);
}

/* One entry: the tools, and what is called for them. */
static void add_entry(struct json_writer *w, const struct agent_places *p, const char *event,
		      const char *matcher, const char *agent)
{
	char command[PATH_MAX_BYTES + 32];
	struct buf text = BUF_OVER(command);

	buf_add(&text, p->cordon);
	buf_printf(&text, " hook %s", agent);
	json_key(w, event);
	json_begin_array(w);
	json_begin_object(w);
	add_member(w, "matcher", matcher);
	json_key(w, "hooks");
	json_begin_array(w);
	json_begin_object(w);
	add_member(w, "type", "command");
	json_key(w, "command");
	json_add_str(w, buf_str(&text));
	json_end_object(w);
	json_end_array(w);
	json_end_object(w);
	json_end_array(w);
}

#define VERSION "1.0.0" /* of the extension, which both agents want */

void hooks_write_gemini_name(struct buf *out, const struct agent_places *places)
{
	(void)places;
	buf_add_text(out, "{\"name\": \"cordon\", \"version\": \"" VERSION "\"}\n");
}

void hooks_write_gemini(struct buf *out, const struct agent_places *places)
{
	struct json_writer w = JSON_WRITER_INIT(out);

	json_begin_object(&w);
	json_key(&w, "hooks");
	json_begin_object(&w);
	add_entry(&w, places, "BeforeTool",
		  "read_.*|write_file|replace|list_directory|glob|grep_search|search_file_content",
		  "gemini");
	add_entry(&w, places, "AfterTool", "run_shell_command", "gemini");
	json_end_object(&w);
	json_end_object(&w);
}

void hooks_write_qwen(struct buf *out, const struct agent_places *places)
{
	struct json_writer w = JSON_WRITER_INIT(out);

	json_begin_object(&w);
	add_member(&w, "name", "cordon");
	add_member(&w, "version", VERSION);
	json_key(&w, "hooks");
	json_begin_object(&w);
	add_entry(&w, places, "PreToolUse",
		  "read_file|read_many_files|edit|write_file|list_directory|glob|grep_search",
		  "qwen");
	add_entry(&w, places, "PostToolUse", "run_shell_command", "qwen");
	add_entry(&w, places, "PostToolUseFailure", "run_shell_command", "qwen");
	json_end_object(&w);
	json_end_object(&w);
}

/* SECURITY: any failure throws, which opencode takes for a refusal. */
static const char plugin_ask[] =
	"// Has 'cordon hook opencode' judge the files of opencode's tools, and tell the model "
	"what was\n"
	"// refused to its commands.\n"
	"import { spawn } from \"node:child_process\"\n"
	"\n"
	"// What the hook has to say: nothing, a refusal, or something to read. Any failure is a "
	"refusal.\n"
	"function ask(call) {\n"
	"  return new Promise((resolve, reject) => {\n"
	"    const hook = spawn(CORDON, [\"hook\", \"opencode\"], { stdio: [\"pipe\", \"pipe\", "
	"\"pipe\"] })\n"
	"    let out = \"\", err = \"\"\n"
	"    hook.stdout.on(\"data\", (data) => (out += data))\n"
	"    hook.stderr.on(\"data\", (data) => (err += data))\n"
	"    hook.on(\"error\", (error) => reject(new Error(`cordon hook: ${error.message}`)))\n"
	"    hook.on(\"close\", (status) => {\n"
	"      if (status !== 0) return reject(new Error(err.trim() || `cordon hook ended with "
	"${status}`))\n"
	"      try {\n"
	"        resolve(out.trim() ? JSON.parse(out) : {})\n"
	"      } catch (error) {\n"
	"        reject(new Error(`cordon hook: ${error.message}`))\n"
	"      }\n"
	"    })\n"
	"    hook.stdin.on(\"error\", () => {})\n"
	"    hook.stdin.end(JSON.stringify(call))\n"
	"  })\n"
	"}\n"
	"\n";
static const char plugin_hooks[] =
	"export const CordonPlugin = async ({ directory }) => ({\n"
	"  // What 'cordon setup --check' looks for, as opencode says nothing of a plugin that is "
	"broken.\n"
	"  config: async (config) => {\n"
	"    if (!process.env.CORDON_HOOKS_CHECK) return\n"
	"    await ask({ event: \"tool.execute.before\", tool: \"list\", directory, args: {} })\n"
	"    config.cordon_hooks = \"called\"\n"
	"  },\n"
	"  \"tool.execute.before\": async (input, output) => {\n"
	"    const answer = await ask({ event: \"tool.execute.before\", tool: input.tool, "
	"directory, "
	"args: output.args ?? {} })\n"
	"    if (answer.decision === \"deny\") throw new Error(answer.reason)\n"
	"  },\n"
	"  \"tool.execute.after\": async (input, output) => {\n"
	"    if (input.tool !== \"bash\") return\n"
	"    const answer = await ask({ event: \"tool.execute.after\", tool: input.tool, "
	"directory, "
	"args: input.args ?? {} })\n"
	"    const text = answer.hookSpecificOutput?.additionalContext\n"
	"    if (text) output.output = `${output.output}\\n\\n${text}`\n"
	"  },\n"
	"})\n";

void hooks_write_opencode(struct buf *out, const struct agent_places *places)
{
	buf_add_text(out, "// Written by 'cordon setup opencode'; 'cordon setup opencode --undo' "
			  "removes it.\n");
	buf_add_text(out, plugin_ask);
	buf_add_text(out, "const CORDON = ");
	utf8_add_quoted(out, places->cordon, false);
	buf_add_text(out, "\n\n");
	buf_add_text(out, plugin_hooks);
}
