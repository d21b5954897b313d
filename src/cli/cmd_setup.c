/* SPDX-License-Identifier: MIT */
/* cordon setup: puts Cordon beneath a coding agent. */
#include <string.h>

#include "cli/cli.h"
#include "cli/system.h"

const char about_setup[] =
	"Has the commands of a coding agent run in Cordon, by the agent's own settings or by a\n"
	"script 'cordon-AGENT' that starts it. Shows what is changed, asks, and keeps all else in\n"
	"those files. --undo puts back every byte. --check has a command go the way of the "
	"agent's\n"
	"shell, and believes only the supervisor that it is inside. Where commands can get around\n"
	"it, --partial is needed, and --check says no. Without AGENT, lists the agents.";

/* On stderr, as stdout is for the answer. */
static int ask_person(void *user, const char *text)
{
	const struct args *args = user;
	char answer[16];

	if (args_have(args, OPT_YES))
		return 1;
	if (args_have(args, OPT_JSON) || !is_terminal(STREAM_INPUT) || !is_terminal(STREAM_ERROR)) {
		complain_usage(args, "there is nobody to ask; add --yes");
		return 0;
	}
	(void)fprintf(stderr, "%sDo that? [y/N] ", text);
	if (fgets(answer, sizeof(answer), stdin) &&
	    (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0))
		return 1;
	return 0;
}

static uint64_t find_flags(const struct args *args)
{
	static const struct {
		enum option_id option;
		uint64_t flag;
	} all[] = {
		{ OPT_SYSTEM, CORDON_SETUP_SYSTEM },	 { OPT_PROJECT, CORDON_SETUP_PROJECT },
		{ OPT_PARTIAL, CORDON_SETUP_PARTIAL },	 { OPT_DRY_RUN, CORDON_SETUP_DRY_RUN },
		{ OPT_SETUP_CHECK, CORDON_SETUP_CHECK }, { OPT_UNDO, CORDON_SETUP_UNDO },
		{ OPT_INSIDE, CORDON_SETUP_INSIDE },
	};
	uint64_t flags = 0;

	for (size_t i = 0; i < COUNT_OF(all); i++)
		if (args_have(args, all[i].option))
			flags |= all[i].flag;
	return flags;
}

int cmd_setup(const struct args *args)
{
	struct args *asker = (struct args *)(uintptr_t)args;
	struct cordon_setup_options wanted = { .size = sizeof(wanted),
					       .load = &args->load,
					       .agent = args->operand,
					       .flags = find_flags(args),
					       .confirm = ask_person,
					       .user = asker };
	cordon_report *report;
	cordon_error *error;

	if (args_have(args, OPT_USER) &&
	    wanted.flags & (CORDON_SETUP_SYSTEM | CORDON_SETUP_PROJECT)) {
		complain_conflict(args, "--user",
				  wanted.flags & CORDON_SETUP_SYSTEM ? "--system" : "--project");
		return EXIT_CORDON;
	}
	if (cordon_setup(&wanted, &report, &error) < 0)
		return finish_error(args, error);
	return finish_answer(args, report, EXIT_NO);
}
