/* SPDX-License-Identifier: MIT */
/* cordon doctor: what this host can enforce, and what would fix the rest. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"

enum {
	STATUS_NOT_ENFORCED = 1,
	PATIENCE_MS = 400, /* before it is said what takes so long */
};

/* What is being done, for the handler; only ever set to a text as a whole. */
static const char *volatile current_step;

static void show_step(int unused)
{
	static const char start[] = "\r\033[Kcordon: ";
	const char *step = current_step;

	(void)unused;
	if (!step || write(STDERR_FILENO, start, sizeof(start) - 1) < 0)
		return;
	(void)!write(STDERR_FILENO, step, strlen(step));
	(void)!write(STDERR_FILENO, " ...", 4);
}

static void take_step(void *user, const char *text)
{
	static char steps[2][128];
	size_t *count = user;

	/* The other one may be being shown. */
	(void)snprintf(steps[*count % 2], sizeof(steps[0]), "%s", text);
	current_step = steps[(*count)++ % 2];
}

/* On a terminal, when anything takes longer: what it is. */
static void start_showing(void)
{
	const struct itimerval pace = { .it_interval = { .tv_usec = PATIENCE_MS * 1000 },
					.it_value = { .tv_usec = PATIENCE_MS * 1000 } };
	struct sigaction action = { .sa_handler = show_step, .sa_flags = SA_RESTART };

	if (sigaction(SIGALRM, &action, NULL) == 0)
		(void)setitimer(ITIMER_REAL, &pace, NULL);
}

static void stop_showing(void)
{
	const struct itimerval never = { .it_value = { .tv_sec = 0 } };
	static const char clear[] = "\r\033[K";

	(void)setitimer(ITIMER_REAL, &never, NULL);
	(void)!write(STDERR_FILENO, clear, sizeof(clear) - 1);
}

int cmd_doctor(const struct args *args)
{
	size_t steps = 0;
	struct cordon_doctor_options asked = {
		.size = sizeof(asked), .load = &args->load, .on_step = take_step, .user = &steps
	};
	bool shows = isatty(STDERR_FILENO) && !args_have(args, OPT_QUIET);
	cordon_report *report;
	cordon_error *error;
	int status;
	bool is_enforced;

	if (args_have(args, OPT_CLEAN))
		asked.flags |= CORDON_DOCTOR_CLEAN;
	if (shows)
		start_showing();
	status = cordon_doctor(&asked, &report, &error);
	if (shows)
		stop_showing();
	if (status < 0)
		return finish_error(args, error);
	is_enforced = cordon_report_error_count(report) == 0;
	status = finish_report(args, report);
	return is_enforced ? status : STATUS_NOT_ENFORCED;
}
