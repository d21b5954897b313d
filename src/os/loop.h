/* SPDX-License-Identifier: MIT */
/*
 * One event loop for all that happens during a run: descriptors that become
 * ready and points in time. Whoever waits for something adds a *watcher*, which
 * lives in its own struct. Level-triggered; one thread at a time.
 *
 * A watcher may remove itself or any other from within a call: events of a
 * removed watcher that were already fetched are dropped.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum {
	LOOP_IN = 1,
	LOOP_OUT = 2,
	LOOP_GONE = 4 /* the other end closed, or an error; always told */
};

struct loop;

struct watcher {
	int fd;
	/* Fails only for what has to end the run. */
	int (*ready)(void *user, uint32_t events, struct err *e);
	void *user;
	bool is_urgent; /* of what is ready at once, handed out before the others */
	bool is_added;
};

struct timer {
	uint64_t at_ms; /* on loop_now(); 0: not set */
	int (*due)(void *user, struct err *e);
	void *user;
	struct timer *next;
	uint64_t not_in_step; /* see loop_set_next_step() */
	bool is_added;
};

enum { LOOP_MAX_FETCHED = 64 };

struct loop {
	int epoll;
	struct watcher clock; /* a timerfd: who polls `epoll` sees that a timer is due */
	struct timer *timers; /* a handful */
	uint64_t armed_ms;    /* what the clock is set to; 0: not at all */
	uint64_t step;	      /* calls of loop_step() so far */
	struct watcher *fetched[LOOP_MAX_FETCHED];
	bool hurries, is_awake; /* see loop_hurry() */
	int score, tries_after;
	const void *last; /* that was ready: only to be compared */
};

/* One that was not made: loop_done() and loop_remove() are fine with it. */
#define LOOP_NONE            \
	{                    \
		.epoll = -1, \
	}

int loop_init(struct loop *l, struct err *e) MUST_CHECK NONNULL;
void loop_done(struct loop *l) NONNULL; /* closes its own descriptor only */

/* Becomes readable when loop_step() has something to do: for a caller with a loop of its own. */
int loop_descriptor(const struct loop *l) NONNULL;

int loop_add(struct loop *l, struct watcher *w, uint32_t events, struct err *e) MUST_CHECK NONNULL;
int loop_change(struct loop *l, struct watcher *w, uint32_t events, struct err *e)
	MUST_CHECK NONNULL;
void loop_remove(struct loop *l, struct watcher *w) NONNULL; /* fine when it is not added */

/*
 * The same for a descriptor that the caller closes at once and that has no copy anywhere: then
 * the kernel forgets it by itself.
 */
void loop_forget(struct loop *l, struct watcher *w) NONNULL;

/* Before the first timer of a part; may be called again. */
int loop_prepare_timers(struct loop *l, struct err *e) MUST_CHECK NONNULL;

/* Set or moved to `at_ms`; 0 takes it away. Never fails. */
void loop_set_timer(struct loop *l, struct timer *t, uint64_t at_ms) NONNULL;

/*
 * Due at once, but in the next loop_step() at the earliest: the caller's own loop has its turn
 * before.
 */
void loop_set_next_step(struct loop *l, struct timer *t) NONNULL;

/* Forgets it, so that it may be freed; fine when it was never set. */
void loop_drop_timer(struct loop *l, struct timer *t) NONNULL;

/* Milliseconds of the monotonic clock. */
uint64_t loop_now(void);

/*
 * From now on waits for answers that are likely to come within microseconds are made awake,
 * for at most 50 µs each: to sleep and be woken takes longer, for the one who wakes, too. For
 * who passes on what others wait for; a loop with nothing to do sleeps as ever.
 */
void loop_hurry(struct loop *l) NONNULL;

/*
 * Waits at most `timeout_ms` (-1: for ever, 0: not at all) and hands out what is
 * ready. 0, also after a signal or when nothing happened; else what a watcher
 * failed with.
 */
int loop_step(struct loop *l, int timeout_ms, struct err *e) MUST_CHECK NONNULL;
