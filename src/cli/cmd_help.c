/* SPDX-License-Identifier: MIT */
/* cordon help, cordon version. */
#include "cli/cli.h"

const char about_help[] = "Same as 'cordon COMMAND --help'.";

const char about_version[] = "Same as 'cordon --version'.";

int cmd_help(const struct args *args)
{
	const struct command *command = NULL;

	if (args->operand) {
		command = command_find(args->operand);
		if (!command) {
			complain_usage(args,
				       "there is no command '%s'; 'cordon help' lists the commands",
				       args->operand);
			return EXIT_CORDON;
		}
	}
	help_print(stdout, command, true);
	return finish_output(0);
}

int cmd_version(const struct args *args)
{
	(void)args;
	(void)printf("cordon %s\n", cordon_version());
	return finish_output(0);
}
