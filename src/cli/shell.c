/* SPDX-License-Identifier: MIT */
/*
 * cordon-sh: a shell for programs that want one. Which shell, and under which policy, the
 * configuration and the environment say; all words are that shell's, so that whatever it can
 * be asked for works. One thing is added: a single word that is no option is a whole command
 * line, since that is how some programs call a prefix for their commands.
 */
#include <string.h>

#include "cli/cli.h"

#define SHELL_NAME "cordon-sh"

bool shell_is_meant(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');
	const char *name = slash ? slash + 1 : argv0;

	/* login(1) and its like put a dash before it. */
	return strcmp(name[0] == '-' ? name + 1 : name, SHELL_NAME) == 0;
}

int shell_main(struct args *args, int argc, char **argv)
{
	static char option[] = "-c";
	static char *line[4]; /* the name, -c, the line, the end */

	args->command = command_find("run");
	args->words = argv;
	if (argc == 2 && argv[1][0] != '-' && argv[1][0] != '+') {
		line[0] = argv[0];
		line[1] = option;
		line[2] = argv[1];
		args->words = line;
	}
	args->is_shell = true;
	args->load.size = sizeof(args->load);
	return cmd_run(args);
}
