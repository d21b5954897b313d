/* SPDX-License-Identifier: MIT */
/* Help, made from the tables of commands and options; and "did you mean". */
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"

enum {
	COLUMN = 26,	    /* where the explanations begin */
	SUGGEST_BYTES = 32, /* longer words are close to nothing */
};

static bool is_repeatable(const struct option *option)
{
	return option->value.kind == VALUE_LIST || option->value.kind == VALUE_WORDS ||
	       option->value.kind == VALUE_FEATURE;
}

static void print_option(FILE *to, const struct option *option, bool names_command)
{
	char text[64] = "    ";
	size_t used = option->letter ? 0 : 4;

	if (option->letter)
		used = (size_t)snprintf(text, sizeof(text), "-%c%s", option->letter,
					option->name ? ", " : "");
	(void)snprintf(text + used, sizeof(text) - used, "%s%s%s%s", option->name ? "--" : "",
		       option->name ? option->name : "", option->argument ? " " : "",
		       option->argument ? option->argument : "");
	(void)fprintf(to, "  %-*s ", COLUMN, text);
	if (strlen(text) > COLUMN)
		(void)fprintf(to, "\n  %*s ", COLUMN, "");
	for (size_t i = 0; i < COMMAND_COUNT && names_command; i++)
		if (command_takes(&commands[i], option))
			(void)fprintf(to, "%s: ", commands[i].name);
	(void)fprintf(to, "%s%s\n", option->help, is_repeatable(option) ? " (repeatable)" : "");
}

/* Those of a command; NULL: all. */
static void print_options(FILE *to, const struct command *command)
{
	static const char *const titles[] = {
#define GROUP_TITLE(id, title) title,
		OPTION_GROUPS(GROUP_TITLE)
	};
	int group = -1;

	for (size_t i = 0; i < OPTION_COUNT; i++) {
		bool is_own = options[i].group == GROUP_COMMAND;

		if (command && !command_takes(command, &options[i]))
			continue;
		if ((int)options[i].group != group) {
			group = (int)options[i].group;
			(void)fprintf(to, "\n%s:\n",
				      is_own && !command ? "Options of one command"
							 : titles[group]);
		}
		print_option(to, &options[i], is_own && !command);
	}
}

static void print_commands(FILE *to)
{
	int width = COLUMN;

	/* All in one column, however long the longest is. */
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		int needed = (int)(strlen(commands[i].name) + 1 + strlen(commands[i].operands));

		width = needed > width ? needed : width;
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "%s %s", commands[i].name, commands[i].operands);
		(void)fprintf(to, "  %-*s %s\n", width, text, commands[i].summary);
	}
}

static void print_overview(FILE *to, bool is_full)
{
	(void)fputs("usage: cordon COMMAND [OPTIONS]\n\n"
		    "Runs commands that can touch only what a policy allows, and explains the "
		    "policy.\n\n",
		    to);
	print_commands(to);
	if (!is_full) {
		(void)fputs("\n'cordon --help' shows all options, "
			    "'cordon COMMAND --help' those of one command.\n",
			    to);
		return;
	}
	print_options(to, NULL);
	(void)fputs("\nEnvironment:\n"
		    "  CORDON_PROFILE             profile to use if no option names one\n"
		    "  CORDON_MODE                mode to use if no option names one\n"
		    "  CORDON_WORKSPACE           workspace to use if no option names one\n"
		    "  CORDON_SESSION             session to use if no option names one\n"
		    "  CORDON_LOG                 what 'cordon run' prints: trace, warn or quiet\n"
		    "  XDG_CONFIG_HOME            holds cordon/config.toml (default ~/.config)\n"
		    "  XDG_STATE_HOME             holds the audit log (default ~/.local/state)\n"
		    "  NO_COLOR                   if not empty, print no colours\n"
		    "\nThe exit status is 0, or 125 after an error. 'cordon run' exits with the "
		    "status of\n"
		    "the command. 'cordon why' exits with 1 if the answer is no, 'cordon doctor' "
		    "if the\n"
		    "policy can't be enforced here, 'cordon audit' if there is no such run.\n"
		    "See also cordon(1) and cordon-policy(5).\n",
		    to);
}

void help_print_usage(FILE *to, const struct command *command)
{
	(void)fprintf(to, "usage: cordon %s [OPTIONS]%s%s\n", command->name,
		      command->operands[0] ? " " : "", command->operands);
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
	print_options(to, command);
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

void complain(const struct args *args, const char *cause, const char *fmt, ...)
{
	char text[1024];
	va_list list;

	va_start(list, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, list);
	va_end(list);
	(void)finish_error(args, cordon_error_new_cause(cause, text));
}

void complain_conflict(const struct args *args, const char *first, const char *second)
{
	complain(args, "option_conflict", "%s and %s can't be used together", first, second);
}
