/* SPDX-License-Identifier: MIT */
/* cordon check: what is wrong with a configuration. */
#include "cli/cli.h"

const char about_check[] =
	"Checks every layer of the configuration and every profile in it, and lists errors and\n"
	"warnings. With FILE, that file replaces your own configuration; '-' is the standard\n"
	"input.";

static int check_syntax(const struct args *args)
{
	cordon_report *report;
	cordon_error *error;

	if (!args->operand) {
		complain_usage(args, "--syntax-only needs a FILE to check");
		return EXIT_CORDON;
	}
	if (cordon_check_syntax(args->operand, &report, &error) < 0)
		return finish_error(args, error);
	return finish_report(args, report);
}

int cmd_check(const struct args *args)
{
	struct cordon_load_options load = args->load;
	cordon_report *report;
	cordon_error *error;

	if (args_have(args, OPT_SYNTAX_ONLY))
		return check_syntax(args);
	if (args->operand && load.config_file) {
		complain_conflict(args, "FILE", "--config-file");
		return EXIT_CORDON;
	}
	if (args->operand)
		load.config_file = args->operand;
	if (cordon_check(&load, &report, &error) < 0)
		return finish_error(args, error);
	return finish_report(args, report);
}
