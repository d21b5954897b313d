/* SPDX-License-Identifier: MIT */
/*
 * Calls of the command that wait while somebody is asked whether they may happen after all (P18). The
 * notification of such a call stays unanswered until holds_release(). Whoever judges calls
 * (naming.c, unix_connect.c) offers those that the policy refuses, and answers them when they
 * are released.
 *
 * What is kept of a call is a copy. When it is released its owner judges it again, from the
 * caller's memory as it is then and with what is granted by then.
 */
#pragma once

#include "backend/denials.h"
#include "linux/notify/engine.h"

enum hold_answer {
	HOLD_REFUSE, /* has been recorded: the owner only answers */
	HOLD_GO_ON,
	HOLD_ONCE,
};

/* Who answers a call that was held. */
struct hold_owner {
	void *user;
	/*
	 * From within holds_release(), or holds_offer() if that was answered at once. `asked` is what was
	 * offered.
	 */
	void (*released)(void *user, const struct engine_call *call, const struct denial *asked,
			 enum hold_answer how);
};

/* What is told of a call that is about to be held; all is borrowed. */
struct hold_offer {
	uint64_t id; /* never used twice, not 0 */
	const struct denial *attempt;
	const struct str *argv;
	size_t argv_count;
	struct str cwd;
	bool can_once;
};

struct hold_events {
	void *user;
	/* False: the call is refused now. May call holds_release() for it. */
	bool (*hold)(void *user, const struct hold_offer *offer);
	/* The caller has gone. */
	void (*unhold)(void *user, uint64_t id);
};

enum {
	HOLDS_MAX = 4096,
	/* A call that is refused so often after it was allowed stays refused. */
	HOLDS_MAX_ROUNDS = 4,
};

struct held_one;

struct holds {
	struct engine *engine;
	struct denials *denials;
	struct hold_events events;
	struct timer timer; /* while something is held: looks whether the callers are there */
	uint64_t last_id;
	/* The call that is being released, so that one that is held again is not held for ever. */
	uint64_t again_call;
	uint32_t again_round;
	size_t count;
	size_t next; /* to look at */
	struct held_one *items[HOLDS_MAX];
};

/* Everything is borrowed until holds_stop(). ERR_NOMEM, ERR_SYS. */
int holds_start(struct arena *a, struct engine *engine, struct denials *denials,
		const struct hold_events *events, struct holds **out, struct err *e)
	MUST_CHECK NONNULL;

/* Nobody is told of what is still held; the kernel answers it when the engine stops. */
void holds_stop(struct holds *h) NONNULL;

/*
 * Asks whether the call, which the policy refuses as `attempt` says, is to be held. True: the owner will
 * be told, and the call is ENGINE_LATER (or was answered already). False: it is refused, and
 * nothing was recorded.
 */
bool holds_offer(struct holds *h, const struct engine_call *call, const struct denial *attempt,
		 bool can_once, const struct hold_owner *owner) MUST_CHECK NONNULL;

/* Does nothing for an id that is not held any more. */
void holds_release(struct holds *h, uint64_t id, enum hold_answer how) NONNULL;
