/* SPDX-License-Identifier: MIT */
/* What PID 1 says, and what it means when a process that looks after the run has ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/linux/supervisor.h"
#include "os/fd_pass.h"

/* ---- PID 1 -------------------------------------------------------------------------------- */

static void tell_failure(const struct supervisor *s, const struct init_message *m)
{
	const struct command_failure why = { .os_error = m->os_error,
					     .index = m->index,
					     .is_closed = m->value != 0 };

	s->in.events.not_executed(s->in.events.user, &why);
}

static void tell_gone(struct supervisor *s)
{
	if (!s->has_told_gone)
		s->in.events.gone(s->in.events.user);
	s->has_told_gone = true;
}

static void tell_end(struct supervisor *s, const struct init_message *m)
{
	const struct command_end end = {
		.status = WIFSIGNALED(m->value) ? 0 : WEXITSTATUS(m->value),
		.signal = WIFSIGNALED(m->value) ? WTERMSIG(m->value) : 0,
		.cpu_ms = (m->user_us + m->system_us) / 1000,
		.max_rss_kib = m->max_rss_kib,
	};

	s->in.events.ended(s->in.events.user, &end);
	/* The end of a mount namespace takes a while: there is enough to do meanwhile. */
	if (m->is_alone)
		tell_gone(s);
}

static void warn_of_left(const struct supervisor *s, int pid)
{
	char text[128];

	(void)snprintf(text, sizeof(text),
		       "process %d runs as another user and can't be killed: it goes on", pid);
	s->in.events.warn(s->in.events.user, text);
}

static int take_message(struct supervisor *s, const struct init_message *m, struct err *e)
{
	switch ((enum init_message_kind)m->kind) {
	case INIT_EXEC_FAILED:
		tell_failure(s, m);
		return 0;
	case INIT_STOPPED:
		s->in.events.stopped(s->in.events.user, m->value, m->is_typed);
		return 0;
	case INIT_CONTINUED:
		s->in.events.continued(s->in.events.user);
		return 0;
	case INIT_LEFT:
		warn_of_left(s, m->value);
		return 0;
	case INIT_ENDED:
		tell_end(s, m);
		return 0;
	case INIT_FAILED:
		return FAIL_SYS(e, m->os_error, "the command could not be started");
	case INIT_SOCKETS_MADE: /* in take(): with what comes with it */
	case INIT_PAIR_MADE:
	case INIT_READY:
		break;
	}
	return FAIL(e, ERR_INTERNAL, "PID 1 of the sandbox sent a message out of turn");
}

static int take(struct supervisor *s, const struct init_message *m, const int *fds, size_t count,
		struct err *e)
{
	if (m->kind == INIT_SOCKETS_MADE)
		return s->in.events.sockets_made(s->in.events.user, m->value, fds, count, e);
	if (m->kind == INIT_PAIR_MADE) {
		asking_take_pair(s, fds, count);
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	return take_message(s, m, e);
}

static int refuse(const int *fds, size_t count, ssize_t n, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
	if (n < 0)
		return FAIL_SYS(e, (int)-n, "can't read a message from the sandbox");
	return FAIL(e, ERR_INTERNAL, "PID 1 of the sandbox sent a message of %zd bytes", n);
}

/* 0 when there is nothing (more), 1 after a message. */
static int hear(struct supervisor *s, struct err *e)
{
	struct init_message message;
	int fds[PROXY_SOCKETS_AT_ONCE];
	size_t count = COUNT_OF(fds);
	ssize_t n = fd_pass_receive(s->sandbox.channel, &message, sizeof(message), fds, &count);

	/* PID 1 ended with orders unread. Its last messages can still be read. */
	if (n == -ECONNRESET) {
		count = COUNT_OF(fds);
		n = fd_pass_receive(s->sandbox.channel, &message, sizeof(message), fds, &count);
	}
	if (n == (ssize_t)sizeof(message))
		return take(s, &message, fds, count, e) < 0 ? err_result(e) : 1;
	if (n == -EAGAIN)
		return 0;
	/* The other end is closed; the pidfd tells when PID 1 is dead. */
	loop_remove(s->in.loop, &s->channel);
	return n == 0 || n == -ECONNRESET ? 0 : refuse(fds, count, n, e);
}

static int channel_is_ready(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return hear(user, e) < 0 ? err_result(e) : 0;
}

/* Its last messages may still be in the channel. */
static int first_is_gone(void *user, uint32_t events, struct err *e)
{
	struct supervisor *s = user;
	int heard;

	(void)events;
	loop_remove(s->in.loop, &s->gone);
	do
		heard = hear(s, e);
	while (heard > 0);
	if (heard < 0)
		return err_result(e);
	tell_gone(s);
	return 0;
}

/* ---- The processes that look after the run ------------------------------------------------ */

/* SECURITY: no other process removes the placeholders and ends the run should this one be killed. */
static int warden_is_gone(void *user, uint32_t events, struct err *e)
{
	struct supervisor *s = user;

	(void)events;
	loop_remove(s->in.loop, &s->warden_gone);
	return FAIL_SYS(e, ECHILD, "the process that cleans up after the run was killed");
}

/*
 * SECURITY: a helper that leaves on purpose hands PID 1 to this process. Any other helper ends
 * after PID 1 does; when it is gone and PID 1 is not, it was killed, and nothing would end PID 1
 * with this process.
 */
static int helper_is_gone(void *user, uint32_t events, struct err *e)
{
	struct supervisor *s = user;

	(void)events;
	loop_remove(s->in.loop, &s->helper_gone);
	if (sandbox_helper_left(&s->sandbox))
		return supervisor_tie_to_parent(s, e);
	if (supervisor_is_gone(s))
		return 0;
	return FAIL_SYS(e, ECHILD, "the process that ends the sandbox with this one was killed");
}

/* ---- In the loop --------------------------------------------------------------------------- */

void events_init(struct supervisor *s)
{
	s->channel = (struct watcher){ .fd = -1, .ready = channel_is_ready, .user = s };
	s->gone = (struct watcher){ .fd = -1, .ready = first_is_gone, .user = s };
	s->warden_gone = (struct watcher){ .fd = -1, .ready = warden_is_gone, .user = s };
	s->helper_gone = (struct watcher){ .fd = -1, .ready = helper_is_gone, .user = s };
}

static int add(struct supervisor *s, struct watcher *w, int fd, struct err *e)
{
	w->fd = fd;
	return fd < 0 ? 0 : loop_add(s->in.loop, w, LOOP_IN, e);
}

int events_attach(struct supervisor *s, struct err *e)
{
	if (fcntl(s->sandbox.channel, F_SETFL, O_NONBLOCK) < 0)
		return FAIL_SYS(e, errno, "can't listen to the sandbox");
	if (warden_watch(&s->warden, s->sandbox.pidfd, e) < 0 ||
	    add(s, &s->channel, s->sandbox.channel, e) < 0 ||
	    add(s, &s->gone, s->sandbox.pidfd, e) < 0 ||
	    add(s, &s->warden_gone, s->warden.pidfd, e) < 0 ||
	    add(s, &s->helper_gone, s->sandbox.helper, e) < 0)
		return err_result(e);
	return 0;
}

void events_detach(struct supervisor *s)
{
	loop_remove(s->in.loop, &s->channel);
	loop_remove(s->in.loop, &s->gone);
	loop_remove(s->in.loop, &s->warden_gone);
	loop_remove(s->in.loop, &s->helper_gone);
}
