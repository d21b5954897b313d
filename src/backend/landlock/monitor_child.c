/* SPDX-License-Identifier: MIT */
/*
 * The monitor, from the fork until the command runs. It stays outside the command's Landlock
 * domain, so that the command can't trace it and, from ABI 6 on, can't signal it. The command's
 * process enters the domain before its exec. From ABI 6 on the monitor has a domain of its own that
 * restricts signals only, so that one kill(-1) kills everything below it and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "backend/landlock/landlock.h"
#include "os/child.h"
#include "os/fd_pass.h"

/* With the order comes the ruleset; the terminal has been handed over by then. */
static void await_go(struct inner_job *job)
{
	struct init_order go;
	size_t count = 1;

	if (!os_await_parent(job->channel, job->host) ||
	    fd_pass_receive(job->channel, &go, sizeof(go), &job->ruleset, &count) !=
		    (ssize_t)sizeof(go) ||
	    go.kind != INIT_GO)
		_exit(1);
	if (count == 0)
		inner_fail(job, INNER_LANDLOCK, 7);
}

struct start {
	struct inner_job *job;
	pid_t monitor;
};

static int lock_and_run(void *arg)
{
	const struct start *start = arg;
	struct inner_job *job = start->job;
	int listener;

	/* If the monitor is killed, at least the command dies with it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		inner_fail(job, INNER_FORK, 2);
	if (getppid() != start->monitor)
		_exit(1);
	inner_reopen_streams(job);
	listener = inner_lock_filter(job);
	await_go(job);
	inner_enter_landlock(job);
	inner_tell_ready(job, listener);
	inner_become_command(job);
}

enum { STACK_BYTES = 64 << 10 };

/*
 * Shares its memory with the child, which has its own credentials, filter and descriptors. The
 * monitor waits until the command is executed, because until then the child uses the channel. Not
 * vfork(): some C libraries implement it as fork(), which would not wait.
 */
static pid_t start_command(struct inner_job *job)
{
	struct start start = { .job = job, .monitor = getpid() };
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

	if (stack == MAP_FAILED)
		return -1;
	return clone(lock_and_run, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
}

_Noreturn void landlock_monitor(struct inner_job *job)
{
	bool reaches_only_below;
	pid_t command;

	inner_leave_group(job);
	inner_raise_open_files(job);
	inner_open_terminal(job);
	inner_take_terminal(job);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		inner_fail(job, INNER_FORK, 1);
	if (chdir(job->directory) < 0)
		inner_fail(job, INNER_DIRECTORY, 0);
	job->root = open("/", O_PATH | O_CLOEXEC);
	inner_drop_capabilities(job);
	reaches_only_below = inner_scope_signals(job);
	job->signals = command_take_signals();
	command = start_command(job);
	if (command < 0)
		inner_fail(job, INNER_FORK, 0);
	inner_keep_ties(job);
	/*
	 * Only now, so that it does not delay the command: Landlock keeps the command from reading
	 * this process's memory, and its arguments are the caller's, which are visible anyway.
	 */
	inner_hide_self(job);
	init_run_without_namespace(&(struct init_ties){ job->channel, job->host, job->terminal },
				   command, reaches_only_below);
}
