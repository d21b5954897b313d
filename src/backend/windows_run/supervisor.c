/* SPDX-License-Identifier: MIT */
/* The sandbox of one run on Windows, as backend.h has it; see windows_run.h. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "backend/denials.h"
#include "backend/windows_run/windows_run.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/windows/api.h"
#include "os/windows/error.h"

enum {
	KILLED = 128 + 9, /* what is killed exits with */
	DEATH_MS = 5000,  /* how long what was killed may take to end */
};

struct supervisor {
	struct arena *a;
	struct supervisor_request in;
	struct sandbox sandbox;
	struct watcher ended; /* the command has ended */
	struct timer failed;  /* it was not executed: told in the first step */
	HANDLE clock;	      /* a timer of the pool's, which ends the run */
	_Atomic bool was_killed;
	bool has_ended, has_told_gone, is_let_go;
	struct supervision result;
};

/* Nothing inside can reach this process here. */
const bool supervisor_takes_requests = false;

/* ---- Its end ------------------------------------------------------------------------------------------ */

static void kill_all(struct supervisor *s)
{
	atomic_store(&s->was_killed, true);
	job_kill(&s->sandbox.job, KILLED);
}

/* What was killed is gone when the job is empty. */
static void await_death(const struct supervisor *s)
{
	uint64_t until = loop_now() + DEATH_MS;

	while (s->sandbox.job.handle && job_count(&s->sandbox.job) != 0 && loop_now() < until)
		(void)job_wait(&s->sandbox.job, 10);
}

static void tell_gone(struct supervisor *s)
{
	if (!s->has_told_gone)
		s->in.events.gone(s->in.events.user);
	s->has_told_gone = true;
}

static void note_events(struct supervisor *s)
{
	enum job_event event;

	while ((event = job_wait(&s->sandbox.job, 0)) != JOB_NOTHING)
		s->result.ran_out_of_memory |= event == JOB_MEMORY;
}

static void tell_end(struct supervisor *s)
{
	struct command_end end = { .status = 0 };
	struct job_usage usage = { .cpu_ms = 0 };
	uint32_t status = 0;

	(void)process_status(s->sandbox.process.handle, &status);
	(void)job_get_usage(&s->sandbox.job, &usage);
	end.cpu_ms = usage.cpu_ms;
	end.max_rss_kib = usage.peak_kib;
	if (atomic_load(&s->was_killed) && status == KILLED)
		end.signal = os_signals.kill;
	else
		end.status = (int)status;
	s->has_ended = true;
	s->in.events.ended(s->in.events.user, &end);
}

static int command_has_ended(void *user, uint32_t events, struct err *e)
{
	struct supervisor *s = user;

	(void)events;
	(void)e;
	loop_remove(s->in.loop, &s->ended);
	note_events(s);
	tell_end(s);
	/* What it has left running ends with it. */
	job_kill(&s->sandbox.job, KILLED);
	await_death(s);
	tell_gone(s);
	return 0;
}

static int tell_failure(void *user, struct err *e)
{
	struct supervisor *s = user;

	(void)e;
	s->has_ended = true;
	s->in.events.not_executed(s->in.events.user, &s->sandbox.failure);
	/* Its end, too: what is gone without one counts as killed. */
	s->in.events.ended(s->in.events.user, &(struct command_end){ .status = 0 });
	tell_gone(s);
	return 0;
}

/* ---- Making it ------------------------------------------------------------------------------------------ */

int supervisor_new(struct arena *a, const struct supervisor_request *in, struct supervisor **out,
		   struct err *e)
{
	struct supervisor *s = ARENA_NEW(a, struct supervisor, e);

	if (!s)
		return err_result(e);
	s->a = a;
	s->in = *in;
	s->sandbox = (struct sandbox)SANDBOX_NONE;
	s->ended = (struct watcher){ .fd = -1, .ready = command_has_ended, .user = s };
	s->failed = (struct timer){ .due = tell_failure, .user = s };
	s->result.naming = NAMING_OFF;
	if (in->naming == NAMING_ALL)
		in->events.warn(in->events.user,
				"--log-denials has no effect on Windows in this version");
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
	launch->adopts = s->in.is_foreground;
	launch->naming = NAMING_OFF;
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

int supervisor_attach(struct supervisor *s, struct err *e)
{
	if (s->sandbox.process.handle) {
		s->ended.fd = s->sandbox.ended;
		return loop_add(s->in.loop, &s->ended, LOOP_IN, e);
	}
	if (loop_prepare_timers(s->in.loop, e) < 0)
		return err_result(e);
	loop_set_timer(s->in.loop, &s->failed, loop_now());
	return 0;
}

int supervisor_give_sockets(struct supervisor *s,
			    int (*give)(void *user, enum proxy_role role, uint16_t port, int fd,
					struct err *e),
			    void *user, struct err *e)
{
	(void)s;
	(void)give;
	(void)user;
	return FAIL(e, ERR_INTERNAL, "there is no managed network on Windows");
}

/* ---- Orders ---------------------------------------------------------------------------------------------- */

int supervisor_start(struct supervisor *s, int terminal, struct err *e)
{
	(void)terminal;
	return s->sandbox.process.handle ? process_resume(&s->sandbox.process, e) : 0;
}

static void CALLBACK time_is_over(void *user, BOOLEAN is_timeout)
{
	(void)is_timeout;
	kill_all(user);
}

int supervisor_end_later(struct supervisor *s, uint64_t ms, struct err *e)
{
	if (!s->sandbox.process.handle)
		return 0;
	/* SECURITY: a thread of its own, so that nothing that this one waits for makes the run longer. */
	if (!CreateTimerQueueTimer(&s->clock, NULL, time_is_over, s, (DWORD)MIN_OF(ms, 0xFFFFFFFEu),
				   0, WT_EXECUTEONLYONCE))
		return FAIL_WINDOWS(e, GetLastError(), "can't limit how long the command runs");
	return 0;
}

static bool asks_to_end(int number)
{
	return number == os_signals.terminate || number == SIGINT || number == SIGBREAK;
}

/*
 * Windows has no signals. Ctrl-Break can be sent to a group of the command's own, and asks it to end. What shares our
 * console has got what was typed there already (TO_GROUP); it can't be asked in another way, and is ended.
 */
int supervisor_signal(struct supervisor *s, enum supervisor_target target, int number)
{
	const bool was_typed = target == TO_GROUP && !s->sandbox.has_group &&
			       number != os_signals.terminate;

	if (s->has_ended || !s->sandbox.process.handle)
		return -ESRCH;
	if (number < 0 || (asks_to_end(number) && was_typed))
		return 0;
	if (number != os_signals.kill && !asks_to_end(number))
		return -EINVAL;
	if (number == os_signals.kill || !s->sandbox.has_group ||
	    !process_break(&s->sandbox.process))
		kill_all(s);
	return 0;
}

int64_t supervisor_group(const struct supervisor *s)
{
	return s->sandbox.process.id;
}

bool supervisor_is_gone(const struct supervisor *s)
{
	/* What was not executed is gone when that was told. */
	return s->has_told_gone || (s->sandbox.process.handle && job_count(&s->sandbox.job) == 0);
}

bool supervisor_kill(struct supervisor *s)
{
	if (!s->sandbox.job.handle)
		return false;
	kill_all(s);
	return true;
}

void supervisor_wait(struct supervisor *s)
{
	await_death(s);
}

static void stop_clock(struct supervisor *s)
{
	/* Returns when the thread is done with it. */
	if (s->clock)
		(void)DeleteTimerQueueTimer(NULL, s->clock, INVALID_HANDLE_VALUE);
	s->clock = NULL;
}

void supervisor_let_go(struct supervisor *s)
{
	if (s->is_let_go)
		return;
	s->is_let_go = true;
	loop_remove(s->in.loop, &s->ended);
	loop_drop_timer(s->in.loop, &s->failed);
}

void supervisor_reap(struct supervisor *s)
{
	struct sandbox *sandbox = &s->sandbox;

	stop_clock(s);
	supervisor_wait(s);
	fd_close(&sandbox->ended);
	process_done(&sandbox->process);
	job_done(&sandbox->job);
	if (sandbox->done)
		sandbox->done(sandbox->user);
	sandbox->done = NULL;
}

const struct supervision *supervisor_result(const struct supervisor *s)
{
	return &s->result;
}

/* ---- What a sandbox of Windows can't do: change while it stands ---------------------------------------------- */

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
	return FAIL(e, ERR_SYS,
		    "what a sandbox of Windows may reach can't be changed while the command runs");
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

/* Entries in access lists are taken back by `cordon windows cleanup`; nothing else is left. */
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
