/* SPDX-License-Identifier: MIT */
/*
 * A host program with children. It looks for those of its runs: runs `exit 7` with the bwrap
 * backend, several times, and fails when a run's status is another, when one of its processes is
 * left, or when it has heard of one in the background:
 *
 *	background	no flag
 *	foreground	CORDON_RUN_FOREGROUND
 *	careless	the same, and SIGCHLD is ignored
 *
 * Or it has one of its own:
 *
 *	forked BACKEND [FOREGROUND [THREAD]]
 *			starts a run that lasts, on another thread if that is said, forks a child,
 *			says its number, and waits
 */
#include <cordon.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RUNS = 5, SECONDS = 20 };

static volatile sig_atomic_t children_heard;

static void hear_child(int number)
{
	(void)number;
	children_heard = children_heard + 1;
}

static int run(uint64_t flags)
{
	static const char *const command[] = { "/bin/sh", "-c", "exit 7", NULL };
	struct cordon_run_options options = {
		.size = sizeof(options), .command = command, .backend = "bwrap", .flags = flags
	};
	cordon_result *result = NULL;
	cordon_error *error = NULL;
	int status = -1;

	if (cordon_run(NULL, &options, &result, &error) == 0)
		status = cordon_result_status(result);
	else
		(void)fprintf(stderr, "%s\n", cordon_error_text(error));
	cordon_result_free(result);
	cordon_error_free(error);
	return status;
}

/* Also those that no signal tells of. */
static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) == 0 || errno != ECHILD;
}

/* What it forks has copies of the channels of its runs, and nothing to do with them. */
static void *run_and_fork(void *arg)
{
	static const char *const command[] = { "/bin/sh", "-c", "echo up; exec sleep 20", NULL };
	static const char *const accepted[] = { "proc", "tree_death", "ipc", NULL };
	struct cordon_run_options *options = arg;
	cordon_run_handle *handle = NULL;
	cordon_error *error = NULL;
	pid_t child;

	options->command = command;
	if (strcmp(options->backend, "landlock") == 0)
		options->accept_missing = accepted;
	if (cordon_start(NULL, options, &handle, &error) < 0) {
		(void)fprintf(stderr, "%s\n", cordon_error_text(error));
		_exit(1);
	}
	child = fork();
	if (child == 0) {
		(void)sleep(SECONDS);
		_exit(0);
	}
	(void)printf("%d\n", (int)child);
	(void)fflush(stdout);
	(void)cordon_wait(handle, NULL, NULL);
	return NULL;
}

static int run_forked(const char *backend, bool is_foreground, bool is_threaded)
{
	struct cordon_run_options options = { .size = sizeof(options),
					      .backend = backend,
					      .flags = is_foreground ? CORDON_RUN_FOREGROUND : 0 };
	pthread_t thread;

	if (!is_threaded)
		(void)run_and_fork(&options);
	else if (pthread_create(&thread, NULL, run_and_fork, &options) != 0 ||
		 pthread_join(thread, NULL) != 0)
		return 1;
	return 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	bool is_careless = strcmp(way, "careless") == 0;
	bool is_foreground = is_careless || strcmp(way, "foreground") == 0;
	const struct sigaction action = { .sa_handler = is_careless ? SIG_IGN : hear_child };

	if (strcmp(way, "forked") == 0 && argc > 2)
		return run_forked(argv[2], argc > 3, argc > 4);
	if (sigaction(SIGCHLD, &action, NULL) < 0)
		return 1;
	for (int i = 0; i < RUNS; i++) {
		int status = run(is_foreground ? CORDON_RUN_FOREGROUND : 0);
		bool is_left = has_children();

		if (status == 7 && !is_left && (is_foreground || !children_heard))
			continue;
		(void)fprintf(stderr, "status %d, left %d, heard %d\n", status, is_left,
			      (int)children_heard);
		return 1;
	}
	return 0;
}
