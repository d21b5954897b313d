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
#include "plan/plan.h"
#include "supervise/placeholder.h"
#include "supervise/sandbox.h"

struct launch {
	const struct plan *plan;
	const struct host *host; /* what the plan was made from: the inodes to expect */
	const struct placeholders *held;

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
};

struct backend {
	const char *name;
	/* What it gives where it works at all; the rest is what this host lacks. */
	guarantee_set gives;
	/* Why it does not give `g`, in words. */
	const char *(*why_not)(enum guarantee g);
	/* The operations in words, one a line. */
	int (*describe)(struct arena *a, const struct launch *in, struct buf *out, struct err *e);
	/*
	 * Returns when the sandbox stands and the command is about to be executed.
	 * `in` may go after it. ERR_WEAKER, ERR_SYS, ERR_POLICY, ERR_LIMIT, ERR_NOMEM.
	 */
	int (*launch)(struct arena *a, const struct launch *in, struct sandbox *out, struct err *e);
};

/* In the order of the table of the architecture; closed by NULL. */
extern const struct backend *const backends[];
const struct backend *backend_find(struct str name);

/*
 * P16: the backend for the plan. `names` is the order; `forced` (or NULL) is
 * --backend. ERR_WEAKER names each guarantee that is missing, the rule that
 * needs it, the backends tried and why each fell short, and the way out. Losses
 * in `accepted` do not count; those that are really lost are set in `*lost`.
 */
int backend_select(const struct plan *plan, const names *order, const char *forced,
		   guarantee_set accepted, const struct backend **out, guarantee_set *lost,
		   struct err *e) MUST_CHECK;
