/* SPDX-License-Identifier: MIT */
/* cordon explain: what the policy means, here or on another platform. */
#include <string.h>

#include "cli/cli.h"

const char about_explain[] =
	"Shows the profile in force, its rules as they apply to the files of this host, the\n"
	"guarantees that it needs and which rule needs each, the protected paths, the network,\n"
	"the environment and the limits.";

/* False where --backend is not one that --platform lowers for. */
static bool check_backend(const struct args *args)
{
	static const struct {
		const char *backend, *platform;
	} all[] = { { "seatbelt", "macos" },
		    { "win_token", "windows" },
		    { "win_elevated", "windows" } };
	const char *backend = args->run.backend;

	if (!backend)
		return true;
	for (size_t i = 0; i < COUNT_OF(all); i++)
		if (strcmp(all[i].backend, backend) == 0 && args->run.platform &&
		    strcmp(all[i].platform, args->run.platform) == 0)
			return true;
	complain_usage(args, "'cordon explain --backend' takes seatbelt with --platform macos, and "
			     "win_token or win_elevated with --platform windows");
	return false;
}

int cmd_explain(const struct args *args)
{
	struct cordon_load_options load = args->load;
	cordon_policy *policy;
	cordon_report *report;
	cordon_error *error;
	int status;

	if (!check_backend(args))
		return EXIT_CORDON;
	load.platform = args->run.platform;
	/* The report lists the warnings itself. */
	if (cordon_policy_load(&load, &policy, &error) < 0)
		return finish_error(args, error);
	/* A backend of another system stands for that system, and only it is lowered for. */
	if (cordon_explain(policy, args->run.backend ? args->run.backend : args->run.platform,
			   &report, &error) < 0)
		status = finish_error(args, error);
	else
		status = finish_report(args, report);
	cordon_policy_free(policy);
	return status;
}
