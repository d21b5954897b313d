/* SPDX-License-Identifier: MIT */
/*
 * The inside of a session: what choose.c decides, launch.c starts, run.c looks after and
 * outcome.c words.
 */
#pragma once

#include "backend/backend.h"
#include "os/loop.h"
#include "os/terminal.h"
#include "session/approvals.h"
#include "session/escalate.h"
#include "session/network.h"
#include "session/output.h"
#include "session/relay.h"
#include "session/requests.h"
#include "session/session.h"
#include "session/state.h"

struct choice {
	const struct session_request *in;
	struct backend_search search;
	guarantee_set warned; /* of which loss the caller was told */
	struct str outer; /* the backend of the sandbox around this process, with --backend outer */
	struct entrance *entrance; /* opened when a backend needs it; NULL: nothing will be run */
};

struct session {
	struct arena *a;
	struct session_request in;
	struct outcome outcome;
	struct choice choice;
	enum run_state state;

	struct loop loop;
	struct supervisor *supervisor; /* NULL: not made yet */
	struct network network;
	struct requests requests;
	struct escalations escalations;
	struct approvals approvals;
	struct output outputs[2];
	struct terminal terminal;
	struct relay *relay; /* NULL: the command has the user's terminal, or none */

	struct timer goes_on; /* what was stopped with this process goes on */
	int stops_again;      /* by this signal, as of session_signal(), when it has gone on; 0 */
	struct timer clock;   /* the limit, then the patience after it */

	const char *const *programs;
	int stdio[3];
	bool owns_stdio[3];
	uint64_t started_ms;
	uint64_t ends_ms; /* when the time limit is reached; 0: never */
	bool was_killed;  /* by this session, or by the time limit */
	bool is_astray;	  /* an event came that can't come in its state */
	bool has_warned_of_tty;
	bool tells; /* of each denial at once, for a model */
	uint64_t telling_since_ms, told_count;
	struct buf told;    /* the lines, for refused_keep() */
	struct err failure; /* what ended the session early; .code ERR_OK: nothing did */
};

/* ---- choose.c: what is decided before anything is done ------------------------------- */

/* Whether there is to be a sandbox; the search for its backend begins. Warns (P17). */
int choose_begin(struct arena *a, const struct session_request *in, struct choice *out,
		 struct outcome *o, struct err *e) MUST_CHECK NONNULL;

/*
 * The next backend to try: the guarantees, the environment and where the program may be.
 * Warns (P16). ERR_WEAKER when there is none (left).
 */
int choose_next(struct arena *a, struct choice *c, struct outcome *o, const char *const **programs,
		struct err *e) MUST_CHECK NONNULL;

/* The backend does not hold `lost` on this host: the environment says so from now on (P22). */
int choose_lose(struct arena *a, const struct choice *c, struct outcome *o, guarantee_set lost,
		struct err *e) MUST_CHECK NONNULL;

/* Whether that backend is to have a proxy beside it. */
bool choose_is_managed(const struct session_request *in, const struct outcome *o) NONNULL;

/* The backend was refused by this host, as `*e` says: ERR_OK when another may be tried. */
int choose_pass_over(struct choice *c, const struct outcome *o, struct err *e) MUST_CHECK NONNULL;

/*
 * What runs runs: warns when it is not the first of the order, and of what it does not
 * hold on this host after all.
 */
void choose_settle(struct choice *c, struct outcome *o, guarantee_set lost) NONNULL;

/* ---- launch.c: from what was chosen to a command that runs ------------------------------ */

/* What the command gets as 0, 1, 2; closed by launch_close_stdio(). */
int launch_find_stdio(struct session *s, struct err *e) MUST_CHECK NONNULL;
int launch_start_outputs(struct session *s, struct err *e) MUST_CHECK NONNULL;
void launch_close_stdio(struct session *s) NONNULL;
/* CAUSE_NO_TERMINAL, ERR_SYS if questions are to be asked there. */
int launch_find_terminal(struct session *s, struct err *e) MUST_CHECK NONNULL;

/*
 * By the backend that was chosen, or the next one that works on this host; `*lost` is what it
 * does not give here after all.
 */
int launch_somehow(struct session *s, guarantee_set *lost, struct err *e) MUST_CHECK NONNULL;

/* ---- run.c ------------------------------------------------------------------------------- */

/* The shorter of the profile's time limit and the caller's; 0: there is none. */
uint64_t run_timeout(const struct session_request *in) NONNULL;

/* ---- outcome.c: from what was heard to what is said ----------------------------------- */

/* P24: the command exited with `status`, or was killed by `signal`. */
void outcome_set_end(struct outcome *o, int status, int signal) NONNULL;

/* P24 when nothing could be executed; says so. */
void outcome_set_exec_failed(struct session *s, const struct command_failure *why) NONNULL;

/*
 * Adds the options of this run and `path` to a 'cordon why', which then answers for the policy of
 * this run.
 */
void outcome_add_options(const struct session *s, struct str path, struct buf *out) NONNULL;

/* Which limit it was, the denials, what was found of git. */
int outcome_complete(struct session *s, struct err *e) MUST_CHECK NONNULL;

/* denials.c: warns of what was refused, when the command failed or the caller wants to know. */
/* Who denied what was asked about: `denied_by` and `denied_how` of each denial. */
void approval_log_name_deciders(struct session *s) NONNULL;
void outcome_list_denials(struct session *s) NONNULL;

/* A command line has the terminal, and what is refused to it is told when it has ended. */
bool session_tells_later(const struct session *s) NONNULL;
/* Writes the line for a model. */
void session_show_advice(struct session *s, struct denial *denial) NONNULL;

/* A warning of the session, formatted. */
void session_warn(const struct session_request *in, const char *fmt, ...) PRINTF_LIKE(2, 3);
void session_trace(const struct session_request *in, const char *fmt, ...) PRINTF_LIKE(2, 3);
