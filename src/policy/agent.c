/* SPDX-License-Identifier: MIT */
/* See agent.h: made from the agents' packages, and tried with them (tests/agents/check_inside.py). */
#include "policy/agent.h"

#include "base/macros.h"

#define STATE(path)                                         \
	{                                                   \
		path, AGENT_STATE, "its sessions and state" \
	}
#define PLACE(path)                                     \
	{                                               \
		path, AGENT_PLACE, "holds what follows" \
	}
#define CREDENTIAL(path)                                  \
	{                                                 \
		path, AGENT_CREDENTIAL, "its own sign-in" \
	}
#define READ(path, reason)               \
	{                                \
		path, AGENT_READ, reason \
	}
#define DIRECTORY(path, reason)                \
	{                                      \
		path, AGENT_OBEYED_DIR, reason \
	}
#define JSON(path, reason)                      \
	{                                       \
		path, AGENT_OBEYED_JSON, reason \
	}
#define TEXT(path, reason)                      \
	{                                       \
		path, AGENT_OBEYED_TEXT, reason \
	}
#define EACH(path, reason)               \
	{                                \
		path, AGENT_EACH, reason \
	}
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

#define SETTINGS     "settings, hooks, MCP servers"
#define INSTRUCTIONS "instructions for every project"
#define COMMANDS     "commands that it offers, with what they run"
#define SUBAGENTS    "agents that it starts, with their tools"
#define SKILLS	     "skills, with scripts that it runs"
#define PLUGINS	     "plugins: code that it loads"
#define PROGRAMS     "programs that it runs"
#define TRUST	     "which directories it trusts"
#define KEYS	     "what a key does"
#define SNAPSHOTS    "scripts that each command of a running session starts with"
#define MEMORY	     "what it remembers of a project, and reads there in each session"
#define SHADOW	     "git directories, whose configuration git obeys outside, too"
#define IDE	     "which editor it connects to"

/* ---- Claude Code -------------------------------------------------------------------------------------- */

static const struct agent_file claude_files[] = {
	STATE("~/.claude"),
	CREDENTIAL("~/.claude/.credentials.json"),
	/* It saves this by rename, which is refused; it works nevertheless. */
	READ("~/.claude.json",
	     "MCP servers, variables, trust; without it, it asks its first questions"),
	JSON("~/.claude/.config.json", "the same, in an older place that goes first"),
	JSON("~/.claude/.claude.json", "the same, where CLAUDE_CONFIG_DIR is set"),
	JSON("~/.claude/settings.json", SETTINGS),
	JSON("~/.claude/settings.local.json", SETTINGS),
	JSON("~/.claude/remote-settings.json", "settings of an organisation"),
	JSON("~/.claude/policy-limits.json", "what an organisation permits"),
	JSON("~/.claude/keybindings.json", KEYS),
	JSON("~/.claude/scheduled_tasks.json", "what it does by the clock"),
	JSON("~/.claude/launch.json", "programs that it starts"),
	JSON("~/.claude/mcp.json", "MCP servers"),
	DIRECTORY("~/.claude/scripts", "where scripts that settings name usually lie"),
	JSON("~/.claude/daemon.json", "what runs in the background"),
	TEXT("~/.claude/CLAUDE.md", INSTRUCTIONS),
	TEXT("~/.claude/loop.md", "what it does again and again"),
	DIRECTORY("~/.claude/agents", SUBAGENTS),
	DIRECTORY("~/.claude/agent-memory", "instructions for those agents"),
	DIRECTORY("~/.claude/commands", COMMANDS),
	DIRECTORY("~/.claude/daemon", "what runs in the background"),
	DIRECTORY("~/.claude/chrome", PROGRAMS),
	DIRECTORY("~/.claude/hooks", "scripts that settings name"),
	DIRECTORY("~/.claude/ide", IDE),
	DIRECTORY("~/.claude/jobs", "what runs in the background"),
	DIRECTORY("~/.claude/local", "Claude itself, where it was installed so"),
	DIRECTORY("~/.claude/output-styles", "instructions"),
	DIRECTORY("~/.claude/plugins", PLUGINS),
	DIRECTORY("~/.claude/routines", "what it does by the clock"),
	DIRECTORY("~/.claude/rules", INSTRUCTIONS),
	DIRECTORY("~/.claude/shell-snapshots", SNAPSHOTS),
	DIRECTORY("~/.claude/skills", SKILLS),
	DIRECTORY("~/.claude/themes", "how it looks"),
	DIRECTORY("~/.claude/workflows", "scripts that it runs"),
	EACH("~/.claude/projects/*/memory", MEMORY),
	EACH("~/.claude/session-env/*", SNAPSHOTS), /* no command starts where it can't make one */
	END_OF_FILES,
};
static const struct agent_host claude_hosts[] = {
	{ "api.anthropic.com", "the model" },
	{ "claude.ai", "sign-in, and whether a page may be fetched" },
	{ "platform.claude.com", "renews the sign-in" },
	END_OF_HOSTS,
};
static const char *const claude_keys[] = { "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
					   "CLAUDE_CODE_OAUTH_TOKEN", NULL };
static const char *const claude_variables[] = { "DISABLE_AUTOUPDATER=1",
						"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1", NULL };
static const char *const claude_words[] = { "--settings", "{\"sandbox\": {\"enabled\": false}}",
					    NULL };
static const struct agent_move claude_moves[] = {
	{ "CLAUDE_CONFIG_DIR", "~/.claude" },
	END_OF_MOVES,
};

/* ---- Codex ---------------------------------------------------------------------------------------------- */

static const struct agent_file codex_files[] = {
	STATE("~/.codex"),
	CREDENTIAL("~/.codex/auth.json"),
	CREDENTIAL("~/.codex/.credentials.json"),
	TEXT("~/.codex/config.toml", "settings, MCP servers, programs to notify, trust"),
	TEXT("~/.codex/managed_config.toml", "settings"),
	TEXT("~/.codex/requirements.toml", "settings"),
	TEXT("~/.codex/environments.toml", "programs that it starts for a session"),
	TEXT("~/.codex/.env", "variables of codex itself"),
	TEXT("~/.codex/AGENTS.md", INSTRUCTIONS),
	TEXT("~/.codex/AGENTS.override.md", INSTRUCTIONS),
	JSON("~/.codex/hooks.json", "hooks"),
	DIRECTORY("~/.codex/hooks", "hooks"),
	DIRECTORY("~/.codex/.tmp", PLUGINS),
	DIRECTORY("~/.codex/agents", SUBAGENTS),
	DIRECTORY("~/.codex/automations", "what it does by the clock"),
	DIRECTORY("~/.codex/bin", PROGRAMS),
	DIRECTORY("~/.codex/memories", INSTRUCTIONS),
	DIRECTORY("~/.codex/packages", "Codex itself, where it was installed so"),
	DIRECTORY("~/.codex/plugins", PLUGINS),
	DIRECTORY("~/.codex/prompts", COMMANDS),
	DIRECTORY("~/.codex/rules", "which commands it runs without asking"),
	DIRECTORY("~/.codex/shell_snapshots", SNAPSHOTS),
	DIRECTORY("~/.codex/skills", SKILLS),
	DIRECTORY("~/.codex/themes", "how it looks"),
	DIRECTORY("~/.codex/vendor_imports", SKILLS),
	END_OF_FILES,
};
static const struct agent_host codex_hosts[] = {
	{ "api.openai.com", "the model, with a key" },
	{ "auth.openai.com", "renews the sign-in" },
	{ "chatgpt.com", "the model, signed in with ChatGPT" },
	END_OF_HOSTS,
};
static const char *const codex_keys[] = { "OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN",
					  NULL };
static const char *const codex_words[] = { "--no-daemon",
					   "--config",
					   "sandbox_mode=\"danger-full-access\"",
					   "--config",
					   "check_for_update_on_startup=false",
					   "--config",
					   "features.shell_snapshot=false",
					   NULL };
static const struct agent_move codex_moves[] = {
	{ "CODEX_HOME", "~/.codex" },
	{ "CODEX_SQLITE_HOME", "~/.codex" },
	END_OF_MOVES,
};

/* ---- Gemini CLI, and Qwen Code, which was made from it ------------------------------------------------ */

static const struct agent_file gemini_files[] = {
	STATE("~/.gemini"),
	PLACE("~/.gemini/tmp"),
	CREDENTIAL("~/.gemini/oauth_creds.json"),
	CREDENTIAL("~/.gemini/gemini-credentials.json"),
	CREDENTIAL("~/.gemini/mcp-oauth-tokens.json"),
	JSON("~/.gemini/settings.json", SETTINGS),
	JSON("~/.gemini/trustedFolders.json", TRUST),
	JSON("~/.gemini/trusted_hooks.json", "which hooks of projects it runs"),
	JSON("~/.gemini/mcp-server-enablement.json", "which MCP servers it starts"),
	JSON("~/.gemini/extension_integrity.json", PLUGINS),
	JSON("~/.gemini/keybindings.json", KEYS),
	TEXT("~/.gemini/.env", "variables, its key among them"),
	TEXT("~/.gemini/GEMINI.md", INSTRUCTIONS),
	TEXT("~/.gemini/AGENTS.md", INSTRUCTIONS),
	TEXT("~/.gemini/sandbox.bashrc", "what its sandbox runs first"),
	TEXT("~/.gemini/system.md", "the system prompt"),
	DIRECTORY("~/.gemini/acknowledgments", "which agents of projects it starts"),
	DIRECTORY("~/.gemini/agents", SUBAGENTS),
	DIRECTORY("~/.gemini/bin", PROGRAMS),
	DIRECTORY("~/.gemini/commands", COMMANDS),
	DIRECTORY("~/.gemini/extensions", PLUGINS),
	DIRECTORY("~/.gemini/policies", "which commands it runs without asking"),
	DIRECTORY("~/.gemini/sandbox.venv", PROGRAMS),
	DIRECTORY("~/.gemini/skills", SKILLS),
	DIRECTORY("~/.gemini/tmp/bin", PROGRAMS),
	EACH("~/.gemini/tmp/*/memory", MEMORY),
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
static const char *const gemini_variables[] = { "GEMINI_SANDBOX=false", NULL };
static const struct agent_move gemini_moves[] = {
	{ "GEMINI_CLI_HOME", "~" },
	END_OF_MOVES,
};

static const struct agent_file qwen_files[] = {
	STATE("~/.qwen"),
	PLACE("~/.qwen/tmp"),
	CREDENTIAL("~/.qwen/oauth_creds.json"),
	CREDENTIAL("~/.qwen/mcp-oauth-tokens.json"),
	JSON("~/.qwen/settings.json", SETTINGS),
	JSON("~/.qwen/trustedFolders.json", TRUST),
	JSON("~/.qwen/keybindings.json", KEYS),
	TEXT("~/.qwen/.env", "variables, its key among them"),
	TEXT("~/.qwen/QWEN.md", INSTRUCTIONS),
	TEXT("~/.qwen/AGENTS.md", INSTRUCTIONS),
	TEXT("~/.qwen/memory.md", INSTRUCTIONS),
	TEXT("~/.qwen/system.md", "the system prompt"),
	DIRECTORY("~/.qwen/agents", SUBAGENTS),
	DIRECTORY("~/.qwen/bin", PROGRAMS),
	DIRECTORY("~/.qwen/channels", "who may talk to it from outside"),
	DIRECTORY("~/.qwen/commands", COMMANDS),
	DIRECTORY("~/.qwen/extensions", PLUGINS),
	DIRECTORY("~/.qwen/hooks", "hooks"),
	DIRECTORY("~/.qwen/ide", IDE),
	DIRECTORY("~/.qwen/locales", "translations, which it loads as code"),
	DIRECTORY("~/.qwen/rules", INSTRUCTIONS),
	DIRECTORY("~/.qwen/skills", SKILLS),
	DIRECTORY("~/.qwen/tmp/bin", PROGRAMS),
	EACH("~/.qwen/projects/*/memory", MEMORY),
	END_OF_FILES,
};
static const struct agent_host qwen_hosts[] = {
	{ "**.dashscope.aliyuncs.com", "the model, with a key, by region" },
	{ "dashscope-intl.aliyuncs.com", "the model, with a key" },
	{ "dashscope-us.aliyuncs.com", "the model, with a key" },
	{ "chat.qwen.ai", "renews the sign-in" },
	{ "portal.qwen.ai", "the model, signed in with Qwen" },
	{ "api.openai.com", "the model, with a key of OpenAI" },
	END_OF_HOSTS,
};
static const char *const qwen_keys[] = { "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY",
					 "OPENAI_API_KEY", NULL };
static const char *const qwen_variables[] = { "QWEN_SANDBOX=false", NULL };
static const struct agent_move qwen_moves[] = {
	{ "QWEN_HOME", "~/.qwen" },
	{ "QWEN_RUNTIME_DIR", "~/.qwen" },
	END_OF_MOVES,
};

/* ---- opencode ------------------------------------------------------------------------------------------- */

static const struct agent_file opencode_files[] = {
	STATE("~/.local/share/opencode"),
	STATE("~/.local/state/opencode"),
	STATE("~/.config/opencode"), /* it does not start where it can't write a .gitignore */
	CREDENTIAL("~/.local/share/opencode/mcp-auth.json"),
	/* An entry in it can name a server whose configuration it loads. */
	JSON("~/.local/share/opencode/auth.json",
	     "its keys, and servers that it takes settings from"),
	JSON("~/.config/opencode/config.json", SETTINGS),
	JSON("~/.config/opencode/opencode.json", SETTINGS),
	JSON("~/.config/opencode/opencode.jsonc", SETTINGS),
	JSON("~/.config/opencode/package.json", PLUGINS),
	JSON("~/.config/opencode/tui.json", KEYS),
	TEXT("~/.config/opencode/AGENTS.md", INSTRUCTIONS),
	TEXT("~/.config/opencode/config", SETTINGS),
	DIRECTORY("~/.config/opencode/agent", SUBAGENTS),
	DIRECTORY("~/.config/opencode/agents", SUBAGENTS),
	DIRECTORY("~/.config/opencode/command", COMMANDS),
	DIRECTORY("~/.config/opencode/commands", COMMANDS),
	DIRECTORY("~/.config/opencode/mode", SUBAGENTS),
	DIRECTORY("~/.config/opencode/modes", SUBAGENTS),
	DIRECTORY("~/.config/opencode/node_modules", PLUGINS),
	DIRECTORY("~/.config/opencode/plugin", PLUGINS),
	DIRECTORY("~/.config/opencode/plugins", PLUGINS),
	DIRECTORY("~/.config/opencode/skill", SKILLS),
	DIRECTORY("~/.config/opencode/skills", SKILLS),
	DIRECTORY("~/.config/opencode/themes", "how it looks"),
	DIRECTORY("~/.config/opencode/tool", PLUGINS),
	DIRECTORY("~/.config/opencode/tools", PLUGINS),
	DIRECTORY("~/.local/share/opencode/bin", PROGRAMS),
	DIRECTORY("~/.local/share/opencode/repos", SHADOW),
	DIRECTORY("~/.local/share/opencode/snapshot", SHADOW),
	DIRECTORY("~/.local/share/opencode/worktree", SHADOW),
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
static const char *const opencode_variables[] = { "OPENCODE_DISABLE_AUTOUPDATE=1",
						  "OPENCODE_CONFIG_CONTENT={\"snapshot\": false}",
						  "XDG_CACHE_HOME=/tmp/cache", NULL };
static const struct agent_move opencode_moves[] = {
	{ "XDG_CONFIG_HOME", "~/.config" },
	{ "XDG_DATA_HOME", "~/.local/share" },
	{ "XDG_STATE_HOME", "~/.local/state" },
	{ "OPENCODE_CONFIG_DIR", "~/.config/opencode" },
	{ "OPENCODE_CONFIG_CONTENT", NULL },
	{ "OPENCODE_DB", "~/.local/share/opencode/opencode.db" },
	END_OF_MOVES,
};

/* ---- Copilot CLI ---------------------------------------------------------------------------------------- */

static const struct agent_file copilot_files[] = {
	STATE("~/.copilot"),
	CREDENTIAL("~/.copilot/mcp-oauth-config"),
	JSON("~/.copilot/config.json", "settings, hooks, trust, its sign-in"),
	JSON("~/.copilot/settings.json", SETTINGS),
	JSON("~/.copilot/mcp-config.json", "MCP servers"),
	JSON("~/.copilot/lsp-config.json", "language servers"),
	JSON("~/.copilot/permissions-config.json", "which commands it runs without asking"),
	TEXT("~/.copilot/copilot-instructions.md", INSTRUCTIONS),
	DIRECTORY("~/.copilot/agents", SUBAGENTS),
	DIRECTORY("~/.copilot/extensions", PLUGINS),
	DIRECTORY("~/.copilot/hooks", "hooks"),
	DIRECTORY("~/.copilot/ide", IDE),
	DIRECTORY("~/.copilot/installed-plugins", PLUGINS),
	DIRECTORY("~/.copilot/instructions", INSTRUCTIONS),
	DIRECTORY("~/.copilot/marketplace-cache", PLUGINS),
	DIRECTORY("~/.copilot/pkg", "Copilot itself: it starts the newest that it finds there"),
	DIRECTORY("~/.copilot/plugins", PLUGINS),
	DIRECTORY("~/.copilot/skills", SKILLS),
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
	/* A key in these that starts with '!' is a command, which pi runs. */
	JSON("~/.pi/agent/auth.json", "its keys, which may be commands"),
	JSON("~/.pi/agent/models.json", "models with their keys, which may be commands"),
	JSON("~/.pi/agent/settings.json", "settings, its shell, packages"),
	JSON("~/.pi/agent/keybindings.json", KEYS),
	TEXT("~/.pi/agent/AGENTS.md", INSTRUCTIONS),
	TEXT("~/.pi/agent/CLAUDE.md", INSTRUCTIONS),
	TEXT("~/.pi/agent/SYSTEM.md", "the system prompt"),
	TEXT("~/.pi/agent/APPEND_SYSTEM.md", "the system prompt"),
	DIRECTORY("~/.pi/agent/bin", PROGRAMS),
	DIRECTORY("~/.pi/agent/extensions", PLUGINS),
	DIRECTORY("~/.pi/agent/git", PLUGINS),
	DIRECTORY("~/.pi/agent/hooks", "hooks"),
	DIRECTORY("~/.pi/agent/npm", PLUGINS),
	DIRECTORY("~/.pi/agent/prompts", COMMANDS),
	DIRECTORY("~/.pi/agent/skills", SKILLS),
	DIRECTORY("~/.pi/agent/themes", "how it looks"),
	DIRECTORY("~/.pi/agent/tools", PLUGINS),
	END_OF_FILES,
};
static const struct agent_host pi_hosts[] = {
	{ "api.anthropic.com", "a model" },
	{ "platform.claude.com", "renews the sign-in" },
	{ "api.openai.com", "a model" },
	{ "auth.openai.com", "renews the sign-in" },
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
	  claude_variables, claude_words, "--settings", "--settings has sandbox.enabled=false",
	  claude_moves, NULL, NULL },
	{ "codex", "Codex", "codex", codex_files, codex_hosts, codex_keys, none, codex_words, NULL,
	  "sandbox_mode=\"danger-full-access\"", codex_moves, NULL, NULL },
	{ "copilot", "Copilot CLI", "copilot", copilot_files, copilot_hosts, copilot_keys,
	  copilot_variables, none, NULL, NULL, copilot_moves, "~/.copilot/config.json",
	  "{\n  \"firstLaunchAt\": \"2026-01-01T00:00:00.000Z\"\n}\n" },
	{ "gemini", "Gemini CLI", "gemini", gemini_files, gemini_hosts, gemini_keys,
	  gemini_variables, none, NULL, "GEMINI_SANDBOX=false", gemini_moves, NULL, NULL },
	{ "opencode", "opencode", "opencode", opencode_files, opencode_hosts, opencode_keys,
	  opencode_variables, none, NULL, NULL, opencode_moves, NULL, NULL },
	{ "pi", "pi", "pi", pi_files, pi_hosts, pi_keys, pi_variables, none, NULL, NULL, pi_moves,
	  NULL, NULL },
	{ "qwen", "Qwen Code", "qwen", qwen_files, qwen_hosts, qwen_keys, qwen_variables, none,
	  NULL, "QWEN_SANDBOX=false", qwen_moves, NULL, NULL },
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

/* ---- As TOML -------------------------------------------------------------------------------------------- */

static void write_files(struct buf *out, const struct agent_profile *p)
{
	buf_printf(out, "[permissions.'%s%s'.filesystem]\n", prefix, p->name);
	for (const struct agent_file *f = p->files; f->path; f++)
		if (f->kind != AGENT_PLACE && f->kind != AGENT_EACH)
			buf_printf(out, "'%s' = { '.' = '%s' }\n", f->path,
				   f->kind == AGENT_STATE || f->kind == AGENT_CREDENTIAL ? "write"
											 : "read");
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
