/* SPDX-License-Identifier: MIT */
/* The options, once: parsing, help, and the tests of man page and completions read this. */
#include "cli/cli.h"

const struct option options[] = {
	{ OPT_PROFILE, 'P', "profile", "NAME", "use this profile" },
	{ OPT_MODE, 0, "mode", "MODE", "read-only, workspace-write or danger-full-access" },
	{ OPT_DIRECTORY, 'C', NULL, "DIR", "take DIR as the working directory" },
	{ OPT_CONFIG_FILE, 0, "config-file", "FILE", "read FILE in place of your configuration" },
	{ OPT_CONFIG, 0, "config", "KEY=VALUE", "set a key for this call; may be repeated" },
	{ OPT_ENABLE, 0, "enable", "FEATURE", "the same as --config features.FEATURE=true" },
	{ OPT_DISABLE, 0, "disable", "FEATURE", "the same as --config features.FEATURE=false" },
	{ OPT_READ, 0, "read", NULL, "answer yes or no: may it be read?" },
	{ OPT_WRITE, 0, "write", NULL, "answer yes or no: may it be written?" },
	{ OPT_PATH, 0, "path", NULL, "it is a path, whatever it looks like" },
	{ OPT_HOST, 0, "host", NULL, "it is a host, whatever it looks like" },
	{ OPT_PLATFORM, 0, "platform", "NAME", "for linux, macos or windows, not this system" },
	{ OPT_SYNTAX_ONLY, 0, "syntax-only", NULL, "judge only whether FILE is TOML 1.0" },
	{ OPT_FORCE, 0, "force", NULL, "replace an existing file" },
	{ OPT_JSON, 0, "json", NULL, "print JSON, for programs" },
	{ OPT_QUIET, 'q', "quiet", NULL, "print the bare answer, no warnings or advice" },
	{ OPT_HELP_SHORT, 'h', NULL, NULL, "a short help" },
	{ OPT_HELP, 0, "help", NULL, "the full help" },
	{ OPT_VERSION, 'V', "version", NULL, "the version" },
};

const size_t option_count = COUNT_OF(options);

_Static_assert(COUNT_OF(options) <= MAX_KNOWN && COUNT_OF(options) <= 32, "room for all options");
