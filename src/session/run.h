/* SPDX-License-Identifier: MIT */
/*
 * The inside of a session: what choose.c decides, launch.c starts, run.c looks after and
 * outcome.c words.
 */
#pragma once

#include "linux/init/init.h"
#include "linux/init/sandbox.h"
#include "linux/notify/engine.h"
#include "linux/notify/metadata.h"
#include "linux/notify/unix_connect.h"
#include "linux/notify/unix_sockets.h"
#include "linux/placeholder/guard.h"
#include "linux/placeholder/warden.h"
#include "os/cgroup.h"
#include "os/loop.h"
#include "proxy/dns/name_files.h"
#include "session/network.h"
#include "session/output.h"
#include "session/session.h"
#include "session/terminal.h"

enum session_state {
	SESSION_RUNS,
	SESSION_DRAINS, /* the command has ended, its output is still to be passed on */
	SESSION_IS_OVER,
};

struct choice {
	const struct session_request *in;
	struct backend_search search;
	guarantee_set warned; /* of which loss the caller was told */
};

struct session {
	struct arena *a;
	struct session_request in;
	struct outcome outcome;
	struct choice choice;
	enum session_state state;

	struct loop loop;
	struct sandbox sandbox;
	struct placeholders held;
	struct warden warden;
	struct guard guard;
	struct unix_sockets sockets;
	struct engine engine;
	struct network network;
	struct unix_connect *connects; /* NULL: connect() is not asked about */
	struct watch *watch;	       /* NULL: nothing is watched */
	struct output outputs[2];
	struct terminal terminal;

	struct watcher channel;	    /* the sandbox speaks */
	struct watcher gone;	    /* the sandbox is no more */
	struct watcher warden_gone; /* who cleans up is no more */
	struct watcher helper_gone; /* who would end PID 1 is no more */
	bool ends_with_parent;	/* PID 1, by the kernel: this process is a command, like the CLI */
	struct watcher goes_on; /* an eventfd: what was stopped with this process goes on */
	int stops_again;	/* by this signal, as of session_signal(), when it has gone on; 0 */
	struct watcher clock;	/* a timerfd: the limit, then the patience after it */

	const char *const *programs;
	struct names {
		struct resolv_conf conf;
		struct names_socket {
			struct watcher watcher;
			struct session *session;
		} sockets[LAUNCH_MAX_NAME_SERVERS];
		size_t count;
	} names;
	struct os_cgroup group; /* of limits */
	bool lacked_memory;	/* in there */
	int stdio[3];
	bool owns_stdio[3];
	uint64_t started_ms;
	bool has_ended;	      /* INIT_ENDED was heard */
	int dying;	      /* pidfd of PID 1 once nothing is left to do for it; -1: none */
	uint64_t ends_ms;     /* when the time is over; 0: never */
	bool was_told_to_end; /* SIGTERM after the timeout */
	bool was_killed;      /* by this session */
	bool has_warned_of_tty;
	bool has_held;	    /* placeholders, should the plan want any */
	bool gives_up;	    /* on passing on the output */
	bool is_let_go;	    /* nothing is looked after any more */
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
void launch_find_terminal(struct session *s) NONNULL;

/* By the backend that was chosen, or the next one that this host lets. Placeholders are held. */
int launch_somehow(struct session *s, struct err *e) MUST_CHECK NONNULL;

/* ---- names.c: names that are asked for while there is no network -------------------------- */

/* Which name servers the backend is to listen for inside. */
void names_prepare(struct session *s, struct launch *out) NONNULL;
int names_begin(struct session *s, struct err *e) MUST_CHECK NONNULL;
void names_end(struct session *s) NONNULL;

/* ---- limits.c: what needs a control group (P23) ------------------------------------------ */

/* Makes it, where one is needed. ERR_SYS: then the command must not run. */
int limits_prepare(struct session *s, struct err *e) MUST_CHECK NONNULL;
/* What the backend has to hold by itself: 0 when there is no limit, or the group holds it. */
uint64_t limits_processes(const struct session *s) NONNULL;
int limits_begin(struct session *s, struct err *e) MUST_CHECK NONNULL;
void limits_end(struct session *s) NONNULL;

/* ---- outcome.c: from what was heard to what is said ----------------------------------- */

/* P24 for a wait status. */
void outcome_set_status(struct outcome *o, int wait_status) NONNULL;

/* P24 when nothing could be executed; says so. */
void outcome_set_exec_failed(struct session *s, const struct init_message *why) NONNULL;

/* Which limit it was, the sum of the denials, what was found of git. */
int outcome_complete(struct session *s, struct err *e) MUST_CHECK NONNULL;

/* A warning of the session, formatted. */
void session_warn(const struct session_request *in, const char *fmt, ...) PRINTF_LIKE(2, 3);
void session_trace(const struct session_request *in, const char *fmt, ...) PRINTF_LIKE(2, 3);
