/* SPDX-License-Identifier: MIT */
/*
 * What the broker keeps: copies of requests, each one block, so that they can be counted and freed,
 * and of those what was denied and what was granted in this run.
 */
#pragma once

#include "approve/approve.h"

struct kept {
	struct kept *next;
	size_t bytes; /* of the block */
	struct ask ask;
	struct str message;	/* of its answer */
	enum grant_scope scope; /* of what was granted, which is offers[0] */
	uint64_t expires_ms;	/* likewise; 0: never */
};

/* Begins zeroed. Nothing in it takes more than the limits of broker.h. */
struct history {
	size_t bytes; /* of all copies, those of the broker's own lists as well */
	struct kept *denied, *granted;
	size_t denied_count, granted_count;
};

void history_done(struct history *h) NONNULL;

/* A copy. NULL: there is no memory, too much is kept, or the request is too large. */
struct kept *history_keep(struct history *h, const struct ask *ask, struct str message)
	MUST_CHECK NONNULL;
/* Frees a copy, or a list of them; NULL is fine. */
void history_drop(struct history *h, struct kept *k) __attribute__((nonnull(1)));
void history_drop_all(struct history *h, struct kept *first) __attribute__((nonnull(1)));

/*
 * Whether both ask for the same, whoever asks: those of their offers that can be had for longer than
 * one call are the same (all of them, if there is none). Their scopes may differ.
 */
bool ask_is_same(const struct ask *a, const struct ask *b) NONNULL;

/* An equal request that was denied, or NULL. */
const struct kept *history_find_denied(const struct history *h, const struct ask *ask) NONNULL;
/* Without memory it is not remembered, and asked again. */
void history_add_denied(struct history *h, const struct ask *ask, struct str message) NONNULL;
bool history_is_full(const struct history *h) NONNULL;

/* A grant that is enough for the request, and has not expired at `now`, or NULL. */
const struct kept *history_find_granted(const struct history *h, const struct ask *ask,
					uint64_t now) NONNULL;
/*
 * Remembers what was granted for the request, and forgets that it was denied. If it was granted
 * before, the later end counts. False: there are too many, or there is no memory.
 */
bool history_add_granted(struct history *h, const struct ask *ask, const struct grant *grant,
			 enum grant_scope scope, uint64_t expires_ms) MUST_CHECK NONNULL;
/* Whether that very grant is among them, and has not expired at `now`. */
bool history_holds(const struct history *h, const struct grant *grant, uint64_t now) NONNULL;
/* Forgets that very grant. */
void history_forget(struct history *h, const struct grant *grant) NONNULL;
/* Takes one that has expired out of the list, for the caller to drop; NULL: there is none. */
struct kept *history_take_expired(struct history *h, uint64_t now) NONNULL;
/* When the next one expires; 0: never. */
uint64_t history_next_ms(const struct history *h) NONNULL;
