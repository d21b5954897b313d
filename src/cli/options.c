/* SPDX-License-Identifier: MIT */
/* The options, once: parsing, help, and the tests of man page and completions read this. */
#include <string.h>

#include "cli/cli.h"

const struct option options[] = {
	{ OPT_PROFILE, GROUP_POLICY, 'P', "profile", "NAME", "use this profile" },
	{ OPT_MODE, GROUP_POLICY, 0, "mode", "MODE",
	  "read-only, workspace-write or danger-full-access" },
	{ OPT_FULL_AUTO, GROUP_POLICY, 0, "full-auto", NULL,
	  "--mode workspace-write, by itself with no network" },
	{ OPT_DIRECTORY, GROUP_POLICY, 'C', "cd", "DIR", "take DIR as the working directory" },
	{ OPT_WORKSPACE, GROUP_POLICY, 0, "workspace", "DIR",
	  "the workspace, wherever the command is run" },
	{ OPT_ADD_READ, GROUP_POLICY, 0, "add-read", "PATH", "let PATH be read; may be repeated" },
	{ OPT_ADD_WRITE, GROUP_POLICY, 0, "add-write", "PATH",
	  "let PATH be written; may be repeated" },
	{ OPT_DENY, GROUP_POLICY, 0, "deny", "PATH", "let PATH not even be read; may be repeated" },
	{ OPT_UNPROTECT, GROUP_POLICY, 0, "unprotect", "NAME",
	  "let NAME (.vscode, ...) be changed; may be repeated" },
	{ OPT_NETWORK, GROUP_POLICY, 0, "network", "WHICH",
	  "off, managed or full, not what the profile says" },
	{ OPT_ALLOW_HOST, GROUP_POLICY, 0, "allow-host", "PATTERN",
	  "let these hosts be reached; may be repeated" },
	{ OPT_DENY_HOST, GROUP_POLICY, 0, "deny-host", "PATTERN",
	  "let these hosts not be reached; may be repeated" },
	{ OPT_ALLOW_SOCKET, GROUP_POLICY, 0, "allow-socket", "PATH",
	  "let this unix socket of the host be used; may be repeated" },
	{ OPT_CONFIG_FILE, GROUP_POLICY, 0, "config-file", "FILE",
	  "read FILE in place of your configuration" },
	{ OPT_CONFIG, GROUP_POLICY, 'c', "config", "KEY=VALUE",
	  "set a key for this call; may be repeated" },
	{ OPT_ENABLE, GROUP_POLICY, 0, "enable", "FEATURE",
	  "the same as --config features.FEATURE=true" },
	{ OPT_DISABLE, GROUP_POLICY, 0, "disable", "FEATURE",
	  "the same as --config features.FEATURE=false" },
	{ OPT_PLATFORM, GROUP_POLICY, 0, "platform", "NAME",
	  "for linux, macos or windows, not this system" },
	{ OPT_TIMEOUT, GROUP_RUN, 0, "timeout", "TIME", "end it after TIME: 90, 250ms, 5m, 1h" },
	{ OPT_ENV, GROUP_RUN, 0, "env", "NAME[=VALUE]",
	  "set NAME for it, or pass NAME on; may be repeated" },
	{ OPT_BACKEND, GROUP_RUN, 0, "backend", "NAME",
	  "native, bwrap or landlock; none is no sandbox at all" },
	{ OPT_SANDBOX, GROUP_RUN, 0, "sandbox", "WHEN",
	  "auto, require (accept no loss) or forbid (no sandbox)" },
	{ OPT_ACCEPT_MISSING, GROUP_RUN, 0, "accept-missing", "NAME",
	  "do without this guarantee; may be repeated" },
	{ OPT_PUBLISH, GROUP_RUN, 0, "publish", "[ADDR:]OUT:PORT",
	  "its PORT as port OUT of this host; may be repeated" },
	{ OPT_HOST_PORT, GROUP_RUN, 0, "host-port", "PORT",
	  "this host's local PORT as its own; may be repeated" },
	{ OPT_AUDIT, GROUP_RUN, 0, "audit", "FILE", "log decisions on the network to FILE" },
	{ OPT_LISTEN, GROUP_RUN, 0, "listen", "ADDR:PORT",
	  "where the proxy listens; 127.0.0.1:0 without it" },
	{ OPT_TOKEN_FILE, GROUP_RUN, 0, "token-file", "FILE",
	  "its clients have to show what is in FILE" },
	{ OPT_TOKEN_ENV, GROUP_RUN, 0, "token-env", "NAME", "the same from the variable NAME" },
	{ OPT_DRY_RUN, GROUP_RUN, 0, "dry-run", NULL, "say what would be done, and run nothing" },
	{ OPT_REPORT, GROUP_RUN, 0, "report", "FILE",
	  "write what happened to FILE, as JSON; '-' is stdout" },
	{ OPT_TRACE, GROUP_RUN, 0, "trace", NULL, "tell of paths and decisions on stderr" },
	{ OPT_READ, GROUP_QUESTION, 0, "read", NULL, "answer yes or no: may it be read?" },
	{ OPT_WRITE, GROUP_QUESTION, 0, "write", NULL, "answer yes or no: may it be written?" },
	{ OPT_PATH, GROUP_QUESTION, 0, "path", NULL, "it is a path, whatever it looks like" },
	{ OPT_HOST, GROUP_QUESTION, 0, "host", NULL, "it is a host, whatever it looks like" },
	{ OPT_SYNTAX_ONLY, GROUP_QUESTION, 0, "syntax-only", NULL,
	  "judge only whether FILE is TOML 1.0" },
	{ OPT_FORCE, GROUP_QUESTION, 0, "force", NULL, "replace an existing file" },
	{ OPT_CLEAN, GROUP_QUESTION, 0, "clean", NULL, "remove what dead runs have left behind" },
	{ OPT_FOLLOW, GROUP_QUESTION, 0, "follow", NULL, "go on with what is written later" },
	{ OPT_SUMMARY, GROUP_QUESTION, 0, "summary", NULL, "add up for each host" },
	{ OPT_RUN, GROUP_QUESTION, 0, "run", "ID", "only of this run; 'last' is the last one" },
	{ OPT_DENIED, GROUP_QUESTION, 0, "denied", NULL, "only what was refused" },
	{ OPT_SINCE, GROUP_QUESTION, 0, "since", "TIME",
	  "from then on: 90s, 10m or 2h ago, or 2026-01-02" },
	{ OPT_JSON, GROUP_OUTPUT, 0, "json", NULL, "print JSON, for programs; errors too" },
	{ OPT_QUIET, GROUP_OUTPUT, 'q', "quiet", NULL, "no warnings or advice: the bare answer" },
	{ OPT_HELP_SHORT, GROUP_OUTPUT, 'h', NULL, NULL, "a short help" },
	{ OPT_HELP, GROUP_OUTPUT, 0, "help", NULL, "the full help" },
	{ OPT_VERSION, GROUP_OUTPUT, 'V', "version", NULL, "the version" },
};

const size_t option_count = COUNT_OF(options);

_Static_assert(COUNT_OF(options) <= MAX_KNOWN && COUNT_OF(options) <= 64, "room for all options");

static bool is_named(const struct option *option, const char *name, size_t length)
{
	return option->name && strlen(option->name) == length &&
	       memcmp(option->name, name, length) == 0;
}

const struct option *option_find(const char *word, const char **value)
{
	bool is_long = word[1] == '-';
	size_t length = is_long ? strcspn(word + 2, "=") : 0;

	*value = NULL;
	if (is_long && word[2 + length] == '=')
		*value = word + 2 + length + 1;
	else if (!is_long && word[2])
		*value = word + 2;
	for (size_t i = 0; i < option_count; i++)
		if (is_long ? is_named(&options[i], word + 2, length)
			    : options[i].letter == word[1])
			return &options[i];
	return NULL;
}
