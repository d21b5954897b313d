/* SPDX-License-Identifier: MIT */
/* cordon run, cordon sandbox: a command that can touch only what the policy allows. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/system.h"

#define ABOUT                                                                                     \
	"Runs COMMAND so that it can touch only what the policy allows. If this host can't\n"     \
	"enforce the policy, COMMAND is not run. Without options it may read everything, write\n" \
	"nothing, and has no network. Options end at the first word of COMMAND. COMMAND uses\n"   \
	"the input, output and terminal of cordon, which forwards signals to it.\n"               \
	"\n"                                                                                      \
	"  cordon run -- git log                read, but change nothing\n"                       \
	"  cordon run --full-auto -- make test  write here and in /tmp, no network\n"             \
	"  cordon run -P dev -- npm test        use a profile of your configuration\n"            \
	"  cordon run --dry-run -- git log      show what would be enforced, and how\n"           \
	"  cordon run --allow-host example.org -- curl -sS https://example.org/\n"                \
	"                                       connect to that host only\n"                      \
	"\n"                                                                                      \
	"The exit status is that of COMMAND, 128+n if signal n killed it, 124 after --timeout,\n" \
	"126 or 127 if it could not be executed or found, and 125 if Cordon refused or failed.\n" \
	"'cordon why PATH' and 'cordon why HOST' say why an attempt was refused."

const char about_run[] = ABOUT;
const char about_sandbox[] = ABOUT;

enum { STATUS_NOT_FOUND = 127 };

struct running {
	const struct args *args;
	struct cordon_load_options load;
	struct cordon_run_options options;
	struct report_file report;
	struct signals signals;
	struct timespec begun;
	bool has_told; /* that it takes long */
};

enum { LONG_MS = 1000 };

static int refuse_empty(const struct args *args)
{
	complain(args, "no_command", "no command is given");
	if (!args_have(args, OPT_JSON))
		help_print_usage(stderr, args->command);
	return EXIT_CORDON;
}

static long elapsed_ms(const struct timespec *since)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (long)(now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

/* While the policy is compiled and the sandbox built; nothing of the command has run yet. */
static int take_time(void *user, const char *directory)
{
	struct running *r = user;
	char text[1024];

	if (!r->has_told && r->load.on_warning && elapsed_ms(&r->begun) >= LONG_MS) {
		r->has_told = true;
		(void)snprintf(text, sizeof(text),
			       "still searching '%s' for names that the profile's globs deny; to "
			       "make this faster, use a smaller directory (-C DIR) or globs that "
			       "start in a subdirectory",
			       directory);
		print_warning(NULL, text);
	}
	return signals_end_the_start();
}

static void fill_request(struct running *r)
{
	const struct args *args = r->args;
	enum verbosity verbosity = find_verbosity(args);

	r->load = args->load;
	r->options = args->run;
	r->options.size = sizeof(r->options);
	r->options.load = &r->load;
	r->options.command = (const char *const *)args->words;
	/* CORDON_LOG says the same as the two options, and --trace wins. */
	r->options.flags &= ~(uint64_t)(CORDON_RUN_QUIET | CORDON_RUN_TRACE);
	r->options.flags |= CORDON_RUN_FOREGROUND;
	if (args->is_shell)
		r->options.flags |= CORDON_RUN_SHELL;
	r->load.on_progress = take_time;
	r->load.user = r;
	if (verbosity != SAY_LITTLE)
		r->load.on_warning = print_warning;
	else
		r->options.flags |= CORDON_RUN_QUIET;
	if (verbosity == SAY_ALL) {
		r->options.flags |= CORDON_RUN_TRACE;
		r->options.on_trace = print_trace;
	}
}

static int dry_run(const struct running *r)
{
	cordon_report *report;
	cordon_error *error;

	if (args_have(r->args, OPT_REPORT)) {
		complain_conflict(r->args, "--dry-run", "--report");
		return EXIT_CORDON;
	}
	if (cordon_dry_run(NULL, &r->options, &report, &error) < 0)
		return finish_error(r->args, error);
	return finish_report(r->args, report);
}

/* The report of a run that there is no result of; it says whether the command had begun. */
static int finish_failed(struct running *r, cordon_error *error, bool has_started)
{
	const char *json = cordon_error_json(error);
	char start[64];
	char text[8192];

	(void)snprintf(start, sizeof(start), "{\n  \"executed\": %s,\n  \"status\": %d,",
		       has_started ? "true" : "false", EXIT_CORDON);
	/* The members of `json` follow: its brace is replaced by this one's. */
	(void)snprintf(text, sizeof(text), "%s%s", start, json + 1);
	(void)report_file_write(r->args, &r->report, text);
	return finish_error(r->args, error);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * What the command waits for often comes in a row, such as the removals of a directory. Then this
 * waits for the next one alone, which is faster. A signal may have to wait that long. They are passed
 * on before each step: who was stopped learns of SIGCONT before anything else.
 */
static int answer_burst(struct running *r, cordon_run_handle *run, cordon_error **error)
{
	uint64_t until = now_ms() + (uint64_t)step_ms;
	int state;

	signals_pass_on(&r->signals, run);
	state = cordon_poll(run, 0, error);
	while (state == 0 && now_ms() < until) {
		signals_pass_on(&r->signals, run);
		state = cordon_poll(run, step_ms, error);
	}
	return state;
}

/* Until the run has ended; false with `*error` when it failed. */
static bool look_after(struct running *r, cordon_run_handle *run, cordon_error **error)
{
	int state = cordon_poll(run, 0, error);

	while (state == 0) {
		if (!signals_await(&r->signals, cordon_run_descriptor(run))) {
			cordon_cancel(run);
			break;
		}
		state = answer_burst(r, run, error);
	}
	return state >= 0;
}

/* What was probably meant by a name that no program has. */
static void advise(const struct args *args)
{
	const char *name = args->words[0];

	if (strchr(name, '/'))
		return;
	if (!args->words[1] && strpbrk(name, " \t;|&<>"))
		print_warning(NULL,
			      "COMMAND is a single word; to run a shell command line: sh -c '...'");
	else if (strchr(name, '='))
		print_warning(NULL, "to set a variable, use --env NAME=VALUE before the command");
}

/* What the warnings of the run have not said. */
static void tell_end(const struct running *r, const cordon_result *result)
{
	bool is_quiet = !r->load.on_warning;

	/* That nothing was run is no mere warning. */
	if (is_quiet && cordon_result_exec_error(result))
		print_error(cordon_result_exec_error(result));
	if (cordon_result_status(result) == STATUS_NOT_FOUND && !is_quiet)
		advise(r->args);
	/* P17 is said aloud whatever was asked for. */
	if (is_quiet && strcmp(cordon_result_backend(result), "none") == 0)
		print_warning(NULL, "the command ran without a sandbox, with all your permissions");
}

static int finish_result(struct running *r, cordon_result *result)
{
	int status = cordon_result_status(result);
	const char *json = NULL;

	tell_end(r, result);
	if (r->report.path) {
		cordon_report *report = cordon_result_report(result);

		json = report ? cordon_report_json(report) : NULL;
		if (!report_file_write(r->args, &r->report, json ? json : "{}\n") || !json)
			status = EXIT_CORDON;
	}
	signals_end_likewise(&r->signals, cordon_result_signal(result),
			     cordon_result_had_terminal(result));
	cordon_result_free(result);
	return status;
}

static int run_it(struct running *r)
{
	cordon_run_handle *run;
	cordon_result *result;
	cordon_error *error = NULL;

	if (!signals_hold(&r->signals)) {
		complain(r->args, "system_call", "can't receive signals: %s", strerror(errno));
		return EXIT_CORDON;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &r->begun);
	if (cordon_start(NULL, &r->options, &run, &error) < 0) {
		bool was_ended = cordon_error_code(error) == CORDON_E_CANCELLED;
		int status = finish_failed(r, error, false);

		if (was_ended)
			signals_die_of_them();
		return status;
	}
	if (!look_after(r, run, &error)) {
		cordon_cancel(run);
		if (cordon_wait(run, &result, NULL) == 0)
			cordon_result_free(result);
		return finish_failed(r, error, true);
	}
	if (cordon_wait(run, &result, &error) < 0)
		return finish_failed(r, error, true);
	return finish_result(r, result);
}

int cmd_sandbox(const struct args *args)
{
	return cmd_run(args);
}

int cmd_run(const struct args *args)
{
	struct running r = { .args = args };

	if (!args->words || args->words[0][0] == '\0')
		return refuse_empty(args);
	if (!fill_streams()) {
		complain(args, "system_call", "can't open /dev/null: %s", strerror(errno));
		return EXIT_CORDON;
	}
	fill_request(&r);
	if (args_have(args, OPT_DRY_RUN))
		return dry_run(&r);
	if (!report_file_open(args, &r.report))
		return EXIT_CORDON;
	return run_it(&r);
}
