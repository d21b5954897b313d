/* SPDX-License-Identifier: MIT */
/* cordon agent: a coding agent inside as a whole. */
#include <string.h>

#include "cli/cli.h"

const char about_agent[] =
	"Runs a coding agent inside as a whole: it works in the repository, commits, reaches its\n"
	"own hosts only, and saves its state, but nothing that it runs can change what it obeys\n"
	"the next time: its settings, hooks, MCP servers, plugins and skills. The policy is the\n"
	"profile :agent-NAME, or that of -P. Options of cordon stand before NAME, those of the\n"
	"agent after it. Without NAME, lists the agents.\n"
	"\n"
	"  cordon agent claude                        start Claude Code\n"
	"  cordon agent codex exec 'fix the tests'    with arguments of its own\n"
	"  cordon agent --ask tty --allow-host registry.example gemini\n"
	"                                             with options of 'cordon run'\n"
	"  cordon profiles :agent-claude              show the profile\n"
	"  cordon agent --dry-run claude              show what would be enforced, and how";

int cmd_agent(const struct args *args)
{
	struct args *own = (struct args *)(uintptr_t)args;
	cordon_report *report;
	cordon_error *error;

	if (!args->words) {
		if (cordon_agents(&args->load, &report, &error) < 0)
			return finish_error(args, error);
		return finish_report(args, report);
	}
	/* What separates the arguments from those of cordon is no argument. */
	if (args->words[1] && strcmp(args->words[1], "--") == 0) {
		args->words[1] = args->words[0];
		own->words = args->words + 1;
	}
	own->run.flags |= CORDON_RUN_AGENT;
	return cmd_run(own);
}
