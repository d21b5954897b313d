/* SPDX-License-Identifier: MIT */
/*
 * cordon-execve-wrapper FILE ARGV...: what a shell that knows EXEC_WRAPPER executes in place of FILE. It
 * asks whether that is to be run outside of the sandbox; if nobody speaks of it, or nobody is there to ask,
 * it executes FILE itself, in the sandbox, as the shell would have.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define WRAPPER_NAME "cordon-execve-wrapper"

bool wrapper_is_meant(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	return strcmp(slash ? slash + 1 : argv0, WRAPPER_NAME) == 0;
}

static int execute(const char *file, char **argv)
{
	int error;

	execv(file, argv);
	error = errno;
	(void)fprintf(stderr, "%s: %s: %s\n", WRAPPER_NAME, file, strerror(error));
	return error == ENOENT ? 127 : 126;
}

/* In the words of the program that shells know. */
static int tell_denied(cordon_report *report)
{
	const char *text = cordon_report_text(report, CORDON_TEXT_BRIEF);

	(void)fprintf(stderr, "Execution %s", text ? text : "denied\n");
	cordon_report_free(report);
	return EXIT_NO;
}

/* -1: it has not run anywhere. SECURITY: what may have run outside is not run a second time. */
static int find_failure(cordon_error *error)
{
	bool has_run = strcmp(cordon_error_cause(error), "escalation_lost") == 0;

	if (has_run)
		(void)fprintf(stderr, "%s: %s\n", WRAPPER_NAME, cordon_error_text(error));
	cordon_error_free(error);
	return has_run ? EXIT_CORDON : -1;
}

int wrapper_main(int argc, char **argv)
{
	struct cordon_escalate_options wanted = { .size = sizeof(wanted),
						  .flags = CORDON_ESCALATE_OPTIONAL };
	cordon_report *report = NULL;
	cordon_error *error = NULL;
	int status = -1;
	char directory[PATH_MAX], whole[2 * PATH_MAX];

	if (argc < 3) {
		(void)fprintf(stderr, "%s: needs a file and its arguments\n", WRAPPER_NAME);
		return EXIT_NO;
	}
	/* The supervisor has no working directory of the shell's. */
	wanted.file = argv[1];
	if (argv[1][0] != '/' && getcwd(directory, sizeof(directory)) &&
	    snprintf(whole, sizeof(whole), "%s/%s", directory, argv[1]) < (int)sizeof(whole))
		wanted.file = whole;
	wanted.command = (const char *const *)argv + 2;
	wanted.signals = signals_as_bytes();
	if (cordon_escalate(&wanted, &status, &report, &error) < 0)
		status = find_failure(error);
	if (report)
		return tell_denied(report);
	return status < 0 ? execute(argv[1], argv + 2) : status;
}
