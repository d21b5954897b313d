/* SPDX-License-Identifier: MIT */
/* Help, made from the tables of commands and options; and "did you mean". */
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"

enum {
	COLUMN = 26,	    /* where the explanations begin */
	SUGGEST_BYTES = 32, /* longer words are close to nothing */
};

static void print_option(FILE *to, const struct option *option)
{
	char text[64] = "    ";
	size_t used = option->letter ? 0 : 4;

	if (option->letter)
		used = (size_t)snprintf(text, sizeof(text), "-%c%s", option->letter,
					option->name ? ", " : "");
	(void)snprintf(text + used, sizeof(text) - used, "%s%s%s%s", option->name ? "--" : "",
		       option->name ? option->name : "", option->value ? " " : "",
		       option->value ? option->value : "");
	(void)fprintf(to, "  %-*s %s\n", COLUMN, text, option->help);
}

static void print_options(FILE *to, option_set which)
{
	static const char *const titles[] = {
		[GROUP_POLICY] = "the policy:",
		[GROUP_RUN] = "the run:",
		[GROUP_QUESTION] = "the question:",
		[GROUP_OUTPUT] = "the output:",
	};
	int group = -1;

	for (size_t i = 0; i < option_count; i++) {
		if ((which & OPT_BIT(options[i].id)) == 0)
			continue;
		if ((int)options[i].group != group) {
			group = (int)options[i].group;
			(void)fprintf(to, "\n%s\n", titles[group]);
		}
		print_option(to, &options[i]);
	}
}

static void print_commands(FILE *to)
{
	int width = COLUMN;

	/* All in one column, however long the longest is. */
	for (const struct command *c = commands; c->name; c++) {
		int needed = (int)(strlen(c->name) + 1 + strlen(c->operands));

		width = needed > width ? needed : width;
	}
	for (const struct command *c = commands; c->name; c++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "%s %s", c->name, c->operands);
		(void)fprintf(to, "  %-*s %s\n", width, text, c->summary);
	}
}

static void print_overview(FILE *to, bool is_full)
{
	(void)fputs(
		"usage: cordon COMMAND [OPTIONS]\n\n"
		"Runs a command so that it can touch only what a policy allows, and says why.\n\n",
		to);
	print_commands(to);
	if (!is_full) {
		(void)fputs("\n'cordon --help' shows all options, "
			    "'cordon COMMAND --help' those of one command.\n",
			    to);
		return;
	}
	print_options(to, ~UINT64_C(0));
	(void)fputs(
		"\nenvironment:\n"
		"  CORDON_PROFILE             the profile, when no option names one\n"
		"  CORDON_MODE                the mode, likewise\n"
		"  CORDON_WORKSPACE           the workspace, when no option names one\n"
		"  CORDON_LOG                 trace, warn or quiet, for 'cordon run'\n"
		"  XDG_CONFIG_HOME            where cordon/config.toml is, instead of ~/.config\n"
		"  XDG_STATE_HOME             where the audit log is, instead of ~/.local/state\n"
		"  NO_COLOR                   when not empty, print no colours\n"
		"\nThe status is 0, or 125 when there is an error; that of 'cordon run' is the "
		"command's,\nthat of 'cordon doctor' 1 when the policy can't be enforced "
		"here, that of 'cordon audit'\n1 when it has no such run.\nMore in cordon(1) and "
		"cordon-policy(5).\n",
		to);
}

void help_print_usage(FILE *to, const struct command *command)
{
	(void)fprintf(to, "usage: cordon %s%s%s%s\n", command->name,
		      command->options ? " [OPTIONS]" : "", command->operands[0] ? " " : "",
		      command->operands);
}

void help_print(FILE *to, const struct command *command, bool is_full)
{
	if (!command) {
		print_overview(to, is_full);
		return;
	}
	help_print_usage(to, command);
	if (!is_full) {
		(void)fprintf(to, "\n%c%s.\n\n'cordon %s --help' shows the options.\n",
			      command->summary[0] - 'a' + 'A', command->summary + 1, command->name);
		return;
	}
	(void)fprintf(to, "\n%s\n", command->about);
	print_options(to, command->options | OPTS_ALWAYS);
}

/* The number of edits that make `b` of `a`; a row of the usual table at a time. */
static size_t edits(const char *a, const char *b)
{
	size_t row[SUGGEST_BYTES + 1];
	size_t length = strlen(b);

	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (diagonal + 1 < best)
				best = diagonal + 1;
			row[j] = best;
		}
	}
	return row[length];
}

const char *suggest(const char *typed, const char *const *known, size_t count)
{
	const char *found = NULL;
	size_t least = strlen(typed) / 3 + 2; /* more than that was hardly meant */

	if (strlen(typed) > SUGGEST_BYTES)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t n = edits(typed, known[i]);

		if (n < least) {
			least = n;
			found = known[i];
		}
	}
	return found;
}

void complain_usage(const struct args *args, const char *fmt, ...)
{
	char text[1024];
	va_list list;

	va_start(list, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, list);
	va_end(list);
	(void)finish_error(args, cordon_error_new(CORDON_E_ARGUMENT, text));
}
