/* SPDX-License-Identifier: MIT */
/*
 * The command line. Everything that it knows about policies it knows through
 * cordon.h: this directory parses words, calls the library and prints what
 * comes back. Statuses: 0, or EXIT_CORDON when Cordon itself refused or failed.
 *
 *	main.c		the table of commands
 *	options.c	the table of options, from which parsing and help are made
 *	args.c		words -> struct args
 *	help.c		--help, -h, and what is said about a wrong word
 *	output.c	reports and errors -> stdout and stderr
 *	cmd_*.c		one for each command
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cordon.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { EXIT_CORDON = 125 };

/* ---- The tables ------------------------------------------------------------ */

enum option_id {
	OPT_CONFIG_FILE,
	OPT_PROFILE,
	OPT_MODE,
	OPT_DIRECTORY,
	OPT_CONFIG,
	OPT_ENABLE,
	OPT_DISABLE,
	OPT_READ,
	OPT_WRITE,
	OPT_PATH,
	OPT_HOST,
	OPT_PLATFORM,
	OPT_SYNTAX_ONLY,
	OPT_FORCE,
	OPT_JSON,
	OPT_QUIET,
	OPT_HELP_SHORT,
	OPT_HELP,
	OPT_VERSION,
};

#define OPT_BIT(id) (UINT32_C(1) << (id))

enum {
	/* What decides which policy is in force. */
	OPTS_POLICY = OPT_BIT(OPT_CONFIG_FILE) | OPT_BIT(OPT_PROFILE) | OPT_BIT(OPT_MODE) |
		      OPT_BIT(OPT_DIRECTORY) | OPT_BIT(OPT_CONFIG) | OPT_BIT(OPT_ENABLE) |
		      OPT_BIT(OPT_DISABLE),
	OPTS_OUTPUT = OPT_BIT(OPT_JSON) | OPT_BIT(OPT_QUIET),
	OPTS_ALWAYS = OPT_BIT(OPT_HELP_SHORT) | OPT_BIT(OPT_HELP),
};

struct option {
	enum option_id id;
	char letter;	   /* 0 when it has none */
	const char *name;  /* without the dashes; NULL when it has only a letter */
	const char *value; /* what its value is called, NULL when it takes none */
	const char *help;
};

/* In the order in which help lists them. */
extern const struct option options[];
extern const size_t option_count;

struct args;

struct command {
	const char *name;
	int (*run)(const struct args *args);
	const char *summary;
	const char *operands; /* "[FILE]", or "" */
	const char *about;    /* for --help: a few lines */
	uint32_t options;     /* OPT_BIT of those it takes, OPTS_ALWAYS aside */
	uint32_t max_operands;
};

/* Closed by one whose name is NULL. */
extern const struct command commands[];

const struct command *command_find(const char *name);

/* ---- The command line, parsed ---------------------------------------------- */

enum {
	MAX_OVERRIDES = 128,
	MAX_FEATURE_BYTES = 2048, /* of all that --enable and --disable name */
	MAX_KNOWN = 64,		  /* more than there are options or commands */
};

struct args {
	const struct command *command; /* NULL when none is named */
	const char *operand;	       /* NULL when there is none */
	struct cordon_load_options load;
	const char *platform;
	uint32_t seen; /* OPT_BIT of every option given */
	const char *overrides[MAX_OVERRIDES];
	char features[MAX_FEATURE_BYTES];
	size_t feature_bytes;
};

static inline bool args_have(const struct args *args, enum option_id id)
{
	return (args->seen & OPT_BIT(id)) != 0;
}

/* False when the words make no sense; the user has then been told. */
bool args_parse(struct args *args, int argc, char **argv);

/* ---- Output ----------------------------------------------------------------- */

void help_print(FILE *to, const struct command *command, bool is_full);

/* The name of `known` (`count` of them) that was probably meant, or NULL. */
const char *suggest(const char *typed, const char *const *known, size_t count);

/* Says what is wrong with the command line. */
__attribute__((format(printf, 2, 3))) void complain_usage(const struct args *args, const char *fmt,
							  ...);

/* Prints the report and frees it; the status to end with. */
int finish_report(const struct args *args, cordon_report *report);

/* Prints the error and frees it; EXIT_CORDON. */
int finish_error(const struct args *args, cordon_error *error);

/* Flushes stdout; `status`, or EXIT_CORDON when what was printed could not be written. */
int finish_output(int status);

/* Lets warnings go to stderr while a policy is loaded, unless --quiet or --json. */
void show_warnings(const struct args *args, struct cordon_load_options *load);

int cmd_check(const struct args *args);
int cmd_explain(const struct args *args);
int cmd_help(const struct args *args);
int cmd_init(const struct args *args);
int cmd_profiles(const struct args *args);
int cmd_version(const struct args *args);
int cmd_why(const struct args *args);
