/* SPDX-License-Identifier: MIT */
/* The monitor of a command without a sandbox, and the command until its exec. See none.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/none/none.h"
#include "linux/init/init.h"
#include "os/child.h"
#include "os/fd_pass.h"

static void tell(int channel, const struct init_message *message)
{
	ssize_t n;

	do
		n = fd_pass_tell(channel, message, sizeof(*message), 0);
	while (n < 0 && errno == EINTR);
}

/* ---- The command -------------------------------------------------------------------- */

/* It gets the streams that were passed, and nothing else that this process has open. */
static bool is_cut_off(const struct none_job *job)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
	       os_close_all_but((int[]){ 0, 1, 2, job->channel }, 4);
}

static _Noreturn void run_command(const struct none_job *job, struct command_signals signals)
{
	struct init_message message = { .kind = INIT_EXEC_FAILED, .index = COMMAND_NO_PROGRAM };

	if (fchdir(job->directory) < 0 || !command_place_stdio(job->stdio) ||
	    (job->is_escalated && !is_cut_off(job)) || !command_set_limits(&job->limits)) {
		message.os_error = errno;
	} else {
		struct command_failure failure;

		command_reset_signals(signals);
		failure = command_execute(&job->words);
		message.os_error = failure.os_error;
		message.index = failure.index;
		message.value = failure.is_closed;
	}
	tell(job->channel, &message);
	_exit(127);
}

/* ---- The monitor --------------------------------------------------------------------- */

static uint64_t microseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void tell_end(int channel, int status, const struct rusage *usage)
{
	struct init_message message = { .kind = INIT_ENDED,
					.value = status,
					.user_us = microseconds(usage->ru_utime),
					.system_us = microseconds(usage->ru_stime),
					.max_rss_kib = (uint64_t)usage->ru_maxrss };

	tell(channel, &message);
}

/*
 * Calls `each` for each child that the kernel lists. False: all calls returned that, or it lists none,
 * or can't.
 */
static bool for_children(int channel, bool (*each)(int channel, pid_t child))
{
	char text[4096];
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	bool has_any = false;

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n;) {
		pid_t child = 0;

		for (; i < n && text[i] >= '0' && text[i] <= '9'; i++)
			child = child * 10 + (text[i] - '0');
		/* What is cut off at the end is found the next time. */
		if (child > 1 && i < n && text[i] == ' ')
			has_any |= each(channel, child);
		i++;
	}
	return has_any;
}

static bool kill_child(int channel, pid_t child)
{
	(void)channel;
	return kill(child, SIGKILL) == 0;
}

/* One that has become another user (sudo). Waiting for it would keep the run from its end. */
static bool tell_left(int channel, pid_t child)
{
	const struct init_message left = { .kind = INIT_LEFT, .value = child };

	if (waitpid(child, NULL, WNOHANG) == 0)
		tell(channel, &left);
	return false;
}

/* All descendants: whose parent has died is this process's child. */
static void end_descendants(int channel)
{
	while (for_children(channel, kill_child) && (waitpid(-1, NULL, 0) > 0 || errno == EINTR))
		;
	(void)for_children(channel, tell_left);
}

static void look_at(int channel, pid_t command, bool is_escalated)
{
	struct rusage usage;
	int status;

	while (wait4(command, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage) > 0) {
		struct init_message message = { .kind = INIT_CONTINUED };

		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (is_escalated)
				end_descendants(channel);
			tell_end(channel, status, &usage);
			/* Else what it left running goes on, as it would without Cordon. */
			_exit(0);
		}
		if (WIFSTOPPED(status))
			message = (struct init_message){ .kind = INIT_STOPPED,
							 .is_typed = 1,
							 .value = WSTOPSIG(status) };
		tell(channel, &message);
	}
}

/* The command first, whose end is to be told; then its group, this process included. */
static _Noreturn void kill_all(int channel, pid_t command, bool is_escalated)
{
	struct rusage usage;
	bool is_left;
	pid_t ended;
	int status;

	is_left = kill(command, SIGKILL) < 0 && errno == EPERM;
	ended = wait4(command, &status, is_left ? WNOHANG : 0, &usage);
	if (is_escalated)
		end_descendants(channel);
	else if (is_left)
		(void)tell_left(channel, command);
	if (ended == command)
		tell_end(channel, status, &usage);
	kill(0, SIGKILL);
	_exit(0);
}

/*
 * Without a word of the command's end: time is over, and who started the run is stopped and has to
 * see that nobody else ended it; or why was told already.
 */
static _Noreturn void kill_unheard(int channel, pid_t command, bool is_escalated)
{
	kill(command, SIGKILL);
	if (is_escalated)
		end_descendants(channel);
	kill(0, SIGKILL);
	_exit(0);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* For poll(); `ends_ms` 0: for ever. */
static int time_left(uint64_t ends_ms)
{
	uint64_t now = now_ms();

	if (ends_ms == 0)
		return -1;
	return ends_ms <= now ? 0 : (int)MIN_OF(ends_ms - now, (uint64_t)INT_MAX);
}

static void obey(const struct none_job *job, pid_t command, uint64_t *ends_ms)
{
	struct init_order order;
	ssize_t n;

	do
		n = recv(job->channel, &order, sizeof(order), 0);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof(order) && order.kind == INIT_END_LATER) {
		*ends_ms = now_ms() + order.after_ms;
		return;
	}
	/* The end of the channel is the end of who started the run, or its last word. */
	if (n != (ssize_t)sizeof(order) ||
	    (order.kind != INIT_SIGNAL && order.kind != INIT_SIGNAL_GROUP &&
	     order.kind != INIT_SIGNAL_ALL))
		kill_all(job->channel, command, job->is_escalated);
	/* The two that can't be blocked would hit this process as well. */
	if (order.kind == INIT_SIGNAL || order.value == SIGSTOP || order.value == SIGKILL)
		kill(command, order.value);
	else
		kill(0, order.value);
}

/*
 * SECURITY: in the session of the user's terminal the command could open /dev/tty, and read there what somebody
 * answers to a question. Without the list of its children its descendants could not be found.
 */
static bool is_apart(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 &&
	       access("/proc/thread-self/children", R_OK) == 0 && setsid() >= 0;
}

static pid_t wait_and_fork(const struct none_job *job)
{
	struct init_message ready = { .kind = INIT_READY };
	struct init_order order = { .kind = 0 };
	struct command_signals signals = command_take_signals();
	pid_t command;

	/* While this copy is open the channel does not end. */
	close(job->other_end);
	if (!(job->is_escalated ? is_apart() : setpgid(0, 0) == 0))
		ready = (struct init_message){ .kind = INIT_FAILED, .os_error = errno };
	tell(job->channel, &ready);
	if (!os_await_parent(job->channel, job->host) ||
	    recv(job->channel, &order, sizeof(order), 0) != (ssize_t)sizeof(order) ||
	    order.kind != INIT_GO)
		_exit(125);
	/* Not fork(): its handlers are the host program's and may take locks. */
	command = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (command == 0)
		run_command(job, signals);
	if (command < 0) {
		struct init_message failed = { .kind = INIT_EXEC_FAILED,
					       .os_error = errno,
					       .index = COMMAND_NO_PROGRAM };

		tell(job->channel, &failed);
		_exit(125);
	}
	return command;
}

_Noreturn void none_monitor(const struct none_job *job)
{
	struct pollfd wait[3] = { { .fd = job->channel, .events = POLLIN },
				  { .events = POLLIN },
				  { .fd = job->host, .events = POLLIN } };
	pid_t command = wait_and_fork(job);
	uint64_t ends_ms = 0;
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	wait[1].fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (wait[1].fd < 0)
		kill_all(job->channel, command, job->is_escalated);
	/* Somebody may wait for the end of a pipe or socket that this process has a copy of. */
	if (!os_close_all_but((int[]){ wait[0].fd, wait[1].fd, wait[2].fd }, COUNT_OF(wait))) {
		tell(job->channel,
		     &(struct init_message){ .kind = INIT_FAILED, .os_error = errno });
		kill_unheard(job->channel, command, job->is_escalated);
	}
	for (;;) {
		struct signalfd_siginfo info;

		look_at(wait[0].fd, command, job->is_escalated);
		if (poll(wait, COUNT_OF(wait), time_left(ends_ms)) < 0 && errno != EINTR)
			kill_all(wait[0].fd, command, job->is_escalated);
		while (read(wait[1].fd, &info, sizeof(info)) > 0)
			;
		look_at(wait[0].fd, command, job->is_escalated);
		if (wait[2].revents)
			kill_all(wait[0].fd, command, job->is_escalated);
		if (time_left(ends_ms) == 0)
			kill_unheard(job->channel, command, job->is_escalated);
		if (wait[0].revents)
			obey(job, command, &ends_ms);
	}
}
