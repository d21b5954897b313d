/* SPDX-License-Identifier: MIT */
/* See quick_connect.h: the side of the supervising process. */
#include "supervise/quick_connect.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/child.h"
#include "os/fd.h"
#include "supervise/quick_process.h"

enum { WATCH_MS = 100 }; /* a turn takes a thousandth of it */

static void count_made(struct quick_connect *q)
{
	if (q->shared)
		q->engine->handled += atomic_exchange(&q->shared->made, 0);
}

static int on_call(void *user, uint32_t events, struct err *e)
{
	struct quick_connect *q = user;
	struct engine_call call;
	ssize_t n = recv(q->channel.fd, &call, sizeof(call), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n != (ssize_t)sizeof(call)) {
		loop_remove(q->engine->loop, &q->channel);
		/* SECURITY: a call that it had received would wait for ever. */
		return q->is_on ? FAIL(e, ERR_SYS,
				       "the process that receives the system calls of "
				       "the command is gone")
				: 0;
	}
	if (q->watch.at_ms == 0)
		loop_set_timer(q->engine->loop, &q->watch, loop_now() + WATCH_MS);
	engine_take(q->engine, &call);
	return 0;
}

/* It makes calls only for a moment after it has handed on one: so this has to run no longer. */
static int on_watch(void *user, struct err *e)
{
	struct quick_connect *q = user;
	uint64_t turn = q->shared->turns;
	bool has_gone_on = turn != q->last_turn;
	int busy = QUICK_BUSY;

	count_made(q);
	q->last_turn = turn;
	if (!q->is_on || q->shared->state != QUICK_BUSY)
		return 0;
	if (has_gone_on ||
	    !atomic_compare_exchange_strong(&q->shared->state, &busy, QUICK_IS_RETIRED)) {
		loop_set_timer(q->engine->loop, &q->watch, loop_now() + WATCH_MS);
		return 0;
	}
	q->is_on = false;
	return engine_receive(q->engine, true, e);
}

void quick_init(struct quick_connect *q, struct engine *engine)
{
	*q = (struct quick_connect){ .engine = engine,
				     .process = CONNECTOR_NONE,
				     .channel = { .fd = -1 } };
}

static bool map_shared(struct quick_connect *q)
{
	void *shared;

	shared = mmap(NULL, sizeof(*q->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return false;
	q->shared = shared;
	return true;
}

/* 0 or -1. Both ends are still open then. */
static int start_process(struct quick_connect *q, const int ends[2], uint64_t network, int proxy)
{
	struct quick_job job = { .fds = { ends[1], q->engine->watcher.fd, proxy },
				 .shared = q->shared,
				 .network = network,
				 .thread = -1 };
	struct err ignored = ERR_INIT;

	q->channel = (struct watcher){ .fd = ends[0], .ready = on_call, .user = q };
	q->watch = (struct timer){ .due = on_watch, .user = q };
	if (loop_prepare_timers(q->engine->loop, &ignored) < 0 ||
	    loop_add(q->engine->loop, &q->channel, LOOP_IN, &ignored) < 0)
		return -1;
	q->shared->state = QUICK_BUSY;
	if (os_fork(0, quick_run, &job, &q->process.pidfd) >= 0)
		return 0;
	loop_remove(q->engine->loop, &q->channel);
	return -1;
}

static void end_process(struct quick_connect *q)
{
	loop_remove(q->engine->loop, &q->channel);
	loop_drop_timer(q->engine->loop, &q->watch);
	if (q->process.pidfd < 0)
		return;
	connector_kill(&q->process);
	connector_reap(&q->process);
}

void quick_start(struct quick_connect *q, uint64_t network, int proxy)
{
	struct err ignored = ERR_INIT;
	int ends[2];

	if (q->shared || proxy < 0 || !map_shared(q))
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	if (start_process(q, ends, network, proxy) == 0) {
		q->process.channel = ends[0];
		q->is_on = true;
		(void)!engine_receive(q->engine, false, &ignored); /* which can't fail */
	} else {
		(void)close(ends[0]);
	}
	(void)close(ends[1]);
}

void quick_know(struct quick_connect *q, int32_t pid, int32_t inner, const char *program,
		uint64_t until_ms)
{
	struct quick_known *k = &q->shared->known[(uint32_t)pid % QUICK_KNOWN];

	k->until_ms = 0;
	k->pid = pid;
	k->inner = inner;
	memcpy(k->program, program, sizeof(k->program));
	k->until_ms = until_ms;
}

void quick_stop(struct quick_connect *q)
{
	end_process(q);
	count_made(q);
	q->is_on = false;
	if (q->shared)
		(void)munmap(q->shared, sizeof(*q->shared));
	q->shared = NULL;
}
