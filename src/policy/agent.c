/* SPDX-License-Identifier: MIT */
/* See agent.h: made from the agents' packages, and tried with them (tests/agents/check_inside.py). */
#include "policy/agent.h"

#include "base/macros.h"
#include "base/path.h"

#define STATE(path)                                                    \
	{                                                              \
		path, AGENT_STATE, "read-only, but for what is listed" \
	}
#define DIRECTORY(path, reason)           \
	{                                 \
		path, AGENT_SAVED, reason \
	}
#define FILE_OF(path, reason)                  \
	{                                      \
		path, AGENT_SAVED_FILE, reason \
	}
#define CREDENTIAL(path)                                  \
	{                                                 \
		path, AGENT_CREDENTIAL, "its own sign-in" \
	}
#define READ(path, reason)               \
	{                                \
		path, AGENT_READ, reason \
	}
#define OBEYED(path, reason)               \
	{                                  \
		path, AGENT_OBEYED, reason \
	}
#define EACH(path, reason)               \
	{                                \
		path, AGENT_EACH, reason \
	}
/*
 * No agent has the host that renews a sign-in which it saves by rename: it could not save the new one, and the server
 * would not take the old one again, from the agent outside either.
 */
#define END_OF_FILES                    \
	{                               \
		NULL, AGENT_STATE, NULL \
	}
#define END_OF_HOSTS       \
	{                  \
		NULL, NULL \
	}

#define END_OF_MOVES       \
	{                  \
		NULL, NULL \
	}

#define SIGN_IN	  "its sign-in, which it renews outside"
#define SESSIONS  "its sessions; go on outside only with those made there"
#define INSIDE	  "what it saves in runs inside; outside it does not look there"
#define HISTORY	  "what a person has typed"
#define PROGRAMS  "programs that it runs"
#define SNAPSHOTS "scripts that each command of a running session starts with"
#define MEMORY	  "what it remembers of a project, and reads there in each session"

/* ---- Claude Code -------------------------------------------------------------------------------------- */

static const struct agent_file claude_files[] = {
	STATE("~/.claude"),
	READ("~/.claude/.credentials.json", SIGN_IN),
	/* It saves this by rename, which is refused; it works nevertheless. */
	READ("~/.claude.json",
	     "MCP servers, variables, trust; without it, it asks its first questions"),
	DIRECTORY("~/.claude/projects", SESSIONS),
	EACH("~/.claude/projects/*/memory", MEMORY),
	DIRECTORY("~/.claude/plans", "plans, by the name that a session has drawn"),
	DIRECTORY("~/.claude/session-env", "empty; no command starts where it can't make its own"),
	EACH("~/.claude/session-env/*", SNAPSHOTS),
	END_OF_FILES,
};
static const struct agent_host claude_hosts[] = {
	{ "api.anthropic.com", "the model" },
	{ "claude.ai", "whose sign-in it is, and whether a page may be fetched" },
	END_OF_HOSTS,
};
static const char *const claude_keys[] = { "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
					   "CLAUDE_CODE_OAUTH_TOKEN", NULL };
static const char *const claude_variables[] = { "DISABLE_AUTOUPDATER=1",
						"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
						"CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING=1",
						"CLAUDE_CODE_ENABLE_TASKS=0", NULL };
static const char *const claude_words[] = { "--settings", "{\"sandbox\": {\"enabled\": false}}",
					    NULL };
static const struct agent_move claude_moves[] = {
	{ "CLAUDE_CONFIG_DIR", "~/.claude" },
	END_OF_MOVES,
};

/* ---- Codex ---------------------------------------------------------------------------------------------- */

static const struct agent_file codex_files[] = {
	STATE("~/.codex"),
	READ("~/.codex/auth.json", SIGN_IN),
	READ("~/.codex/.credentials.json", SIGN_IN),
	DIRECTORY("~/.codex/sessions", SESSIONS),
	FILE_OF("~/.codex/history.jsonl", HISTORY),
	FILE_OF("~/.codex/installation_id", "a random number"),
	DIRECTORY("~/.codex/thread-writer-locks", "empty files, which are locked"),
	DIRECTORY("~/.codex/cordon", INSIDE),
	END_OF_FILES,
};
static const struct agent_host codex_hosts[] = {
	{ "api.openai.com", "the model, with a key" },
	{ "chatgpt.com", "the model, signed in with ChatGPT" },
	END_OF_HOSTS,
};
static const char *const codex_keys[] = { "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN",
					  NULL };
static const char *const codex_variables[] = { "CODEX_SQLITE_HOME=~/.codex/cordon", NULL };
static const char *const codex_words[] = { "--no-daemon",
					   "--config",
					   "sandbox_mode=\"danger-full-access\"",
					   "--config",
					   "check_for_update_on_startup=false",
					   "--config",
					   "features.shell_snapshot=false",
					   "--config",
					   "log_dir=\"/tmp/codex\"",
					   NULL };
static const struct agent_move codex_moves[] = {
	{ "CODEX_HOME", "~/.codex" },
	{ "CODEX_SQLITE_HOME", "~/.codex/cordon" },
	END_OF_MOVES,
};

/* ---- Gemini CLI, and Qwen Code, which was made from it ------------------------------------------------ */

static const struct agent_file gemini_files[] = {
	STATE("~/.gemini"),
	CREDENTIAL("~/.gemini/oauth_creds.json"),
	CREDENTIAL("~/.gemini/gemini-credentials.json"),
	READ("~/.gemini/mcp-oauth-tokens.json", SIGN_IN),
	READ("~/.gemini/.env", "variables, its key among them"),
	/* Where it keeps its state in a sandbox that does not let it write to the other one. */
	DIRECTORY("~/.cache/.gemini", INSIDE),
	DIRECTORY("~/.cache/.gemini/tmp", INSIDE),
	OBEYED("~/.cache/.gemini/tmp/bin", PROGRAMS),
	EACH("~/.cache/.gemini/tmp/*/memory", MEMORY),
	END_OF_FILES,
};
static const struct agent_host gemini_hosts[] = {
	{ "generativelanguage.googleapis.com", "the model, with a key" },
	{ "cloudcode-pa.googleapis.com", "the model, signed in with Google" },
	{ "aiplatform.googleapis.com", "the model, by Vertex AI" },
	{ "oauth2.googleapis.com", "renews the sign-in" },
	{ "www.googleapis.com", "whose sign-in it is" },
	END_OF_HOSTS,
};
static const char *const gemini_keys[] = { "GEMINI_API_KEY", "GOOGLE_API_KEY", NULL };
static const char *const gemini_variables[] = {
	"GEMINI_SANDBOX=false", "SANDBOX=sandbox-exec", "SEATBELT_PROFILE=cordon",
	"GEMINI_CLI_TRUSTED_FOLDERS_PATH=~/.gemini/trustedFolders.json", NULL
};
static const struct agent_move gemini_moves[] = {
	{ "GEMINI_CLI_HOME", "~" },
	END_OF_MOVES,
};

static const struct agent_file qwen_files[] = {
	STATE("~/.qwen"),
	READ("~/.qwen/oauth_creds.json", SIGN_IN),
	CREDENTIAL("~/.qwen/mcp-oauth-tokens.json"),
	READ("~/.qwen/.env", "variables, its key among them"),
	DIRECTORY("~/.qwen/cordon", INSIDE),
	EACH("~/.qwen/cordon/projects/*/memory", MEMORY),
	END_OF_FILES,
};
static const struct agent_host qwen_hosts[] = {
	{ "**.dashscope.aliyuncs.com", "the model, with a key, by region" },
	{ "dashscope-intl.aliyuncs.com", "the model, with a key" },
	{ "dashscope-us.aliyuncs.com", "the model, with a key" },
	{ "portal.qwen.ai", "the model, signed in with Qwen" },
	{ "api.openai.com", "the model, with a key of OpenAI" },
	END_OF_HOSTS,
};
static const char *const qwen_keys[] = { "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY",
					 "OPENAI_API_KEY", NULL };
static const char *const qwen_variables[] = { "QWEN_SANDBOX=false",
					      "QWEN_RUNTIME_DIR=~/.qwen/cordon", NULL };
/* An instruction that it makes where it finds none with such a comment. */
static const char qwen_language[] = "# Output language preference: that of the user\n"
				    "<!-- qwen-code:llm-output-language: that of the user -->\n\n"
				    "Respond in the language that the user writes in.\n";
static const struct agent_move qwen_moves[] = {
	{ "QWEN_HOME", "~/.qwen" },
	{ "QWEN_RUNTIME_DIR", "~/.qwen/cordon" },
	END_OF_MOVES,
};

/* ---- opencode ------------------------------------------------------------------------------------------- */

static const struct agent_file opencode_files[] = {
	STATE("~/.local/share/opencode"),
	STATE("~/.local/state/opencode"),
	STATE("~/.config/opencode"),
	STATE("~/.local/share/opencode/repos"),
	CREDENTIAL("~/.local/share/opencode/mcp-auth.json"),
	/* An entry in it can name a server whose configuration it loads. */
	READ("~/.local/share/opencode/auth.json",
	     "its keys, and servers that it takes settings from"),
	FILE_OF("~/.local/share/opencode/log/opencode.log", "its log"),
	DIRECTORY("~/.local/share/opencode/cordon", INSIDE),
	END_OF_FILES,
};
static const struct agent_host opencode_hosts[] = {
	{ "opencode.ai", "models, by opencode's own service" },
	{ "models.dev", "the list of models" },
	{ "api.anthropic.com", "a model" },
	{ "api.openai.com", "a model" },
	{ "generativelanguage.googleapis.com", "a model" },
	{ "openrouter.ai", "models" },
	END_OF_HOSTS,
};
static const char *const opencode_keys[] = { "OPENCODE_API_KEY",   "ANTHROPIC_API_KEY",
					     "OPENAI_API_KEY",	   "GEMINI_API_KEY",
					     "OPENROUTER_API_KEY", NULL };
static const char *const opencode_variables[] = {
	"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_CONFIG_CONTENT={\"snapshot\": false}",
	"OPENCODE_DB=~/.local/share/opencode/cordon/opencode.db", "XDG_CACHE_HOME=/tmp/cache", NULL
};
static const struct agent_move opencode_moves[] = {
	{ "XDG_CONFIG_HOME", "~/.config" },
	{ "XDG_DATA_HOME", "~/.local/share" },
	{ "XDG_STATE_HOME", "~/.local/state" },
	{ "OPENCODE_CONFIG_DIR", "~/.config/opencode" },
	{ "OPENCODE_CONFIG_CONTENT", NULL },
	{ "OPENCODE_DB", "~/.local/share/opencode/cordon/opencode.db" },
	END_OF_MOVES,
};

/* ---- Copilot CLI ---------------------------------------------------------------------------------------- */

static const struct agent_file copilot_files[] = {
	STATE("~/.copilot"),
	CREDENTIAL("~/.copilot/mcp-oauth-config"),
	READ("~/.copilot/config.json", "settings, hooks, trust, its sign-in"),
	DIRECTORY("~/.copilot/session-state", SESSIONS),
	END_OF_FILES,
};
static const struct agent_host copilot_hosts[] = {
	{ "api.github.com", "sign-in, and what a user may use" },
	{ "github.com", "sign-in" },
	{ "**.githubcopilot.com", "the model" },
	END_OF_HOSTS,
};
static const char *const copilot_keys[] = { "COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY",
					    "COPILOT_PROVIDER_BEARER_TOKEN", NULL };
static const char *const copilot_variables[] = { "COPILOT_AUTO_UPDATE=false",
						 "COPILOT_PKG_CACHE_HOME=/tmp/copilot", NULL };
static const struct agent_move copilot_moves[] = {
	{ "COPILOT_HOME", "~/.copilot" },
	END_OF_MOVES,
};

/* ---- pi --------------------------------------------------------------------------------------------------- */

static const struct agent_file pi_files[] = {
	STATE("~/.pi/agent"),
	/* A key in it that starts with '!' is a command, which pi runs. */
	READ("~/.pi/agent/auth.json", "its keys, which may be commands"),
	DIRECTORY("~/.pi/agent/sessions", SESSIONS),
	END_OF_FILES,
};
static const struct agent_host pi_hosts[] = {
	{ "api.anthropic.com", "a model" },
	{ "api.openai.com", "a model" },
	{ "chatgpt.com", "a model, signed in with ChatGPT" },
	{ "generativelanguage.googleapis.com", "a model" },
	{ "openrouter.ai", "models" },
	END_OF_HOSTS,
};
static const char *const pi_keys[] = { "ANTHROPIC_API_KEY",  "ANTHROPIC_OAUTH_TOKEN",
				       "OPENAI_API_KEY",     "GEMINI_API_KEY",
				       "OPENROUTER_API_KEY", NULL };
static const char *const pi_variables[] = { "PI_SKIP_VERSION_CHECK=1", NULL };
static const struct agent_move pi_moves[] = {
	{ "PI_CODING_AGENT_DIR", "~/.pi/agent" },
	END_OF_MOVES,
};

/* ---- All of them ---------------------------------------------------------------------------------------- */

static const char *const none[] = { NULL };

const struct agent_profile agent_profiles[] = {
	{ "claude", "Claude Code", "claude", claude_files, claude_hosts, claude_keys,
	  claude_variables, claude_words, "--settings", true, claude_moves, NULL, NULL },
	{ "codex", "Codex", "codex", codex_files, codex_hosts, codex_keys, codex_variables,
	  codex_words, NULL, true, codex_moves, NULL, NULL },
	{ "copilot", "Copilot CLI", "copilot", copilot_files, copilot_hosts, copilot_keys,
	  copilot_variables, none, NULL, false, copilot_moves, "~/.copilot/config.json",
	  "{\n  \"firstLaunchAt\": \"2026-01-01T00:00:00.000Z\"\n}\n" },
	{ "gemini", "Gemini CLI", "gemini", gemini_files, gemini_hosts, gemini_keys,
	  gemini_variables, none, NULL, true, gemini_moves, NULL, NULL },
	{ "opencode", "opencode", "opencode", opencode_files, opencode_hosts, opencode_keys,
	  opencode_variables, none, NULL, false, opencode_moves, "~/.config/opencode/.gitignore",
	  "node_modules\npackage.json\npackage-lock.json\nbun.lock\n.gitignore\n" },
	{ "pi", "pi", "pi", pi_files, pi_hosts, pi_keys, pi_variables, none, NULL, false, pi_moves,
	  NULL, NULL },
	{ "qwen", "Qwen Code", "qwen", qwen_files, qwen_hosts, qwen_keys, qwen_variables, none,
	  NULL, true, qwen_moves, "~/.qwen/output-language.md", qwen_language },
};

const size_t agent_profile_count = COUNT_OF(agent_profiles);

static const char prefix[] = ":agent-";

const struct agent_profile *agent_profile_find(struct str name)
{
	for (size_t i = 0; i < agent_profile_count; i++)
		if (str_is(name, agent_profiles[i].name))
			return &agent_profiles[i];
	return NULL;
}

const struct agent_profile *agent_profile_of(struct str profile)
{
	if (!str_has_prefix(profile, STR(":agent-")))
		return NULL;
	return agent_profile_find(str_from(profile, sizeof(prefix) - 1));
}

const struct agent_file *agent_file_find(struct str key)
{
	if (!str_has_prefix(key, STR("~/.")))
		return NULL;
	for (size_t i = 0; i < agent_profile_count; i++)
		for (const struct agent_file *f = agent_profiles[i].files; f->path; f++)
			if (str_is(key, f->path))
				return f;
	return NULL;
}

/* A '*' stands for any one name. */
static bool is_around(struct str pattern, struct str below)
{
	size_t at = 0, next = 0;
	struct str part, name;

	while (path_next(pattern, &at, &part))
		if (!path_next(below, &next, &name) || (!str_is(part, "*") && !str_eq(part, name)))
			return false;
	return true;
}

const struct agent_file *agent_file_around(const struct agent_profile *agent, struct str below)
{
	const struct agent_file *found = NULL;
	size_t depth = 0;

	for (size_t i = 0; i < agent_profile_count; i++) {
		if (agent && agent != &agent_profiles[i])
			continue;
		for (const struct agent_file *f = agent_profiles[i].files; f->path; f++) {
			struct str pattern = str_of(f->path + 2);

			if (!is_around(pattern, below) || path_depth(pattern) <= depth)
				continue;
			found = f;
			depth = path_depth(pattern);
		}
	}
	return found;
}

bool agent_file_is_saved(const struct agent_file *file)
{
	return file->kind == AGENT_SAVED || file->kind == AGENT_SAVED_FILE ||
	       file->kind == AGENT_CREDENTIAL;
}

/* ---- As TOML -------------------------------------------------------------------------------------------- */

static void write_files(struct buf *out, const struct agent_profile *p)
{
	buf_printf(out, "[permissions.'%s%s'.filesystem]\n", prefix, p->name);
	for (const struct agent_file *f = p->files; f->path; f++)
		if (f->kind != AGENT_EACH)
			buf_printf(out, "'%s' = { '.' = '%s' }\n", f->path,
				   agent_file_is_saved(f) ? "write" : "read");
}

static void write_head(struct buf *out, const struct agent_profile *p)
{
	buf_add_text(out, "[permissions.':agent-");
	buf_add_text(out, p->name);
	buf_add_text(out, "']\ndescription = 'the whole of ");
	buf_add_text(out, p->title);
	buf_add_text(out, " inside: work in the repository, its own hosts, no secrets'\n"
			  "extends = ':agent'\n");
}

void agent_profile_write(struct buf *out, const struct agent_profile *p)
{
	write_head(out, p);
	buf_add_text(out, "environment = { include = [");
	for (size_t i = 0; p->keys[i]; i++)
		buf_printf(out, "%s'%s'", i > 0 ? ", " : "", p->keys[i]);
	buf_add_text(out, "] }\n");
	write_files(out, p);
	buf_printf(out, "[permissions.'%s%s'.network.domains]\n", prefix, p->name);
	for (const struct agent_host *h = p->hosts; h->pattern; h++)
		buf_printf(out, "'%s' = 'allow'\n", h->pattern);
}

void agent_profiles_write(struct buf *out)
{
	buf_add_text(out, "[permissions.':agent']\n"
			  "description = 'a coding agent inside as a whole, without hosts of its "
			  "own'\n"
			  "extends = ':workspace'\n"
			  "workspace = 'repo'\n"
			  "git = 'commit'\n"
			  "tmp = 'private'\n"
			  "filesystem = { ':secrets' = { '.' = 'deny' } }\n"
			  "network = { enabled = true, domains = {} }\n");
	for (size_t i = 0; i < agent_profile_count; i++)
		write_head(out, &agent_profiles[i]);
}
