/* SPDX-License-Identifier: MIT */
/* PID 1 of a sandbox once the command runs; see init.h. */
#include "linux/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "os/child.h"
#include "os/fd_pass.h"
#include "proxy/channel.h"

/*
 * SECURITY: a command could start short-lived processes as fast as they are reaped, and so keep
 * PID 1 from ever reading an order to end. So it reads orders after at most this many.
 */
enum { REAPED_AT_ONCE = 64 };

static ssize_t receive(int channel, struct init_order *order)
{
	ssize_t n;

	do
		n = recv(channel, order, sizeof(*order), 0);
	while (n < 0 && errno == EINTR);
	return n;
}

bool init_wait(int channel, int host, enum init_order_kind kind, struct init_order *order)
{
	return os_await_parent(channel, host) &&
	       receive(channel, order) == (ssize_t)sizeof(*order) && order->kind == kind;
}

/* The resources used by all reaped processes. */
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

/* ---- Without a pid namespace ----------------------------------------------------- */

/*
 * A child's pid stays its own until it is reaped, which only this process does. False: the kernel
 * does not list children.
 */
static bool signal_children(int number)
{
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	char text[4096];
	pid_t pid = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 0)
				kill(pid, number);
			pid = 0;
		}
	if (pid > 0)
		kill(pid, number);
	close(fd);
	return true;
}

/* Repeats until there are none: the children of a dead process become this one's. */
static void kill_as_found(void)
{
	for (;;) {
		pid_t pid;

		/* Without a list, kill at least the group, this process included. */
		if (!signal_children(SIGKILL))
			kill(0, SIGKILL);
		while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return;
		/* Give them time to die. */
		poll(NULL, 0, 1);
	}
}

/*
 * SECURITY: one call kills all: processes that fork fast enough could escape a search. The signal
 * scope of this process keeps the call from reaching any process that is not below it.
 */
static void kill_below(void)
{
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
}

/* ---- The end -------------------------------------------------------------------------- */

struct life {
	int channel;
	int host; /* a pidfd */
	pid_t command;
	bool has_namespace;
	bool reaches_only_below; /* with signals, and all that is below it */
	uint64_t ends_ms;	 /* 0: not by itself */
	int signals;		 /* a signalfd */
	int terminal;		 /* the command's own; -1: it has none, and is in this group */
	pid_t front;		 /* has that terminal, or is to get it back */
	bool is_typed;	 /* the terminal has sent a signal since the command was last heard of */
	bool has_ctrl_z; /* one of them was Ctrl-Z */
};

static void kill_tree(const struct life *life)
{
	if (life->reaches_only_below)
		kill_below();
	else
		kill_as_found();
}

/*
 * When PID 1 ends, the kernel kills everything in its namespace. Its own exit status means nothing;
 * the command's status is in the message.
 */
static _Noreturn void leave(const struct life *life)
{
	if (!life->has_namespace)
		kill_tree(life);
	_exit(0);
}

/* ---- Time, and what is told ------------------------------------------------------------ */

static uint64_t now_ms(void)
{
	struct timespec now = { .tv_sec = 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* In milliseconds for poll(); -1: no limit, 0: the time is over. */
static int time_left(const struct life *life)
{
	uint64_t now = now_ms();

	if (!life->ends_ms)
		return -1;
	return now >= life->ends_ms ? 0 : (int)MIN_OF(life->ends_ms - now, (uint64_t)INT32_MAX);
}

/*
 * SECURITY: if the supervisor is stopped or killed while the channel is full, a blocking send would
 * keep PID 1, and so the command, alive for ever.
 */
static void await_room(const struct life *life)
{
	struct pollfd wait[2] = { { .fd = life->channel, .events = POLLOUT },
				  { .fd = life->host, .events = POLLIN } };

	while (!wait[0].revents) {
		int n = poll(wait, COUNT_OF(wait), time_left(life));

		if (wait[1].revents || (n <= 0 && time_left(life) == 0))
			leave(life);
	}
}

static void tell(const struct life *life, const struct init_message *message)
{
	while (fd_pass_tell(life->channel, message, sizeof(*message), MSG_DONTWAIT) < 0 &&
	       (errno == EINTR || errno == EAGAIN))
		await_room(life);
}

/* ---- The command ------------------------------------------------------------------------ */

/* All orphans become children of this process, so without children it is alone. */
static bool is_alone(void)
{
	pid_t pid = 1;

	for (int i = 0; i < REAPED_AT_ONCE && pid > 0; i++)
		pid = waitpid(-1, NULL, WNOHANG | __WALL);
	return pid < 0 && errno == ECHILD;
}

static _Noreturn void end(const struct life *life, int status)
{
	struct init_message message = { .kind = INIT_ENDED, .value = status };

	message.is_alone = is_alone();
	if (!life->has_namespace && !message.is_alone) {
		kill_tree(life);
		message.is_alone = true;
	}
	add_usage(&message);
	tell(life, &message);
	_exit(0);
}

/* One SIGCHLD may stand for several children. False: no more are waiting. */
static bool reap(struct life *life)
{
	for (int i = 0; i < REAPED_AT_ONCE; i++) {
		struct init_message message = { .kind = INIT_CONTINUED };
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);

		if (pid <= 0)
			return false;
		if (pid != life->command)
			continue;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			end(life, status);
		if (WIFSTOPPED(status)) {
			message = (struct init_message){ .kind = INIT_STOPPED,
							 .value = WSTOPSIG(status),
							 .is_typed = life->is_typed };
			life->is_typed = life->has_ctrl_z = false;
		}
		tell(life, &message);
	}
	return true;
}

/* SIGSTOP and SIGKILL can't be blocked; only the PID 1 of a namespace is exempt from them. */
static void signal_group(const struct life *life, int number)
{
	if (life->terminal >= 0)
		kill(-life->command, number);
	else if (life->has_namespace || (number != SIGSTOP && number != SIGKILL))
		kill(0, number);
	else
		signal_children(number);
}

/* ---- Sockets for the proxy ----------------------------------------------------------- */

/*
 * Makes sockets in this process's network, so that the supervisor need not enter it. The proxy
 * decides what they are bound to.
 */
static void make_sockets(const struct life *life, int32_t family)
{
	struct init_message message = { .kind = INIT_SOCKETS_MADE, .value = family };
	int fds[PROXY_SOCKETS_AT_ONCE];
	size_t count = 0;
	int r = 0;

	while (count < PROXY_SOCKETS_AT_ONCE && r == 0) {
		fds[count] = socket(family == 4 ? AF_INET : AF_INET6,
				    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fds[count] < 0)
			r = -errno;
		else
			count++;
	}
	await_room(life);
	if (r == 0)
		r = fd_pass_send(life->channel, &message, sizeof(message), fds, count, 0);
	while (count > 0)
		close(fds[--count]);
	message.os_error = -r;
	if (r < 0)
		tell(life, &message);
}

/* In the sandbox's own network namespace: what can be done with a socket depends on where it was made. */
static void make_pair(const struct life *life)
{
	struct init_message message = { .kind = INIT_PAIR_MADE };
	int ends[2] = { -1, -1 };
	int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;

	await_room(life);
	if (r == 0) {
		r = fd_pass_send(life->channel, &message, sizeof(message), ends, 2, 0);
		close(ends[0]);
		close(ends[1]);
	}
	message.os_error = -r;
	if (r < 0)
		tell(life, &message);
}

/* ---- Signals --------------------------------------------------------------------------- */

static const int signals[] = { SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU };

/*
 * The terminal stops a whole group, and this process leads that group. It blocks the signal and reads
 * it, and so knows that the kernel sent it; no process can fake that (SI_KERNEL).
 */
static void take_signals(struct life *life)
{
	struct signalfd_siginfo infos[COUNT_OF(signals)];
	ssize_t n = read(life->signals, infos, sizeof(infos));

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(infos[0]); i++) {
		if (infos[i].ssi_signo == SIGCHLD || infos[i].ssi_code != SI_KERNEL)
			continue;
		life->is_typed = true;
		life->has_ctrl_z |= infos[i].ssi_signo == SIGTSTP;
	}
}

/* ---- A terminal of the command's own ---------------------------------------------------- */

/* All signals are blocked, so SIGTTOU stops nobody. */
void init_set_front(int terminal, bool is_in_front, pid_t *front)
{
	pid_t now = tcgetpgrp(terminal);

	if (terminal < 0)
		return;
	/* A shell inside may have given it to another group. */
	if (!is_in_front && now > 0 && now != getpgrp())
		*front = now;
	(void)tcsetpgrp(terminal, is_in_front ? *front : getpgrp());
}

/* ---- Orders --------------------------------------------------------------------------- */

/*
 * A stopped process loses a pending Ctrl-Z when it continues. This process was not stopped and still
 * knows of it, so it sends SIGTSTP again after SIGCONT.
 */
static void signal_all(struct life *life, int number)
{
	if (life->has_namespace || life->reaches_only_below)
		kill(-1, number);
	else
		signal_children(number);
	if (number != SIGSTOP && number != SIGCONT)
		return;
	take_signals(life);
	/* A key typed before now is the reason for this stop. */
	if (number == SIGCONT && life->has_ctrl_z)
		signal_group(life, SIGTSTP);
	else
		life->is_typed = false;
	life->has_ctrl_z = false;
}

/* The group that had it may have ended meanwhile. */
static void set_front(struct life *life, bool is_in_front)
{
	init_set_front(life->terminal, is_in_front, &life->front);
	if (!is_in_front || life->front == life->command ||
	    tcgetpgrp(life->terminal) == life->front)
		return;
	life->front = life->command;
	init_set_front(life->terminal, true, &life->front);
}

static void obey(struct life *life)
{
	struct init_order order;

	/* An unknown order, or the end of the channel, ends the run. */
	if (receive(life->channel, &order) != (ssize_t)sizeof(order))
		leave(life);
	if (order.kind == INIT_SIGNAL)
		kill(life->command, order.value);
	else if (order.kind == INIT_SIGNAL_GROUP)
		signal_group(life, order.value);
	else if (order.kind == INIT_SIGNAL_ALL)
		signal_all(life, order.value);
	else if (order.kind == INIT_END_WITH_PARENT)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	else if (order.kind == INIT_END_LATER)
		life->ends_ms = now_ms() + order.after_ms;
	else if (order.kind == INIT_SET_FRONT)
		set_front(life, order.value != 0);
	else if (order.kind == INIT_MAKE_SOCKETS && (order.value == 4 || order.value == 6))
		make_sockets(life, order.value);
	else if (order.kind == INIT_MAKE_PAIR)
		make_pair(life);
	else
		leave(life);
}

static _Noreturn void run(struct life *life)
{
	struct pollfd wait[3] = { { .fd = life->channel, .events = POLLIN },
				  { .events = POLLIN },
				  { .fd = life->host, .events = POLLIN } };
	sigset_t wanted;

	os_wake_with_parent();
	sigemptyset(&wanted);
	for (size_t i = 0; i < COUNT_OF(signals); i++)
		sigaddset(&wanted, signals[i]);
	life->signals = wait[1].fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
	if (life->signals < 0)
		leave(life);
	for (;;) {
		bool has_more;

		take_signals(life);
		has_more = reap(life);
		if (poll(wait, 3, has_more ? 0 : time_left(life)) < 0 && errno != EINTR)
			leave(life);
		if (wait[2].revents)
			leave(life);
		if (wait[0].revents)
			obey(life);
		if (time_left(life) == 0)
			leave(life);
	}
}

_Noreturn void init_run(const struct init_ties *ties, pid_t command)
{
	struct life life = { .channel = ties->channel,
			     .host = ties->host,
			     .terminal = ties->terminal,
			     .front = command,
			     .command = command,
			     .has_namespace = true };

	run(&life);
}

_Noreturn void init_run_without_namespace(const struct init_ties *ties, pid_t command,
					  bool reaches_only_below)
{
	struct life life = { .channel = ties->channel,
			     .host = ties->host,
			     .terminal = ties->terminal,
			     .front = command,
			     .command = command,
			     .reaches_only_below = reaches_only_below };

	run(&life);
}
