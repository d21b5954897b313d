/* SPDX-License-Identifier: MIT */
/*
 * A host program that gets a signal each few milliseconds, as one with a timer does: runs its
 * arguments with the bwrap backend. Its status is that of the command; 125 when there was none.
 */
#include <cordon.h>

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static void ignore(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { .tv_usec = 20000 }, { .tv_usec = 20000 } };
	const struct sigaction action = { .sa_handler = ignore };
	struct cordon_run_options options = { .size = sizeof(options),
					      .command = (const char *const *)argv + 1,
					      .backend = "bwrap" };
	cordon_result *result = NULL;
	cordon_error *error = NULL;
	int status = 125;

	(void)argc;
	if (sigaction(SIGALRM, &action, NULL) < 0 || setitimer(ITIMER_REAL, &often, NULL) < 0)
		return status;
	if (cordon_run(NULL, &options, &result, &error) == 0)
		status = cordon_result_status(result);
	else
		(void)fprintf(stderr, "%s\n", cordon_error_text(error));
	cordon_result_free(result);
	cordon_error_free(error);
	return status;
}
