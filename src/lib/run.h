/* SPDX-License-Identifier: MIT */
/*
 * Runs: cordon.h over session/.
 *
 *	run_options.c	a request and the defaults of a handle -> what is asked for
 *	shell.c		the shell of cordon-sh
 *	agent.c		a coding agent inside as a whole
 *	ports.c		--publish and --host-port
 *	callbacks.c	calls the functions of the caller, keeps the warnings
 *	run.c		start, poll, wait
 *	result.c	what came of it
 *	retry.c		once more, with what was granted
 *	denials.c	what was refused, as cordon.h has it
 *	ask.c		who is asked about it
 *	escalate.c	what the command has run outside
 *	events.c	what happens, as lines of JSON
 *	request_argv.c	the same request as a command line
 *
 * report/run.c and report/dry_run.c print the result.
 */
#pragma once

#include "approve/deciders.h"
#include "lib/lib.h"
#include "report/report.h"
#include "session/session.h"

enum {
	RUN_MAX_BYTES = 256 << 20,  /* of one run, its output aside */
	CAPTURE_DEFAULT = 16 << 20, /* bytes of each stream */
	CAPTURE_MAX = 1 << 30,
	WARNINGS_MAX = 1000,
};

/* The defaults of a handle, copied. */
struct cordon {
	struct arena arena;
	struct cordon_run_options options;
	struct cordon_load_options load;
	bool is_filled; /* options.policy is shared */
};

/* ---- run_options.c -------------------------------------------------------------------- */

/* A request with the defaults filled in. Everything is borrowed from both. */
struct asked {
	struct cordon_run_options run;
	struct cordon_load_options load;   /* run.load points here */
	const struct agent_profile *agent; /* by asked_agent(); NULL: none */
	const struct imagined *makes;	   /* what a rehearsal says would be made; the same */
	size_t make_count;
};

/* Reads, completes and checks it: the command, the flags. ERR_ARGUMENT, ERR_LIMIT. */
int asked_read(const cordon *handle, const struct cordon_run_options *request, struct asked *out,
	       struct err *e) MUST_CHECK;

/* Puts enable and disable among the overrides. ERR_NOMEM. */
int asked_add_features(struct arena *a, struct asked *asked, struct err *e) MUST_CHECK NONNULL;

/*
 * The options that say which policy is asked for, as words of a shell, each behind a blank: what
 * 'cordon why' takes as well. ERR_NOMEM; what does not fit is told by `out`.
 */
int asked_policy_words(const struct asked *asked, struct buf *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * What the session is asked for, partly in `a`; the callbacks are the caller's. ERR_ARGUMENT,
 * ERR_WEAKER, ERR_NOMEM.
 */
int asked_session(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		  struct session_request *out, struct err *e) MUST_CHECK NONNULL;

/* ---- shell.c ----------------------------------------------------------------------------- */

/* With CORDON_RUN_SHELL: the shell in place of in->argv's first word, SHELL, and a sandbox. */
int asked_shell(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		struct session_request *in, struct err *e) MUST_CHECK NONNULL;

/* ---- agent.c ----------------------------------------------------------------------------- */

/*
 * With CORDON_RUN_AGENT: its profile, program, options and variables, and what it saves its state in. A rehearsal makes
 * nothing. Else what is missing is made once asked_check_agent() has nothing against the policy.
 */
int asked_agent(struct arena *a, struct asked *asked, bool is_rehearsal, struct err *e)
	MUST_CHECK NONNULL;

/*
 * SECURITY: refuses a program that a command could replace (CAUSE_AGENT_WRITABLE), and a profile that moves the
 * state of the agent (ERR_ARGUMENT).
 */
int asked_check_agent(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		      struct err *e) MUST_CHECK NONNULL;

/* ---- ports.c ----------------------------------------------------------------------------- */

/* --publish, --host-port, --audit, and whether the network is one for them. ERR_ARGUMENT, … */
int asked_network(struct arena *a, const struct cordon_run_options *run,
		  const cordon_policy *policy, struct session_request *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * SECURITY: P25, the command must not change the log of what it did. `option` names it, `path` is
 * absolute. CAUSE_OPTION_CONFLICT.
 */
int asked_check_log(struct arena *a, const cordon_policy *policy, const char *option,
		    struct str path, struct err *e) MUST_CHECK NONNULL;

/* ---- callbacks.c ----------------------------------------------------------------------------- */

/* Where --events goes. */
struct events {
	int fd; /* -1: nowhere */
};

/* Tells the caller what there is to tell, and keeps the warnings. */
struct callbacks {
	struct arena *a;
	VEC(struct str) warnings;
	cordon_warning_fn *on_warning;
	cordon_progress_fn *on_progress;
	void *warning_user; /* of both */
	struct teller teller;
	struct cordon_run_options run; /* for its callbacks; the rest of it is borrowed and gone */
	struct events events;
	struct str run_id;     /* for the events; "" without them */
	struct broker *broker; /* that on_ask answers to; NULL: nobody asks (any more) */
	struct ask_option ask;
	struct message_run messages; /* what the deciders are told of the run */
	const struct plan *plan;
	struct advice_context advice;
	struct outside *outside; /* for what the command has run outside; NULL: nothing is */
	struct lasting lasting;	 /* what is kept, as it was read last */
	struct arena lasting_arena;
};

/* `text` is fit to be shown. */
void callbacks_warn(struct callbacks *callbacks, const char *text) NONNULL;

/* Loads the policy that is asked for; its warnings go through `callbacks`, which is set up here. */
cordon_policy *callbacks_load(struct callbacks *callbacks, struct arena *a, struct asked *asked,
			      bool is_rehearsal, struct err *e) MUST_CHECK NONNULL;

/* Makes the session speak through it. */
void callbacks_attach(struct callbacks *callbacks, struct session_request *in) NONNULL;

/* ---- ask.c -------------------------------------------------------------------------------- */

/* Reads --ask, and finds who decides. ERR_ARGUMENT, CAUSE_DECIDER_UNUSABLE, CAUSE_OPTION_CONFLICT. */
int ask_read_option(struct arena *a, const struct cordon_run_options *run, struct ask_option *out,
		    struct err *e) MUST_CHECK NONNULL;

/* Whether anybody is to be asked. */
bool ask_is_wanted(const struct cordon_run_options *run) NONNULL;

/* --ask, --session, --ask-timeout, --retry. ERR_ARGUMENT, ERR_NOMEM. */
int asked_approvals(struct arena *a, const struct asked *asked, const cordon_policy *policy,
		    struct callbacks *callbacks, struct session_request *out, struct err *e)
	MUST_CHECK NONNULL;

/* A request as a caller sees it, in `a`; borrows from `ask`. ERR_NOMEM. */
int ask_fill_request(struct arena *a, const struct ask *ask, uint64_t deadline_ms,
		     struct cordon_ask_request *out, struct err *e) MUST_CHECK NONNULL;

/* An answer of the caller's own; borrows from `in`. ERR_ARGUMENT. */
int ask_read_answer(const struct cordon_answer *in, struct answer *out, struct err *e)
	MUST_CHECK NONNULL;

/* ---- events.c, report/events.c ------------------------------------------------------------- */

/* `where` is a descriptor's number or a file; NULL: there are no events. */
int events_open(struct arena *a, const cordon_policy *policy, const char *where, struct events *out,
		struct err *e) MUST_CHECK __attribute__((nonnull(1, 2, 4, 5)));
void events_close(struct events *events) NONNULL;
void events_tell_start(struct events *events, cordon_result *result) NONNULL;
void events_tell_denial(struct events *events, struct callbacks *callbacks, struct str run,
			const struct denial *denial) NONNULL;
void events_tell_request(struct events *events, struct callbacks *callbacks, struct str run,
			 const struct ask *ask, uint64_t deadline_ms) NONNULL;
void events_tell_answer(struct events *events, struct callbacks *callbacks, struct str run,
			const struct ask *ask, const struct answer *answer) NONNULL;
/* The last; `failure` is why the run broke off, or NULL. */
void events_tell_end(struct events *events, cordon_result *result, const struct err *failure)
	__attribute__((nonnull(1, 2)));

void event_print_start(struct buf *out, const cordon_result *result) NONNULL;
void event_print_denial(struct buf *out, struct str run, const struct denial *denial) NONNULL;
void event_print_request(struct buf *out, struct str run, const struct ask *ask,
			 uint64_t deadline_ms) NONNULL;
void event_print_answer(struct buf *out, struct str run, const struct ask *ask,
			const struct answer *answer) NONNULL;
void event_print_end(struct buf *out, const cordon_result *result, const struct err *failure)
	__attribute__((nonnull(1, 2)));

/* ---- escalate.c --------------------------------------------------------------------------- */

/* What commands that are run outside get of the request; `*out` is NULL where none can be. ERR_NOMEM. */
int outside_prepare(const struct asked *asked, struct outside **out, struct err *e)
	MUST_CHECK NONNULL;
/* Lets the session run them; `o` may be NULL. */
void outside_attach(struct outside *o, struct callbacks *callbacks, const cordon_policy *policy,
		    struct session_request *in) __attribute__((nonnull(2, 3, 4)));
void outside_free(struct outside *o);

/* ---- run.c -------------------------------------------------------------------------------- */

/* cordon_start() of a command that another run has run outside. */
int run_start_outside(const cordon *handle, const struct cordon_run_options *request,
		      const struct escalation_order *order, cordon_run_handle **run, struct err *e)
	MUST_CHECK NONNULL;

struct session *run_session(const cordon_run_handle *run) NONNULL;

/* ---- result.c ---------------------------------------------------------------------------- */

struct cordon_result {
	struct arena arena;
	cordon_policy *policy;
	struct session *session; /* over; holds the outcome */
	const char *const *argv;
	struct callbacks callbacks;
	struct outside *outside;       /* NULL: no command can be run outside */
	struct session_request again;  /* with asks_after: for a second run */
	cordon_report *report;	       /* NULL until it is asked for */
	struct cordon_denial *denials; /* NULL until one is asked for */
};

cordon_result *result_new(struct err *e) MUST_CHECK NONNULL;
/* Gives the run an id, if it has none yet. ERR_SYS, ERR_NOMEM. */
int result_find_run_id(cordon_result *result, struct err *e) MUST_CHECK NONNULL;

static inline const struct outcome *result_outcome(const cordon_result *r)
{
	return session_outcome(r->session);
}

/* ---- retry.c ----------------------------------------------------------------------------- */

/* Keeps what a second run needs, if there may be one. ERR_NOMEM. */
int retry_keep(cordon_result *r, const struct session_request *in, struct err *e)
	MUST_CHECK NONNULL;
/* The run is over. 1: another one has begun in its place; 0: not. */
int retry_begin(cordon_result *r, struct err *e) MUST_CHECK NONNULL;

/* ---- denials.c --------------------------------------------------------------------------- */

enum { DENIAL_MAX_BYTES = 1 << 20 }; /* of the texts of one */

/* As the caller sees it; what is not borrowed from `denial` is in `a`. ERR_NOMEM, ERR_LIMIT. */
int denial_fill(struct arena *a, const struct advice_context *in, const struct denial *denial,
		struct cordon_denial *out, struct err *e) MUST_CHECK NONNULL;

/* Of a list that ends with NULL, which may be NULL. */
size_t count_words(const char *const *words);
/* A copy of it. */
int copy_words(struct arena *a, const char *const *words, const char *const **out, struct err *e)
	MUST_CHECK NONNULL;

/* ---- report/denials.c ---------------------------------------------------------------------- */

enum { DENIALS_WITH_EDITS = 20 }; /* trying edits means making plans, so only the first get them */

void denials_print(struct page *p, const struct denials *d) NONNULL;
/* "naming", "denial_count", "denials_unlisted", "denials" */
void denials_print_json(struct json_writer *w, const struct cordon_policy *policy,
			const struct outcome *o) NONNULL;
/* The members of one that are known when it is refused. */
void denial_print_json(struct json_writer *w, const struct denial *denial) NONNULL;

/* ---- report/asked.c ----------------------------------------------------------------------- */

void escalations_print(struct page *p, const struct outcome *o) NONNULL;
/* "escalations", "escalations_unlisted" */
void escalations_print_json(struct json_writer *w, const struct outcome *o) NONNULL;
void approvals_print(struct page *p, const struct approval_sums *sums) NONNULL;
/* "approvals" */
void approvals_print_json(struct json_writer *w, const struct approval_sums *sums) NONNULL;
/* A member: the grant as docs/approvals.md has it; NULL: null. */
void grant_print_json(struct json_writer *w, const char *key, const struct grant *grant)
	__attribute__((nonnull(1, 2)));

/* ---- report/run.c -------------------------------------------------------------------------- */

void run_print_text(struct page *p, const void *data); /* of a cordon_result */
void run_print_json(struct json_writer *w, const void *data);
/* RFC 3339, UTC, with milliseconds. */
void json_time(struct json_writer *w, const char *key, struct timespec time);

/* What runs and rehearsals have in common. */
struct run_subject {
	const cordon_policy *policy;
	const struct outcome *outcome;
	const char *const *argv;
};
/* How many placeholders the run makes, of those in the plan: all or none. */
size_t run_placeholder_count(const struct run_subject *subject) NONNULL;
/* Whether its network is managed. */
bool run_has_managed(const struct run_subject *subject) NONNULL;
void run_print_subject(struct page *p, const struct run_subject *subject);
void run_json_subject(struct json_writer *w, const struct run_subject *subject);
