/* SPDX-License-Identifier: MIT */
/* The program `cordon`: finds the command and runs it. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/cli.h"

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
