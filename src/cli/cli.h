/* SPDX-License-Identifier: MIT */
/*
 * The program `cordon`. It parses words, calls the library and prints what comes back. It knows
 * nothing about policies but what cordon.h says; lib/command_line.h has its commands and options.
 * Exit statuses: 0; EXIT_CORDON when Cordon refused or failed; EXIT_NO when the answer is no;
 * that of `run` is the command's own (P24).
 *
 *	main.c		finds the command and calls it
 *	args.c		words -> struct args
 *	values.c	words that stand for something else: durations, one of a few names
 *	help.c		--help, -h, and what is said about a wrong word
 *	output.c	reports and errors -> stdout and stderr
 *	SYSTEM/report_file.c	where --report goes
 *	SYSTEM/signals.c	what is sent to this process while a command runs
 *	shell.c		cordon-sh
 *	cmd_*.c		one for each command
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cordon.h"
#include "lib/command_line.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { EXIT_NO = 1, EXIT_BLOCKS = 2, EXIT_CORDON = 125 };

/* ---- Commands and options ---------------------------------------------------- */

/* "-PNAME", "--profile=NAME" -> the option, or NULL; `*value` is NULL when the word has none. */
const struct option *option_find(const char *word, const char **value);

struct args;

struct command {
	const char *name;
	int (*run)(const struct args *args);
	const char *summary;
	const char *operands;  /* "[FILE]", or "" */
	const char *about;     /* for --help: a few lines */
	uint32_t max_operands; /* 0 to MAX_OPERANDS, or OPERANDS_ARE_A_COMMAND */
};

/* By enum command_id. */
extern const struct command commands[COMMAND_COUNT];

const struct command *command_find(const char *name);

/* Whether `command` takes the option; NULL: whether it may stand without a command. */
bool command_takes(const struct command *command, const struct option *option);

#define DECLARE_COMMAND(id, name, operands, max, completion, summary) \
	int cmd_##name(const struct args *args);                      \
	extern const char about_##name[];
COMMANDS(DECLARE_COMMAND)
#undef DECLARE_COMMAND

/* ---- The command line, parsed ---------------------------------------------- */

enum {
	MAX_LISTED = 512, /* values of one option */
	MAX_OPERANDS = 65,
	MAX_FEATURE_BYTES = 2048, /* of all that --enable and --disable name */
};

struct args {
	const struct command *command; /* NULL when none is named */
	const char *operand;	       /* the first one; NULL when there is none */
	uint32_t operand_count;
	bool is_shell; /* the words are a shell's, their first aside */
	char **words;  /* of a command to run, NULL behind the last; or NULL */
	struct cordon_load_options load;
	struct cordon_run_options run; /* only what options set */
	bool seen[OPTION_COUNT];       /* by enum option_id: whether it was given */
	size_t feature_bytes;
	const char *operands[MAX_OPERANDS];
	const char *texts[OPTION_COUNT]; /* of OWN_TEXT */
	uint32_t counts[OPTION_COUNT];	 /* of `lists` */
	/* Last, because a page that is not touched costs nothing. */
	char features[MAX_FEATURE_BYTES];
	const char *lists[OPTION_COUNT][MAX_LISTED + 1]; /* NULL behind the last */
};

static inline bool args_have(const struct args *args, enum option_id id)
{
	return args->seen[id];
}

/* The value of an option that only the program has; NULL: it was not given. */
static inline const char *args_text(const struct args *args, enum option_id id)
{
	return args->texts[id];
}

/* All that it was given, NULL behind the last; NULL: it was not given. */
static inline const char *const *args_words(const struct args *args, enum option_id id)
{
	return args_have(args, id) ? (const char *const *)args->lists[id] : NULL;
}

/* Into `args`, which has to be all zeros. False when the words make no sense; the user was told. */
bool args_parse(struct args *args, int argc, char **argv);

/* shell.c: whether the program was called as cordon-sh, and what it is then. */
bool shell_is_meant(const char *argv0);
int shell_main(struct args *args, int argc, char **argv);

/* cmd_hook.c: whether the program is to answer a hook; then every failure ends with EXIT_BLOCKS. */
bool hook_is_meant(int argc, char **argv);
int hook_main(struct args *args, int argc, char **argv);

/* cmd_apply_patch.c: whether the program was called as apply_patch, and what it is then. */
bool patch_is_meant(int argc, char **argv);
int patch_main(struct args *args, int argc, char **argv);

/* cordon-execve-wrapper. */
bool wrapper_is_meant(const char *argv0);
int wrapper_main(int argc, char **argv);

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

/* Says what is wrong with the command line; complain() for another cause than "argument". */
#define complain_usage(args, ...) complain(args, "argument", __VA_ARGS__)
__attribute__((format(printf, 3, 4))) void complain(const struct args *args, const char *cause,
						    const char *fmt, ...);

/* That `first` and `second`, options, can't be used together. */
void complain_conflict(const struct args *args, const char *first, const char *second);

/* Prints the report and frees it; the status to end with. */
int finish_report(const struct args *args, cordon_report *report);

/* The same where an error in it is no failure but the answer. */
int finish_answer(const struct args *args, cordon_report *report, int status_of_no);

/* What is denied goes to stderr, as stdout is a command's; with --json to stdout. EXIT_NO. */
int finish_denied(const struct args *args, cordon_report *report);

/* Prints the error and frees it; EXIT_CORDON. */
int finish_error(const struct args *args, cordon_error *error);

/* Flushes stdout; `status`, or EXIT_CORDON when what was printed could not be written. */
int finish_output(int status);

/* The numbers of the standard streams, on every system. */
enum { STREAM_INPUT, STREAM_OUTPUT, STREAM_ERROR };

/* Whether what goes there may have colours. */
bool has_colour(int fd);

/* Lets warnings go to stderr while a policy is loaded, unless --quiet or --json. */
void show_warnings(const struct args *args, struct cordon_load_options *load);

/* The standard input, at most `room` bytes of it; NULL: the user was told. */
const char *read_input(size_t room, size_t *length);

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

/* From now on each is a byte that can be read from the descriptor; -1 if there is none. */
int signals_as_bytes(void);

/* From now on they are held back for signals_pass_on(). */
bool signals_hold(struct signals *signals);

/*
 * Whether one has come that ends a process, while there is nothing yet to pass it on to.
 * Stops here when that is what is asked for.
 */
bool signals_end_the_start(void);

/* Ends this process by it. */
void signals_die_of_them(void);

/* Until one has come, or the descriptor of a run is readable. False: that can't be waited for. */
bool signals_await(const struct signals *signals, int descriptor);

/* Passes those that have come on to the command. */
void signals_pass_on(struct signals *signals, cordon_run_handle *run);

/* Ends this process by `number` when a keyboard ended the command with it. */
void signals_end_likewise(const struct signals *signals, int number, bool had_terminal);

/* ---- proxy_life.c: of `cordon proxy` ------------------------------------------- */

/* Reads the first line of --token-file, which nobody else may read. False: the user was told. */
bool proxy_read_token(const struct args *args, char *token, size_t room);
void proxy_wipe_token(char *token, size_t bytes);

struct proxy_life {
	int fd;	     /* readable when something has come; -1: nothing shows it, so that… */
	int step_ms; /* …the proxy is stepped for that long at a time */
};

/* From now on what ends it is held back for proxy_life_take(). False likewise. */
bool proxy_life_hold(const struct args *args, struct proxy_life *life);

/* Until something has come, or the proxy's descriptor is readable. False: that can't be waited for. */
bool proxy_life_await(const struct proxy_life *life, int descriptor);

enum proxy_event { PROXY_GOES_ON, PROXY_READS_ANEW, PROXY_ENDS };
enum proxy_event proxy_life_take(const struct proxy_life *life);
