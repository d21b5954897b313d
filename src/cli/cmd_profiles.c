/* SPDX-License-Identifier: MIT */
/* cordon profiles: which there are, and what one amounts to. */
#include "cli/cli.h"

const char about_profiles[] =
	"Lists all profiles. With NAME, shows that profile as TOML with everything that it\n"
	"inherits, and what :minimal and :secrets stand for.";

int cmd_profiles(const struct args *args)
{
	struct cordon_load_options load = args->load;
	const char *name = args->operand;
	cordon_report *report;
	cordon_error *error;

	if (name && load.profile) {
		complain_conflict(args, "NAME", "--profile");
		return EXIT_CORDON;
	}
	if (!name)
		name = load.profile;
	load.profile = NULL;
	show_warnings(args, &load);
	if (cordon_profiles(&load, name, &report, &error) < 0)
		return finish_error(args, error);
	return finish_report(args, report);
}
