/* SPDX-License-Identifier: MIT */
/*
 * cordon hook: what a coding agent calls before and after its tools. On stdout there is only what the agent is
 * to read. SECURITY: every failure ends with the status that agents take for a refusal, with the reason on
 * stderr; agents go on after any other. Nothing else may be there, as some read both.
 */
#include <string.h>

#include "cli/cli.h"

const char about_hook[] =
	"Reads a call of a tool on its standard input, as the agent AGENT (claude, gemini,\n"
	"opencode or qwen) writes it to its hooks, and answers in its form. Before a tool that\n"
	"reads or writes files it refuses what the policy does not allow, or has the agent ask;\n"
	"after one that runs commands it tells the model what cordon-sh has refused to them,\n"
	"and whom to ask. It never allows. This is advice: only what runs in Cordon is held by\n"
	"it. Exit status: 0, or 2 for any failure, which the agent takes for a refusal.";

enum { INPUT_ROOM = (10 << 20) + 1 };

static int block(const struct args *args, cordon_error *error)
{
	(void)finish_error(args, error);
	return EXIT_BLOCKS;
}

bool hook_is_meant(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "hook") == 0;
}

int hook_main(struct args *args, int argc, char **argv)
{
	if (!args_parse(args, argc, argv))
		return EXIT_BLOCKS;
	if (args_have(args, OPT_HELP) || args_have(args, OPT_HELP_SHORT)) {
		help_print(stdout, args->command, args_have(args, OPT_HELP));
		return finish_output(0);
	}
	return cmd_hook(args);
}

int cmd_hook(const struct args *args)
{
	struct cordon_load_options load = args->load;
	cordon_report *report;
	cordon_error *error;
	const char *text;
	size_t length;

	if (!args->operand) {
		complain_usage(args,
			       "'cordon hook' needs the agent: claude, gemini, opencode or qwen");
		return EXIT_BLOCKS;
	}
	text = read_input(INPUT_ROOM, &length);
	if (!text)
		return EXIT_BLOCKS;
	if (cordon_hook(&load, args->operand, text, length, &report, &error) < 0)
		return block(args, error);
	return finish_answer(args, report, 0) ? EXIT_BLOCKS : 0;
}
