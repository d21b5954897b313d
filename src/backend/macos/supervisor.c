/* SPDX-License-Identifier: MIT */
/* The sandbox of one run on macOS, as backend.h has it; see macos.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "backend/denials.h"
#include "backend/macos/macos.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"

struct supervisor {
	struct arena *a;
	struct supervisor_request in;
	struct sandbox sandbox;
	struct log_reader *log; /* NULL: refused accesses are not named */
	struct watcher channel; /* the monitor speaks */
	struct watcher gone;	/* it has ended, and with it the run */
	bool has_ended, has_told_gone, is_let_go;
	struct supervision result;
};

/* Nothing inside can reach this process here. */
const bool supervisor_takes_requests = false;

/* ---- What the monitor says ---------------------------------------------------------------------------- */

static void tell_end(struct supervisor *s, const struct monitor_message *m)
{
	int status = m->value;
	const struct command_end end = {
		.status = WIFSIGNALED(status) ? 0 : WEXITSTATUS(status),
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		.cpu_ms = m->cpu_ms,
		.max_rss_kib = m->max_rss_kib,
	};

	s->has_ended = true;
	/* What it was refused may be asked about next (--retry). */
	if (s->log)
		log_settle(s->log);
	s->in.events.ended(s->in.events.user, &end);
}

static void tell_failure(const struct supervisor *s, const struct command_failure *why)
{
	s->in.events.not_executed(s->in.events.user, why);
	/* Its end, too: what is gone without one counts as killed. */
	s->in.events.ended(s->in.events.user, &(struct command_end){ .status = 0 });
}

static int take(struct supervisor *s, const struct monitor_message *m, struct err *e)
{
	switch ((enum monitor_message_kind)m->kind) {
	case MESSAGE_NOT_EXECUTED:
		s->has_ended = true;
		tell_failure(
			s, &(struct command_failure){ .os_error = m->os_error, .index = m->index });
		return 0;
	case MESSAGE_STOPPED:
		s->in.events.stopped(s->in.events.user, m->value, true);
		return 0;
	case MESSAGE_CONTINUED:
		s->in.events.continued(s->in.events.user);
		return 0;
	case MESSAGE_ENDED:
		tell_end(s, m);
		return 0;
	case MESSAGE_STARTED:
		if (s->log)
			log_add_process(s->log, m->value);
		return 0;
	case MESSAGE_READY:
		break;
	}
	return FAIL(e, ERR_INTERNAL, "the monitor sent a message out of turn");
}

static int hear_all(struct supervisor *s, struct err *e)
{
	struct monitor_message m;
	ssize_t n;

	while ((n = fd_pass_hear(s->sandbox.channel, &m, sizeof(m))) == (ssize_t)sizeof(m))
		if (take(s, &m, e) < 0)
			return err_result(e);
	if (n > 0)
		return FAIL(e, ERR_INTERNAL, "the monitor sent a message of %zd bytes", n);
	/* At the end of the channel the monitor's own end is awaited. */
	if (n == 0)
		loop_remove(s->in.loop, &s->channel);
	return 0;
}

static int channel_is_ready(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return hear_all(user, e);
}

static int monitor_is_gone(void *user, uint32_t events, struct err *e)
{
	struct supervisor *s = user;

	(void)events;
	loop_remove(s->in.loop, &s->gone);
	/* Its last messages may still be in the channel. */
	if (hear_all(s, e) < 0)
		return err_result(e);
	loop_remove(s->in.loop, &s->channel);
	if (s->sandbox.command == 0)
		tell_failure(s, &s->sandbox.failure);
	else if (!s->has_ended && s->in.is_sandboxed)
		/* SECURITY: it was killed, and nobody else ends what runs. */
		(void)kill(-s->sandbox.command, SIGKILL);
	if (!s->has_told_gone)
		s->in.events.gone(s->in.events.user);
	s->has_told_gone = true;
	return 0;
}

/* ---- Making it ------------------------------------------------------------------------------------------ */

int supervisor_new(struct arena *a, const struct supervisor_request *in, struct supervisor **out,
		   struct err *e)
{
	struct supervisor *s = ARENA_NEW(a, struct supervisor, e);

	if (!s)
		return err_result(e);
	*s = (struct supervisor){ .a = a, .in = *in, .sandbox = SANDBOX_NONE };
	s->channel = (struct watcher){ .fd = -1, .ready = channel_is_ready, .user = s };
	s->gone = (struct watcher){ .fd = -1, .ready = monitor_is_gone, .user = s };
	s->result.naming = NAMING_OFF;
	if (in->holds)
		in->events.warn(in->events.user,
				"on macOS only hosts can be asked about while the command runs; "
				"paths that were refused can be asked about afterwards (--retry)");
	*out = s;
	return 0;
}

int supervisor_prepare(struct supervisor *s, const struct supervisor_attempt *attempt,
		       struct launch *launch, struct err *e)
{
	(void)e;
	(void)attempt;
	launch->holder = s;
	launch->waits = true;
	/* What may be asked about afterwards has to be known. */
	launch->naming = s->in.is_sandboxed && (s->in.naming == NAMING_ALL || s->in.holds)
				 ? NAMING_ALL
				 : NAMING_OFF;
	s->result.naming = launch->naming;
	return 0;
}

int supervisor_launch(struct supervisor *s, const struct backend *backend,
		      const struct launch *launch, guarantee_set *lost, struct err *e)
{
	*lost = 0;
	return backend->launch(s->a, launch, &s->sandbox, e);
}

int backend_describe(const struct backend *b, struct arena *a, const struct launch *in,
		     struct buf *out, struct err *e)
{
	return b->describe(a, in, out, e);
}

/* It enforces nothing: without it the run goes on, and says so. */
static void start_log(struct supervisor *s)
{
	const struct log_request request = { .plan = s->in.plan,
					     .loop = s->in.loop,
					     .denials = s->in.denials,
					     .warn = s->in.events.warn,
					     .user = s->in.events.user };
	struct err e = ERR_INIT;
	char text[1024];
	struct buf words = BUF_OVER(text);

	if (s->result.naming != NAMING_ALL || s->sandbox.command == 0)
		return;
	if (log_start(s->a, &request, &s->log, &e) == 0) {
		log_add_process(s->log, s->sandbox.command);
		return;
	}
	s->result.naming = NAMING_OFF;
	buf_add_text(&words, "refused accesses are not named: ");
	buf_add(&words, str_first(err_message(&e), sizeof(text) / 2));
	s->in.events.warn(s->in.events.user, text);
}

int supervisor_attach(struct supervisor *s, struct err *e)
{
	start_log(s);
	s->channel.fd = s->sandbox.channel;
	s->gone.fd = s->sandbox.monitor;
	return loop_add(s->in.loop, &s->channel, LOOP_IN, e) < 0 ||
			       loop_add(s->in.loop, &s->gone, LOOP_IN, e) < 0
		       ? err_result(e)
		       : 0;
}

int supervisor_give_sockets(struct supervisor *s,
			    int (*give)(void *user, enum proxy_role role, uint16_t port, int fd,
					struct err *e),
			    void *user, struct err *e)
{
	/* The sandbox has no network of its own; the session gives the proxy a port of the host. */
	(void)s;
	(void)give;
	(void)user;
	(void)e;
	return 0;
}

/* ---- Orders ---------------------------------------------------------------------------------------------- */

static int order(const struct supervisor *s, const struct monitor_order *what)
{
	if (fd_pass_tell(s->sandbox.channel, what, sizeof(*what), FD_PASS_NO_WAIT) >= 0)
		return 0;
	return errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN || errno == EDESTADDRREQ
		       ? -ESRCH
		       : -errno;
}

int supervisor_start(struct supervisor *s, int terminal, struct err *e)
{
	int r;

	if (s->sandbox.command == 0)
		return 0;
	if (terminal >= 0)
		os_set_foreground(terminal, s->sandbox.command);
	r = order(s, &(struct monitor_order){ .kind = ORDER_GO });
	return r < 0 ? FAIL_START(e, -r, "can't start the command") : 0;
}

int supervisor_end_later(struct supervisor *s, uint64_t ms, struct err *e)
{
	int r = order(s, &(struct monitor_order){ .kind = ORDER_END_LATER, .after_ms = ms });

	return r < 0 && r != -ESRCH
		       ? FAIL_SYS(e, -r, "can't tell the monitor how long the command may run")
		       : 0;
}

int supervisor_signal(struct supervisor *s, enum supervisor_target target, int number)
{
	return order(s, &(struct monitor_order){
				.kind = ORDER_SIGNAL, .value = number, .target = target });
}

int64_t supervisor_group(const struct supervisor *s)
{
	return s->sandbox.command;
}

bool supervisor_is_gone(const struct supervisor *s)
{
	struct pollfd gone = { .fd = s->sandbox.monitor, .events = POLLIN };

	return poll(&gone, 1, 0) > 0;
}

bool supervisor_kill(struct supervisor *s)
{
	if (s->sandbox.monitor < 0)
		return false;
	if (order(s, &(struct monitor_order){ .kind = ORDER_KILL }) < 0)
		os_kill(s->sandbox.monitor, SIGTERM);
	/* It may have been stopped. */
	os_kill(s->sandbox.monitor, SIGCONT);
	return true;
}

void supervisor_wait(struct supervisor *s)
{
	if (s->sandbox.monitor < 0)
		return;
	(void)os_reap(s->sandbox.monitor);
}

void supervisor_let_go(struct supervisor *s)
{
	if (s->is_let_go)
		return;
	s->is_let_go = true;
	if (s->log)
		log_finish(s->log);
	s->log = NULL;
	loop_remove(s->in.loop, &s->channel);
	loop_remove(s->in.loop, &s->gone);
}

void supervisor_reap(struct supervisor *s)
{
	supervisor_wait(s);
	fd_close(&s->sandbox.monitor);
	fd_close(&s->sandbox.channel);
}

const struct supervision *supervisor_result(const struct supervisor *s)
{
	return &s->result;
}

/* ---- What a sandbox of Seatbelt can't do: change while it stands ---------------------------------------------- */

void supervisor_set_front(struct supervisor *s, bool is_in_front)
{
	(void)s;
	(void)is_in_front;
}

bool supervisor_ask_sockets(struct supervisor *s, int family)
{
	(void)s;
	(void)family;
	return false;
}

void supervisor_answer_connect(struct supervisor *s, uint64_t id, int os_error)
{
	(void)s;
	(void)id;
	(void)os_error;
}

bool supervisor_can_open(const struct supervisor *s)
{
	(void)s;
	return false;
}

static int fail_fixed(struct err *e)
{
	return FAIL(e, ERR_SYS, "a profile of macOS can't be changed while the command runs");
}

int supervisor_open_path(struct supervisor *s, const struct plan *plan, struct str path,
			 struct err *e)
{
	(void)s;
	(void)plan;
	(void)path;
	return fail_fixed(e);
}

int supervisor_close_path(struct supervisor *s, const struct plan *plan, struct str path,
			  struct buf *writers, struct err *e)
{
	(void)writers;
	return supervisor_open_path(s, plan, path, e);
}

int supervisor_open_socket(struct supervisor *s, struct str path, struct err *e)
{
	return supervisor_open_path(s, s->in.plan, path, e);
}

void supervisor_close_socket(struct supervisor *s, struct str path)
{
	(void)s;
	(void)path;
}

void supervisor_release(struct supervisor *s, uint64_t id, enum release how)
{
	(void)s;
	(void)id;
	(void)how;
}

void supervisor_answer_request(struct supervisor *s, uint64_t id, struct str json, bool goes_on)
{
	(void)s;
	(void)id;
	(void)json;
	(void)goes_on;
}

void supervisor_close_taken(const struct inside_taken *taken)
{
	(void)taken;
}

/* A run leaves nothing on the disk here. */
int backend_clean(struct arena *a, const struct plan *plan, const struct str *roots, size_t count,
		  struct cleaning *out, struct err *e)
{
	(void)a;
	(void)plan;
	(void)roots;
	(void)count;
	(void)e;
	*out = (struct cleaning){ .is_incomplete = false };
	return 0;
}
