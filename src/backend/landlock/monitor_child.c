/* SPDX-License-Identifier: MIT */
/*
 * The monitor: between the fork and the command. It stays outside of the walls, so
 * that from ABI 6 on nothing inside can signal it, and nothing can trace it; the
 * command locks itself in before it is executed.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backend/landlock/landlock.h"

static _Noreturn void lock_and_run(struct inner_job *job)
{
	int listener;

	/* Should the monitor be killed, the command at least goes with it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		inner_fail(job, INNER_FORK, 2);
	inner_enter_wall(job);
	listener = inner_lock_filter(job);
	inner_tell_ready(job, listener);
	inner_become_command(job);
}

_Noreturn void landlock_monitor(struct inner_job *job)
{
	struct init_order go;
	pid_t command;

	/* SECURITY: a group of its own: the command's kill(0) must not reach the caller's. */
	if (setpgid(0, 0) < 0)
		inner_fail(job, INNER_GROUP, 0);
	inner_tidy_descriptors(job);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		inner_fail(job, INNER_FORK, 1);
	if (chdir(job->directory) < 0)
		inner_fail(job, INNER_DIRECTORY, 0);
	job->root = open("/", O_PATH | O_CLOEXEC);
	inner_build_wall(job);
	if (!init_wait(job->channel, INIT_GO, &go))
		_exit(1);
	inner_hide_self(job, &go);
	inner_drop_capabilities(job);
	job->signals = command_take_signals();
	/* Credentials, filter and descriptors are the child's own; the memory is not needed twice. */
	command = vfork();
	if (command < 0)
		inner_fail(job, INNER_FORK, 0);
	if (command == 0)
		lock_and_run(job);
	inner_close_all_but(&job->channel, 1);
	init_run_without_namespace(job->channel, command);
}
