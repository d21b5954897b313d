/* SPDX-License-Identifier: MIT */
/*
 * See metadata.h. Each name that is missing costs time at every start, so there has to
 * be a reason for it. Directories come first: where there are sockets, the lock of
 * .cordon is theirs, too (linux/placeholder/placeholder.c).
 */
#include "policy/metadata.h"

#include <string.h>

#define METADATA_FIRST ".oc" /* the first bytes of all names */

#define DIRECTORY(name, reason)                          \
	{                                                \
		name, METADATA_DIR, STAND_IN_DIR, reason \
	}
#define PASSED_OVER(name, reason)                           \
	{                                                   \
		name, METADATA_DIR, STAND_IN_SOCKET, reason \
	}
#define PLAIN_FILE(name, reason)                             \
	{                                                    \
		name, METADATA_FILE, STAND_IN_SOCKET, reason \
	}

const struct metadata_name metadata_names[] = {
	DIRECTORY(".git", "git runs its hooks and what its config names"),
	DIRECTORY(METADATA_OWN, "Cordon reads the project's policy in it"),
	DIRECTORY(".agents", "agents load skills and plugins from it"),
	DIRECTORY(".codex", "Codex: settings, hooks, MCP servers, rules"),
	DIRECTORY(".claude", "Claude Code: settings, hooks, commands, plugins"),
	DIRECTORY(".gemini", "Gemini CLI: settings, MCP servers, extensions"),
	DIRECTORY(".qwen", "Qwen Code: settings, hooks, MCP servers"),
	DIRECTORY(".opencode", "opencode: plugins, tools, commands"),
	DIRECTORY(".pi", "pi: settings, extensions"),
	DIRECTORY(".cursor", "Cursor: MCP servers, hooks, sandbox and command settings"),
	DIRECTORY(".windsurf", "Windsurf: hooks"),
	DIRECTORY(".continue", "Continue: MCP servers, configuration"),
	DIRECTORY(".roo", "Roo Code: MCP servers"),
	DIRECTORY(".kilocode", "Kilo Code: MCP servers"),
	DIRECTORY(".kiro", "Kiro: hooks, MCP servers"),
	DIRECTORY(".amazonq", "Amazon Q: agents, MCP servers"),
	DIRECTORY(".factory", "Factory: settings, hooks, MCP servers"),
	DIRECTORY(".amp", "Amp: settings, MCP servers, plugins"),
	DIRECTORY(".clinerules/hooks", "Cline runs what is in it"),
	DIRECTORY(".github/hooks", "Copilot runs the hooks in it"),
	DIRECTORY(".github/extensions", "Copilot runs the extensions in it"),
	DIRECTORY(".github/copilot", "Copilot: settings of the repository"),
	DIRECTORY(".vscode", "VS Code: tasks, settings that name programs, MCP servers"),
	DIRECTORY(".idea", "JetBrains: run configurations, file watchers, start-up tasks"),
	DIRECTORY(".devcontainer", "editors run its commands when they open the folder"),
	DIRECTORY(".zed", "Zed: tasks, settings that name language servers"),
	PASSED_OVER(".helix", "Helix: settings that name language servers"),
	PASSED_OVER(".husky", "git runs its hooks where core.hooksPath leads there"),
	PASSED_OVER(".githooks", "git runs its hooks where core.hooksPath leads there"),
	PASSED_OVER(".hg", "Mercurial: hooks and extensions of its hgrc"),
	PASSED_OVER(".sl", "Sapling: hooks and extensions of its config"),
	PASSED_OVER(".jj", "Jujutsu: programs that its config names"),
	PLAIN_FILE(".mcp.json", "Claude Code, Copilot and others start the servers in it"),
	PLAIN_FILE("opencode.json", "opencode: MCP servers, plugins, permissions"),
	PLAIN_FILE("opencode.jsonc", "opencode: MCP servers, plugins, permissions"),
	PLAIN_FILE("crush.json", "Crush: MCP and language servers"),
	PLAIN_FILE(".crush.json", "Crush: MCP and language servers"),
	PLAIN_FILE(".aider.conf.yml", "aider: commands for linting and testing"),
	PLAIN_FILE(".continuerc.json", "Continue: configuration"),
	PLAIN_FILE(".devcontainer.json", "editors run its commands when they open the folder"),
	PLAIN_FILE(".github/mcp.json", "Copilot starts the servers in it"),
	PLAIN_FILE(".github/lsp.json", "Copilot starts the language servers in it"),
};

_Static_assert(COUNT_OF(metadata_names) <= METADATA_MAX_NAMES, "a few dozen");

const size_t metadata_name_count = COUNT_OF(metadata_names);

#define INSTRUCTIONS "agents take it for instructions"
#define HOOKS	     "git runs what it names, where its tool was installed as a hook"

const struct metadata_reported metadata_reported[] = {
	{ "CLAUDE.md", INSTRUCTIONS },
	{ "CLAUDE.local.md", INSTRUCTIONS },
	{ "AGENTS.md", INSTRUCTIONS },
	{ "AGENTS.override.md", INSTRUCTIONS },
	{ "GEMINI.md", INSTRUCTIONS },
	{ "QWEN.md", INSTRUCTIONS },
	{ ".cursorrules", INSTRUCTIONS },
	{ ".windsurfrules", INSTRUCTIONS },
	{ ".clinerules", INSTRUCTIONS },
	{ ".goosehints", INSTRUCTIONS },
	{ ".github/copilot-instructions.md", INSTRUCTIONS },
	{ ".pre-commit-config.yaml", HOOKS },
	{ "lefthook.yml", HOOKS },
	{ "lefthook-local.yml", HOOKS },
	{ ".lefthook.yml", HOOKS },
	{ ".overcommit.yml", HOOKS },
};

const size_t metadata_reported_count = COUNT_OF(metadata_reported);

const struct metadata_name *metadata_find(struct str name)
{
	/* Asked of every name in a tree. */
	if (name.len == 0 || !strchr(METADATA_FIRST, name.p[0]))
		return NULL;
	for (size_t i = 0; i < metadata_name_count; i++)
		if (str_is(name, metadata_names[i].name))
			return &metadata_names[i];
	return NULL;
}
