/* SPDX-License-Identifier: MIT */
/* See agents.h. What is known of each agent was tried with the real program. */
#include "agents/agents.h"

#include "agents/hooks.h"
#include "agents/json_edit.h"
#include "base/shell.h"
#include "base/utf8.h"

const char *const agent_scope_names[SCOPE_COUNT] = {
	[SCOPE_USER] = "user", [SCOPE_SYSTEM] = "system", [SCOPE_PROJECT] = "project"
};

/* ---- Values of settings ------------------------------------------------------------------------- */

static void write_no(struct buf *b, const struct agent_places *p)
{
	(void)p;
	buf_add_text(b, "false");
}

static void write_server(struct buf *b, const struct agent_places *p)
{
	buf_add_text(b, "{ command = ");
	utf8_add_quoted(b, p->cordon, false);
	buf_add_text(b, ", args = [\"mcp\"] }");
}

static void add_private(struct buf *b, const struct agent_places *p, const char *name)
{
	scoped_buf path = BUF_INIT(1 << 14);

	buf_add(&path, p->private);
	buf_add_text(&path, name);
	utf8_add_quoted(b, buf_str(&path), false);
}

static void write_shim_path(struct buf *b, const struct agent_places *p)
{
	add_private(b, p, "/bash");
}

static void write_guard_path(struct buf *b, const struct agent_places *p)
{
	add_private(b, p, "/cordon-sh");
}

/* ---- Scripts -------------------------------------------------------------------------------------- */

static void add_head(struct buf *b, const char *agent, const char *what)
{
	buf_printf(b,
		   "#!/bin/sh\n"
		   "# Written by 'cordon setup %s'; 'cordon setup %s --undo' removes it.\n"
		   "# %s\n",
		   agent, agent, what);
}

/* The agent may not start where its commands could not run in a sandbox. */
static void add_test(struct buf *b, const struct agent_places *p, const char *name)
{
	buf_add_text(b, "if ! [ -x ");
	shell_add_word(b, p->shell);
	buf_printf(b, " ]; then\n\techo \"cordon-%s: ", name);
	buf_add(b, p->shell);
	buf_add_text(b, " is missing\" >&2\n\texit 125\nfi\n");
}

/* What programs start with: code, or where they find it. */
#define START_NAMES "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT BASH_ENV ENV"

/*
 * The workspace would follow the agent from directory to directory otherwise. SECURITY: agents read variables from
 * files of the project (.env), which a command may write, but leave those as they are that are set, be it to nothing. So
 * what says which policy is in force, and what programs start with, is set here. (PS4: bash as /bin/sh expands it.)
 */
#define PINS                                                                \
	"export CORDON_WORKSPACE=\"${CORDON_WORKSPACE:-$PWD}\"\n"           \
	"export XDG_CONFIG_HOME=\"${XDG_CONFIG_HOME:-$HOME/.config}\"\n"    \
	"export XDG_STATE_HOME=\"${XDG_STATE_HOME:-$HOME/.local/state}\"\n" \
	"for name in CORDON_MODE CORDON_PROFILE CORDON_SESSION \\\n"        \
	"\tPS4 " START_NAMES "; do\n"                                       \
	"\teval \"export $name=\\\"\\${$name-}\\\"\"\n"                     \
	"done\n"
/*
 * SECURITY: ":tmpdir" is writable. Codex reads no file of a project, and takes an empty one for the working
 * directory.
 */
#define PIN_TMPDIR "export TMPDIR=\"${TMPDIR-}\"\n"

static void add_launcher(struct buf *b, const struct agent_places *p, const char *agent)
{
	scoped_buf what = BUF_INIT(256);

	buf_printf(&what, "Starts %s with Cordon beneath its shell.", agent);
	add_head(b, agent, what.p ? what.p : "");
	add_test(b, p, agent);
	buf_add_text(b, PINS);
	if (strcmp(agent, "codex") != 0)
		buf_add_text(b, PIN_TMPDIR);
}

/*
 * SECURITY: variables that say which policy is in force are pinned: the settings of a project may set
 * variables too, but rank lower than these.
 */
static void write_claude(struct buf *b, const struct agent_places *p)
{
	add_launcher(b, p, "claude");
	buf_add_text(
		b,
		"for word do\n"
		"\tcase $word in\n"
		"\t--settings | --settings=*)\n"
		"\t\techo \"cordon-claude: --settings is what puts Cordon beneath claude: "
		"write yours to a file of settings\" >&2\n"
		"\t\texit 125 ;;\n"
		"\tesac\n"
		"done\n"
		"settings=\n"
		"pin() {\n"
		"\tcase $2 in\n"
		"\t*[\\\"\\\\]* | *[[:cntrl:]]*)\n"
		"\t\techo \"cordon-claude: \\$$1 has a quote, a backslash or a control "
		"character in it\" >&2\n"
		"\t\texit 125 ;;\n"
		"\tesac\n"
		"\tsettings=\"$settings, \\\"$1\\\": \\\"$2\\\"\"\n"
		"}\n"
		"for name in HOME PATH XDG_CONFIG_HOME XDG_STATE_HOME TMPDIR CORDON_WORKSPACE \\\n"
		"\tCORDON_MODE CORDON_PROFILE CORDON_SESSION " START_NAMES "; do\n"
		"\teval \"pin $name \\\"\\${$name-}\\\"\"\n"
		"done\n"
		"hook() {\n"
		"\tprintf '%s' \"\\\"$1\\\": [{\\\"matcher\\\": \\\"$2\\\", \\\"hooks\\\": "
		"[{\\\"type\\\": \\\"command\\\", \\\"command\\\": \\\"");
	buf_add(b, p->cordon);
	buf_add_text(
		b,
		" hook claude\\\"}]}]\"\n"
		"}\n"
		"# The hooks refuse, and tell the model what was refused; they never allow. A "
		"project can't turn\n"
		"# them off; who has turned all hooks off for themselves has no others on either.\n"
		"on=', \"disableAllHooks\": false'\n"
		"if grep -Eqs '\"disableAllHooks\"[[:space:]]*:[[:space:]]*true' "
		"\"${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json\"; then\n"
		"\ton=\n"
		"fi\n"
		"hooks=\"$(hook PreToolUse "
		"'Read|Edit|MultiEdit|Write|NotebookEdit|NotebookRead|Glob|Grep|LS'), "
		"$(hook PostToolUse Bash), $(hook PostToolUseFailure Bash)\"\n"
		"exec claude --settings \"{\\\"env\\\": {\\\"CLAUDE_CODE_SHELL_PREFIX\\\": "
		"\\\"");
	buf_add(b, p->shell);
	buf_add_text(b, "\\\"$settings}$on, \\\"hooks\\\": {$hooks}}\" \"$@\"\n");
}

/*
 * SECURITY: the settings of a project may set variables for commands, also those that say which policy is in
 * force, and where the configuration is. None of them counts.
 */
static void write_guard(struct buf *b, const struct agent_places *p)
{
	buf_add_text(b,
		     "#!/bin/sh\n"
		     "# Written by 'cordon setup': cordon-sh with the policy of the user, whatever "
		     "variables say.\n"
		     "unset CORDON_MODE CORDON_PROFILE CORDON_WORKSPACE CORDON_SESSION\n"
		     "unset XDG_CONFIG_HOME XDG_STATE_HOME TMPDIR " START_NAMES "\n"
		     "user=$(/usr/bin/id -un) && eval \"HOME=~$user\" || exit 125\n"
		     "export HOME\n"
		     "exec ");
	shell_add_word(b, p->shell);
	buf_add_text(b, " \"$@\"\n");
}

/* Its own sandbox stays: it holds what the agent does itself, such as applying patches. */
static void write_codex(struct buf *b, const struct agent_places *p)
{
	add_launcher(b, p, "codex");
	buf_add_text(
		b, "for word do\n"
		   "\tcase $word in\n"
		   "\t# Codex asks before it calls a tool that may change files; who starts it may "
		   "have it not ask.\n"
		   "\tmcp_servers.cordon.default_tools_approval_mode=*) ;;\n"
		   "\t*shell_tool* | *mcp_servers.cordon* | *features=* | *mcp_servers=*)\n"
		   "\t\techo \"cordon-codex: '$word' would change what puts Cordon beneath codex\" "
		   ">&2\n"
		   "\t\texit 125 ;;\n"
		   "\tesac\n"
		   "done\n"
		   "exec codex -c features.shell_tool=false -c 'mcp_servers.cordon=");
	write_server(b, p);
	buf_add_text(b, "' \"$@\"\n");
}

/*
 * SECURITY: a project's opencode.json may name another shell, which counts for more than $SHELL; this variable
 * counts for more than that. A server that somebody else has started has neither.
 */
static void write_opencode(struct buf *b, const struct agent_places *p)
{
	add_launcher(b, p, "opencode");
	buf_add_text(
		b, "if [ -n \"${OPENCODE_CONFIG_CONTENT:-}\" ]; then\n"
		   "\techo \"cordon-opencode: OPENCODE_CONFIG_CONTENT is what puts Cordon beneath "
		   "opencode: write yours to a file\" >&2\n"
		   "\texit 125\n"
		   "fi\n"
		   "case ${1-} in\n"
		   "attach)\n"
		   "\techo \"cordon-opencode: the server that opencode attaches to may run without "
		   "Cordon\" >&2\n"
		   "\texit 125 ;;\n"
		   "esac\n"
		   "export SHELL=");
	shell_add_word(b, p->shell);
	buf_add_text(b, "\nexport OPENCODE_CONFIG_CONTENT='{\"shell\": \"");
	buf_add(b, p->shell);
	buf_add_text(b, "\", \"plugin\": [\"file://");
	buf_add(b, p->private);
	buf_add_text(b, "/cordon.mjs\"]}'\nexec opencode \"$@\"\n");
}

static void add_with_path(struct buf *b, const struct agent_places *p, const char *agent)
{
	add_launcher(b, p, agent);
	buf_add_text(b, "shims=");
	shell_add_word(b, p->private);
	buf_printf(b, "\nPATH=\"$shims:$PATH\" exec %s \"$@\"\n", agent);
}

static void write_gemini(struct buf *b, const struct agent_places *p)
{
	add_with_path(b, p, "gemini");
}

static void write_qwen(struct buf *b, const struct agent_places *p)
{
	add_with_path(b, p, "qwen");
}

/* A bash that is one in a sandbox. Inside, `bash` is the real one: the shims are not in its PATH. */
static void write_shim(struct buf *b, const struct agent_places *p)
{
	buf_add_text(
		b,
		"#!/bin/sh\n"
		"# Written by 'cordon setup': the bash that an agent finds. It runs in a sandbox.\n"
		"shims=");
	shell_add_word(b, p->private);
	buf_add_text(b,
		     "\nPATH=\"${PATH#\"$shims:\"}\"\n"
		     "export PATH\n"
		     "# One word is a script for bash, but would be a command line for cordon-sh.\n"
		     "if [ $# -eq 1 ] && [ \"${1#-}\" = \"$1\" ]; then\n"
		     "\tset -- -- \"$1\"\n"
		     "fi\n"
		     "exec ");
	shell_add_word(b, p->shell);
	buf_add_text(b, " \"$@\"\n");
}

static void write_copilot(struct buf *b, const struct agent_places *p)
{
	add_launcher(b, p, "copilot");
	buf_add_text(b, "file=");
	shell_add_word(b, p->private);
	buf_add_text(b, "/bash_env\n"
			"BASH_ENV=\"$file\" exec copilot --bash-env=on \"$@\"\n");
}

/* What bash reads before a command line: it starts again, in a sandbox, without this file. */
static void write_bash_env(struct buf *b, const struct agent_places *p)
{
	buf_add_text(
		b, "# Written by 'cordon setup': has the command line that bash was given run in a "
		   "sandbox.\n"
		   "unset BASH_ENV\n"
		   "if [ -n \"${BASH_EXECUTION_STRING+set}\" ]; then\n"
		   "\texec ");
	shell_add_word(b, p->shell);
	buf_add_text(b, " -c \"$BASH_EXECUTION_STRING\" \"$0\" \"$@\"\n"
			"else\n"
			"\texec ");
	shell_add_word(b, p->shell);
	buf_add_text(b, " -s -- \"$@\"\n"
			"fi\n"
			"exit 125\n");
}

/* ---- The table -------------------------------------------------------------------------------------- */

/* ---- Probes ------------------------------------------------------------------------------------------ */

/*
 * A probe whose agent did not start prints "failed: STATUS" first, and then what that one has said.
 *
 * This runs in the background until the answer is there, as an agent without a model goes on for a while.
 */
#define UNTIL_ANSWERED                                                          \
	" >\"$5/out\" 2>&1 </dev/null & agent=$!\n"                             \
	"tries=0\n"                                                             \
	"while [ $tries -lt 300 ] && kill -0 $agent 2>/dev/null &&\n"           \
	"      ! grep -Eqs '(in|out)side: ' \"$5/out\"; do\n"                   \
	"\tsleep 0.1\n"                                                         \
	"\ttries=$((tries + 1))\n"                                              \
	"done\n"                                                                \
	"kill $agent 2>/dev/null\n"                                             \
	"wait $agent 2>/dev/null\n"                                             \
	"status=$?\n"                                                           \
	"[ $tries -eq 300 ] || grep -Eqs '^[{]|(in|out)side: ' \"$5/out\" ||\n" \
	"\techo \"failed: $status\"\n"                                          \
	"cat \"$5/out\"\n"

/* Claude runs its hooks as it runs commands, and those of a session's start before it asks a model. */
#define CLAUDE_HOOK                                                                                \
	"hook='{\"hooks\": {\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": " \
	"\"'\"$2\"'\"}]}]}}'\n"                                                                    \
	"export ANTHROPIC_BASE_URL=http://127.0.0.1:1 ANTHROPIC_API_KEY=none\n"                    \
	"export DISABLE_AUTOUPDATER=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1\n"
#define CLAUDE_WORDS "-p x --output-format stream-json --verbose --include-hook-events"

static const char claude_launched[] = CLAUDE_HOOK
	"printf '%s\n' \"$hook\" >\"$5/settings.json\"\n"
	"CLAUDE_CONFIG_DIR=$5 \"$1\" " CLAUDE_WORDS UNTIL_ANSWERED;
static const char claude_set[] = CLAUDE_HOOK
	"\"$1\" --settings \"$hook\" " CLAUDE_WORDS UNTIL_ANSWERED;

/* In the place of the agent, this looks for its shell as the agent does. */
#define STAND_IN(program, runs)                                       \
	"printf '#!/bin/sh\\n%s\\n' '" runs "' >\"$5/" program "\"\n" \
	"chmod 755 \"$5/" program "\"\n"                              \
	"probe=$2 PATH=\"$5:$PATH\" \"$1\"\n"

static const char gemini_probe[] = STAND_IN("gemini", "exec bash -c \"$probe\"");
static const char qwen_probe[] = STAND_IN("qwen", "exec bash -c \"$probe\"");
static const char copilot_probe[] = STAND_IN("copilot", "exec bash -c \"$probe\"");

/*
 * The shell that opencode itself, here, would start; $SHELL if its configuration names none. With a plugin it waits
 * for a package that it gets from npm, which takes minutes without a network.
 */
static const char opencode_probe[] =
	"npm_config_offline=true \"$1\" debug config >\"$5/out\" 2>\"$5/err\" </dev/null\n"
	"status=$?\n"
	"shell=$(sed -n 's/.*\"shell\": *\"\\([^\"]*\\)\".*/\\1/p' \"$5/out\" | tail -n 1)\n"
	"if [ -n \"$shell\" ]; then\n"
	"\t\"$shell\" -c \"$2\"\n"
	"elif [ $status -ne 0 ]; then\n"
	"\techo \"failed: $status\"\n"
	"\tcat \"$5/out\" \"$5/err\"\n"
	"else\n"
	"\techo 'outside: opencode names no shell'\n"
	"fi\n";

/* The configuration that opencode itself, here, has; the plugin adds to it, if the hook answers. */
static const char opencode_hooks[] =
	"npm_config_offline=true CORDON_HOOKS_CHECK=1 \"$1\" debug config >\"$5/out\" 2>/dev/null "
	"</dev/null\n"
	"grep -q '^ *\"cordon_hooks\": \"called\",*$' \"$5/out\" && echo called\n";

/*
 * Gemini CLI itself, with a home that has the extension alone. Its hooks are called when a session starts, instead of
 * for tools, which would need a model. SECURITY: in an empty directory: it runs what a project that it trusts names.
 */
static const char gemini_hooks[] =
	"place=.gemini/extensions/cordon\n"
	"real=$HOME/$place\n"
	"mkdir -p \"$5/$place/hooks\" && cp \"$real/gemini-extension.json\" \"$5/$place/\" || "
	"exit\n"
	"sed -e 's/\"BeforeTool\"/\"SessionStart\"/' "
	"-e 's/\"matcher\": \"[^\"]*\"/\"name\": \"probe\"/' "
	"-e 's|\"command\": \"[^\"]*\"|\"command\": \"echo called '\"$5\"'\"|' "
	"\"$real/hooks/hooks.json\" >\"$5/$place/hooks/hooks.json\" || exit\n"
	"echo '{\"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}}}' "
	">\"$5/.gemini/settings.json\"\n"
	"mkdir \"$5/empty\" && cd \"$5/empty\" || exit\n"
	"HOME=$5 GEMINI_API_KEY=none GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1 "
	"GEMINI_CLI_TRUST_WORKSPACE=true GEMINI_CLI_NO_RELAUNCH=true \"$1\" -p x >\"$5/out\" 2>&1 "
	"</dev/null & agent=$!\n"
	"tries=0\n"
	"while [ $tries -lt 550 ] && kill -0 $agent 2>/dev/null &&\n"
	"      ! grep -Fqs \"called $5\" \"$5/out\"; do\n"
	"\tsleep 0.1\n"
	"\ttries=$((tries + 1))\n"
	"done\n"
	"kill -9 $agent 2>/dev/null\n"
	"wait $agent 2>/dev/null\n"
	"grep -Fqs \"called $5\" \"$5/out\" && echo called\n";

static const char pi_probe[] = "\"$4/bash\" -c \"$2\"\n";

/* Whether codex, here, offers a shell of its own; and the server that it is told to use for commands. */
static const char codex_probe[] =
	"\"$1\" features list >\"$5/out\" 2>\"$5/err\" </dev/null\n"
	"status=$?\n"
	"if ! grep -Eq '^shell_tool .*false *$' \"$5/out\"; then\n"
	"\tif [ $status -ne 0 ]; then\n"
	"\t\techo \"failed: $status\"\n"
	"\t\tcat \"$5/out\" \"$5/err\"\n"
	"\telse\n"
	"\t\techo 'outside: the shell of codex is on'\n"
	"\tfi\n"
	"\texit\n"
	"fi\n"
	": >\"$5/out\"\n"
	"{\n"
	"printf '%s\n' '{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"initialize\", \"params\": "
	"{\"protocolVersion\": \"2025-06-18\", \"capabilities\": {}, \"clientInfo\": {\"name\": "
	"\"cordon setup\", \"version\": \"1\"}}}'\n"
	"printf '%s\n' '{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}'\n"
	"printf '%s\n' '{\"jsonrpc\": \"2.0\", \"id\": 2, \"method\": \"tools/call\", \"params\": "
	"{\"name\": "
	"\"execute_command\", \"arguments\": {\"command\": \"'\"$2\"'\"}}}'\n"
	"tries=0\n"
	"while [ $tries -lt 300 ] && ! grep -Eq '(in|out)side: ' \"$5/out\"; do\n"
	"\tsleep 0.1\n"
	"\ttries=$((tries + 1))\n"
	"done\n"
	"} | \"$6\" mcp >\"$5/out\"\n"
	"cat \"$5/out\"\n";

/* ---- The table -------------------------------------------------------------------------------------- */

#define IN(scope) (1U << SCOPE_##scope)
#define PREFIX                                    \
	{                                         \
		"env", "CLAUDE_CODE_SHELL_PREFIX" \
	}
#define SCRIPT(place, function)                         \
	{                                               \
		PIECE_SCRIPT, place, { NULL }, function \
	}
#define CD_LIMIT "after 'cd DIR' the next command may write DIR"
#define PATH_GAP "a command that the agent starts without looking for bash in PATH runs outside"
#define ENV_GAP	 "a shell that does not read BASH_ENV runs outside"

#define WHOLE_FILE(place, function)                   \
	{                                             \
		PIECE_FILE, place, { NULL }, function \
	}
#define EXTENSION_LIMIT(title, program)                                                  \
	"its hooks are an extension of " title ", so they judge sessions that '" program \
	"' alone "                                                                       \
	"starts as well"
#define NO_HOOKS \
	"no hooks are registered for all users: only 'cordon setup' without --system does that"
/* Of an agent that a script starts, for this user or all; its other pieces are behind. */
#define LAUNCHED(where, scope, agent, function, script)                                        \
	.scopes = IN(scope), .start = "cordon-" agent, .rank = RANK_LAUNCHER, .probe = script, \
	.pieces[0] = SCRIPT(where "/bin/cordon-" agent, function)

enum { RANK_USER = 1, RANK_PROJECT, RANK_LOCAL, RANK_LAUNCHER, RANK_SYSTEM, RANK_ANY };

#define HOOKS_OFF(place, kind, ...)                    \
	{                                              \
		RANK_ANY, place, { __VA_ARGS__ }, kind \
	}
#define GEMINI_HOOKS(place)                                   \
	HOOKS_OFF(place, RIVAL_ON, "hooksConfig", "enabled"), \
		HOOKS_OFF(place, RIVAL_NONE, "hooksConfig", "disabled")

const struct agent agents[] = {
	{ .name = "claude",
	  .title = "Claude Code",
	  .program = "claude",
	  .json_extras = JSONC_COMMAS,
	  .ways = { { LAUNCHED("~/.local", USER, "claude", write_claude, claude_launched) },
		    { .scopes = IN(SYSTEM),
		      .limit = CD_LIMIT,
		      .rank = RANK_SYSTEM,
		      .probe = claude_set,
		      .pieces = { { PIECE_JSON, "/etc/claude-code/managed-settings.json", PREFIX,
				    write_guard_path },
				  SCRIPT("@/cordon-sh", write_guard) } },
		    { .scopes = IN(USER),
		      .gap = "a project's settings can turn this off (CLAUDE_CODE_SHELL_PREFIX)",
		      .limit = CD_LIMIT,
		      .rank = RANK_USER,
		      .probe = claude_set,
		      .pieces = { { PIECE_JSON, "~/.claude/settings.json", PREFIX,
				    write_guard_path },
				  SCRIPT("@/cordon-sh", write_guard) } },
		    { .scopes = IN(PROJECT),
		      .gap = ".claude/settings.local.json can turn this off "
			     "(CLAUDE_CODE_SHELL_PREFIX)",
		      .limit = CD_LIMIT,
		      .rank = RANK_PROJECT,
		      .probe = claude_set,
		      .pieces = { { PIECE_JSON, "./.claude/settings.json", PREFIX,
				    write_guard_path },
				  SCRIPT("@/cordon-sh", write_guard) } } },
	  .rivals = { { RANK_PROJECT, "./.claude/settings.json", PREFIX, RIVAL_SHELL },
		      { RANK_LOCAL, "./.claude/settings.local.json", PREFIX, RIVAL_SHELL },
		      { RANK_SYSTEM, "/etc/claude-code/managed-settings.json", PREFIX,
			RIVAL_SHELL } },
	  .variable = "CLAUDE_CODE_SHELL",
	  .word = "bash" },
	{ .name = "codex",
	  .title = "Codex",
	  .program = "codex",
	  .ways = { { LAUNCHED("~/.local", USER, "codex", write_codex, codex_probe) },
		    { LAUNCHED("/usr/local", SYSTEM, "codex", write_codex, codex_probe) },
		    { .scopes = IN(USER),
		      .gap = "a trusted project's .codex/config.toml, --enable and -c may turn "
			     "codex's own "
			     "shell on again, which has codex's own sandbox alone",
		      .rank = RANK_USER,
		      .probe = codex_probe,
		      .pieces = { { PIECE_TOML,
				    "~/.codex/config.toml",
				    { "features", "shell_tool" },
				    write_no },
				  { PIECE_TOML,
				    "~/.codex/config.toml",
				    { "mcp_servers", "cordon" },
				    write_server } } } } },
	{ .name = "gemini",
	  .title = "Gemini CLI",
	  .program = "gemini",
	  .ways = { { LAUNCHED("~/.local", USER, "gemini", write_gemini, gemini_probe),
		      .gap = PATH_GAP, .limit = EXTENSION_LIMIT("Gemini CLI", "gemini"),
		      .hooks_probe = gemini_hooks, .pieces[1] = SCRIPT("@/bash", write_shim),
		      .pieces[2] = WHOLE_FILE("~/.gemini/extensions/cordon/gemini-extension.json",
					      hooks_write_gemini_name),
		      .pieces[3] = WHOLE_FILE("~/.gemini/extensions/cordon/hooks/hooks.json",
					      hooks_write_gemini) },
		    { LAUNCHED("/usr/local", SYSTEM, "gemini", write_gemini, gemini_probe),
		      .gap = PATH_GAP, .limit = NO_HOOKS,
		      .pieces[1] = SCRIPT("@/bash", write_shim) } },
	  .rivals = { GEMINI_HOOKS("./.gemini/settings.json"),
		      GEMINI_HOOKS("~/.gemini/settings.json"),
		      GEMINI_HOOKS("/etc/gemini-cli/settings.json") } },
	{ .name = "opencode",
	  .title = "opencode",
	  .program = "opencode",
	  .ways = { { LAUNCHED("~/.local", USER, "opencode", write_opencode, opencode_probe),
		      .hooks_probe = opencode_hooks,
		      .pieces[1] = WHOLE_FILE("@/cordon.mjs", hooks_write_opencode) },
		    { LAUNCHED("/usr/local", SYSTEM, "opencode", write_opencode, opencode_probe),
		      .hooks_probe = opencode_hooks,
		      .pieces[1] = WHOLE_FILE("@/cordon.mjs", hooks_write_opencode) } } },
	{ .name = "copilot",
	  .title = "Copilot CLI",
	  .program = "copilot",
	  .ways = { { LAUNCHED("~/.local", USER, "copilot", write_copilot, copilot_probe),
		      .gap = ENV_GAP, .pieces[1] = SCRIPT("@/bash_env", write_bash_env) },
		    { LAUNCHED("/usr/local", SYSTEM, "copilot", write_copilot, copilot_probe),
		      .gap = ENV_GAP, .pieces[1] = SCRIPT("@/bash_env", write_bash_env) } } },
	{ .name = "qwen",
	  .title = "Qwen Code",
	  .program = "qwen",
	  .ways = { { LAUNCHED("~/.local", USER, "qwen", write_qwen, qwen_probe), .gap = PATH_GAP,
		      .limit = EXTENSION_LIMIT("Qwen Code", "qwen"),
		      .pieces[1] = SCRIPT("@/bash", write_shim),
		      .pieces[2] = WHOLE_FILE("~/.qwen/extensions/cordon/qwen-extension.json",
					      hooks_write_qwen) },
		    { LAUNCHED("/usr/local", SYSTEM, "qwen", write_qwen, qwen_probe),
		      .gap = PATH_GAP, .limit = NO_HOOKS,
		      .pieces[1] = SCRIPT("@/bash", write_shim) } },
	  .rivals = { HOOKS_OFF("./.qwen/settings.json", RIVAL_OFF, "disableAllHooks"),
		      HOOKS_OFF("~/.qwen/settings.json", RIVAL_OFF, "disableAllHooks"),
		      HOOKS_OFF("/etc/qwen-code/settings.json", RIVAL_OFF, "disableAllHooks") } },
	{ .name = "pi",
	  .title = "pi",
	  .program = "pi",
	  .ways = { { .scopes = IN(USER),
		      .gap = "a project's .pi/settings.json may name another shell",
		      .limit = CD_LIMIT,
		      .rank = RANK_USER,
		      .probe = pi_probe,
		      .pieces = { { PIECE_JSON,
				    "~/.pi/agent/settings.json",
				    { "shellPath" },
				    write_shim_path },
				  SCRIPT("@/bash", write_shim) } } },
	  .rivals = { { RANK_PROJECT, "./.pi/settings.json", { "shellPath" }, RIVAL_SHELL } } },
};

const size_t agent_count = COUNT_OF(agents);

const struct agent *agent_find(const char *name)
{
	for (size_t i = 0; i < agent_count; i++)
		if (str_is(str_of(name), agents[i].name))
			return &agents[i];
	return NULL;
}

const struct agent_way *agent_find_way(const struct agent *agent, enum agent_scope scope,
				       bool is_partial)
{
	for (size_t i = 0; i < AGENT_MAX_WAYS && agent->ways[i].scopes; i++)
		if ((agent->ways[i].scopes >> scope & 1) &&
		    (agent->ways[i].gap != NULL) == is_partial)
			return &agent->ways[i];
	return NULL;
}
