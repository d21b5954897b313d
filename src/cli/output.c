/* SPDX-License-Identifier: MIT */
/*
 * What the user sees. Answers go to stdout, errors and warnings to stderr. With
 * --json an error is on stdout too, as JSON, so that a program which reads
 * stdout always finds JSON there.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/system.h"

bool has_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term;

	if ((no_color && no_color[0]) || !is_terminal(fd))
		return false;
	term = getenv("TERM");
	return term && strcmp(term, "dumb") != 0;
}

int finish_output(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	perror("cordon: can't write the output");
	return EXIT_CORDON;
}

int finish_report(const struct args *args, cordon_report *report)
{
	return finish_answer(args, report, EXIT_CORDON);
}

int finish_answer(const struct args *args, cordon_report *report, int status_of_no)
{
	int status = cordon_report_error_count(report) ? status_of_no : 0;
	const char *text;

	if (args_have(args, OPT_JSON))
		text = cordon_report_json(report);
	else
		text = cordon_report_text(
			report, (args_have(args, OPT_QUIET) ? CORDON_TEXT_BRIEF : 0) |
					(has_colour(STREAM_OUTPUT) ? CORDON_TEXT_COLOUR : 0));
	if (text)
		(void)fputs(text, stdout);
	cordon_report_free(report);
	if (!text)
		return finish_error(args, cordon_error_new(CORDON_E_NOMEM, "out of memory"));
	return finish_output(status);
}

int finish_denied(const struct args *args, cordon_report *report)
{
	const char *text;

	if (args_have(args, OPT_JSON))
		return finish_answer(args, report, EXIT_NO);
	text = cordon_report_text(report,
				  (args_have(args, OPT_QUIET) ? CORDON_TEXT_BRIEF : 0) |
					  (has_colour(STREAM_ERROR) ? CORDON_TEXT_COLOUR : 0));
	(void)fprintf(stderr, "cordon: escalate: %s", text ? text : "denied\n");
	cordon_report_free(report);
	return EXIT_NO;
}

static void print_message(const char *kind, const char *colour, const char *text)
{
	signals_await_room(STREAM_ERROR);
	if (has_colour(STREAM_ERROR))
		(void)fprintf(stderr, "cordon: \033[%sm%s\033[0m%s%s", colour, kind, text,
			      end_of_line(STREAM_ERROR));
	else
		(void)fprintf(stderr, "cordon: %s%s%s", kind, text, end_of_line(STREAM_ERROR));
}

const char *read_input(size_t room, size_t *length)
{
	/* Not a static buffer: with one, no command of the program could start under a limit of memory. */
	char *text = new_pages(room + 1);

	if (text) {
		*length = fread(text, 1, room, stdin);
		if (!ferror(stdin))
			return text;
	}
	perror("cordon: can't read the standard input");
	return NULL;
}

void print_error(const char *text)
{
	print_message("error: ", "31", text);
}

int finish_error(const struct args *args, cordon_error *error)
{
	print_error(cordon_error_text(error));
	if (args_have(args, OPT_JSON)) {
		(void)fputs(cordon_error_json(error), stdout);
		(void)finish_output(0);
	}
	cordon_error_free(error);
	return EXIT_CORDON;
}

void print_warning(void *unused, const char *text)
{
	static const char note[] = "note: ";

	(void)unused;
	if (strncmp(text, note, sizeof(note) - 1) == 0)
		print_message(note, "2", text + sizeof(note) - 1);
	else
		print_message("warning: ", "33", text);
}

void print_trace(void *unused, const char *text)
{
	(void)unused;
	print_message("trace: ", "2", text);
}

void show_warnings(const struct args *args, struct cordon_load_options *load)
{
	if (!args_have(args, OPT_QUIET) && !args_have(args, OPT_JSON))
		load->on_warning = print_warning;
}
