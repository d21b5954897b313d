/* SPDX-License-Identifier: MIT */
/*
 * The event loop of a run, for descriptors that become ready and for timers. Whoever waits for
 * something adds a *watcher*, which it stores itself. Level-triggered; one thread at a time.
 *
 * A watcher's callback may remove any watcher, itself included: the loop then drops events of that
 * watcher that it has fetched already.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum {
	LOOP_IN = 1,
	LOOP_OUT = 2,
	LOOP_GONE = 4 /* the other end closed, or an error; always reported */
};

struct loop;

struct watcher {
	int fd;
	/* An error ends the run. */
	int (*ready)(void *user, uint32_t events, struct err *e);
	void *user;
	bool is_urgent; /* reported before others that are ready at the same time */
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
	int queue;	      /* of the system: an epoll instance, a kqueue */
	struct watcher clock; /* a timerfd, so that `queue` becomes readable when a timer is due */
	struct timer *timers; /* a handful */
	struct timer *next_due; /* while they run: the next to look at */
	uint64_t armed_ms;	/* what the clock is set to; 0: it is off */
	uint64_t step;		/* calls of loop_step() so far */
	struct watcher *fetched[LOOP_MAX_FETCHED];
	bool hurries, is_awake; /* see loop_hurry() */
	int score, tries_after;
	const void *last; /* that was ready: only compared, never dereferenced */
};

/* A loop that was not made; loop_done() and loop_remove() accept it. */
#define LOOP_NONE            \
	{                    \
		.queue = -1, \
	}

int loop_init(struct loop *l, struct err *e) MUST_CHECK NONNULL;
void loop_done(struct loop *l) NONNULL; /* closes only its own descriptor */

/* Becomes readable when loop_step() has something to do, for a caller that has its own loop. */
int loop_descriptor(const struct loop *l) NONNULL;

int loop_add(struct loop *l, struct watcher *w, uint32_t events, struct err *e) MUST_CHECK NONNULL;
int loop_change(struct loop *l, struct watcher *w, uint32_t events, struct err *e)
	MUST_CHECK NONNULL;
void loop_remove(struct loop *l, struct watcher *w) NONNULL; /* fine if it is not added */

/*
 * The same for a descriptor that the caller closes at once and that nobody has a copy of: the
 * kernel removes it by itself.
 */
void loop_forget(struct loop *l, struct watcher *w) NONNULL;

/* Call before the first timer is set; may be called again. */
int loop_prepare_timers(struct loop *l, struct err *e) MUST_CHECK NONNULL;

/* Sets or moves the timer to `at_ms`; 0 stops it. Never fails. */
void loop_set_timer(struct loop *l, struct timer *t, uint64_t at_ms) NONNULL;

/*
 * Makes the timer due at once, but in the next loop_step() at the earliest, so that the caller's
 * own loop gets its turn first.
 */
void loop_set_next_step(struct loop *l, struct timer *t) NONNULL;

/* Removes the timer, so that it may be freed; fine if it was never set. */
void loop_drop_timer(struct loop *l, struct timer *t) NONNULL;

/* Milliseconds of the monotonic clock. */
uint64_t loop_now(void);

/*
 * Makes the loop poll for up to 50 µs, instead of sleeping, when an event is likely to come within
 * microseconds, because sleeping and being woken takes longer. For a process that relays what
 * others wait for. An idle loop still sleeps.
 */
void loop_hurry(struct loop *l) NONNULL;

/*
 * Waits at most `timeout_ms` (-1: for ever, 0: not at all) and calls the watchers and timers that
 * are ready. 0, also after a signal or if nothing happened; else the error of a callback.
 */
int loop_step(struct loop *l, int timeout_ms, struct err *e) MUST_CHECK NONNULL;
