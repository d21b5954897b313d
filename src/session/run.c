/* SPDX-License-Identifier: MIT */
/*
 * A run in order:
 *
 *	choose_next		which backend, which environment
 *	streams, terminal	what the command gets as 0, 1, 2
 *	placeholders, warden	what must not be created is held, and is let go however this ends
 *	proxy			started, when the network is managed
 *	launch			the command runs; or this host does not let the backend, and the next is chosen
 *	engine, watch		its calls are answered, its files looked after
 *	loop			until PID 1 says that it has ended, and the kernel that all has
 *	warden			the placeholders go
 *
 * What was begun is undone in finish(), from wherever it has got to.
 */
#include "session/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"

enum {
	PATIENCE_MS = 2000, /* between the request to end and the kill */
	OVERDUE_MS = 1000,  /* behind that, PID 1 does not wait for the kill any more */
};

/* ---- Speaking to the sandbox ------------------------------------------------------------ */

static bool order(const struct session *s, enum init_order_kind kind, int value)
{
	const struct init_order message = { .kind = kind, .value = value };

	return fd_pass_tell(s->sandbox.channel, &message, sizeof(message), MSG_DONTWAIT) ==
	       (ssize_t)sizeof(message);
}

static void kill_all(struct session *s)
{
	if (s->sandbox.pidfd < 0)
		return;
	s->was_killed = true;
	(void)order(s, INIT_KILL, 0);
	/*
	 * PID 1 takes all with it, also when it is not able to listen. Without a pid namespace
	 * it would take nothing: there it has to listen, and must not be stopped.
	 */
	if (s->outcome.is_sandboxed && !s->sandbox.has_no_namespaces)
		os_kill(s->sandbox.pidfd, SIGKILL);
	else
		os_kill(s->sandbox.pidfd, SIGCONT);
}

/* ---- Time -------------------------------------------------------------------------------- */

static int set_clock(struct session *s, uint64_t ms, struct err *e)
{
	struct itimerspec in = { .it_value = { .tv_sec = (time_t)(ms / 1000),
					       .tv_nsec = (long)(ms % 1000) * 1000000 } };

	if (s->clock.fd < 0) {
		/* A descriptor, and not a timer of the loop: who polls must see it. */
		s->clock.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		if (s->clock.fd < 0)
			return FAIL_SYS(e, errno, "can't make a timer");
		if (loop_add(&s->loop, &s->clock, LOOP_IN, e) < 0)
			return err_result(e);
	}
	if (timerfd_settime(s->clock.fd, 0, &in, NULL) < 0)
		return FAIL_SYS(e, errno, "can't set a timer");
	return 0;
}

static int clock_is_due(void *user, uint32_t events, struct err *e)
{
	struct session *s = user;
	uint64_t times;

	(void)events;
	if (read(s->clock.fd, &times, sizeof(times)) < 0)
		return 0;
	if (s->state == SESSION_DRAINS) {
		s->gives_up = true;
		return 0;
	}
	if (s->has_ended)
		return 0;
	if (s->was_told_to_end) {
		kill_all(s);
		return 0;
	}
	s->outcome.timed_out = true;
	s->was_told_to_end = true;
	session_trace(&s->in, "the time is over: the command is told to end");
	(void)order(s, INIT_SIGNAL_GROUP, SIGTERM);
	/* One that is stopped could not hear it. */
	(void)order(s, INIT_SIGNAL_GROUP, SIGCONT);
	return set_clock(s, PATIENCE_MS, e);
}

static uint64_t find_timeout(const struct session_request *in)
{
	uint64_t limit = in->plan->policy->profile->limits.value[LIMIT_TIMEOUT];

	if (limit && in->timeout_ms)
		return MIN_OF(limit, in->timeout_ms);
	return limit ? limit : in->timeout_ms;
}

static bool is_time_over(const struct session *s)
{
	return s->ends_ms && loop_now() >= s->ends_ms;
}

/*
 * SECURITY: this process may be stopped, by what is typed or, with its terminal's help, by the
 * command. Who is not on that terminal keeps the time as well.
 */
static int start_clock(struct session *s, struct err *e)
{
	uint64_t limit = find_timeout(&s->in);
	const struct init_order end = { .kind = INIT_END_LATER,
					.after_ms = limit + PATIENCE_MS + OVERDUE_MS };

	if (!limit)
		return 0;
	s->ends_ms = loop_now() + limit;
	/* That it has ended already shows when it is listened to. */
	if (s->outcome.is_sandboxed &&
	    fd_pass_tell(s->sandbox.channel, &end, sizeof(end), MSG_DONTWAIT) < 0 &&
	    errno != EPIPE && errno != ECONNRESET)
		return FAIL_SYS(e, errno, "can't tell the sandbox how long it may run");
	return set_clock(s, limit, e);
}

/* ---- What the sandbox says ------------------------------------------------------------------ */

/* What it has said before it ended, or before its time was over, is of no account. */
static bool is_over(const struct session *s)
{
	struct pollfd gone = { .fd = s->sandbox.pidfd, .events = POLLIN };

	return is_time_over(s) || poll(&gone, 1, 0) > 0;
}

/*
 * Whether this process stops with its command, as a shell with job control expects
 * it. A command must not get rid of its time limit so: with one, only where the
 * terminal is ours to give.
 */
static bool stops_too(const struct session *s)
{
	if (!s->in.is_foreground || s->terminal.fd < 0 || is_over(s))
		return false;
	return !find_timeout(&s->in) || s->terminal.was_given || terminal_is_ours(&s->terminal);
}

/* -N is for the whole group. */
static bool send_signal(const struct session *s, int number)
{
	return number < 0 ? order(s, INIT_SIGNAL_GROUP, -number) : order(s, INIT_SIGNAL, number);
}

static int go_on(void *user, uint32_t events, struct err *e)
{
	struct session *s = user;

	(void)events;
	(void)e;
	loop_remove(&s->loop, &s->goes_on);
	fd_close(&s->goes_on.fd);
	(void)order(s, INIT_SIGNAL_ALL, SIGCONT);
	if (s->stops_again)
		(void)send_signal(s, s->stops_again);
	s->stops_again = 0;
	return 0;
}

/*
 * In the next step. What was sent to this process while all were stopped, as `kill %1`
 * does, is still to be read and passed on by the caller: it has to be there when the
 * command goes on. One that sits in pause() and is woken first may be on its way back
 * into it when the signal comes, and sleep on.
 */
static void go_on_later(struct session *s)
{
	struct err e = ERR_INIT;

	if (s->goes_on.is_added)
		return;
	s->goes_on.fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->goes_on.fd < 0 || loop_add(&s->loop, &s->goes_on, LOOP_IN, &e) < 0)
		(void)go_on(s, 0, &e);
}

static void command_stopped(struct session *s, int number, bool is_typed)
{
	session_trace(&s->in, "the command was stopped by signal %d", number);
	if (stops_too(s)) {
		/* SECURITY: who would look after the others that it has started? All stop. */
		(void)order(s, INIT_SIGNAL_ALL, SIGSTOP);
		terminal_stop(&s->terminal, s->sandbox.pid, number, is_typed);
		s->outcome.had_terminal |= s->terminal.was_given;
		go_on_later(s);
		return;
	}
	if ((number != SIGTTIN && number != SIGTTOU) || s->has_warned_of_tty)
		return;
	s->has_warned_of_tty = true;
	session_warn(&s->in, "the command was stopped because it wants the terminal, which it was "
			     "not given; run it in the foreground, or without standard input");
}

static void start_draining(struct session *s)
{
	s->outcome.duration_ms = loop_now() - s->started_ms;
	s->state = SESSION_DRAINS;
}

static int take_message(struct session *s, const struct init_message *m, struct err *e)
{
	switch ((enum init_message_kind)m->kind) {
	case INIT_EXEC_FAILED:
		outcome_set_exec_failed(s, m);
		return 0;
	case INIT_STOPPED:
		command_stopped(s, m->value, m->is_typed);
		return 0;
	case INIT_CONTINUED:
		session_trace(&s->in, "the command goes on");
		return 0;
	case INIT_ENDED:
		s->has_ended = true;
		s->outcome.cpu_ms = (m->user_us + m->system_us) / 1000;
		s->outcome.max_rss_kib = m->max_rss_kib;
		if (!s->outcome.exec_error)
			outcome_set_status(&s->outcome, m->value);
		/* What is left is killed: the proxy gets done while it dies. */
		network_finish(s);
		/* The end of a mount namespace takes a while: there is enough to do meanwhile. */
		if (m->is_alone)
			start_draining(s);
		return 0;
	case INIT_FAILED:
		return FAIL_SYS(e, m->os_error, "the command could not be started");
	case INIT_SOCKETS_MADE: /* in hear(): with what comes with it */
	case INIT_READY:
		break;
	}
	return FAIL(e, ERR_INTERNAL, "the sandbox says something that it can't say now");
}

static int take_sockets(struct session *s, const struct init_message *m, const int *fds,
			size_t count, struct err *e)
{
	if (m->kind == INIT_SOCKETS_MADE)
		return network_take_sockets(s, m->value, fds, count, e);
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return take_message(s, m, e);
}

/* 0 when there is nothing (more), 1 after a message. */
static int hear(struct session *s, struct err *e)
{
	struct init_message message;
	int fds[PROXY_SOCKETS_AT_ONCE];
	size_t count = COUNT_OF(fds);
	ssize_t n = fd_pass_receive(s->sandbox.channel, &message, sizeof(message), fds, &count);

	if (n == (ssize_t)sizeof(message))
		return take_sockets(s, &message, fds, count, e) < 0 ? err_result(e) : 1;
	if (n == -EAGAIN)
		return 0;
	/* The other end is closed: what is to come comes by the pidfd. */
	loop_remove(&s->loop, &s->channel);
	return 0;
}

static int channel_is_ready(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return hear(user, e) < 0 ? err_result(e) : 0;
}

/* The last words may still be in the channel when the speaker is gone. */
static int sandbox_is_gone(void *user, uint32_t events, struct err *e)
{
	struct session *s = user;
	int heard;

	(void)events;
	loop_remove(&s->loop, &s->gone);
	do
		heard = hear(s, e);
	while (heard > 0);
	if (heard < 0)
		return err_result(e);
	if (!s->has_ended) {
		s->outcome.timed_out |= is_time_over(s);
		s->was_killed |= s->outcome.timed_out;
		outcome_set_status(&s->outcome, SIGKILL);
		if (!s->was_killed)
			session_warn(&s->in, "the sandbox was killed from outside of Cordon");
	}
	if (s->state == SESSION_RUNS)
		start_draining(s);
	return 0;
}

/* SECURITY: nobody else removes what must not stay, and nobody else ends the run with us. */
static int warden_is_gone(void *user, uint32_t events, struct err *e)
{
	struct session *s = user;

	(void)events;
	loop_remove(&s->loop, &s->warden_gone);
	return FAIL_SYS(e, ECHILD, "the process that cleans up after the run was killed");
}

/*
 * SECURITY: somebody may have stopped PID 1, and then it does not hear the end of its channel. A
 * monitor would leave the rest behind.
 */
static int tie_to_parent(const struct session *s, struct err *e)
{
	if (!s->ends_with_parent || !s->outcome.is_sandboxed || s->sandbox.has_no_namespaces)
		return 0;
	if (order(s, INIT_END_WITH_PARENT, 0) || errno == EPIPE || errno == ECONNRESET)
		return 0;
	return FAIL_SYS(e, errno, "can't tell the sandbox whom it belongs to");
}

/*
 * SECURITY: one that was to leave has left PID 1 to this process. Any other ends after PID 1, and
 * would end it with this process: when it is the first of them to go, it was killed.
 */
static int helper_is_gone(void *user, uint32_t events, struct err *e)
{
	struct session *s = user;
	struct pollfd first = { .fd = s->sandbox.pidfd, .events = POLLIN };

	(void)events;
	loop_remove(&s->loop, &s->helper_gone);
	if (sandbox_helper_left(&s->sandbox))
		return tie_to_parent(s, e);
	if (poll(&first, 1, 0) > 0)
		return 0;
	return FAIL_SYS(e, ECHILD, "the process that ends the sandbox with this one was killed");
}

/* ---- Starting ---------------------------------------------------------------------------------- */

static int find_sockets(struct session *s, struct err *e)
{
	return s->outcome.is_sandboxed ? unix_sockets_find(s->a, s->in.plan, &s->sockets, e) : 0;
}

static int look_after(struct session *s, struct err *e)
{
	s->outcome.has_started = true;
	s->outcome.landlock_abi = s->sandbox.landlock_abi;
	if (s->outcome.is_sandboxed && s->sandbox.landlock_abi == 0)
		session_warn(&s->in,
			     "the profile allows user namespaces, and so there is no Landlock as "
			     "a second wall: named pipes of the host can be written to");
	if (fcntl(s->sandbox.channel, F_SETFL, O_NONBLOCK) < 0)
		return FAIL_SYS(e, errno, "can't listen to the sandbox");
	s->channel.fd = s->sandbox.channel;
	s->gone.fd = s->sandbox.pidfd;
	s->warden_gone.fd = s->warden.pidfd;
	s->helper_gone.fd = s->sandbox.helper;
	if (warden_watch(&s->warden, s->sandbox.pidfd, e) < 0 ||
	    loop_add(&s->loop, &s->channel, LOOP_IN, e) < 0 ||
	    loop_add(&s->loop, &s->gone, LOOP_IN, e) < 0 ||
	    (s->warden.pidfd >= 0 && loop_add(&s->loop, &s->warden_gone, LOOP_IN, e) < 0) ||
	    (s->sandbox.helper >= 0 && loop_add(&s->loop, &s->helper_gone, LOOP_IN, e) < 0))
		return err_result(e);
	if (s->sandbox.listener >= 0) {
		int listener = s->sandbox.listener;

		s->sandbox.listener = -1;
		if (engine_start(&s->engine, &s->loop, listener, e) < 0)
			return err_result(e);
		s->connects = unix_connect_start(s->a, &s->engine, &s->sandbox, &s->sockets,
						 s->network.is_wanted ? &s->network.asker : NULL,
						 &s->outcome.denials, e);
		if (!s->connects || metadata_start(s->a, &s->engine, &s->sandbox, e) < 0)
			return err_result(e);
		streams_start(&s->engine, &s->sandbox.streams);
	}
	if (s->outcome.is_sandboxed &&
	    watch_start(s->a, &s->loop, &s->sandbox, s->in.plan, s->in.progress, &s->watch, e) < 0)
		return err_result(e);
	if (guard_start(&s->guard, &s->loop, &s->held, &s->sandbox, e) < 0)
		return err_result(e);
	s->outcome.was_watched = s->watch != NULL;
	if (network_hand_over(s, e) < 0 || names_begin(s, e) < 0 || limits_begin(s, e) < 0)
		return err_result(e);
	if (s->sandbox.waits && s->terminal.was_given)
		os_set_foreground(s->terminal.fd, s->sandbox.pid);
	if (sandbox_start(&s->sandbox, e) < 0 || network_begin(s, e) < 0)
		return err_result(e);
	/* Else it is another's child yet. */
	if (s->sandbox.helper < 0 && tie_to_parent(s, e) < 0)
		return err_result(e);
	return start_clock(s, e);
}

/* To the kernel a parent is one thread. Of the first of them it is known that it ends with the rest. */
static bool is_first_thread(void)
{
	return syscall(SYS_gettid) == getpid();
}

enum { SPARE_COUNT = 3 };

/* What can't be looked after must not have run: the last descriptors for that are there before. */
static int reserve(const struct session *s, int spare[SPARE_COUNT], struct err *e)
{
	for (int i = 0; i < SPARE_COUNT; i++) {
		spare[i] = fcntl(s->loop.epoll, F_DUPFD_CLOEXEC, 0);
		if (spare[i] < 0)
			return FAIL_SYS(e, errno, "can't look after a command");
	}
	return 0;
}

static int launch(struct session *s, struct err *e)
{
	int spare[SPARE_COUNT] = { -1, -1, -1 };
	int r = reserve(s, spare, e) < 0 || launch_somehow(s, e) < 0 ? err_result(e) : 0;

	for (int i = 0; i < SPARE_COUNT; i++)
		fd_close(&spare[i]);
	return r;
}

static int begin(struct session *s, struct err *e)
{
	s->ends_with_parent = s->in.is_foreground && is_first_thread();
	if (choose_begin(s->a, &s->in, &s->choice, &s->outcome, e) < 0 ||
	    choose_next(s->a, &s->choice, &s->outcome, &s->programs, e) < 0 ||
	    launch_find_stdio(s, e) < 0 || loop_init(&s->loop, e) < 0 ||
	    launch_start_outputs(s, e) < 0 || find_sockets(s, e) < 0)
		return err_result(e);
	launch_find_terminal(s);
	if (launch(s, e) < 0)
		return err_result(e);
	choose_settle(&s->choice, &s->outcome, s->sandbox.lost);
	launch_close_stdio(s);
	return look_after(s, e);
}

static void tell_denial(void *user, const struct denial *denial)
{
	const struct session *s = user;

	session_trace(&s->in, "refused: %.*s (%.*s)", STR_ARG(denial->subject),
		      STR_ARG(denial->rule));
}

static void session_init(struct session *s, struct arena *a, const struct session_request *in)
{
	*s = (struct session){ .a = a,
			       .in = *in,
			       .loop = { .epoll = -1 },
			       .sandbox = SANDBOX_NONE,
			       .warden = WARDEN_NONE,
			       .sockets = UNIX_SOCKETS_NONE,
			       .terminal = TERMINAL_NONE,
			       .dying = -1,
			       .group = OS_CGROUP_NONE,
			       .channel = { .fd = -1, .ready = channel_is_ready, .user = s },
			       .gone = { .fd = -1, .ready = sandbox_is_gone, .user = s },
			       .warden_gone = { .fd = -1, .ready = warden_is_gone, .user = s },
			       .helper_gone = { .fd = -1, .ready = helper_is_gone, .user = s },
			       .goes_on = { .fd = -1, .ready = go_on, .user = s },
			       .clock = { .fd = -1, .ready = clock_is_due, .user = s } };
	network_init(s);
	denials_init(&s->outcome.denials);
	if (in->traces) {
		s->outcome.denials.on_denial = tell_denial;
		s->outcome.denials.user = s;
	}
}

/* ---- Ending ---------------------------------------------------------------------------------- */

/*
 * A stream that the command had anew has an offset of its own: the caller goes on
 * where the command has left it, as after any other.
 */
static void move_streams(const struct session *s)
{
	for (int i = 0; i < 3; i++) {
		int fd = s->sandbox.reopened[i];
		struct stat own, had;
		off_t at = fd < 0 ? -1 : lseek(fd, 0, SEEK_CUR);

		if (at >= 0 && fstat(i, &own) == 0 && fstat(fd, &had) == 0 &&
		    own.st_dev == had.st_dev && own.st_ino == had.st_ino)
			(void)lseek(i, at, SEEK_SET);
	}
}

/* Everything in the sandbox is dead but PID 1, which ends; or never lived. */
static void stop_looking_after(struct session *s)
{
	if (s->is_let_go)
		return;
	s->is_let_go = true;
	/* The helper ends meanwhile. */
	fd_close(&s->sandbox.helper_life);
	if (s->watch)
		s->outcome.watch = watch_stop(s->watch);
	guard_stop(&s->guard);
	/* Early: the disk may take its time to let a directory go. */
	warden_let_go(&s->warden, &s->held);
	if (s->connects)
		unix_connect_stop(s->connects);
	if (s->engine.loop) {
		s->outcome.calls_answered = s->engine.handled;
		engine_stop(&s->engine);
	}
	network_finish(s);
	unix_sockets_done(&s->sockets);
	loop_remove(&s->loop, &s->channel);
	loop_remove(&s->loop, &s->gone);
	loop_remove(&s->loop, &s->warden_gone);
	loop_remove(&s->loop, &s->helper_gone);
	loop_remove(&s->loop, &s->goes_on);
	fd_close(&s->goes_on.fd);
	names_end(s);
	if (s->in.is_foreground)
		terminal_done(&s->terminal, s->sandbox.pid,
			      s->outcome.signal != 0 || s->was_killed);
	move_streams(s);
	s->dying = s->sandbox.pidfd;
	s->sandbox.pidfd = -1;
	sandbox_let_go(&s->sandbox);
}

/* Last of all: by now they are as good as gone. */
static void reap(struct session *s)
{
	sandbox_reap(&s->sandbox, s->dying);
	fd_close(&s->dying);
	warden_finish(&s->warden, &s->held);
	sandbox_done(&s->sandbox);
	limits_end(s);
}

static void wait_for_death(struct session *s)
{
	if (s->sandbox.pidfd < 0 || s->state != SESSION_RUNS)
		return;
	kill_all(s);
	sandbox_reap(&s->sandbox, s->sandbox.pidfd);
}

/* However far it got. */
static void finish(struct session *s)
{
	wait_for_death(s);
	launch_close_stdio(s);
	stop_looking_after(s);
	network_end(s);
	for (int i = 0; i < 2; i++)
		output_stop(&s->outputs[i]);
	loop_remove(&s->loop, &s->clock);
	if (s->clock.fd >= 0)
		close(s->clock.fd);
	s->clock.fd = -1;
	loop_done(&s->loop);
	reap(s);
	s->state = SESSION_IS_OVER;
}

int session_start(struct arena *a, const struct session_request *in, struct session **out,
		  struct err *e)
{
	struct session *s = ARENA_NEW(a, struct session, e);

	if (!s)
		return err_result(e);
	session_init(s, a, in);
	if (begin(s, e) < 0) {
		finish(s);
		session_done(s);
		return err_result(e);
	}
	*out = s;
	return 0;
}

static bool is_drained(struct session *s)
{
	bool is_done = network_is_over(s);

	for (int i = 0; i < 2; i++) {
		if (!s->outputs[i].loop)
			continue;
		output_end(&s->outputs[i]);
		is_done &= output_is_done(&s->outputs[i]);
	}
	return is_done || s->outcome.was_cancelled || s->gives_up;
}

/* The command has ended; what it wrote and sent may still have to be passed on. */
static int drain(struct session *s, int timeout_ms, struct err *e)
{
	/* Who sets a limit to the time does not wait for a reader that has stopped reading. */
	if (!s->is_let_go && s->outcome.timed_out && set_clock(s, PATIENCE_MS, e) < 0)
		return err_result(e);
	stop_looking_after(s);
	if (!is_drained(s)) {
		reap(s);
		if (loop_step(&s->loop, timeout_ms, e) < 0)
			return err_result(e);
		/* Who polls would not be told again. */
		if (!is_drained(s))
			return 0;
	}
	finish(s);
	return outcome_complete(s, e) < 0 ? err_result(e) : 1;
}

static int step(struct session *s, int timeout_ms, struct err *e)
{
	if (s->state == SESSION_RUNS && loop_step(&s->loop, timeout_ms, e) < 0)
		return err_result(e);
	if (s->state == SESSION_DRAINS)
		return drain(s, timeout_ms, e);
	return s->state == SESSION_IS_OVER;
}

int session_step(struct session *s, int timeout_ms, struct err *e)
{
	int status;

	if (s->failure.code != ERR_OK) {
		*e = s->failure;
		return err_result(e);
	}
	status = step(s, timeout_ms, e);
	if (status < 0) {
		s->failure = *e;
		finish(s);
	}
	return status;
}

int session_descriptor(const struct session *s)
{
	return s->loop.epoll;
}

static bool is_stop(int number)
{
	return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

int session_signal(struct session *s, int number, struct err *e)
{
	if (number == 0 || number <= -NSIG || number >= NSIG)
		return FAIL(e, ERR_ARGUMENT, "there is no signal %d", number);
	if (s->state != SESSION_RUNS || s->has_ended)
		return FAIL(e, ERR_ARGUMENT, "the command has ended");
	/* It is about to be told anyway; told twice, it would forget a Ctrl-Z in between. */
	if (s->goes_on.is_added && abs(number) == SIGCONT) {
		s->stops_again = 0;
		return 0;
	}
	/* Ctrl-Z right after `fg`: what is still stopped would forget it when it goes on. */
	if (s->goes_on.is_added && is_stop(abs(number))) {
		if (abs(s->stops_again) != SIGSTOP)
			s->stops_again = number;
		return 0;
	}
	if (!send_signal(s, number))
		return FAIL(e, ERR_ARGUMENT, "the command has ended");
	return 0;
}

void session_cancel(struct session *s)
{
	if (s->state == SESSION_IS_OVER)
		return;
	s->outcome.was_cancelled = true;
	if (s->state == SESSION_RUNS)
		kill_all(s);
}

struct outcome *session_outcome(struct session *s)
{
	return &s->outcome;
}

void session_done(struct session *s)
{
	if (s->state != SESSION_IS_OVER)
		finish(s);
	for (int i = 0; i < 2; i++)
		buf_done(&s->outcome.captured[i].bytes);
	denials_done(&s->outcome.denials);
	traffic_done(&s->outcome.traffic);
}

int session_rehearse(struct arena *a, const struct session_request *in, struct rehearsal *out,
		     struct err *e)
{
	const struct placeholders none = { .items = NULL };
	struct launch launch = { .plan = in->plan,
				 .host = in->host,
				 .held = &none,
				 .argv = in->argv,
				 .directory = in->directory,
				 .stdio = { 0, 1, 2 },
				 .terminal = -1 };

	struct choice choice;

	if (choose_begin(a, in, &choice, &out->outcome, e) < 0 ||
	    choose_next(a, &choice, &out->outcome, &out->programs, e) < 0)
		return err_result(e);
	launch.programs = out->programs;
	launch.environment = out->outcome.environment.list;
	return out->outcome.backend->describe(a, &launch, &out->steps, e);
}
