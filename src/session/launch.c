/* SPDX-License-Identifier: MIT */
/*
 * From what was chosen to a command that runs, or waits to: its streams, the terminal, what is
 * held on the host, and the backend, or the next one when this host does not let it.
 */
#include "os/fd.h"
#include "os/streams.h"
#include "os/times.h"
#include "session/run.h"

/* A stream that the caller has closed becomes /dev/null, so that no other file gets its number. */
int launch_find_stdio(struct session *s, struct err *e)
{
	bool is_closed[3];

	/* They are open, and stay those of who gave the order. */
	if (s->in.escalated) {
		for (int i = 0; i < 3; i++)
			s->stdio[i] = s->in.escalated->stdio[i];
		return 0;
	}
	/* Checked before anything is opened, which could get such a number. */
	for (int i = 0; i < 3; i++)
		is_closed[i] = !os_is_open(i);
	for (int i = 0; i < 3; i++) {
		s->stdio[i] = i;
		if (i == 0 && s->in.input) {
			s->stdio[0] = s->in.input;
			continue;
		}
		if (!is_closed[i] && !(i == 0 && s->in.has_no_stdin))
			continue;
		s->stdio[i] = os_open_null();
		if (s->stdio[i] < 0)
			return FAIL_SYS(e, -s->stdio[i], "can't open /dev/null");
		s->owns_stdio[i] = true;
	}
	return 0;
}

int launch_start_outputs(struct session *s, struct err *e)
{
	if (!s->in.captures && !s->in.hands_out)
		return 0;
	for (int i = 0; i < 2; i++) {
		struct captured *kept = s->in.captures ? &s->outcome.captured[i] : NULL;
		int write_end = -1;

		if (output_start(s->a, &s->outputs[i], &s->loop, i + 1, &s->in, kept, &write_end,
				 e) < 0)
			return err_result(e);
		if (s->owns_stdio[i + 1]) {
			fd_done(&s->stdio[i + 1]);
			/* The caller has closed it, so its number may soon be another file. */
			s->outputs[i].mirror.fd = -1;
		}
		s->stdio[i + 1] = write_end;
		s->owns_stdio[i + 1] = true;
	}
	return 0;
}

void launch_close_stdio(struct session *s)
{
	for (int i = 0; i < 3; i++) {
		if (s->owns_stdio[i])
			fd_done(&s->stdio[i]);
		s->owns_stdio[i] = false;
	}
}

static int trace_steps(const struct session *s, const struct launch *launch, struct err *e)
{
	scoped_buf steps = BUF_INIT(16 << 20);
	struct str rest;

	if (!s->in.traces)
		return 0;
	if (backend_describe(s->outcome.backend, s->a, launch, &steps, e) < 0)
		return err_result(e);
	for (rest = buf_str(&steps); rest.len;) {
		struct str line = str_first(rest, str_find(rest, '\n'));

		s->in.trace(s->in.user, line);
		rest = str_from(rest, line.len + 1);
	}
	return 0;
}

int launch_find_terminal(struct session *s, struct err *e)
{
	if (s->in.is_foreground)
		terminal_find(&s->terminal);
	/* Without a sandbox nothing is asked. */
	if (s->in.asks_at_terminal && s->outcome.is_sandboxed)
		return relay_open(s, &s->relay, e);
	if (!s->in.is_foreground || !terminal_is_given_at_once(&s->terminal, s->stdio[1]))
		return 0;
	terminal_will_give(&s->terminal);
	s->outcome.had_terminal = true;
	return 0;
}

static void warn_of_launch(void *user, const char *text)
{
	const struct session *s = user;

	session_warn(&s->in, "%s", text);
}

static int lose_at_launch(void *user, guarantee_set lost, const char *const **environment,
			  struct err *e)
{
	struct session *s = user;

	if (choose_lose(s->a, &s->choice, &s->outcome, lost, e) < 0)
		return err_result(e);
	*environment = s->outcome.environment.list;
	return 0;
}

static int launch_command(struct session *s, guarantee_set *lost, struct err *e)
{
	const struct supervisor_attempt attempt = { .backend = s->outcome.backend,
						    .given = s->outcome.given,
						    .lost = s->outcome.lost,
						    .network_is_off = s->outcome.network_is_off,
						    /* What is traced has to be known before. */
						    .holds_now = s->in.traces };
	struct launch launch = { .plan = s->in.plan,
				 .host = s->in.host,
				 .stands_for = s->in.stands_for,
				 .argv = s->in.argv,
				 .programs = s->programs,
				 .environment = s->outcome.environment.list,
				 .directory = s->in.directory,
				 .escalated_in = s->in.escalated ? &s->in.escalated->directory_fd
								 : NULL,
				 .terminal = -1,
				 .network = s->network.is_wanted ? &s->network.launch : NULL,
				 .accepted = s->choice.search.accepted,
				 .warn = warn_of_launch,
				 .lose = lose_at_launch,
				 .user = s };

	if (supervisor_prepare(s->supervisor, &attempt, &launch, e) < 0)
		return err_result(e);
	for (int i = 0; i < 3; i++)
		launch.stdio[i] = s->stdio[i];
	if (s->relay) {
		launch.terminal_path = relay_path(s->relay);
		launch.owns_terminal = true;
		launch.starts_behind = !relay_starts_in_front(s->relay);
	} else if (s->in.is_foreground) {
		launch.terminal_path = s->terminal.path[0] ? s->terminal.path : NULL;
		/* Until the directories are searched, this process reads what is typed. */
		if (s->terminal.was_given && !launch.waits)
			launch.terminal = s->terminal.fd;
	}
	if (trace_steps(s, &launch, e) < 0)
		return err_result(e);
	os_take_start(&s->outcome.started);
	s->started_ms = loop_now();
	s->outcome.denials.started_ms = s->started_ms;
	return supervisor_launch(s->supervisor, s->outcome.backend, &launch, lost, e);
}

/* Launching is the probe: only launch() shows what a host does not let a backend do. */
int launch_somehow(struct session *s, guarantee_set *lost, struct err *e)
{
	for (;;) {
		if (network_prepare(s, e) < 0)
			return err_result(e);
		if (launch_command(s, lost, e) == 0)
			return 0;
		if (choose_pass_over(&s->choice, &s->outcome, e) < 0 ||
		    choose_next(s->a, &s->choice, &s->outcome, &s->programs, e) < 0)
			return err_result(e);
	}
}
