/* SPDX-License-Identifier: MIT */
/* cordon init: a configuration to start from. */
#include <string.h>

#include "cli/cli.h"

const char about_init[] =
	"Writes a commented configuration to FILE, by default ~/.config/cordon/config.toml.\n"
	"An existing file is kept, unless --force is given. '-' is the standard output.";

int cmd_init(const struct args *args)
{
	uint32_t flags = args_have(args, OPT_FORCE) ? CORDON_INIT_REPLACE : 0;
	cordon_report *report;
	cordon_error *error;

	if (args->operand && strcmp(args->operand, "-") == 0) {
		(void)fputs(cordon_starter_config(), stdout);
		return finish_output(0);
	}
	if (cordon_init(&args->load, args->operand, flags, &report, &error) < 0)
		return finish_error(args, error);
	return finish_report(args, report);
}
