/* SPDX-License-Identifier: MIT */
/*
 * cordon apply-patch, and the program apply_patch that agents expect: one operand or the standard
 * input is a patch. What is printed, and the exit status, are those that agents know.
 */
#include <string.h>

#include "cli/cli.h"
#include "cli/system.h"

const char about_apply_patch[] =
	"Changes files as PATCH says, or as the standard input does: '*** Begin Patch', then\n"
	"'*** Add File: PATH', '*** Delete File: PATH' or '*** Update File: PATH'. Outside of a\n"
	"sandbox the policy decides which files may be changed. Exit status: 0 done, 1 a change\n"
	"failed or was refused, 2 wrong usage. Also called as apply_patch or applypatch.";

enum {
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	PATCH_ROOM = (10 << 20) + 1, /* one byte more than a patch may have */
};

/* The lines that programs of this name print; --json has the rest. */
static int print_failure(const struct args *args, cordon_error *error)
{
	const char *text = cordon_error_text(error);

	if (args_have(args, OPT_JSON))
		(void)fputs(cordon_error_json(error), stdout);
	(void)fprintf(stderr, "%s\n", text);
	cordon_error_free(error);
	return args_have(args, OPT_JSON) ? finish_output(EXIT_FAILED) : EXIT_FAILED;
}

static int apply(const struct args *args, const char *patch, size_t length)
{
	struct cordon_load_options load = args->load;
	cordon_report *report;
	cordon_error *error;
	uint32_t flags = 0;

	if (args_have(args, OPT_ATOMIC))
		flags |= CORDON_PATCH_ATOMIC;
	if (args_have(args, OPT_DRY_RUN))
		flags |= CORDON_PATCH_DRY_RUN;
	show_warnings(args, &load);
	if (cordon_apply_patch(&load, patch, length, flags, &report, &error) < 0)
		return print_failure(args, error);
	return finish_report(args, report);
}

int cmd_apply_patch(const struct args *args)
{
	const char *text;
	size_t length;

	if (args->operand && is_regular_file(args->operand)) {
		(void)fprintf(stderr, "'%s' is a file: cordon apply-patch <%s\n", args->operand,
			      args->operand);
		return EXIT_USAGE;
	}
	if (args->operand)
		return apply(args, args->operand, strlen(args->operand));
	text = read_input(PATCH_ROOM, &length);
	if (!text)
		return EXIT_FAILED;
	if (length)
		return apply(args, text, length);
	(void)fputs("Usage: apply_patch 'PATCH'\n       echo 'PATCH' | apply_patch\n", stderr);
	return EXIT_USAGE;
}

/* ---- As a program of its own ----------------------------------------------------------------- */

static bool is_one_of(const char *word, const char *first, const char *second)
{
	return strcmp(word, first) == 0 || strcmp(word, second) == 0;
}

static bool is_called_by_option(int argc, char **argv)
{
	return argc > 1 &&
	       is_one_of(argv[1], "--cordon-run-as-apply-patch", "--codex-run-as-apply-patch");
}

static bool is_called_by_name(char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	return is_one_of(slash ? slash + 1 : argv[0], "apply_patch", "applypatch");
}

bool patch_is_meant(int argc, char **argv)
{
	return is_called_by_option(argc, argv) || is_called_by_name(argv);
}

int patch_main(struct args *args, int argc, char **argv)
{
	int first = is_called_by_option(argc, argv) ? 2 : 1;

	if (argc - first > 1) {
		(void)fputs("Error: apply_patch accepts exactly one argument.\n", stderr);
		return EXIT_USAGE;
	}
	args->command = command_find("apply-patch");
	args->load.size = sizeof(args->load);
	args->operand = argc > first ? argv[first] : NULL;
	return cmd_apply_patch(args);
}
