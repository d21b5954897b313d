/* SPDX-License-Identifier: MIT */
/* The commands that this version does not have on Windows: the library says so, or there is nothing to call. */
#include <stdio.h>

#include "cli/cli.h"

#define NOT_BUILT "This command is not built for Windows in this version.\n"

const char about_doctor[] = NOT_BUILT;
const char about_mcp[] = NOT_BUILT;

static int refuse(const struct args *args)
{
	complain(args, "other_platform", "'cordon %s' is not built for Windows in this version",
		 args->command->name);
	return EXIT_CORDON;
}

int cmd_doctor(const struct args *args)
{
	return refuse(args);
}

int cmd_mcp(const struct args *args)
{
	return refuse(args);
}

bool wrapper_is_meant(const char *argv0)
{
	(void)argv0;
	return false;
}

int wrapper_main(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_CORDON;
}
