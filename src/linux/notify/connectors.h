/* SPDX-License-Identifier: MIT */
/*
 * The connects that are being made, and the processes that make them: one from the
 * first connect on, more when that is not enough because some of them wait.
 */
#pragma once

#include "base/arena.h"
#include "linux/notify/unix_attempt.h"

struct connect_call;
struct connect_worker;
struct connector_result;

struct connectors {
	struct engine *engine;
	/* One that `is_told` was made, or is being made; before its caller hears of it. */
	void (*made)(void *user, const struct attempt *t, const struct connector_result *result);
	/* One for which nobody listens, before its caller hears of it. May be NULL. */
	void (*refused)(void *user, const struct attempt *t);
	/* The caller of one that waits for an answer no longer waits. May be NULL. */
	void (*left)(void *user, const struct attempt *t);
	void *user;
	struct timer timer;
	struct arena *arena;
	struct connect_call *calls; /* of both, all there can be, once one was needed */
	struct connect_worker *workers;
	uint64_t arrived;   /* calls, all in all */
	size_t idle, alive; /* workers */
	size_t may_start;   /* workers, before the loop goes on */
	int start_error;    /* of the last that could not be, -errno; else 0 */
};

/* ERR_SYS. `c` must stay where it is. */
int connectors_init(struct connectors *c, struct arena *a, struct engine *engine, struct err *e)
	MUST_CHECK NONNULL;

/* Calls that wait are left to the engine's end. No process is left. */
void connectors_done(struct connectors *c) NONNULL;

/* 0; or -errno, the answer for the caller: its attempt can't be taken. */
int connectors_make_room(struct connectors *c) MUST_CHECK NONNULL;

/*
 * Takes the attempt over and answers it: with `verdict` if that is < 0, otherwise with the result of
 * its connect(). That is made at once, or after connectors_release() if the attempt waits for the
 * proxy or an answer. Call this only if connectors_make_room() returned 0.
 */
void connectors_take(struct connectors *c, struct attempt *t, int verdict) NONNULL;

/*
 * The call `id`, which may be gone, no longer waits for the proxy or an answer: 0, or < 0 as above.
 */
void connectors_release(struct connectors *c, uint64_t id, int verdict) NONNULL;
