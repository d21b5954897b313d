/* SPDX-License-Identifier: MIT */
/*
 * One run, from a plan to an outcome.
 *
 *	environment.c	what the command finds in its environment (P21, P22)
 *	program.c	which files its name may stand for
 *	output.c	its output: kept, handed out, passed on
 *	relay.c		a terminal of the command's own, and the user's
 *	terminal_filter.c what the command may not tell it
 *	terminal_modes.c what the command has told it
 *	git_look.c	what a run left behind for git (P9, P10)
 *	changed_names.c	and for agents and other programs (P9)
 *	network.c	a managed network: the proxy beside the run
 *	traffic.c	what it decided, in sums and as denials
 *	denials.c	what was refused, in words, and what would allow it
 *	advice.c	the same in one line, for a model
 *	guess.c		and what of it can only be concluded from the command's output
 *	approvals.c	who is asked about it, and what the answer does
 *	requests.c	what a process inside asks for by itself
 *	escalate.c	and which command it wants to have run outside
 *	escalate_check.c what that may be
 *	outer.c		the sandbox that is around this process, in place of one of its own
 *	state.c		the states of a run
 *	launch.c	its streams, the terminal, the backend that starts it
 *	run.c		all of it in order, and then what happens while it runs
 *
 * session_start() returns when the command runs. From then on session_step() has
 * to be called until it says that the run is over; each call does what there is to
 * do and never waits longer than it is told. One thread at a time; any number of
 * sessions in one process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "approve/approve.h"
#include "approve/broker.h"
#include "backend/backend.h"
#include "backend/denials.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/progress.h"
#include "plan/net.h"
#include "plan/plan.h"
#include "plan/suggest.h"
#include "proxy/channel.h"
#include "proxy/entrance.h"

/* ---- environment.c ------------------------------------------------------------------- */

struct environment_request {
	const struct environment *policy;
	const char *const *base; /* before P21 */
	/* "NAME=value" sets, "NAME" passes on what would be withheld; NULL behind the last, or NULL */
	const char *const *more;
	bool names_fold;     /* names that differ in case alone are one (os_variables_fold) */
	const char *backend; /* for the marks */
	bool network_is_off;
	bool network_is_managed; /* the variables that lead programs to the proxy */
	/* Where the proxy is on the host; NULL: the command has a network of its own, and it is there. */
	const struct entrance *entrance;
	bool may_listen; /* on the host's loopback */
	bool can_ask;	 /* a process inside can connect to INSIDE_SOCKET */
	/* Names that neither `base` nor `more` may set, NULL behind the last; may be NULL. */
	const char *const *withheld;
	guarantee_set lost;
	const char *directory; /* becomes $PWD where there is one; NULL: as it is */
};

struct child_environment {
	const char *const *list; /* NULL behind the last; borrows from the request */
	size_t count;
	size_t inherited;  /* of those, the first: passed on as they were; the others are set */
	str_list withheld; /* names */
};

/* ERR_ARGUMENT for an addition that is none, ERR_NOMEM. What it gives may borrow from the request. */
int environment_make(struct arena *a, const struct environment_request *in,
		     struct child_environment *out, struct err *e) MUST_CHECK NONNULL;

/* ---- program.c ------------------------------------------------------------------------ */

/*
 * The files that execvp() would try for `name`, in order, NULL behind the last.
 * `path` is $PATH; NULL: what the C library takes then.
 */
int program_candidates(struct arena *a, const char *name, const char *path, const char *const **out,
		       struct err *e) MUST_CHECK;

/* ---- git_look.c ------------------------------------------------------------------------ */

enum git_finding_kind {
	GIT_FOUND_REPOSITORY, /* a ".git" that nobody knew */
	GIT_FOUND_BARE,	      /* a directory that git would take for a repository */
	GIT_FOUND_PART,	      /* a part of a nested repository that git obeys */
	GIT_FOUND_GITLINK,    /* an entry of the index that is no registered submodule */
	GIT_FOUND_STATE,      /* a rebase, merge, … that the next git command goes on with */
	GIT_FOUND_HEAD,	      /* a HEAD that is none */
	GIT_FOUND_NAME,	      /* a name of P9's table below the first level */
	GIT_FOUND_UNWRITTEN,  /* a file of the index that is missing and could not be written */
};

struct git_finding {
	enum git_finding_kind kind;
	struct str path;
	bool is_new; /* else it was there and was changed */
};

struct git_findings {
	VEC(struct git_finding) items;
	bool is_incomplete; /* there may be more: the look is bounded */
};

/* "repository", "bare", "part", "gitlink", "state", "head", "name", "unwritten" */
const char *git_finding_name(enum git_finding_kind kind) RETURNS_NONNULL;
/* What it means, in words. */
const char *git_finding_meaning(enum git_finding_kind kind) RETURNS_NONNULL;

/*
 * What has appeared since `started` (the real-time clock). `opened`: what grants have opened that the plan may
 * not know. ERR_NOMEM only.
 */
int git_look(struct arena *a, const struct plan *plan, const str_list *opened,
	     struct timespec started, struct git_findings *out, struct err *e) MUST_CHECK NONNULL;

/* ---- changed_names.c ------------------------------------------------------------------- */

struct changed_name {
	struct str path;
	const char *reason; /* who obeys it, and how */
	bool is_new;	    /* else it was there and was changed */
};

typedef VEC(struct changed_name) changed_name_list;

/* What has changed since `started` (the real-time clock). ERR_NOMEM, ERR_LIMIT. */
int changed_names_look(struct arena *a, const struct plan *plan, struct timespec started,
		       changed_name_list *out, struct err *e) MUST_CHECK NONNULL;

/* ---- run.c ------------------------------------------------------------------------------ */

/* --publish: what connects to the first on this host reaches the second on the sandbox's loopback. */
struct publication {
	struct ip address;
	uint16_t host_port, port;
};
enum { SESSION_MAX_PORTS = LAUNCH_MAX_HOST_PORTS };

enum sandbox_mode { SANDBOX_AUTO, SANDBOX_REQUIRE, SANDBOX_FORBID };

/* Somebody is asked about what is refused and nothing denies (P18). */
struct session_approvals {
	const struct approve_rules *rules; /* of the user; may be NULL */
	scope_set scopes;		   /* that can be had */
	uint64_t deadline_ms;		   /* for each request; 0: BROKER_DEADLINE_MS */
	struct str session;		   /* its name; "": none */
	struct str program;		   /* that decides; "": none does */
	const struct host *host_now; /* the host's files as they are whenever they are looked at */
	/*
	 * Makes the decider, before the command starts; its answers go to `broker`. NULL: only rules
	 * and earlier grants decide. It is stopped when the run is over.
	 */
	int (*start)(void *user, struct arena *a, struct str run, struct loop *loop,
		     struct broker *broker, struct decider *out, struct err *e);
	/* Of every request, and of its answer; may be NULL. */
	void (*tell_request)(void *user, const struct ask *ask, uint64_t deadline_ms);
	void (*tell_answer)(void *user, const struct ask *ask, const struct answer *answer);
	/* A grant of SCOPE_SESSION or SCOPE_ALWAYS: keeps it for later runs. */
	int (*keep)(void *user, const struct answer *answer, struct err *e);
	/*
	 * Whether such grants may have been revoked since it was called last; then is_kept() says of
	 * each whether it still is one.
	 */
	bool (*look_kept)(void *user);
	bool (*is_kept)(void *user, enum grant_scope scope, const struct grant *grant);
};

/* A command that is to be run outside of the sandbox. Everything is borrowed until it is over. */
struct escalation_order {
	const char *const *argv;     /* not empty */
	const char *program;	     /* absolute: what is executed */
	const char *path;	     /* "PATH=…" */
	const char *git_ceiling;     /* where git stops looking for a repository; NULL: nowhere */
	const char *const *withheld; /* names of variables that it does not get */
	const char *profile;
	bool is_unsandboxed;
	const char *directory;	/* canonical */
	uint64_t device, inode; /* that it has to be still */
	int directory_fd;	/* it, O_PATH */
	int stdio[3];
	bool has_terminal; /* among those */
};

struct escalation_end {
	int status; /* P24 */
	int signal; /* that killed it, or 0 */
	bool has_run;
};

/* Runs such commands. `user` is that of the session. */
struct escalation_runner {
	/* ERR_*: it does not run, and the text says why. */
	int (*start)(void *user, const struct escalation_order *order, void **run, struct err *e);
	int (*descriptor)(const void *run); /* readable when step() has something to do */
	/* Waits so long for something to do. True: it is over, also after an error. */
	bool (*step)(void *run, int timeout_ms);
	int64_t (*process)(const void *run);		       /* above all that it has started */
	void (*finish)(void *run, struct escalation_end *end); /* when it is over; `run` is gone */
	void (*signal)(void *run, int number);
	void (*cancel)(void *run);
};

/* Everything is borrowed until the outcome is there. */
struct session_request {
	const struct plan *plan;
	const struct plan_inputs *plan_inputs; /* of `plan`: to try what would allow an attempt */
	const struct host *host;	       /* what the plan was made from */
	const struct plan *stands_for; /* the policy that this one is a trial for; may be NULL */
	const char *directory;	       /* canonical */
	bool sets_pwd;		       /* the directory was chosen for this run */

	/* The options of the policy as words of a shell, each behind a blank, unless they are many. */
	struct str options;
	bool has_options;

	const char *const *argv; /* not empty */
	const char *program; /* absolute: what is executed in place of argv[0]; NULL: that one */
	const char *const *environment;
	const char *const *more_environment; /* may be NULL */

	const char *backend; /* forced, or NULL */
	enum sandbox_mode sandbox_mode;
	/* cordon-sh: never without a sandbox; it takes no options, so hints name none */
	bool needs_sandbox;
	/* What runs judges by the plan itself: a sandbox around it need not have the same policy. */
	bool judges_itself;
	guarantee_set accepted; /* by the call; the configuration's count as well */

	uint64_t timeout_ms; /* 0: none */
	size_t capture_limit;
	bool captures, hands_out, mirrors;
	bool has_no_stdin;
	int input; /* what it gets as stdin instead; 0: this process's own */
	bool is_foreground;
	bool has_colour;       /* what is shown at the terminal may have */
	bool asks_at_terminal; /* --ask tty: the command gets a terminal of its own */
	bool is_quiet;
	bool logs_denials;  /* names refused reads too, and lists denials also after a success */
	bool tells_denials; /* each at once, in one line for a model; the profile may say so, too */
	bool traces;

	/* For a managed network; at most SESSION_MAX_PORTS each. */
	const struct publication *published;
	size_t published_count;
	const uint16_t *host_ports;
	size_t host_port_count;
	struct str audit_file;	    /* "": the default below the next */
	struct str state_directory; /* "": there is none */

	/* On the thread that steps; none may be NULL but `output`, when nothing is handed out. */
	void *user;
	const struct progress *progress; /* while it is started; may be NULL */
	void (*warn)(void *user, struct str text);
	void (*trace)(void *user, struct str text);
	void (*output)(void *user, int stream, struct str bytes); /* 1 or 2 */
	/* Each new denial, at once; may be NULL. */
	void (*deny)(void *user, const struct denial *denial);
	/*
	 * Asked about what no rule speaks of; DECISION_ASK: session_decide() will say it. NULL:
	 * nobody is asked, it is denied.
	 */
	enum decision (*decide)(void *user, uint64_t id, const struct proxy_record *record);
	const struct session_approvals *approvals;   /* NULL: nobody is asked */
	const struct escalation_runner *escalations; /* NULL: no command is run outside */

	/* Of a command that another run wants to have run; else NULL. */
	const struct escalation_order *escalated;
	/*
	 * Where no path can be opened while the command runs, ask when it has failed; what was granted
	 * then is session_granted(), for another run.
	 */
	bool asks_after;
	guarantee_set told_losses; /* by that run, whose losses need no second warning */
	struct str run_id;	   /* of a run that this one goes on with; "": it is the first */
};

/* What went through the proxy, and what it refused. */
enum { TRAFFIC_MAX_HOSTS = 1000, TRAFFIC_MAX_BYTES = 1 << 20 };

struct traffic_sums {
	uint64_t allowed, denied,
		failed; /* failed: by the network, or what was asked makes no sense */
	uint64_t bytes_up, bytes_down;
};

struct traffic_host {
	struct str name;
	uint16_t port; /* 0: only looked up */
	struct traffic_sums sums;
	uint8_t reason; /* enum proxy_reason, of the last that did not succeed; 0: none */
};

struct traffic {
	struct arena arena;
	struct traffic_sums sums;
	VEC(struct traffic_host) hosts;
	uint64_t unlisted;	  /* decisions on other hosts */
	size_t last;		  /* of the hosts, found last */
	struct str first_failure; /* that was none of policy, in words; "" without one */
};

/* An answer to a request, as the report has it; equal ones are counted. */
struct approval {
	enum ask_kind kind;
	enum operation operation;
	struct str subject, program, message;
	bool is_allow;
	enum grant_scope scope;
	uint32_t minutes;
	struct grant grant; /* of an allow */
	const char *by;
	bool is_unusable; /* as in struct answer */
	uint64_t count;
};

enum { APPROVALS_MAX = 1000 };

struct approval_sums {
	bool was_asking; /* whether anybody was asked at all */
	struct str session;
	uint64_t deadline_ms;
	struct broker_counts counts;
	VEC(struct approval) answers; /* each different one once */
	uint64_t unlisted;
};

/* A command that was to be run outside. */
struct escalated {
	struct str command, profile, message, file;
	uint32_t line;	/* of the rule; 0: none */
	const char *by; /* who decided */
	bool is_allow;
	int status; /* of what has run; -1: it has not */
};

enum { ESCALATED_MAX = 200 };

/* What is open, and for how long. */
struct live_grant {
	struct grant grant;
	enum grant_scope scope;
};

struct captured {
	struct buf bytes;
	bool is_truncated;
};

struct outcome {
	const struct backend *backend;
	const struct backend_attempt *passed_over; /* before it, in their order */
	size_t passed_over_count;
	bool is_sandboxed;
	guarantee_set needed, given, lost;
	struct child_environment environment;
	bool network_is_off, network_is_managed;
	struct traffic traffic; /* when it is managed */
	struct str run_id;	/* as in the audit log; "" until one is needed */

	bool has_started; /* the command itself, not what leads to it */
	int exec_error;	  /* errno, when it could not be executed */
	enum cause exec_cause;
	struct str exec_text; /* the same in words, fit to be shown */
	int status;	      /* P24 */
	int signal;	      /* that killed it, or 0 */
	bool timed_out, was_cancelled, had_terminal;
	const char *limit; /* the key in `limits` that ended it, or NULL */

	struct timespec started; /* real time */
	uint64_t duration_ms, cpu_ms, max_rss_kib;
	uint32_t landlock_abi;
	bool was_watched;	 /* whether `watch` is filled in */
	uint64_t calls_answered; /* by the supervisor */
	struct captured captured[2];
	struct denials denials;
	struct approval_sums approvals;
	VEC(struct escalated) escalated;
	uint64_t escalated_unlisted;
	size_t ways_count;	  /* of them, the first: outcome_find_ways() has looked at those */
	enum naming naming_asked; /* by the option or the profile */
	enum naming naming;	  /* what was named in the end */
	struct watch_counts watch;
	size_t placeholder_count;

	changed_name_list names;
	bool has_looked; /* whether `git` is filled in */
	struct git_findings git;
};

/* ---- denials.c --------------------------------------------------------------------------- */

/* "unix_socket", "host", "path" */
const char *denial_kind_name(enum denial_kind kind) RETURNS_NONNULL;
/* The rule that decided, in a few words, escaped; and where it is written. */
void denial_add_rule(struct buf *out, const struct denial *denial) NONNULL;
struct origin denial_origin(const struct denial *denial) NONNULL;
/* "make was not allowed to create '/opt/x' (":root" = "read", built-in)", escaped. */
void denial_add_sentence(struct buf *out, const struct denial *denial) NONNULL;
/* The access that a denied path would have to have. */
enum access denial_access(const struct denial *denial) NONNULL;
/*
 * The path that would have to be opened for it. "": none, because it is no denial of a path, or
 * would open a home directory or what is above one.
 */
struct str denial_opens(struct arena *a, const struct plan_inputs *in, const struct plan *plan,
			const struct denial *denial) NONNULL;

/*
 * Finds the option that would allow each of the first `max` denials of paths (`option`, `value`,
 * `way_out`, in `a`). May be called again.
 */
void outcome_find_ways(struct arena *a, struct outcome *o, const struct plan_inputs *in,
		       const struct plan *plan, size_t max) NONNULL;

/* ---- advice.c ---------------------------------------------------------------------------- */

enum { ADVICE_NAME_BYTES = 200 };

/* What a line for a model depends on; all of it is borrowed. */
struct advice_context {
	const struct plan *plan;
	const struct plan_inputs *plan_inputs; /* of `plan` */
	bool can_ask;			       /* a process inside can ask somebody for more */
};

/* As a JSON string of visible characters, at most ADVICE_NAME_BYTES of it. */
void advice_add_name(struct buf *out, struct str name) NONNULL;

/* Whether the user could allow it. */
bool denial_can_be_allowed(const struct advice_context *in, const struct denial *denial) NONNULL;

/*
 * "what was refused, why; whom to ask": one line. SECURITY: of what the policy denies it has neither the
 * rule nor the path, but only what the program wrote.
 */
void denial_add_advice(struct buf *out, const struct advice_context *in,
		       const struct denial *denial) NONNULL;

/* ---- run.c ------------------------------------------------------------------------------- */

struct session;

/*
 * All in `a`, which must outlive the session. ERR_WEAKER when the host can't
 * enforce the plan, ERR_POLICY (the requirements), ERR_ARGUMENT, ERR_SYS, ERR_LIMIT, ERR_NOMEM;
 * nothing runs then.
 */
int session_start(struct arena *a, const struct session_request *in, struct session **out,
		  struct err *e) MUST_CHECK NONNULL;

/* Whether this process runs in a sandbox of Cordon's. */
bool session_is_inside(void);

/* Becomes readable when session_step() has something to do. */
int session_descriptor(const struct session *s) NONNULL;
/* That of the sandbox's first process, or of the one that watches the command. */
int64_t session_process(const struct session *s) NONNULL;

/*
 * Waits at most `timeout_ms` (-1: for ever) for something and does it. 1 when the
 * run is over, 0 when not. An error is the end of the run too: everything in it
 * was killed.
 */
int session_step(struct session *s, int timeout_ms, struct err *e) MUST_CHECK NONNULL;

/*
 * To the command alone; -N sends N to its whole process group. ERR_ARGUMENT when it has ended,
 * ERR_SYS when the sandbox can't be told now.
 */
int session_signal(struct session *s, int number, struct err *e) MUST_CHECK NONNULL;

void session_cancel(struct session *s) NONNULL;

/*
 * A rule for hosts more; counts from the next connection on. ERR_SYNTAX, ERR_ARGUMENT when the
 * network is not managed or the command has ended, ERR_SYS. That the proxy has no room for it
 * is known later: then an allow is a warning, a deny the end of the run.
 */
int session_add_host(struct session *s, struct str pattern, bool is_allow, struct err *e)
	MUST_CHECK NONNULL;

/* The answer that `decide` has left open. ERR_ARGUMENT, ERR_SYS. */
int session_decide(struct session *s, uint64_t id, bool is_allow, struct err *e) MUST_CHECK NONNULL;

/* An answer of a decider that is the caller itself. ERR_ARGUMENT: nobody asks. */
int session_answer(struct session *s, uint64_t id, const struct answer *answer, struct err *e)
	MUST_CHECK NONNULL;

/* Takes a grant back, in this run and from its broker. ERR_ARGUMENT, ERR_SYS. */
int session_revoke(struct session *s, const struct grant *grant, struct err *e) MUST_CHECK NONNULL;

/* What was granted after the command had failed (asks_after); NULL behind nothing. */
const struct live_grant *session_granted(const struct session *s, size_t *count) NONNULL;

/* The paths that grants have opened at any time of the run. */
const str_list *session_opened(const struct session *s) NONNULL RETURNS_NONNULL;

/* What came of it; complete once the run is over. */
struct outcome *session_outcome(struct session *s) NONNULL;

/* Frees what is not in the arena, the outcome's buffers included. Ends a run that is not over. */
void session_done(struct session *s) NONNULL;

/*
 * What session_start() would do, without doing it: the backend, the environment
 * and what the backend would set up, in words.
 */
struct rehearsal {
	struct outcome outcome; /* as far as it is known before a run */
	const char *const *programs;
	struct buf steps;
};
int session_rehearse(struct arena *a, const struct session_request *in, struct rehearsal *out,
		     struct err *e) MUST_CHECK NONNULL;
