/* SPDX-License-Identifier: MIT */
/*
 * The broker of one run. It has no clock and no descriptors of its own: the session tells it the
 * time, and makes its grants live. So all that it decides can be tested as it is.
 *
 * A request goes through these, and the first that has an answer ends it:
 *
 *	what was denied in this run		an equal request is not asked again
 *	the rules of the user ([[approve]])	deny, allow; "ask" goes on
 *	what was granted before, and lasts	in this run, its session, or always
 *	the rate				beyond it: denied, counted
 *	the decider				until the deadline, which denies
 *
 * Equal requests (same kind and offers) that wait at the same time are asked once, with the words of
 * the first. `once` is an answer for that one alone: the others are then asked about again. What is
 * granted for longer, or denied, ends all of them, and a grant also ends the others that it covers. Not so
 * where a request is to be asked alone, because the answer may never come.
 *
 * What is kept is bounded: beyond it requests are denied.
 */
#pragma once

#include "approve/approve.h"
#include "base/err.h"

struct approve_rules; /* rules.h */

enum {
	BROKER_DEADLINE_MS = 120 * 1000,
	BROKER_MAX_WAITING = 4096,
	BROKER_MAX_DENIED = 4096, /* different requests that were denied; then all new ones are */
	BROKER_MAX_GRANTED = 1024,
	BROKER_MAX_BYTES = 16 << 20, /* of all copies of requests */
	BROKER_MAX_WRONG = 64,	     /* wrong answers in a row, then the decider is lost */
	BROKER_PER_MINUTE = 600,     /* different requests that reach the decider */
};

struct broker_counts {
	uint64_t requests, allowed, denied, withdrawn;
	uint64_t cache_hits, cache_misses;
	uint64_t limited;     /* denied because of the rate, or of what is kept */
	uint64_t late, wrong; /* answers that changed nothing */
	uint64_t held_ms;     /* time in which at least one request waited */
};

/*
 * What the broker tells; from within its functions. Strings are good until the call returns. Each may
 * be NULL. Only `answered`, `expired` and `lost` may call the broker.
 */
struct broker_events {
	void *user;
	/* The answer to a request for which broker_ask() returned 1. */
	void (*answered)(void *user, uint64_t id, const struct answer *answer);
	/* Every request with its answer, whoever gave it, for the audit log and --events. */
	void (*decided)(void *user, const struct ask *ask, const struct answer *answer);
	/* An answer that changed nothing, and why, for the audit log; `id` may be of no request. */
	void (*rejected)(void *user, uint64_t id, const char *why);
	/* A grant of SCOPE_MINUTES is over. */
	void (*expired)(void *user, const struct grant *grant);
	/* The decider is not asked any more, because of it or of too many wrong answers; once. */
	void (*lost)(void *user, const char *why);
};

struct broker_options {
	const struct approve_rules *rules; /* may be NULL */
	const struct decider *decider;	   /* NULL: nobody is asked */
	scope_set scopes; /* that this run can give: no ALWAYS if the ceiling forbids it, no SESSION
			     without a session */
	uint64_t deadline_ms; /* for each question; 0: BROKER_DEADLINE_MS */
	struct broker_events events;
};

/* ERR_NOMEM. Frees nothing of the options. */
int broker_new(const struct broker_options *options, struct broker **out, struct err *e)
	MUST_CHECK NONNULL;
void broker_free(struct broker *b); /* NULL is fine; nobody is told */

/*
 * What lasts from before the run (session, always): what it covers is not asked for. False: there
 * are too many, or there is no memory.
 */
bool broker_remember(struct broker *b, const struct grant *grant, enum grant_scope scope)
	MUST_CHECK NONNULL;

/*
 * 0: `*out` is the answer, and good until the next call. 1: `answered` will tell it. Without memory
 * it is denied. `now` is in milliseconds, and never goes back.
 *
 * The grant of an allow lies within an offer; if it was given before ("cache"), it is the grant as it
 * was given, and may be wider. Who makes it live has to see whether it is enough for the attempt.
 */
int broker_ask(struct broker *b, const struct ask *ask, uint64_t now, struct answer *out)
	MUST_CHECK NONNULL;

/* Nobody waits for the answer any more. The decider may still be asked for equal requests. */
void broker_withdraw(struct broker *b, uint64_t id, uint64_t now) NONNULL;

/*
 * From the decider. What does not fit (late, twice, unknown, wider than every offer, a scope that was
 * not offered) changes nothing and is told as `rejected`; the request waits on.
 */
void broker_decide(struct broker *b, uint64_t id, const struct answer *answer, uint64_t now)
	NONNULL;

/* A line of the decider that is no answer: told as `rejected`. `id` is 0 if it is not known. */
void broker_reject(struct broker *b, uint64_t id, const char *why) NONNULL;

/* Whether a request waits for an answer of the decider. */
bool broker_is_asked(const struct broker *b, uint64_t id) NONNULL;

/* Whether there is a decider that may still be asked: it can't be after too many wrong answers. */
bool broker_has_decider(const struct broker *b) NONNULL;

/* The decider is gone: what waits is denied, and what would be asked. */
void broker_lose_decider(struct broker *b, uint64_t now) NONNULL;

/* Forgets a grant of this run (revoked): what it allowed is asked for again. */
void broker_forget(struct broker *b, const struct grant *grant) NONNULL;
/*
 * Whether that very grant was given and still counts: since its answer was told it may have been
 * forgotten, or have expired. What a rule allows was never given.
 */
bool broker_holds(const struct broker *b, const struct grant *grant, uint64_t now) NONNULL;

/* When broker_tick() has something to do; 0: never. */
uint64_t broker_next_ms(const struct broker *b) NONNULL;
void broker_tick(struct broker *b, uint64_t now) NONNULL;

/*
 * By how much the waits so far extend the run's time limit: the time in which at least one request
 * waited, at most one deadline. It grows while something waits, so when the limit is reached it has
 * to be asked for again.
 */
uint64_t broker_extension_ms(const struct broker *b, uint64_t now) NONNULL;

/* How many wait. */
size_t broker_waiting(const struct broker *b) NONNULL;
const struct broker_counts *broker_counts(const struct broker *b) NONNULL;
