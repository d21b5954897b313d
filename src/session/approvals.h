/* SPDX-License-Identifier: MIT */
/*
 * The approvals of one run (P18): what asks, what decides, and what makes an answer true.
 *
 *	supervisor	holds a write or a connection to a unix socket	approvals_hold()
 *	proxy		a host that no rule speaks of			approvals_ask_host()
 *	the command	asks by itself					approvals_ask()
 *	   │
 *	broker		rules, what was granted, the decider		approve/broker.h
 *	   │
 *	here		a grant becomes a plan and a mount; only then does the call go on
 *
 * live.c has the grants that are open, and their plans. SECURITY: what can't be made
 * live, or not be logged, is refused.
 */
#pragma once

#include "approve/approve.h"
#include "approve/broker.h"
#include "approve/decide_tty.h"
#include "backend/backend.h"
#include "os/loop.h"
#include "session/session.h"

struct audit;
struct proxy_record;

enum {
	LIVE_GRANTS_MAX = BROKER_MAX_GRANTED,
	LIVE_CHANGES_MAX = 1024, /* each has a plan, which lives until the end */
};

struct live_plan {
	struct plan_inputs inputs;
	const struct plan *plan; /* of them; NULL: those of the request */
};

struct live {
	struct live_grant *grants;
	size_t count;
	struct arena *plans; /* of each change */
	size_t plan_count;
	struct live_plan now;	   /* in force */
	struct name_node *missing; /* by path: what was missing below what is open */
	str_list opened;	   /* what was open at any time of this run */
};

/* Who waits for the answer to a request. */
struct asker {
	/* Does what the answer says; `answer` is good until it returns. */
	void (*told)(struct session *s, const struct asker *asker, const struct answer *answer);
	uint64_t call; /* the asker's own number: of a held call, of a question of the proxy */
	void *user;
	struct str needs;   /* WRITE: the path that has to be writable in the end */
	struct str subject; /* of a held call: the path that it changes when it is performed once */
	bool can_once;
};

struct waiting {
	uint64_t id; /* of the request; 0: free */
	struct asker asker;
	bool is_answered; /* and the asker is still to be told */
	struct answer answer;
	char *texts; /* of the answer */
	char *needs; /* of the asker, and its subject */
};

struct approvals {
	bool is_on;
	bool is_ended; /* nobody is asked any more */
	bool is_after; /* the command has failed: what is granted now is for another run */
	bool has_asked_after;
	bool can_open; /* this sandbox can open paths while the command runs */
	struct broker *broker;
	struct decider decider;
	struct plan_inputs
		inputs; /* of the request, and what the decider needs is Cordon's own (P25) */
	struct decide_tty *at_terminal; /* that decider with --ask tty, or NULL */
	struct timer tick;		/* the broker's deadlines */
	struct timer look;		/* whether something was revoked from outside */
	struct timer later;		/* tells the askers; never from within the broker */
	struct waiting *waiting;
	size_t waiting_count; /* of the array that are or were used */
	uint64_t last_id;
	size_t answered_count; /* of those that wait */
	uint64_t extended_ms;
	bool has_told_unusable;	 /* that an answer could not be used; once */
	struct str told_message; /* of the decider, told last */
	size_t told_messages;
	struct live live;
	struct audit *log;
	struct err failure; /* of the log: the run has to end */
};

void approvals_init(struct session *s) NONNULL;

/* Before the launch: the broker, the decider and the log. Nothing, if nobody is to be asked. */
int approvals_prepare(struct session *s, struct err *e) MUST_CHECK NONNULL;

/* The sandbox stands. */
void approvals_begin(struct session *s) NONNULL;

/* For struct supervisor_events; `user` is the session. */
bool approvals_hold(void *user, const struct held_call *call) NONNULL;
void approvals_unhold(void *user, uint64_t call) NONNULL;

/* A question of the proxy. DECISION_ASK: the answer goes to it later. */
enum decision approvals_ask_host(struct session *s, uint64_t id, const struct proxy_record *record)
	NONNULL;

/*
 * A request of any kind; its id is given here. `asker->told` is called before this returns or
 * later; `*id` is for approvals_withdraw(). False: it can't be asked, and told was not called.
 */
bool approvals_ask(struct session *s, struct ask *ask, const struct asker *asker, uint64_t *id)
	NONNULL;
void approvals_withdraw(struct session *s, uint64_t id) NONNULL;

/* By how much the time limit is later because calls were held: at most one deadline. */
uint64_t approvals_extension(const struct session *s) NONNULL;
uint64_t approvals_most_extension(const struct session *s) NONNULL;

/*
 * The command has ended. True: it failed, and somebody is still being asked about what was refused,
 * for another run; the loop has to go on.
 */
bool approvals_ask_after(struct session *s) NONNULL;

/* Nothing runs any more: nobody is asked, and what waits is forgotten. May be called again. */
void approvals_end(struct session *s) NONNULL;
/* Everything is known that the log says of the run. May be called again. */
void approvals_close(struct session *s) NONNULL;
/* Last of all, after supervisor_reap(): the plans go. */
void approvals_done(struct session *s) NONNULL;

/* ---- live.c ------------------------------------------------------------------------------- */

/* The plan in force. */
const struct plan *live_plan(const struct session *s) NONNULL;

/*
 * Whether a grant of this run has opened `path`, something above it, or something below it; also one that has
 * ended.
 */
bool live_was_open(const struct session *s, struct str path) NONNULL;
/*
 * From now on live_was_open() finds it. SECURITY: before it is open, also for one call. ERR_NOMEM,
 * ERR_LIMIT.
 */
int live_note_opened(struct session *s, struct str path, struct err *e) MUST_CHECK NONNULL;

/* What grants are tried on. */
const struct plan_inputs *live_inputs(const struct session *s) NONNULL;

/*
 * The host's files for a moment, each looked at once: those around `path` as they are now, all else
 * as the run has seen it. In the arena, and good as long as that. ERR_NOMEM, ERR_LIMIT.
 */
struct live_host;
int live_look(const struct session *s, struct arena *a, struct str path, struct live_host **out,
	      struct err *e) MUST_CHECK NONNULL;
const struct host *live_host(const struct live_host *h) NONNULL RETURNS_NONNULL;

/*
 * The grant counts from now on; 1: it did already, for as long. ERR_POLICY: the policy with it is none, or still refuses it;
 * ERR_SYS, ERR_LIMIT, ERR_NOMEM; then nothing has changed.
 */
int live_open(struct session *s, const struct grant *grant, enum grant_scope scope, struct err *e)
	MUST_CHECK NONNULL;

/* How long it counts, if it is open. */
void live_set_scope(struct session *s, const struct grant *grant, enum grant_scope scope) NONNULL;

/*
 * It counts no longer; `writers` gets who still writes there. Nothing, if it is not open.
 * ERR_SYS: SECURITY: the run has to end.
 */
int live_close(struct session *s, const struct grant *grant, struct buf *writers, struct err *e)
	MUST_CHECK NONNULL;

void live_done(struct live *live) NONNULL;

/* ---- approval_log.c: what is said about it -------------------------------------------------- */

int approval_log_open(struct session *s, struct err *e) MUST_CHECK NONNULL;
void approval_log_close(struct session *s) NONNULL;
/* Into the log, the outcome and to the caller. ERR_SYS: SECURITY: it must not be granted. */
int approval_log_answer(struct session *s, const struct ask *ask, const struct answer *answer,
			struct err *e) MUST_CHECK NONNULL;
int approval_log_rejected(struct session *s, uint64_t id, const char *why, struct err *e)
	MUST_CHECK NONNULL;
/* For who runs it: why the decider's answer is none, once; how many lines changed nothing. */
void approval_log_tell_unusable(struct session *s, const char *why) NONNULL;
void approval_log_tell_unheard(const struct session *s) NONNULL;
/* The sums of the run, at its end. */
int approval_log_end(struct session *s, struct err *e) MUST_CHECK NONNULL;
