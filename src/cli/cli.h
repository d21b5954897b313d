/* SPDX-License-Identifier: MIT */
/*
 * The command line. Everything that it knows about policies it knows through
 * cordon.h: this directory parses words, calls the library and prints what
 * comes back. Statuses: 0, or EXIT_CORDON when Cordon itself refused or failed;
 * EXIT_NO when the answer is no; those of `run` are the command's own (P24).
 *
 *	main.c		the table of commands
 *	options.c	the table of options, from which parsing and help are made
 *	args.c		words -> struct args
 *	values.c	words that stand for something else: durations, one of a few names
 *	help.c		--help, -h, and what is said about a wrong word
 *	output.c	reports and errors -> stdout and stderr
 *	report_file.c	where --report goes
 *	signals.c	what is sent to this process while a command runs
 *	shell.c		cordon-sh
 *	cmd_*.c		one for each command
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cordon.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { EXIT_NO = 1, EXIT_CORDON = 125 };

/* ---- The tables ------------------------------------------------------------ */

enum option_id {
	OPT_CONFIG_FILE,
	OPT_PROFILE,
	OPT_MODE,
	OPT_FULL_AUTO,
	OPT_DIRECTORY,
	OPT_WORKSPACE,
	OPT_CONFIG,
	OPT_ENABLE,
	OPT_DISABLE,
	OPT_NETWORK,
	OPT_ALLOW_HOST,
	OPT_DENY_HOST,
	OPT_ALLOW_SOCKET,
	OPT_PUBLISH,
	OPT_HOST_PORT,
	OPT_AUDIT,
	OPT_ADD_READ,
	OPT_ADD_WRITE,
	OPT_DENY,
	OPT_UNPROTECT,
	OPT_BACKEND,
	OPT_SANDBOX,
	OPT_ACCEPT_MISSING,
	OPT_PLATFORM,
	OPT_TIMEOUT,
	OPT_ENV,
	OPT_DRY_RUN,
	OPT_REPORT,
	OPT_TRACE,
	OPT_READ,
	OPT_WRITE,
	OPT_PATH,
	OPT_HOST,
	OPT_SYNTAX_ONLY,
	OPT_FORCE,
	OPT_CLEAN,
	OPT_FOLLOW,
	OPT_SUMMARY,
	OPT_RUN,
	OPT_DENIED,
	OPT_SINCE,
	OPT_LISTEN,
	OPT_TOKEN_FILE,
	OPT_TOKEN_ENV,
	OPT_JSON,
	OPT_QUIET,
	OPT_HELP_SHORT,
	OPT_HELP,
	OPT_VERSION,
};

typedef uint64_t option_set;
#define OPT_BIT(id) (UINT64_C(1) << (id))

/* Which configuration is read. */
#define OPTS_CONFIG                                                              \
	(OPT_BIT(OPT_CONFIG_FILE) | OPT_BIT(OPT_PROFILE) | OPT_BIT(OPT_MODE) |   \
	 OPT_BIT(OPT_DIRECTORY) | OPT_BIT(OPT_WORKSPACE) | OPT_BIT(OPT_CONFIG) | \
	 OPT_BIT(OPT_ENABLE) | OPT_BIT(OPT_DISABLE))
/* What decides which policy is in force; a question takes the same as a run. */
#define OPTS_POLICY                                                                            \
	(OPTS_CONFIG | OPT_BIT(OPT_FULL_AUTO) | OPT_BIT(OPT_NETWORK) | OPT_BIT(OPT_ADD_READ) | \
	 OPT_BIT(OPT_ADD_WRITE) | OPT_BIT(OPT_DENY) | OPT_BIT(OPT_ALLOW_HOST) |                \
	 OPT_BIT(OPT_DENY_HOST) | OPT_BIT(OPT_UNPROTECT) | OPT_BIT(OPT_ALLOW_SOCKET))
#define OPTS_RUN                                                                                  \
	(OPT_BIT(OPT_BACKEND) | OPT_BIT(OPT_SANDBOX) | OPT_BIT(OPT_ACCEPT_MISSING) |              \
	 OPT_BIT(OPT_PLATFORM) | OPT_BIT(OPT_TIMEOUT) | OPT_BIT(OPT_ENV) | OPT_BIT(OPT_DRY_RUN) | \
	 OPT_BIT(OPT_REPORT) | OPT_BIT(OPT_TRACE) | OPT_BIT(OPT_PUBLISH) |                        \
	 OPT_BIT(OPT_HOST_PORT) | OPT_BIT(OPT_AUDIT))
#define OPTS_OUTPUT (OPT_BIT(OPT_JSON) | OPT_BIT(OPT_QUIET))
#define OPTS_ALWAYS (OPT_BIT(OPT_HELP_SHORT) | OPT_BIT(OPT_HELP))

/* Under which title help lists it. */
enum option_group { GROUP_POLICY, GROUP_RUN, GROUP_QUESTION, GROUP_OUTPUT };

struct option {
	enum option_id id;
	enum option_group group;
	char letter;	   /* 0 when it has none */
	const char *name;  /* without the dashes; NULL when it has only a letter */
	const char *value; /* what its value is called, NULL when it takes none */
	const char *help;
};

/* In the order in which help lists them: a group stands together. */
extern const struct option options[];
extern const size_t option_count;

/* "-PNAME", "--profile=NAME" -> the option, or NULL; `*value` is NULL when the word has none. */
const struct option *option_find(const char *word, const char **value);

struct args;

struct command {
	const char *name;
	int (*run)(const struct args *args);
	const char *summary;
	const char *operands;  /* "[FILE]", or "" */
	const char *about;     /* for --help: a few lines */
	option_set options;    /* OPT_BIT of those it takes, OPTS_ALWAYS aside */
	uint32_t max_operands; /* 0, 1, or OPERANDS_ARE_A_COMMAND */
};

/* The first operand and all words behind it are a command of the user's. */
#define OPERANDS_ARE_A_COMMAND UINT32_MAX

/* Closed by one whose name is NULL. */
extern const struct command commands[];

const struct command *command_find(const char *name);

/* ---- The command line, parsed ---------------------------------------------- */

enum {
	MAX_LISTED = 512,	  /* of one option that may be repeated */
	MAX_FEATURE_BYTES = 2048, /* of all that --enable and --disable name */
	MAX_LISTS = 12,		  /* options that may be repeated */
	MAX_KNOWN = 64,		  /* more than there are options or commands */
};

/* The values of an option that may be repeated, NULL behind the last; NULL when there are none. */
struct listed {
	const char **items;
	uint64_t count;
};

struct args {
	const struct command *command; /* NULL when none is named */
	const char *operand;	       /* NULL when there is none */
	bool is_shell;		       /* the words are a shell's, their first aside */
	char **words;		       /* of a command to run, NULL behind the last; or NULL */
	struct cordon_load_options load;
	const char *platform;
	const char *backend;
	const char *sandbox;
	const char *report;
	const char *audit;
	const char *run;
	const char *since;
	const char *listen;
	const char *token_file;
	const char *token_env;
	uint64_t timeout_ms; /* 0: none */
	option_set seen;     /* OPT_BIT of every option given */
	struct listed overrides;
	struct listed add_read;
	struct listed add_write;
	struct listed deny;
	struct listed unprotect;
	struct listed allow_host;
	struct listed deny_host;
	struct listed allow_socket;
	struct listed publish;
	struct listed host_port;
	struct listed env;
	struct listed accept_missing;
	size_t list_count;
	size_t feature_bytes;
	/* Last, because a page that is not touched costs nothing. */
	char features[MAX_FEATURE_BYTES];
	const char *lists[MAX_LISTS][MAX_LISTED + 1];
};
_Static_assert(offsetof(struct args, list_count) - offsetof(struct args, overrides) ==
		       MAX_LISTS * sizeof(struct listed),
	       "there is room for the values of every option that may be repeated");

static inline bool args_have(const struct args *args, enum option_id id)
{
	return (args->seen & OPT_BIT(id)) != 0;
}

/* Into `args`, which has to be all zeros. False when the words make no sense; the user was told. */
bool args_parse(struct args *args, int argc, char **argv);

/* shell.c: whether the program was called as cordon-sh, and what it is then. */
bool shell_is_meant(const char *argv0);
int shell_main(struct args *args, int argc, char **argv);

/* ---- values.c --------------------------------------------------------------- */

/* "90", "250ms", "5m", as limits in the configuration are written: NULL, or what is wrong. */
const char *parse_duration(const char *text, uint64_t *ms);

enum verbosity { SAY_LITTLE, SAY_WARNINGS, SAY_ALL };

/* --quiet, --trace, or else what CORDON_LOG says. */
enum verbosity find_verbosity(const struct args *args);

/* ---- Output ----------------------------------------------------------------- */

void help_print(FILE *to, const struct command *command, bool is_full);
void help_print_usage(FILE *to, const struct command *command);

/* The name of `known` (`count` of them) that was probably meant, or NULL. */
const char *suggest(const char *typed, const char *const *known, size_t count);

/* Says what is wrong with the command line. */
__attribute__((format(printf, 2, 3))) void complain_usage(const struct args *args, const char *fmt,
							  ...);

/* Prints the report and frees it; the status to end with. */
int finish_report(const struct args *args, cordon_report *report);

/* The same where an error in it is no failure but the answer. */
int finish_answer(const struct args *args, cordon_report *report, int status_of_no);

/* Prints the error and frees it; EXIT_CORDON. */
int finish_error(const struct args *args, cordon_error *error);

/* Flushes stdout; `status`, or EXIT_CORDON when what was printed could not be written. */
int finish_output(int status);

/* Whether what goes there may have colours. */
bool has_colour(int fd);

/* Lets warnings go to stderr while a policy is loaded, unless --quiet or --json. */
void show_warnings(const struct args *args, struct cordon_load_options *load);

/* One line on stderr. Control characters in `text` are the caller's to escape. */
void print_error(const char *text);
void print_warning(void *unused, const char *text);
void print_trace(void *unused, const char *text);

/* ---- report_file.c ---------------------------------------------------------- */

/*
 * Where --report goes. Looked at before the run, so that a mistake is told before
 * anything has happened, and written after it.
 */
struct report_file {
	const char *path; /* as given; NULL: no report is wanted */
	const char *name; /* its last component */
	int directory;	  /* in which the file is put, or -1 */
	int fd;		  /* to write to as it is (a pipe, stdout), or -1 */
};

/* False when no report can be written there; the user has then been told. */
bool report_file_open(const struct args *args, struct report_file *file);

/* Writes and closes. False likewise. */
bool report_file_write(const struct args *args, struct report_file *file, const char *text);

/* ---- signals.c --------------------------------------------------------------- */

struct signals {
	int fd; /* readable when one has come */
	/* Bit n: signal n was passed on, from another process or from a keyboard. */
	uint64_t sent, typed;
};

/* Until something can be written to `fd`; what ends a process ends this one meanwhile. */
void signals_await_room(int fd);

/* From now on they are held back for signals_pass_on(). */
bool signals_hold(struct signals *signals);

/*
 * Whether one has come that ends a process, while there is nothing yet to pass it on to.
 * Stops here when that is what is asked for.
 */
bool signals_end_the_start(void);

/* Ends this process by it. */
void signals_die_of_them(void);

/* Passes those that have come on to the command. */
void signals_pass_on(struct signals *signals, cordon_run_handle *run);

/* Ends this process by `number` when a keyboard ended the command with it. */
void signals_end_likewise(const struct signals *signals, int number, bool had_terminal);

int cmd_audit(const struct args *args);
int cmd_check(const struct args *args);
int cmd_doctor(const struct args *args);
int cmd_explain(const struct args *args);
int cmd_help(const struct args *args);
int cmd_init(const struct args *args);
int cmd_profiles(const struct args *args);
int cmd_proxy(const struct args *args);
int cmd_run(const struct args *args);
int cmd_version(const struct args *args);
int cmd_why(const struct args *args);
