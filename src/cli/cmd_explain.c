/* SPDX-License-Identifier: MIT */
/* cordon explain: what the policy means, here or on another platform. */
#include "cli/cli.h"

const char about_explain[] =
	"Shows the profile in force, its rules as they apply to the files of this host, the\n"
	"guarantees that it needs and which rule needs each, the protected paths, the network,\n"
	"the environment and the limits.";

int cmd_explain(const struct args *args)
{
	struct cordon_load_options load = args->load;
	cordon_policy *policy;
	cordon_report *report;
	cordon_error *error;
	int status;

	load.platform = args->run.platform;
	/* The report lists the warnings itself. */
	if (cordon_policy_load(&load, &policy, &error) < 0)
		return finish_error(args, error);
	if (cordon_explain(policy, args->run.platform, &report, &error) < 0)
		status = finish_error(args, error);
	else
		status = finish_report(args, report);
	cordon_policy_free(policy);
	return status;
}
