/* SPDX-License-Identifier: MIT */
/*
 * The steps of a run:
 *
 *	choose_next()		chooses the backend and makes the environment
 *	streams, terminal	finds what the command gets as 0, 1, 2; --ask tty: makes its terminal
 *	network_prepare()	starts the proxy if the network is managed
 *	supervisor_launch()	makes the sandbox; if this host does not allow it, the next backend is tried
 *	supervisor_attach()	from here on the loop supervises the sandbox
 *	supervisor_start()	the command is executed
 *	loop			until the command has ended and every process of the sandbox is dead
 *	drain()			passes on the rest of the output and of the network's records
 *
 * finish() undoes whatever was begun, from any of these steps.
 */
#include "session/run.h"

#include <errno.h>
#include <stdlib.h>

#include "os/signals.h"

enum {
	PATIENCE_MS = 2000, /* between SIGTERM and the kill */
	OVERDUE_MS = 1000,  /* after that, PID 1 ends the sandbox itself */
	TOLD_AT_ONCE = 10,  /* denials, in TELLING_MS */
	TELLING_MS = 10 * 1000,
	TOLD_MAX_BYTES = 64 << 10, /* what comes later is told, and not kept */
	EXTENSION_STEP_MS =
		50, /* how often it is looked whether a limit that was extended is over */
};

/*
 * Whether the event changed the state. SECURITY: after an event that is impossible in this state it
 * is unknown what still runs: everything is killed, and the next step fails.
 */
static bool move(struct session *s, enum run_event event)
{
	enum run_step taken = run_move(&s->state, event);

	if (taken != RUN_IMPOSSIBLE)
		return taken == RUN_MOVED;
	s->is_astray = true;
	if (s->supervisor)
		(void)supervisor_kill(s->supervisor);
	return false;
}

static void kill_all(struct session *s)
{
	if (!s->supervisor || !supervisor_kill(s->supervisor))
		return;
	s->was_killed = true;
	(void)move(s, RUN_KILL);
}

/* ---- Time -------------------------------------------------------------------------------- */

static int set_clock(struct session *s, uint64_t ms, struct err *e)
{
	if (loop_prepare_timers(&s->loop, e) < 0)
		return err_result(e);
	loop_set_timer(&s->loop, &s->clock, loop_now() + ms);
	return 0;
}

static void ask_to_end(struct session *s)
{
	s->outcome.timed_out = true;
	session_trace(&s->in, "the time limit is reached: the command gets SIGTERM");
	(void)supervisor_signal(s->supervisor, TO_GROUP, os_signals.terminate);
	/* A stopped process handles SIGTERM only when it continues. */
	(void)supervisor_signal(s->supervisor, TO_GROUP, os_signals.resume);
}

/* The time limit is later by what the command had to wait for answers. */
static bool is_time_over(const struct session *s)
{
	return s->ends_ms && loop_now() >= s->ends_ms + approvals_extension(s);
}

static int clock_is_due(void *user, struct err *e)
{
	struct session *s = user;

	if (s->state == RUN_RUNS && !is_time_over(s))
		return set_clock(s, EXTENSION_STEP_MS, e);
	if (!move(s, RUN_TIME_IS_UP) || !run_is_alive(s->state))
		return 0;
	if (s->state == RUN_TERMINATES)
		ask_to_end(s);
	else if (s->state == RUN_KILLED)
		kill_all(s);
	else
		(void)supervisor_kill(s->supervisor);
	/* SECURITY: again and again, until nothing runs: the sandbox may not have heard it. */
	return set_clock(s, PATIENCE_MS, e);
}

uint64_t run_timeout(const struct session_request *in)
{
	uint64_t limit = in->plan->policy->profile->limits.value[LIMIT_TIMEOUT];

	if (limit && in->timeout_ms)
		return MIN_OF(limit, in->timeout_ms);
	return limit ? limit : in->timeout_ms;
}

/*
 * SECURITY: this process may be stopped, by Ctrl-Z or, through the terminal, by the command. So the
 * supervisor, which the terminal can't stop, enforces the time limit as well.
 */
static int start_clock(struct session *s, struct err *e)
{
	uint64_t limit = run_timeout(&s->in);

	if (!limit)
		return 0;
	s->ends_ms = loop_now() + limit;
	if (supervisor_end_later(s->supervisor,
				 limit + approvals_most_extension(s) + PATIENCE_MS + OVERDUE_MS,
				 e) < 0)
		return err_result(e);
	return set_clock(s, limit, e);
}

/* ---- What the sandbox says ------------------------------------------------------------------ */

/* Messages sent before the sandbox ended or timed out no longer matter. */
static bool is_over(const struct session *s)
{
	return is_time_over(s) || supervisor_is_gone(s->supervisor);
}

/*
 * Whether this process stops with its command, as a shell with job control expects. A command must
 * not escape its time limit this way: with a limit, only if the terminal is ours to give.
 */
static bool stops_too(const struct session *s)
{
	if (!s->in.is_foreground || s->terminal.fd < 0 || is_over(s))
		return false;
	return !run_timeout(&s->in) || s->terminal.was_given || terminal_is_ours(&s->terminal);
}

/* -N is for the whole group. */
static int send_signal(const struct session *s, int number)
{
	return supervisor_signal(s->supervisor, number < 0 ? TO_GROUP : TO_COMMAND, abs(number));
}

static int go_on(void *user, struct err *e)
{
	struct session *s = user;

	(void)e;
	(void)supervisor_signal(s->supervisor, TO_ALL, os_signals.resume);
	if (s->stops_again)
		(void)send_signal(s, s->stops_again);
	s->stops_again = 0;
	return 0;
}

static bool will_go_on(const struct session *s)
{
	return s->goes_on.at_ms != 0;
}

/*
 * Continues the command in the next step. The caller may still have to pass on a signal that was
 * sent while all were stopped, as by `kill %1`. It has to arrive before the command continues: a
 * command in pause() that is continued first may be back in pause() when the signal comes.
 */
static void go_on_later(struct session *s)
{
	struct err e = ERR_INIT;

	if (will_go_on(s))
		return;
	if (loop_prepare_timers(&s->loop, &e) < 0)
		(void)go_on(s, &e);
	else
		loop_set_next_step(&s->loop, &s->goes_on);
}

static void command_stopped(void *user, int number, bool is_typed)
{
	struct session *s = user;

	session_trace(&s->in, "the command was stopped by signal %d", number);
	if (stops_too(s)) {
		/* SECURITY: a stopped Cordon supervises nothing, so every process of the sandbox stops. */
		(void)supervisor_signal(s->supervisor, TO_ALL, os_signals.stop);
		if (s->relay)
			relay_stop(s->relay, number);
		else
			terminal_stop(&s->terminal, (pid_t)supervisor_group(s->supervisor), number,
				      is_typed);
		s->outcome.had_terminal |= s->terminal.was_given;
		go_on_later(s);
		return;
	}
	if ((number != os_signals.tty_input && number != os_signals.tty_output) ||
	    s->has_warned_of_tty)
		return;
	s->has_warned_of_tty = true;
	session_warn(&s->in, "the command was stopped because it wants the terminal, which it was "
			     "not given; run it in the foreground, or without standard input");
}

static void command_not_executed(void *user, const struct command_failure *why)
{
	outcome_set_exec_failed(user, why);
}

static void command_continued(void *user)
{
	struct session *s = user;

	session_trace(&s->in, "the command goes on");
	if (s->relay)
		relay_continued(s->relay);
}

static void command_ended(void *user, const struct command_end *end)
{
	struct session *s = user;

	(void)move(s, RUN_COMMAND_ENDED);
	s->outcome.cpu_ms = end->cpu_ms;
	s->outcome.max_rss_kib = end->max_rss_kib;
	if (!s->outcome.exec_error)
		outcome_set_end(&s->outcome, end->status, end->signal);
	/* The rest of the sandbox is being killed; the proxy finishes meanwhile. */
	network_finish(s);
}

static void sandbox_is_gone(void *user)
{
	struct session *s = user;

	if (run_has_command(s->state)) {
		s->outcome.timed_out |= is_time_over(s);
		s->was_killed |= s->outcome.timed_out;
		outcome_set_end(&s->outcome, 0, os_signals.kill);
		if (!s->was_killed)
			session_warn(&s->in,
				     "the sandbox was killed by another process than Cordon");
	}
	if (move(s, RUN_ALL_DEAD))
		s->outcome.duration_ms = loop_now() - s->started_ms;
}

static void warn(void *user, const char *text)
{
	const struct session *s = user;

	session_warn(&s->in, "%s", text);
}

static void trace(void *user, const char *text)
{
	const struct session *s = user;

	session_trace(&s->in, "%s", text);
}

/* ---- Starting ---------------------------------------------------------------------------------- */

static int make_supervisor(struct session *s, struct err *e)
{
	const struct supervisor_request request = {
		.plan = s->in.plan,
		.loop = &s->loop,
		.is_sandboxed = s->outcome.is_sandboxed,
		.is_foreground = s->in.is_foreground,
		.progress = s->in.progress,
		.denials = &s->outcome.denials,
		.naming = s->outcome.naming_asked,
		.host_ports = s->in.host_ports,
		.host_port_count = s->in.host_port_count,
		.holds = s->approvals.is_on && s->outcome.is_sandboxed,
		.events = { .user = s,
			    .not_executed = command_not_executed,
			    .stopped = command_stopped,
			    .continued = command_continued,
			    .ended = command_ended,
			    .gone = sandbox_is_gone,
			    .sockets_made = network_take_sockets,
			    .tell_proxy = network_tell_proxy,
			    .request = requests_take,
			    .unrequest = requests_leave,
			    .hold = approvals_hold,
			    .unhold = approvals_unhold,
			    .warn = warn,
			    .trace = trace },
	};

	return supervisor_new(s->a, &request, &s->supervisor, e);
}

static int look_after(struct session *s, struct err *e)
{
	s->outcome.has_started = true;
	if (supervisor_attach(s->supervisor, e) < 0 || network_hand_over(s, e) < 0 ||
	    supervisor_start(s->supervisor, s->terminal.was_given ? s->terminal.fd : -1, e) < 0 ||
	    network_begin(s, e) < 0 || (s->relay && relay_begin(s->relay, e) < 0))
		return err_result(e);
	approvals_begin(s);
	(void)move(s, RUN_STARTED);
	return start_clock(s, e);
}

static int begin(struct session *s, struct err *e)
{
	guarantee_set lost = 0;

	if (choose_begin(s->a, &s->in, &s->choice, &s->outcome, e) < 0)
		return err_result(e);
	s->choice.entrance = &s->network.entrance;
	if (choose_next(s->a, &s->choice, &s->outcome, &s->programs, e) < 0 ||
	    launch_find_stdio(s, e) < 0 || loop_init(&s->loop, e) < 0 ||
	    launch_start_outputs(s, e) < 0)
		return err_result(e);
	if (launch_find_terminal(s, e) < 0 || make_supervisor(s, e) < 0 ||
	    approvals_prepare(s, e) < 0 || escalations_prepare(s, e) < 0 ||
	    launch_somehow(s, &lost, e) < 0)
		return err_result(e);
	choose_settle(&s->choice, &s->outcome, lost);
	launch_close_stdio(s);
	return look_after(s, e);
}

/* "-c", "-lc", …: not a shell that somebody types into. */
static bool runs_a_line(const struct session_request *in)
{
	for (size_t i = 1; in->argv[i] && in->argv[i][0] == '-'; i++)
		if (in->argv[i][1] != '-' && strchr(in->argv[i], 'c'))
			return true;
	return false;
}

bool session_tells_later(const struct session *s)
{
	return s->tells && s->terminal.was_given && !s->relay && runs_a_line(&s->in);
}

/* Each at once, or none: one that floods is told in parts, and the rest is counted at the end. */
static bool may_tell(struct session *s)
{
	uint64_t now = loop_now();

	/* SECURITY: nothing may be written over what a full-screen program shows. */
	if (!s->tells || s->terminal.was_given || s->relay)
		return false;
	if (now - s->telling_since_ms >= TELLING_MS) {
		s->telling_since_ms = now;
		s->told_count = 0;
	}
	return s->told_count++ < TOLD_AT_ONCE;
}

static bool add_advice(struct session *s, struct denial *denial, struct buf *line)
{
	const struct advice_context in = { .plan = live_plan(s),
					   .plan_inputs = live_inputs(s),
					   .can_ask = s->in.approvals != NULL };

	approval_log_name_deciders(s);
	denial_add_advice(line, &in, denial);
	return line->failed == ERR_OK;
}

void session_show_advice(struct session *s, struct denial *denial)
{
	scoped_buf line = BUF_INIT(64 << 10);

	if (add_advice(s, denial, &line))
		s->in.warn(s->in.user, buf_str(&line));
	denial->is_told = true;
}

/* For a hook of who started the command (keep_refused). */
static void keep_told(struct session *s, struct denial *denial)
{
	scoped_buf line = BUF_INIT(64 << 10);

	if (!add_advice(s, denial, &line))
		return;
	buf_add_char(&line, '\n');
	if (line.failed == ERR_OK && s->told.len + line.len <= TOLD_MAX_BYTES)
		buf_add(&s->told, buf_str(&line));
}

static void tell_denial(void *user, struct denial *denial)
{
	struct session *s = user;
	scoped_buf line = BUF_INIT(64 << 10);

	if (s->in.deny)
		s->in.deny(s->in.user, denial);
	if (may_tell(s))
		session_show_advice(s, denial);
	if (denial->is_told || session_tells_later(s))
		keep_told(s, denial);
	if (!s->in.traces)
		return;
	buf_add_text(&line, "refused: ");
	denial_add_sentence(&line, denial);
	if (line.failed == ERR_OK)
		s->in.trace(s->in.user, buf_str(&line));
}

static bool tells_denials(const struct session_request *in)
{
	enum telling telling = in->plan->policy->profile->tell_denials;

	return in->tells_denials || telling == TELL_ON ||
	       (telling == TELL_AUTO && in->needs_sandbox);
}

static void session_init(struct session *s, struct arena *a, const struct session_request *in)
{
	*s = (struct session){ .a = a,
			       .in = *in,
			       .state = RUN_STARTS,
			       .loop = LOOP_NONE,
			       .told = BUF_INIT(TOLD_MAX_BYTES),
			       .terminal = TERMINAL_NONE,
			       .goes_on = { .due = go_on, .user = s },
			       .clock = { .due = clock_is_due, .user = s } };
	s->outcome.naming_asked = in->logs_denials ? NAMING_ALL
						   : in->plan->policy->profile->denials;
	s->outcome.run_id = in->run_id;
	network_init(s);
	approvals_init(s);
	denials_init(&s->outcome.denials);
	s->tells = !in->is_quiet && tells_denials(in);
	if (in->traces || in->deny || s->tells) {
		s->outcome.denials.on_denial = tell_denial;
		s->outcome.denials.user = s;
	}
}

/* ---- Ending ---------------------------------------------------------------------------------- */

/* Every process of the sandbox is dead or dying, or none was started. */
static void stop_looking_after(struct session *s)
{
	if (!move(s, RUN_LET_GO))
		return;
	/* What runs outside for the command ends with it. */
	escalations_end(s);
	if (s->supervisor)
		supervisor_let_go(s->supervisor);
	approvals_end(s);
	network_finish(s);
	loop_drop_timer(&s->loop, &s->goes_on);
	if (s->in.is_foreground)
		terminal_done(&s->terminal,
			      s->supervisor ? (pid_t)supervisor_group(s->supervisor) : 0,
			      s->outcome.signal != 0 || s->was_killed);
}

/* Last: by now the processes have ended, so this hardly waits. */
static void reap(struct session *s)
{
	if (s->supervisor)
		supervisor_reap(s->supervisor);
}

static void wait_for_death(struct session *s)
{
	if (s->state != RUN_STARTS && !run_is_alive(s->state) && !s->is_astray)
		return;
	kill_all(s);
	if (s->supervisor)
		supervisor_wait(s->supervisor);
}

/* Works from every state. */
static void finish(struct session *s)
{
	wait_for_death(s);
	escalations_end(s);
	launch_close_stdio(s);
	stop_looking_after(s);
	approvals_end(s);
	network_end(s);
	approvals_close(s);
	relay_close(s->relay);
	s->relay = NULL;
	for (int i = 0; i < 2; i++)
		output_stop(&s->outputs[i]);
	loop_drop_timer(&s->loop, &s->clock);
	loop_done(&s->loop);
	reap(s);
	(void)move(s, RUN_FINISHED);
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

	if (s->relay)
		is_done &= relay_is_drained(s->relay);

	for (int i = 0; i < 2; i++) {
		if (!s->outputs[i].loop)
			continue;
		output_end(&s->outputs[i]);
		is_done &= output_is_done(&s->outputs[i]);
	}
	return is_done || s->outcome.was_cancelled || s->state == RUN_GIVES_UP;
}

/* The command has ended, but some of its output and network records may not be passed on yet. */
static int drain(struct session *s, int timeout_ms, struct err *e)
{
	/* With a time limit, do not wait forever for a reader that has stopped reading. */
	if (s->state == RUN_DEAD && s->outcome.timed_out && set_clock(s, PATIENCE_MS, e) < 0)
		return err_result(e);
	if (s->state == RUN_DEAD && approvals_ask_after(s)) {
		if (loop_step(&s->loop, timeout_ms, e) < 0)
			return err_result(e);
		if (approvals_ask_after(s))
			return 0;
	}
	stop_looking_after(s);
	if (!is_drained(s)) {
		reap(s);
		if (loop_step(&s->loop, timeout_ms, e) < 0)
			return err_result(e);
		/* A caller that polls would not be woken again. */
		if (!is_drained(s))
			return 0;
	}
	finish(s);
	return outcome_complete(s, e) < 0 ? err_result(e) : 1;
}

static int step(struct session *s, int timeout_ms, struct err *e)
{
	if (run_is_alive(s->state) && loop_step(&s->loop, timeout_ms, e) < 0)
		return err_result(e);
	if (s->is_astray)
		return FAIL(e, ERR_INTERNAL,
			    "the run was killed: something happened that can't "
			    "while it is in state %d",
			    (int)s->state);
	if (run_is_alive(s->state))
		return 0;
	return s->state == RUN_OVER ? 1 : drain(s, timeout_ms, e);
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
	return loop_descriptor(&s->loop);
}

int64_t session_process(const struct session *s)
{
	return supervisor_group(s->supervisor);
}

static bool is_stop(int number)
{
	return number == os_signals.stop || number == os_signals.typed_stop ||
	       number == os_signals.tty_input || number == os_signals.tty_output;
}

int session_signal(struct session *s, int number, struct err *e)
{
	int r;

	if (number == 0 || number <= -os_signals.count || number >= os_signals.count)
		return FAIL(e, ERR_ARGUMENT, "there is no signal %d", number);
	if (!run_has_command(s->state))
		return FAIL_CAUSE(e, CAUSE_RUN_ENDED, "the command has ended");
	if (s->relay && (abs(number) == os_signals.resume || abs(number) == os_signals.window))
		relay_look(s->relay);
	/* Its own terminal tells it. */
	if (s->relay && abs(number) == os_signals.window)
		return 0;
	/* It gets SIGCONT in the next step anyway; a second one would cancel a Ctrl-Z in between. */
	if (will_go_on(s) && abs(number) == os_signals.resume) {
		s->stops_again = 0;
		return 0;
	}
	/* Ctrl-Z right after `fg`: the SIGCONT to come would cancel it, so it is sent after that. */
	if (will_go_on(s) && is_stop(abs(number))) {
		if (abs(s->stops_again) != os_signals.stop)
			s->stops_again = number;
		return 0;
	}
	r = send_signal(s, number);
	if (r == -ESRCH)
		return FAIL_CAUSE(e, CAUSE_RUN_ENDED, "the command has ended");
	return r < 0 ? FAIL_SYS(e, -r, "can't pass signal %d on to the command", number) : 0;
}

void session_cancel(struct session *s)
{
	struct err e = ERR_INIT;

	if (s->state == RUN_OVER)
		return;
	s->outcome.was_cancelled = true;
	if (!run_is_alive(s->state))
		return;
	kill_all(s);
	/* To kill it again; without a clock it was killed once. */
	(void)set_clock(s, PATIENCE_MS, &e);
}

struct outcome *session_outcome(struct session *s)
{
	return &s->outcome;
}

void session_done(struct session *s)
{
	if (s->state != RUN_OVER)
		finish(s);
	for (int i = 0; i < 2; i++)
		buf_done(&s->outcome.captured[i].bytes);
	approvals_done(s);
	denials_done(&s->outcome.denials);
	buf_done(&s->told);
	traffic_done(&s->outcome.traffic);
}

int session_rehearse(struct arena *a, const struct session_request *in, struct rehearsal *out,
		     struct err *e)
{
	struct launch launch = { .plan = in->plan,
				 .host = in->host,
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
	return backend_describe(out->outcome.backend, a, &launch, &out->steps, e);
}
