/* SPDX-License-Identifier: MIT */
/*
 * What a backend is: a way to make a plan true for one command.
 *
 * lower() is pure and says what would be done (`run --dry-run`, --trace, golden
 * tests); launch() does it. A host that can't is ERR_WEAKER with cause and way
 * out; what the plan was made from and is no longer so (P8) is ERR_SYS or
 * ERR_POLICY and never something weaker.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "linux/init/sandbox.h"
#include "linux/placeholder/placeholder.h"
#include "plan/plan.h"

/*
 * A managed network: nothing but the loopback interface, on which every address is local,
 * and the sockets of the proxy (struct sandbox), which are listening when launch() returns.
 */
enum { LAUNCH_PROXY_PORT = 3128, LAUNCH_NAMES_PORT = 53, LAUNCH_MAX_HOST_PORTS = 24 };
enum { LAUNCH_MAX_NAME_SERVERS = 3 };
struct launch_network {
	uint16_t host_ports[LAUNCH_MAX_HOST_PORTS]; /* on loopback: PROXY_HOST_PORT */
	size_t host_port_count;
};

struct launch {
	const struct plan *plan;
	const struct host *host;	 /* what the plan was made from: the inodes to expect */
	const struct plan *stands_for;	 /* a helper is trusted as this has it, too; may be NULL */
	const struct placeholders *held; /* for who holds late: none, until hold() */
	/* Makes the placeholders, once; see struct backend. ERR_SYS, ERR_POLICY, as it names them. */
	int (*hold)(void *user, struct err *e);

	const char *const *argv;
	/*
	 * The files to try in order, "argv[0]" alone when it has a slash; each as it
	 * is to be given to execve() inside.
	 */
	const char *const *programs;
	const char *const *environment;
	const char *directory;	   /* canonical */
	int stdio[3];		   /* become 0, 1, 2; may be the same */
	int terminal;		   /* handed to the command's group, -1: none */
	const char *terminal_path; /* of the terminal, for /dev/console; NULL when not known */
	bool waits;		   /* for sandbox_start(), before the command is executed */
	/*
	 * This process is a command itself (CORDON_RUN_FOREGROUND), and PID 1 ends with it: it may
	 * have children of a run's.
	 */
	bool adopts;
	const struct launch_network *network; /* NULL: it is not managed */
	/*
	 * There is no network: these addresses (IPv4, in network order) are the sandbox's own, and
	 * their port 53 is listened at (PROXY_NAMES_UDP of struct sandbox). Where that can't be
	 * there are no such sockets.
	 */
	uint32_t name_servers[LAUNCH_MAX_NAME_SERVERS];
	size_t name_server_count;
	/* Of the run (P23): as RLIMIT_NPROC of a user namespace of its own. 0: not limited so. */
	uint64_t processes;

	guarantee_set accepted; /* losses that the run may have */
	/* What the caller should know and what is no failure; may be NULL. */
	void (*warn)(void *user, const char *text);
	/*
	 * The environment that says that `lost`, which was accepted, is not held on this host
	 * after all (P22). May be NULL. ERR_NOMEM, ERR_LIMIT.
	 */
	int (*lose)(void *user, guarantee_set lost, const char *const **environment, struct err *e);
	void *user;
};

struct backend {
	const char *name;
	/*
	 * What it gives where it works at all, as far as a cheap question to the kernel
	 * tells (an ABI); whether it works here is what launch() finds out. Limits (P23) only
	 * for a plan that asks for some, and when they can be held here; `plan` may be NULL.
	 */
	guarantee_set (*gives)(const struct plan *plan);
	/* Why it does not give `g`, in words. */
	const char *(*why_not)(enum guarantee g);
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
	bool holds_modes_only; /* P19, whatever it gives */
	/* Placeholders take their time: launch() calls hold() when something else is on its way. */
	bool holds_late;
};

/* In the order of the table of the architecture; closed by NULL. */
extern const struct backend *const backends[];
extern const struct backend backend_none; /* no sandbox; not among them */
const struct backend *backend_find(struct str name);

/* ---- select.c: which one a plan gets (P16) ---------------------------------------------- */

/* One that was passed over, or could not do it here. */
struct backend_attempt {
	struct str name;
	enum cause cause;
	struct str reason;   /* in words */
	guarantee_set lacks; /* what it does not give; 0: the reason says it */
	bool is_unknown;     /* not in this version */
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
