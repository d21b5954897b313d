/* SPDX-License-Identifier: MIT */
/* cordon doctor: what this host can enforce, and what would fix the rest. */
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/system.h"

const char about_doctor[] =
	"Runs a probe in a sandbox of each backend. For each guarantee, says whether it holds\n"
	"on this host, how that was tested, and how to fix it if it does not. The exit status\n"
	"is 0 if the default profile, or the one given, can be enforced here, otherwise 1.\n"
	"--clean also removes what killed runs left behind.";

enum {
	STEPS_MAX = 32,
	PATIENCE_MS = 400, /* before it is said what takes so long */
};

/* What is being done, for the handler; only ever set to a text as a whole. */
static const char *volatile current_step;

/* One line a step, so that no terminal is too simple for it. */
static void show_step(int unused)
{
	static const char *shown;
	const char *step = current_step;

	(void)unused;
	if (!step || step == shown)
		return;
	shown = step;
	(void)!write(STDERR_FILENO, "cordon: ", 8);
	(void)!write(STDERR_FILENO, step, strlen(step));
	(void)!write(STDERR_FILENO, " ...\n", 5);
}

static void take_step(void *user, const char *text)
{
	static char steps[STEPS_MAX][128];
	size_t *count = user;

	/* Each has a place of its own: the handler may be reading the one before. */
	if (*count >= STEPS_MAX)
		return;
	(void)snprintf(steps[*count], sizeof(steps[0]), "%s", text);
	current_step = steps[(*count)++];
}

/* On a terminal, when anything takes longer: what it is. */
static void start_showing(void)
{
	const struct itimerval pace = { .it_interval = { .tv_usec = PATIENCE_MS * 1000L },
					.it_value = { .tv_usec = PATIENCE_MS * 1000L } };
	struct sigaction action = { .sa_handler = show_step, .sa_flags = SA_RESTART };

	if (sigaction(SIGALRM, &action, NULL) == 0)
		(void)setitimer(ITIMER_REAL, &pace, NULL);
}

static void stop_showing(void)
{
	const struct itimerval never = { .it_value = { .tv_sec = 0 } };

	(void)setitimer(ITIMER_REAL, &never, NULL);
}

/* The probe is this program, whatever its file is called; NULL: that can't be told. */
static const char *find_probe(void)
{
	static char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path));

	if (len <= 0 || (size_t)len >= sizeof(path))
		return NULL;
	path[len] = '\0';
	return access(path, X_OK) == 0 ? path : NULL;
}

int cmd_doctor(const struct args *args)
{
	size_t steps = 0;
	struct cordon_doctor_options asked = { .size = sizeof(asked),
					       .load = &args->load,
					       .program = find_probe(),
					       .on_step = take_step,
					       .user = &steps };
	bool shows = is_terminal(STDERR_FILENO) && !args_have(args, OPT_QUIET);
	cordon_report *report;
	cordon_error *error;
	int status;

	if (args_have(args, OPT_CLEAN))
		asked.flags |= CORDON_DOCTOR_CLEAN;
	if (shows)
		start_showing();
	status = cordon_doctor(&asked, &report, &error);
	if (shows)
		stop_showing();
	if (status < 0)
		return finish_error(args, error);
	return finish_answer(args, report, EXIT_NO);
}
