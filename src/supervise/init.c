/* SPDX-License-Identifier: MIT */
/* PID 1 of a sandbox once the command runs; see init.h. */
#include "supervise/init.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static ssize_t receive(int channel, struct init_order *order)
{
	ssize_t n;

	do
		n = recv(channel, order, sizeof(*order), 0);
	while (n < 0 && errno == EINTR);
	return n;
}

bool init_wait(int channel, enum init_order_kind kind, struct init_order *order)
{
	return receive(channel, order) == (ssize_t)sizeof(*order) && order->kind == kind;
}

static void tell(int channel, const struct init_message *message)
{
	ssize_t n;

	do
		n = send(channel, message, sizeof(*message), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
}

/* What all that was reaped has used. */
static void add_usage(struct init_message *message)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage) < 0)
		return;
	message->user_us =
		(uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec;
	message->system_us =
		(uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec;
	message->max_rss_kib = (uint64_t)usage.ru_maxrss;
}

/*
 * The end of PID 1 is the end of all in its namespace. Its own status says
 * nothing: what the command did is in the message.
 */
static _Noreturn void end(int channel, int status)
{
	struct init_message message = { .kind = INIT_ENDED, .value = status };

	add_usage(&message);
	tell(channel, &message);
	_exit(0);
}

/* Several children may have changed for one SIGCHLD. */
static void reap(int channel, pid_t command, bool *is_typed)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
		struct init_message message = { .kind = INIT_CONTINUED };

		if (pid != command)
			continue;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			end(channel, status);
		if (WIFSTOPPED(status))
			message = (struct init_message){ .kind = INIT_STOPPED,
							 .value = WSTOPSIG(status),
							 .is_typed = *is_typed };
		*is_typed = false;
		tell(channel, &message);
	}
}

static void obey(int channel, pid_t command)
{
	struct init_order order;

	/* Whatever it is that this does not understand, or the end of the channel: it is over. */
	if (receive(channel, &order) != (ssize_t)sizeof(order))
		_exit(0);
	if (order.kind == INIT_SIGNAL)
		kill(command, order.value);
	else if (order.kind == INIT_SIGNAL_GROUP)
		kill(0, order.value);
	else if (order.kind == INIT_SIGNAL_ALL)
		kill(-1, order.value);
	else
		_exit(0);
}

/*
 * What the terminal stops it stops as a group, and this process leads that group.
 * It blocks the signal, and so can see that it was the kernel who sent it: no
 * process can make that up.
 */
static void take_signals(int fd, bool *is_typed)
{
	struct signalfd_siginfo info;

	while (read(fd, &info, sizeof(info)) > 0)
		if (info.ssi_signo != SIGCHLD && info.ssi_code == SI_KERNEL)
			*is_typed = true;
}

_Noreturn void init_run(int channel, pid_t command)
{
	static const int signals[] = { SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU };
	struct pollfd wait[2] = { { .fd = channel, .events = POLLIN }, { .events = POLLIN } };
	bool is_typed = false;
	sigset_t wanted;

	sigemptyset(&wanted);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&wanted, signals[i]);
	wait[1].fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	if (wait[1].fd < 0)
		_exit(0);
	for (;;) {
		take_signals(wait[1].fd, &is_typed);
		reap(channel, command, &is_typed);
		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			_exit(0);
		if (wait[0].revents)
			obey(channel, command);
	}
}
