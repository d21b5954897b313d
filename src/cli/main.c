/* SPDX-License-Identifier: MIT */
/* The program `cordon`: finds the command and runs it. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/system.h"

const struct command commands[COMMAND_COUNT] = {
#define COMMAND_ROW(id, name, operands, max, completion, summary) \
	{ COMMAND_WORD(name), cmd_##name, summary, operands, about_##name, max },
	COMMANDS(COMMAND_ROW)
};

bool command_takes(const struct command *command, const struct option *option)
{
	if (!command)
		return option->commands == FOR_ALL || option->commands == FOR_NONE;
	return (option->commands >> (command - commands) & 1) != 0;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	static struct args args; /* zeros; most of it is never touched */
	int inner = cordon_inner_main(argc, argv);

	if (inner >= 0)
		return inner;
	if (!system_begin(&argc, &argv))
		return hook_is_meant(argc, argv) ? EXIT_BLOCKS : EXIT_CORDON;
	if (argc > 0 && shell_is_meant(argv[0]))
		return shell_main(&args, argc, argv);
	if (argc > 0 && patch_is_meant(argc, argv))
		return patch_main(&args, argc, argv);
	if (argc > 0 && wrapper_is_meant(argv[0]))
		return wrapper_main(argc, argv);
	if (hook_is_meant(argc, argv))
		return hook_main(&args, argc, argv);
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
