/* SPDX-License-Identifier: MIT */
/* The program `cordon`: finds the command and runs it. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/cli.h"

#define ABOUT_RUN                                                                                 \
	"Runs COMMAND so that it can touch only what the policy allows, or not at all. Without\n" \
	"options it may read everything, write nothing, and has no network. Options end at the\n" \
	"first word of COMMAND. Its input, output, terminal and signals are those of cordon.\n"   \
	"\n"                                                                                      \
	"  cordon run -- git log                look, and change nothing\n"                       \
	"  cordon run --full-auto -- make test  may write here and in /tmp, no network\n"         \
	"  cordon run -P dev -- npm test        with a profile of your configuration\n"           \
	"  cordon run --dry-run -- git log      what would be enforced, and how\n"                \
	"  cordon run --allow-host example.org -- curl -sS https://example.org/\n"                \
	"                                       that host, and no other\n"                        \
	"\n"                                                                                      \
	"The status is that of COMMAND, 128+n when signal n killed it, 124 after --timeout,\n"    \
	"126 or 127 when it could not be executed or found, and 125 when Cordon refused or\n"     \
	"failed. 'cordon why PATH' and 'cordon why HOST' say why something was refused."

const struct command commands[] = {
	{ "run", cmd_run, "run a command that can touch only what is allowed",
	  "[--] COMMAND [ARG...]", ABOUT_RUN, OPTS_POLICY | OPTS_RUN | OPTS_OUTPUT,
	  OPERANDS_ARE_A_COMMAND },
	{ "sandbox", cmd_run, "the same as run", "[--] COMMAND [ARG...]", ABOUT_RUN,
	  OPTS_POLICY | OPTS_RUN | OPTS_OUTPUT, OPERANDS_ARE_A_COMMAND },
	{ "init", cmd_init, "write a commented starter configuration", "[FILE]",
	  "Writes a configuration to start from to FILE, by default to your own,\n"
	  "~/.config/cordon/config.toml. An existing file is left alone. '-' is the standard\n"
	  "output.",
	  OPT_BIT(OPT_FORCE) | OPTS_OUTPUT, 1 },
	{ "check", cmd_check, "say what is wrong with a configuration", "[FILE]",
	  "Checks every layer of the configuration and every profile in it, and lists the\n"
	  "errors and warnings. FILE is read in place of your own configuration; '-' is the\n"
	  "standard input.",
	  OPTS_CONFIG | OPTS_OUTPUT | OPT_BIT(OPT_SYNTAX_ONLY), 1 },
	{ "profiles", cmd_profiles, "list the profiles, or show one", "[NAME]",
	  "Lists the profiles that there are. With NAME, shows what that profile amounts to\n"
	  "after all that it extends, and what :minimal and :secrets stand for.",
	  OPTS_CONFIG | OPTS_OUTPUT, 1 },
	{ "why", cmd_why, "say what is allowed for a path or host, and why", "PATH|HOST[:PORT]",
	  "Says what may be done with a path (deny, read or write) or a host (allow, deny or\n"
	  "ask), which rule decides and where it is written, which rules lost, and the\n"
	  "smallest edit that would change the answer. What has a '/', begins with '.' or '~',\n"
	  "or is the name of a file here, is a path; all else is a host. Nothing is resolved,\n"
	  "nothing is run. With the options of a run the answer is for that run. The status is\n"
	  "0 for yes, 1 for no (denied, or less than --read or --write asks for), 125 for an\n"
	  "error.",
	  OPTS_POLICY | OPTS_OUTPUT | OPT_BIT(OPT_READ) | OPT_BIT(OPT_WRITE) | OPT_BIT(OPT_PATH) |
		  OPT_BIT(OPT_HOST),
	  1 },
	{ "explain", cmd_explain, "show what the policy means here", "",
	  "Shows the profile in force, its rules as they apply to the files of this host, the\n"
	  "guarantees that it needs from an enforcement and which rule needs each, what is\n"
	  "protected, the network, the environment and the limits.",
	  OPTS_POLICY | OPTS_OUTPUT | OPT_BIT(OPT_PLATFORM), 0 },
	{ "doctor", cmd_doctor, "show what this host can enforce", "",
	  "Runs a probe in a sandbox of each backend and says, for each guarantee, whether it\n"
	  "holds here and how that was found out, and what would fix what does not. The status\n"
	  "is 0 when the default profile, or the one named, can be enforced here, else 1.\n"
	  "--clean also removes what runs that were killed have left behind.",
	  OPTS_CONFIG | OPTS_OUTPUT | OPT_BIT(OPT_CLEAN), 0 },
	{ "audit", cmd_audit, "show what was asked of the network, and what was refused", "[FILE]",
	  "Shows the audit log, which runs with a managed network write, or FILE: one line for\n"
	  "each decision, oldest first, with who asked, for what, how much went each way, and\n"
	  "which rule decided. --summary adds it all up for each host; --follow goes on.\n"
	  "With --json each line is an entry as it is in the log.",
	  OPTS_OUTPUT | OPT_BIT(OPT_FOLLOW) | OPT_BIT(OPT_SUMMARY) | OPT_BIT(OPT_RUN) |
		  OPT_BIT(OPT_DENIED) | OPT_BIT(OPT_SINCE),
	  1 },
	{ "proxy", cmd_proxy, "serve programs that are not run by cordon", "",
	  "Starts the filtering proxy of a managed network alone: HTTP and SOCKS5 at one port,\n"
	  "by the rules of the profile in force. Prints one line of JSON with the addresses when\n"
	  "it is ready, and serves until SIGTERM or SIGINT; SIGHUP reads the rules anew. Nothing\n"
	  "forces a program to use it: that is what 'cordon run' is for.",
	  OPTS_CONFIG | OPTS_OUTPUT | OPT_BIT(OPT_NETWORK) | OPT_BIT(OPT_ALLOW_HOST) |
		  OPT_BIT(OPT_DENY_HOST) | OPT_BIT(OPT_LISTEN) | OPT_BIT(OPT_AUDIT) |
		  OPT_BIT(OPT_TOKEN_FILE) | OPT_BIT(OPT_TOKEN_ENV),
	  0 },
	{ "help", cmd_help, "show help, also for one command", "[COMMAND]",
	  "The same as 'cordon COMMAND --help'.", 0, 1 },
	{ "version", cmd_version, "show the version", "", "The same as 'cordon --version'.", 0, 0 },
	{ .name = NULL },
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}

/* Where it ends is a SIGSEGV, which looks like the command's. */
static bool has_stack(void)
{
	enum { NEEDED_KIB = 256 };
	struct rlimit limit;
	char text[200];

	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= NEEDED_KIB * 1024)
		return true;
	(void)snprintf(text, sizeof(text),
		       "the stack may have %llu KiB only, and cordon needs %d: raise ulimit -s; "
		       "for the command alone a shell in the sandbox can lower it",
		       (unsigned long long)limit.rlim_cur / 1024, NEEDED_KIB);
	print_error(text);
	return false;
}

int main(int argc, char **argv)
{
	static struct args args; /* zeros; most of it is never touched */
	int inner = cordon_inner_main(argc, argv);

	if (inner >= 0)
		return inner;
	if (!has_stack())
		return EXIT_CORDON;
	if (argc > 0 && shell_is_meant(argv[0]))
		return shell_main(&args, argc, argv);
	if (!args_parse(&args, argc, argv))
		return EXIT_CORDON;
	if (args_have(&args, OPT_HELP) || args_have(&args, OPT_HELP_SHORT)) {
		help_print(stdout, args.command, args_have(&args, OPT_HELP));
		return finish_output(0);
	}
	if (args_have(&args, OPT_VERSION))
		return cmd_version(&args);
	if (!args.command) {
		help_print(stderr, NULL, false);
		return EXIT_CORDON;
	}
	return args.command->run(&args);
}
