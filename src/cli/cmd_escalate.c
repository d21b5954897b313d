/* SPDX-License-Identifier: MIT */
/* cordon escalate: a command in a sandbox has another one run outside of it. */
#include "cli/cli.h"

const char about_escalate[] =
	"Has COMMAND run outside of the sandbox that this command runs in, with the same standard\n"
	"streams and directory. Rules [[exec]] of the user's configuration say which commands "
	"may,\n"
	"and with which profile; else whoever 'cordon run --ask' names is asked; else the answer\n"
	"is no. Signals are passed on. Exit status: the command's own; 1 denied, 125 error.";

int cmd_escalate(const struct args *args)
{
	struct cordon_escalate_options wanted = {
		.size = sizeof(wanted),
		.command = (const char *const *)args->words,
		.reason = args_text(args, OPT_REASON),
	};
	cordon_report *report = NULL;
	cordon_error *error = NULL;
	int status = EXIT_CORDON;

	if (!args->words || !args->words[0]) {
		complain_usage(args, "'cordon escalate' needs a command");
		return EXIT_CORDON;
	}
	wanted.signals = signals_as_bytes();
	if (cordon_escalate(&wanted, &status, &report, &error) < 0)
		return finish_error(args, error);
	return report ? finish_denied(args, report) : status;
}
