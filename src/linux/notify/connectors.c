/* SPDX-License-Identifier: MIT */
/*
 * Hands connects to processes, looks after those that wait, and answers them.
 *
 * A call holds its descriptors until a process gets them; this process closes its
 * own then, and never the last ones (connector.h).
 */
#include "linux/notify/connectors.h"

#include <errno.h>

#include "linux/notify/caller.h"
#include "linux/notify/connector.h"

enum {
	MAX_CALLS = 256,
	MAX_WORKERS = 128,
	MAX_IDLE = 4,
	MAX_AT_ONCE = 4,	/* started: a fork of a large program takes its time */
	FIRST_PAUSE_MS = 1,	/* for one that no process has yet */
	GIVEN_PAUSE_MS = 16,	/* most are answered long before, and each ring of a clock costs */
	MAX_PAUSE_MS = 32,	/* also how long a signal may go unseen */
	ANSWER_PAUSE_MS = 128,	/* of one that waits for a person */
	MAX_HOPELESS_MS = 1000, /* while no process can be started */
	/* Longer than the proxy takes to decide; it may ask a person. */
	MAX_PROXY_WAIT_MS = 120000,
};

/*
 * A kernel-internal result: restart the call, or return EINTR, as the signal's handler wants. Only
 * for a caller that has a pending signal; any other would see the number itself.
 */
enum { RESTART = 512 }; /* ERESTARTSYS */

struct connect_call {
	struct attempt attempt;
	int verdict;
	uint64_t number; /* in the order of their coming; 0: not used */
	uint64_t next_ms, pause_ms;
	uint64_t gives_up_ms;	       /* while the attempt waits for the proxy */
	uint64_t hopeless_ms;	       /* since when no process could be started for it, or 0 */
	struct connect_worker *worker; /* NULL: none has it yet */
};

enum worker_state { WORKER_NONE, WORKER_IDLE, WORKER_BUSY, WORKER_DYING };

struct connect_worker {
	struct connector process;
	struct watcher channel, end;
	struct connectors *owner;
	struct connect_call *call; /* NULL: not busy, or nobody waits for it any more */
	enum worker_state state;
};

/* ---- Workers -------------------------------------------------------------------- */

static void set_state(struct connect_worker *w, enum worker_state state)
{
	struct connectors *c = w->owner;

	c->alive -= w->state == WORKER_IDLE || w->state == WORKER_BUSY;
	c->alive += state == WORKER_IDLE || state == WORKER_BUSY;
	c->idle -= w->state == WORKER_IDLE;
	c->idle += state == WORKER_IDLE;
	w->state = state;
}

static int on_end(void *user, uint32_t events, struct err *e)
{
	struct connect_worker *w = user;

	(void)events;
	(void)e;
	loop_remove(w->owner->engine->loop, &w->end);
	connector_reap(&w->process);
	set_state(w, WORKER_NONE);
	return 0;
}

/* Its end is waited for in the loop, or with the end of the run. */
static void dismiss(struct connect_worker *w)
{
	struct err e = ERR_INIT;

	loop_remove(w->owner->engine->loop, &w->channel);
	connector_kill(&w->process);
	set_state(w, WORKER_DYING);
	w->call = NULL;
	w->end = (struct watcher){ .fd = w->process.pidfd, .ready = on_end, .user = w };
	(void)!loop_add(w->owner->engine->loop, &w->end, LOOP_IN, &e);
}

static int on_answer(void *user, uint32_t events, struct err *e);

/* NULL when there can't be one more. */
static struct connect_worker *start_worker(struct connectors *c)
{
	struct connect_worker *w = NULL;
	struct err e = ERR_INIT;

	c->start_error = 0;
	for (size_t i = 0; i < MAX_WORKERS && !w; i++)
		if (c->workers[i].state == WORKER_NONE)
			w = &c->workers[i];
	if (!w)
		return NULL;
	*w = (struct connect_worker){ .process = CONNECTOR_NONE, .owner = c };
	c->start_error = connector_start(&w->process);
	if (c->start_error < 0)
		return NULL;
	w->channel = (struct watcher){
		.fd = w->process.channel, .ready = on_answer, .user = w, .is_urgent = true
	};
	set_state(w, WORKER_IDLE);
	if (loop_add(c->engine->loop, &w->channel, LOOP_IN, &e) == 0)
		return w;
	dismiss(w);
	return NULL;
}

static struct connect_worker *find_idle(const struct connectors *c)
{
	for (size_t i = 0; i < MAX_WORKERS && c->idle > 0; i++)
		if (c->workers[i].state == WORKER_IDLE)
			return &c->workers[i];
	return NULL;
}

/* ---- Calls ---------------------------------------------------------------------- */

static void forget(struct connect_call *call)
{
	attempt_done(&call->attempt);
	call->worker = NULL;
	call->number = 0;
}

static void answer(struct connectors *c, struct connect_call *call, int result)
{
	const struct attempt *t = &call->attempt;

	if (result == -EINTR && !t->has_time_limit && caller_has_signal(t->call.pid))
		result = -RESTART;
	engine_reply(c->engine, t->call.id, result);
	forget(call);
}

static void hand_to_worker(struct connectors *c, struct connect_call *call,
			   struct connect_worker *w)
{
	struct attempt *t = &call->attempt;
	struct connector_order order = { .id = t->call.id,
					 .verdict = call->verdict,
					 .has_target = t->target >= 0,
					 .wants_source = t->is_told,
					 .size = t->size };
	int r;

	memcpy(&order.address, &t->address, sizeof(order.address));
	r = connector_send(&w->process, &order, t->socket, t->target);
	if (r == 0) {
		/* The process has them now; or will, which is as good. */
		attempt_done(t);
		set_state(w, WORKER_BUSY);
		w->call = call;
		call->worker = w;
	} else if (r == -EINVAL) {
		/* A descriptor that can't be sent (io_uring) is no socket. */
		answer(c, call, call->verdict < 0 ? call->verdict : -EPERM);
	} else if (r != -ETOOMANYREFS && r != -ENOMEM && r != -ENOBUFS) {
		dismiss(w);
	}
}

/* For somebody who decides about it. */
static bool is_waiting(const struct connect_call *call)
{
	return call->attempt.waits_for_proxy || call->attempt.waits_for_answer;
}

static struct connect_call *find_oldest(const struct connectors *c)
{
	struct connect_call *oldest = NULL;

	for (size_t i = 0; i < MAX_CALLS; i++) {
		struct connect_call *call = &c->calls[i];

		if (call->number && !call->worker && !is_waiting(call) &&
		    (!oldest || call->number < oldest->number))
			oldest = call;
	}
	return oldest;
}

/* `w` has answered: gives it the next call, or makes it idle. */
static void take_next_call(struct connectors *c, struct connect_worker *w)
{
	struct connect_call *next = find_oldest(c);

	w->call = NULL;
	set_state(w, WORKER_IDLE);
	if (next)
		hand_to_worker(c, next, w);
	else if (c->idle > MAX_IDLE)
		dismiss(w);
}

static int on_answer(void *user, uint32_t events, struct err *e)
{
	struct connect_worker *w = user;
	struct connectors *c = w->owner;
	struct connect_call *call = w->call;
	struct connector_result result;

	(void)events;
	(void)e;
	/* SECURITY: don't trust a connector that was killed, or that answers without a call. */
	if (!call || !connector_receive(&w->process, call->attempt.call.id, &result)) {
		dismiss(w);
		if (call)
			answer(c, call, -EPERM);
		return 0;
	}
	if (call->attempt.is_told && result.source_size)
		c->made(c->user, &call->attempt, &result);
	if (result.is_refused && c->refused)
		c->refused(c->user, &call->attempt);
	answer(c, call, result.result);
	take_next_call(c, w);
	return 0;
}

/* ---- Waiting --------------------------------------------------------------------- */

/*
 * Whether the call still waits for who decides: until the answer, a signal, or, for the proxy, a
 * time-out. Whoever is asked about it has a deadline of his own.
 */
static bool still_waits(struct connectors *c, struct connect_call *call, uint64_t now)
{
	struct attempt *t = &call->attempt;
	bool was_held = t->waits_for_answer;

	if (!is_waiting(call))
		return false;
	if (call->verdict == 0 &&
	    (was_held ? caller_is_asked_to_end(t->call.pid) : caller_has_signal(t->call.pid)))
		call->verdict = -EINTR;
	else if (call->verdict == 0 && t->waits_for_proxy && now >= call->gives_up_ms)
		call->verdict = -ETIMEDOUT;
	if (call->verdict == 0)
		return true;
	t->waits_for_proxy = t->waits_for_answer = false;
	if (was_held && c->left)
		c->left(c->user, t);
	return false;
}

/*
 * No connector can be started: answers the caller after a while. Keeps the descriptors until there is
 * a connector, because closing them here could block.
 */
static void give_up(struct connectors *c, struct connect_call *call, uint64_t now)
{
	if (c->start_error == 0 || call->verdict == -ESRCH)
		return;
	if (call->hopeless_ms == 0)
		call->hopeless_ms = now;
	else if (now - call->hopeless_ms >= MAX_HOPELESS_MS)
		engine_reply(c->engine, call->attempt.call.id, c->start_error);
}

static void check_call(struct connectors *c, struct connect_call *call, uint64_t now)
{
	struct connect_worker *w = call->worker;

	call->pause_ms =
		MIN_OF(call->pause_ms * 2,
		       (uint64_t)(call->attempt.waits_for_answer ? ANSWER_PAUSE_MS : MAX_PAUSE_MS));
	call->next_ms = now + call->pause_ms;
	if (!engine_is_waiting(c->engine, call->attempt.call.id)) {
		if (w) {
			dismiss(w);
			forget(call);
			return;
		}
		call->verdict = -ESRCH; /* its descriptors still have to be closed */
	}
	if (still_waits(c, call, now))
		return;
	if (w) {
		if (caller_has_signal(call->attempt.call.pid))
			connector_interrupt(&w->process);
		return;
	}
	w = find_idle(c);
	if (!w && c->may_start == 0) {
		call->next_ms = now + FIRST_PAUSE_MS;
		return;
	}
	if (!w) {
		c->may_start--;
		w = start_worker(c);
	}
	if (w)
		hand_to_worker(c, call, w);
	else
		give_up(c, call, now);
}

static void set_timer(struct connectors *c)
{
	uint64_t first = 0;

	for (size_t i = 0; i < MAX_CALLS; i++) {
		const struct connect_call *call = &c->calls[i];

		if (call->number && (first == 0 || call->next_ms < first))
			first = call->next_ms;
	}
	loop_set_timer(c->engine->loop, &c->timer, first);
}

static int on_timer(void *user, struct err *e)
{
	struct connectors *c = user;
	uint64_t now = loop_now();

	(void)e;
	c->may_start = MAX_AT_ONCE;
	for (size_t i = 0; i < MAX_CALLS; i++)
		if (c->calls[i].number && c->calls[i].next_ms <= now)
			check_call(c, &c->calls[i], now);
	set_timer(c);
	return 0;
}

/* ---- From outside ------------------------------------------------------------------ */

static struct connect_call *find_room(const struct connectors *c)
{
	for (size_t i = 0; c->calls && i < MAX_CALLS; i++)
		if (!c->calls[i].number)
			return &c->calls[i];
	return NULL;
}

int connectors_make_room(struct connectors *c)
{
	struct err e = ERR_INIT;

	if (!c->workers)
		c->workers = arena_array(c->arena, MAX_WORKERS, sizeof(*c->workers), &e);
	if (!c->calls && c->workers)
		c->calls = arena_array(c->arena, MAX_CALLS, sizeof(*c->calls), &e);
	if (!find_room(c))
		return -EAGAIN;
	/* Before the call has taken the descriptors that a process needs to be started. */
	if (c->alive == 0 && !start_worker(c) && c->start_error == -EMFILE)
		return -EMFILE;
	return 0;
}

/* To who is idle; else it is the next one's who gets ready, and soon one more is started. */
static void hand_over(struct connectors *c, struct connect_call *call)
{
	struct connect_worker *w = find_idle(c);

	if (!w && c->alive == 0)
		w = start_worker(c);
	if (w && !is_waiting(call))
		hand_to_worker(c, call, w);
}

void connectors_take(struct connectors *c, struct attempt *t, int verdict)
{
	struct connect_call *call = find_room(c);
	uint64_t now = loop_now();

	if (!call)
		return;
	*call = (struct connect_call){ .attempt = *t,
				       .verdict = verdict,
				       .number = ++c->arrived,
				       .next_ms = now + FIRST_PAUSE_MS,
				       .pause_ms = FIRST_PAUSE_MS,
				       .gives_up_ms = now + MAX_PROXY_WAIT_MS };
	*t = (struct attempt)ATTEMPT_NONE;
	hand_over(c, call);
	if (call->worker) {
		call->pause_ms = GIVEN_PAUSE_MS;
		call->next_ms = now + GIVEN_PAUSE_MS;
	}
	/* It is left to run out: most calls are answered before. */
	if (c->timer.at_ms == 0 || c->timer.at_ms > call->next_ms)
		loop_set_timer(c->engine->loop, &c->timer, call->next_ms);
}

void connectors_release(struct connectors *c, uint64_t id, int verdict)
{
	for (size_t i = 0; c->calls && i < MAX_CALLS; i++) {
		struct connect_call *call = &c->calls[i];

		if (!call->number || !is_waiting(call) || call->attempt.call.id != id)
			continue;
		call->attempt.waits_for_proxy = call->attempt.waits_for_answer = false;
		call->verdict = verdict;
		hand_over(c, call);
		return;
	}
}

int connectors_init(struct connectors *c, struct arena *a, struct engine *engine, struct err *e)
{
	*c = (struct connectors){
		.engine = engine,
		.timer = { .due = on_timer, .user = c },
		.arena = a,
	};
	return loop_prepare_timers(engine->loop, e);
}

static void close_descriptors(struct connectors *c)
{
	int fds[2 * MAX_CALLS];
	size_t count = 0;

	for (size_t i = 0; i < MAX_CALLS; i++) {
		struct attempt *t = &c->calls[i].attempt;

		if (!c->calls[i].number)
			continue;
		if (t->socket >= 0)
			fds[count++] = t->socket;
		if (t->target >= 0)
			fds[count++] = t->target;
		*t = (struct attempt)ATTEMPT_NONE;
		c->calls[i].number = 0;
	}
	connector_close_all(fds, count);
}

void connectors_done(struct connectors *c)
{
	loop_drop_timer(c->engine->loop, &c->timer);
	if (!c->calls)
		return;
	for (size_t i = 0; i < MAX_WORKERS; i++)
		if (c->workers[i].state == WORKER_IDLE || c->workers[i].state == WORKER_BUSY)
			dismiss(&c->workers[i]);
	close_descriptors(c);
	for (size_t i = 0; i < MAX_WORKERS; i++)
		if (c->workers[i].state == WORKER_DYING)
			(void)on_end(&c->workers[i], 0, &(struct err)ERR_INIT);
}
