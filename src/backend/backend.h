/* SPDX-License-Identifier: MIT */
/*
 * The contract between a run (session/) and the system that confines it. It has three parts:
 *
 *	struct backend		a way to enforce a plan: what it guarantees, what it would do, launch()
 *	struct supervisor	the sandbox of one run, from before it is made until nothing is left of it
 *	backend_next()		which backend a plan gets
 *
 * A system brings one or more backends and one supervisor that serves all of them
 * (linux/supervisor.c). docs/porting.md says what a new system has to bring.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backend/inside.h"
#include "base/buf.h"
#include "base/progress.h"
#include "os/loop.h"
#include "plan/plan.h"
#include "policy/guarantee.h"
#include "proxy/channel.h"

/* Each system has its own. */
struct placeholders;
struct sandbox;
struct supervisor;

/*
 * A managed network: nothing but the loopback interface, on which every address is local,
 * and the sockets of the proxy (supervisor_give_sockets()), which listen when launch() returns. If the
 * backend shares the host's network: one port of its loopback, and no other address at all.
 */
enum { LAUNCH_PROXY_PORT = 3128, LAUNCH_NAMES_PORT = 53, LAUNCH_MAX_HOST_PORTS = 24 };
enum { LAUNCH_MAX_NAME_SERVERS = 3 };
struct launch_network {
	uint16_t proxy_port; /* on loopback: LAUNCH_PROXY_PORT, or one of the host (shares_network) */
	uint16_t host_ports[LAUNCH_MAX_HOST_PORTS]; /* on loopback: PROXY_HOST_PORT */
	size_t host_port_count;
};

struct launch {
	const struct plan *plan;
	const struct host *host;       /* what the plan was made from: the inodes to expect */
	const struct plan *stands_for; /* a helper is trusted as this has it, too; may be NULL */
	/*
	 * Filled in by supervisor_prepare(), like `waits`, `adopts`, `processes`, `naming` and the
	 * name servers. Until hold() was called, nothing is held for a backend that holds late.
	 */
	const struct placeholders *held;
	/* Makes the placeholders, once; see struct backend. ERR_SYS, ERR_POLICY; names the path. */
	int (*hold)(struct supervisor *holder, struct err *e);
	struct supervisor *holder;

	const char *const *argv;
	/*
	 * The files to try in order, "argv[0]" alone when it has a slash; each as it
	 * is to be given to execve() inside.
	 */
	const char *const *programs;
	const char *const *environment;
	const char *directory; /* canonical */
	/*
	 * A command that another run has run outside: it is in this directory, whatever its path leads to
	 * by now, has a session of its own without a terminal, and dies with this process. NULL: it is an ordinary one.
	 */
	const int *escalated_in;
	int stdio[3];		   /* become 0, 1, 2; may be the same */
	int terminal;		   /* handed to the command's group, -1: none */
	const char *terminal_path; /* of the terminal, for /dev/console; NULL when not known */
	/*
	 * `terminal_path` is a pty of the command's own: the command gets a session of its own with
	 * it as controlling terminal, and a process group of its own in that session, so that
	 * the pty can stop it. `terminal` is -1 then. Not for backend_none.
	 */
	bool owns_terminal;
	bool starts_behind; /* not in that terminal's foreground */
	bool waits;	    /* the command is executed after supervisor_start() */
	/*
	 * This process is a command itself (CORDON_RUN_FOREGROUND), and PID 1 ends with it: it may
	 * have children of a run's.
	 */
	bool adopts;
	const struct launch_network *network; /* NULL: it is not managed */
	/*
	 * There is no network: these addresses (IPv4, in network order) are the sandbox's own, and
	 * the sandbox listens on their port 53 for the supervisor. Where that can't be there are
	 * no such sockets.
	 */
	uint32_t name_servers[LAUNCH_MAX_NAME_SERVERS];
	size_t name_server_count;
	/* Of which accesses the supervisor is notified, so that it can name those that are refused. */
	enum naming naming;
	/*
	 * Paths may be opened while the command runs: Landlock leaves to the mounts what these can
	 * forbid, and the supervisor gets the sandbox's namespaces.
	 */
	bool opens_paths;
	/* Of the run (P23): as RLIMIT_NPROC of a user namespace of its own. 0: not limited so. */
	uint64_t processes;

	guarantee_set accepted; /* losses that the run may have */
	/* What the caller should know and what is no failure; may be NULL. */
	void (*warn)(void *user, const char *text);
	/*
	 * Makes the environment that tells the command that this host does not enforce `lost`, whose
	 * loss was accepted (P22). May be NULL. ERR_NOMEM, ERR_LIMIT.
	 */
	int (*lose)(void *user, guarantee_set lost, const char *const **environment, struct err *e);
	void *user;
};

struct backend {
	const char *name;
	/*
	 * What it gives where it works at all, as far as a cheap question to the kernel
	 * tells (an ABI); whether it works here is what launch() finds out. Limits (P23) only
	 * for a plan that asks for some, and if this host can enforce them; `plan` may be NULL.
	 */
	guarantee_set (*gives)(const struct plan *plan);
	/* Why it does not give `g`, for people. */
	const char *(*why_not)(enum guarantee g);
	/* ERR_WEAKER, with cause and fix, when gives() is 0 on this host. NULL: it never is. */
	int (*check_host)(struct err *e);
	/* The operations in words, one a line. */
	int (*describe)(struct arena *a, const struct launch *in, struct buf *out, struct err *e);
	/*
	 * Returns when the sandbox stands and the command is about to be executed, or waits.
	 * `in` may go after it. ERR_WEAKER: this host does not let it, nothing was run and
	 * nothing is left, so another may be tried; its text begins like "the native backend
	 * can't", names the cause and the way out. ERR_SYS, ERR_POLICY, ERR_LIMIT and ERR_NOMEM
	 * end the run.
	 */
	int (*launch)(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e);
	bool enforces_modes_only; /* of P19, whatever gives() says */
	/* The command has the host's network: the proxy of a managed one is on the host's loopback. */
	bool shares_network;
	/* launch() calls hold() itself, to make the placeholders while it waits for another process. */
	bool holds_late;
};

/* In the order of docs/architecture.md; NULL behind the last. */
extern const struct backend *const backends[];
extern const struct backend backend_none; /* no sandbox; not among them */
/* The sandbox that this process is in already; not among them either. */
extern const struct backend backend_outer;
const struct backend *backend_find(struct str name);
/* In which order this system tries them, unless one is forced. */
const names *backend_order(const struct settings *settings) NONNULL RETURNS_NONNULL;

/*
 * backend->describe(), also without a supervisor: then nothing is held. What a backend needs of
 * `in` for that is its plan, its host, and the words and streams of the command.
 */
int backend_describe(const struct backend *b, struct arena *a, const struct launch *in,
		     struct buf *out, struct err *e) MUST_CHECK NONNULL;

/* ---- The sandbox of one run ---------------------------------------------------------------- */

/* Why nothing was executed. `index` is that of the program this is about, if there is one. */
struct command_failure {
	int os_error;
	uint32_t index;
	bool is_closed; /* it is a file, and may not be read either */
};

struct command_end {
	int status; /* what it exited with; 0 when a signal killed it */
	int signal; /* that killed it; 0: none */
	uint64_t cpu_ms, max_rss_kib;
};

struct denial;

/* A call of the command that the policy refuses, and that has not been answered yet. */
struct held_call {
	uint64_t id;		      /* never used twice in a run, not 0 */
	const struct denial *attempt; /* as it will be recorded if it is refused; borrowed */
	/* What the caller is, as it says itself; borrowed. */
	const struct str *argv;
	size_t argv_count;
	struct str cwd;
	bool can_once; /* this very call can be performed, without a grant (RELEASE_ONCE) */
};

enum release {
	RELEASE_REFUSE, /* recorded as a denial */
	RELEASE_GO_ON,	/* what was granted meanwhile lets the kernel do it */
	RELEASE_ONCE,	/* the supervisor performs this one call */
};

/*
 * What a supervisor tells the session, from within loop_step() on the session's loop. What ends
 * the run early (a supervising process was killed, a mask was lost) is a failure of loop_step().
 */
struct supervisor_events {
	void *user;
	/* `ended` follows, as for every command. */
	void (*not_executed)(void *user, const struct command_failure *why);
	void (*stopped)(void *user, int signal, bool is_typed); /* is_typed: at the terminal */
	void (*continued)(void *user);
	/* The command has ended; what it has left running is killed. */
	void (*ended)(void *user, const struct command_end *end);
	/*
	 * Once: nothing of the command's runs any more. Without `ended` before: it was killed. The
	 * sandbox itself may still be about to end.
	 */
	void (*gone)(void *user);
	/*
	 * The answer to supervisor_ask_sockets(). The descriptors are the session's; count 0: none
	 * can be had.
	 */
	int (*sockets_made)(void *user, int family, const int *fds, size_t count, struct err *e);
	/* Sends the proxy an order (PROXY_WILL_CONNECT, PROXY_HAS_CONNECTED); false: it can't be had. */
	bool (*tell_proxy)(void *user, const struct proxy_order *order);
	/*
	 * Only if the request says `holds`: the policy refuses this attempt, and somebody may be asked.
	 * True: the caller waits until supervisor_release(). False: it is refused now.
	 */
	bool (*hold)(void *user, const struct held_call *call);
	/* The caller was killed or interrupted: nobody waits for the answer to `id` any more. */
	void (*unhold)(void *user, uint64_t id);
	/*
	 * A process inside asks for something (`cordon request`); supervisor_answer_request() answers,
	 * perhaps before this returns. NULL: nobody can ask.
	 */
	void (*request)(void *user, const struct inside_request *request);
	/* Nobody waits for the answer to the request `id` any more. */
	void (*unrequest)(void *user, uint64_t id);
	void (*warn)(void *user, const char *text);
	void (*trace)(void *user, const char *text);
};

struct denials;

/* Everything is borrowed until supervisor_reap(). */
struct supervisor_request {
	const struct plan *plan;
	struct loop *loop;
	bool is_sandboxed;		 /* false: backend_none */
	bool is_foreground;		 /* this process is a command itself, and ends like one */
	const struct progress *progress; /* may be NULL */
	struct denials *denials;
	enum naming naming;	    /* which refused accesses to files belong into `denials` */
	const uint16_t *host_ports; /* of a managed network */
	size_t host_port_count;
	/*
	 * Refused writes and connections to unix sockets are offered to events.hold(), and paths may be
	 * opened while the command runs. SECURITY: Landlock then leaves the writes that may be granted
	 * to the mounts.
	 */
	bool holds;
	struct supervisor_events events;
};

/*
 * Before anything is started: looks for what the policy names on the host, and reserves the
 * descriptors without which a running command could not be supervised. ERR_SYS, ERR_LIMIT,
 * ERR_NOMEM.
 */
int supervisor_new(struct arena *a, const struct supervisor_request *in, struct supervisor **out,
		   struct err *e) MUST_CHECK NONNULL;

/* Whether a process inside can ask for something (events.request). */
extern const bool supervisor_takes_requests;

/* What is known of the backend that is tried. */
struct supervisor_attempt {
	const struct backend *backend;
	guarantee_set given, lost;
	bool network_is_off;
	bool holds_now; /* placeholders also for a backend that holds late */
};

/*
 * Before each launch: limits and placeholders of the run, and the members of `launch` that are the
 * supervisor's. ERR_SYS, ERR_POLICY: the command must not run.
 */
int supervisor_prepare(struct supervisor *s, const struct supervisor_attempt *attempt,
		       struct launch *launch, struct err *e) MUST_CHECK NONNULL;

/* backend->launch(); `*lost` is what the backend gives elsewhere, but not on this host. */
int supervisor_launch(struct supervisor *s, const struct backend *backend,
		      const struct launch *launch, guarantee_set *lost, struct err *e)
	MUST_CHECK NONNULL;

/* After the launch: from now on loop_step() supervises. ERR_SYS, ERR_LIMIT, ERR_NOMEM. */
int supervisor_attach(struct supervisor *s, struct err *e) MUST_CHECK NONNULL;

/* A managed network: calls `give` for each socket of the sandbox that is the proxy's; closes them. */
int supervisor_give_sockets(struct supervisor *s,
			    int (*give)(void *user, enum proxy_role role, uint16_t port, int fd,
					struct err *e),
			    void *user, struct err *e) MUST_CHECK __attribute__((nonnull(1, 2, 4)));

/*
 * The command is executed, when it waits for that, with `terminal` in the foreground (-1: none),
 * and ends with this process from now on. ERR_SYS.
 */
int supervisor_start(struct supervisor *s, int terminal, struct err *e) MUST_CHECK NONNULL;

/* SECURITY: the run ends after `ms`, also while this process is stopped. ERR_SYS. */
int supervisor_end_later(struct supervisor *s, uint64_t ms, struct err *e) MUST_CHECK NONNULL;

enum supervisor_target { TO_COMMAND, TO_GROUP, TO_ALL };
/*
 * 0; -ESRCH: it has ended; another -errno (EAGAIN): it can't be told now, as who would pass the
 * signal on is stopped.
 */
int supervisor_signal(struct supervisor *s, enum supervisor_target target, int number) NONNULL;

/*
 * A command with a terminal of its own (launch.owns_terminal): puts its foreground group into that
 * terminal's background, or back.
 */
void supervisor_set_front(struct supervisor *s, bool is_in_front) NONNULL;

/* The process group that the terminal has to be given to. */
int64_t supervisor_group(const struct supervisor *s) NONNULL;

/* Whether nothing runs any more, also when `gone` was not told yet. */
bool supervisor_is_gone(const struct supervisor *s) NONNULL;

/* More sockets of the sandbox's network, of family 4 or 6; see `sockets_made`. False: it is gone. */
bool supervisor_ask_sockets(struct supervisor *s, int family) NONNULL;

/* What the proxy has answered to PROXY_WILL_CONNECT. */
void supervisor_answer_connect(struct supervisor *s, uint64_t id, int os_error) NONNULL;

/* ---- Live grants (P18) ---------------------------------------------------------------------- */

/* Whether the sandbox that was launched can open paths while it runs; else only connections. */
bool supervisor_can_open(const struct supervisor *s) NONNULL;

/*
 * Makes the canonical `path` (and what is below it, but for what `plan` narrows) writable inside.
 * `plan` is the policy with all live grants, this one included; from now on it says what is
 * refused. It has to live until supervisor_reap(), also on failure. Then nothing has changed, or the run ends. ERR_SYS,
 * ERR_POLICY, ERR_LIMIT, ERR_NOMEM.
 */
int supervisor_open_path(struct supervisor *s, const struct plan *plan, struct str path,
			 struct err *e) MUST_CHECK NONNULL;

/*
 * Takes it back; `plan` is the policy without it. New accesses are refused at once. What still has
 * files open there goes on writing until it closes them: `writers` gets the names of those
 * processes, "" if there is none. ERR_SYS: SECURITY: the run has to end.
 */
int supervisor_close_path(struct supervisor *s, const struct plan *plan, struct str path,
			  struct buf *writers, struct err *e) MUST_CHECK NONNULL;

/* The host's socket at the canonical `path` may be connected to, or no longer. */
int supervisor_open_socket(struct supervisor *s, struct str path, struct err *e) MUST_CHECK NONNULL;
void supervisor_close_socket(struct supervisor *s, struct str path) NONNULL;

/* Answers a held call. Does nothing if its caller has gone. */
void supervisor_release(struct supervisor *s, uint64_t id, enum release how) NONNULL;

/*
 * The answer to events.request(), one value of JSON. Does nothing if nobody waits for it any more.
 * `goes_on`: see inside_answer(); only of an INSIDE_ESCALATE.
 */
void supervisor_answer_request(struct supervisor *s, uint64_t id, struct str json, bool goes_on)
	NONNULL;
/* Closes what an INSIDE_ESCALATE has brought, without waiting for anybody. */
void supervisor_close_taken(const struct inside_taken *taken) NONNULL;

/*
 * Kills all in the sandbox; false when nothing was launched. `gone` is told later. Without a pid
 * namespace a process that is stopped again can't follow: call it again until `gone`.
 */
bool supervisor_kill(struct supervisor *s) NONNULL;

/* Waits until all is dead, after supervisor_kill(). */
void supervisor_wait(struct supervisor *s) NONNULL;

/* For the report; complete after supervisor_reap(). */
struct supervision {
	bool was_watched; /* whether `watch` is filled in */
	struct watch_counts {
		uint64_t directories; /* watched */
		uint64_t masked;      /* names that were covered */
		uint64_t missed; /* names seen that could not be covered, or a queue overflowed */
	} watch;
	enum naming naming; /* what was named in the end: never NAMING_AUTO */
	uint64_t calls_answered;
	size_t placeholder_count;
	uint32_t landlock_abi;
	bool ran_out_of_memory;
};
const struct supervision *supervisor_result(const struct supervisor *s) NONNULL;

/*
 * Nothing runs any more, or never did: nothing of it is in the loop from now on, and what was made
 * on the host for the run goes. May be called again.
 */
void supervisor_let_go(struct supervisor *s) NONNULL;

/* Last of all: no process, descriptor or placeholder is left. May be called again. */
void supervisor_reap(struct supervisor *s) NONNULL;

/* ---- What runs that were killed have left behind (P11) ------------------------------------- */

typedef VEC(struct str) str_list;

struct cleaning {
	str_list removed;   /* placeholders and temporaries of edits that nobody held any more */
	str_list kept;	    /* held by a run or an edit, or not ours to remove */
	bool is_incomplete; /* not all was looked at: the look is bounded, or a directory is closed */
};

/*
 * Looks below `roots`, and where the plan wants them, for placeholders, and removes
 * those that no run holds; below `roots` also for temporaries that a killed edit has left. Never removes
 * what is neither marked and empty nor has their name. ERR_NOMEM, ERR_LIMIT.
 */
int backend_clean(struct arena *a, const struct plan *plan, const struct str *roots, size_t count,
		  struct cleaning *out, struct err *e) MUST_CHECK;

/* ---- select.c: which one a plan gets (P16) ---------------------------------------------- */

/* A backend that was passed over, or that failed on this host. */
struct backend_attempt {
	struct str name;
	enum cause cause;
	struct str reason;	   /* for people */
	const struct err *failure; /* what launch() failed with; NULL: it was not launched */
	guarantee_set lacks;	   /* the guarantees that it does not give; 0: see `reason` */
	bool is_unknown;	   /* not in this version */
};

/*
 * Goes through the backends of an order: one that gives what the plan needs, but for
 * the accepted losses, is a candidate. That it does so on this host shows in launch();
 * when that says ERR_WEAKER, backend_fell_short() keeps the reason, and the next is
 * asked for.
 */
struct backend_search {
	struct arena *a;
	const struct plan *plan;
	guarantee_set accepted;
	const char *accepts_no_more; /* what keeps a loss from being accepted; NULL: nothing */
	bool names_no_options; /* the caller can't be given any, so that hints name keys instead */
	const names *order;
	const char *forced; /* NULL: none is */
	size_t next;	    /* of the order */
	VEC(struct backend_attempt) attempts;
};

/*
 * `forced` (or NULL) is --backend, and then the only one. ERR_ARGUMENT, ERR_WEAKER for one
 * that there is not, ERR_NOMEM.
 */
int backend_begin(struct arena *a, const struct plan *plan, const names *order, const char *forced,
		  guarantee_set accepted, struct backend_search *out, struct err *e) MUST_CHECK;

/*
 * The next candidate; what is really lost with it is set in `*lost`. ERR_WEAKER when there
 * is none (left): names each guarantee that is missing, the rule that needs it, the
 * backends tried, why each fell short, and the way out.
 */
int backend_next(struct backend_search *s, const struct backend **out, guarantee_set *lost,
		 struct err *e) MUST_CHECK NONNULL;

/* `candidate` can't do it here, as `*e` says, which is forgotten. ERR_NOMEM. */
int backend_fell_short(struct backend_search *s, const struct backend *candidate, struct err *e)
	MUST_CHECK NONNULL;

/* Who was tried so far and why each fell short: "native: …; bwrap: …". */
void backend_say_attempts(const struct backend_search *s, struct buf *out) NONNULL;

/* Whether a kernel's release ("4.4.0-19041-Microsoft") is that of the first WSL, which is no Linux. */
bool backend_is_wsl1(struct str release);
bool backend_is_wsl2(struct str release);
