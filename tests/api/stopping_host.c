/* SPDX-License-Identifier: MIT */
/*
 * A host program with job control: runs `sleep 20` in the foreground, with the backend of its
 * argument. When it is continued, it stops the command's group again before that goes on, as
 * Ctrl-Z right after `fg` does; when it is continued once more, it ends the command. With a second
 * argument it lets the command go on again at once, too, and ends it a while later. Its status is
 * the command's.
 */
#include <cordon.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

static volatile sig_atomic_t times_continued;

static void hear_continued(int number)
{
	(void)number;
	times_continued = times_continued + 1;
}

int main(int argc, char **argv)
{
	static const char *const command[] = { "/bin/sh", "-c", "echo up; exec sleep 20", NULL };
	struct cordon_run_options options = { .size = sizeof(options),
					      .command = command,
					      .backend = argc > 1 ? argv[1] : NULL,
					      .flags = CORDON_RUN_FOREGROUND };
	const struct sigaction action = { .sa_handler = hear_continued };
	cordon_run_handle *run = NULL;
	cordon_result *result = NULL;
	cordon_error *error = NULL;
	bool has_regrets = argc > 2;
	int heard = 0, polls = 0, status = 125;

	if (sigaction(SIGCONT, &action, NULL) < 0)
		return status;
	if (cordon_start(NULL, &options, &run, &error) < 0) {
		(void)fprintf(stderr, "%s\n", cordon_error_text(error));
		cordon_error_free(error);
		return status;
	}
	while (cordon_poll(run, 100, NULL) == 0) {
		if (has_regrets && heard > 0 && ++polls == 10)
			(void)cordon_signal(run, SIGTERM, NULL);
		if (heard == times_continued)
			continue;
		heard = times_continued;
		(void)cordon_signal(run, heard == 1 ? -SIGTSTP : SIGTERM, NULL);
		if (has_regrets)
			(void)cordon_signal(run, SIGCONT, NULL);
	}
	if (cordon_wait(run, &result, NULL) == 0)
		status = cordon_result_status(result);
	cordon_result_free(result);
	return status;
}
