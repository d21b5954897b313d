/* SPDX-License-Identifier: MIT */
/*
 * A run inside a sandbox of Cordon, which can't make another: the command runs in the one that is around it.
 *
 * SECURITY: that there is one is proven by its supervisor's answer on the reserved socket, never by a variable.
 * What the kernel enforces is that sandbox's policy, whatever is believed here, so nothing gets wider. A policy of
 * its own could be narrower, and nobody would enforce that: so it has to be the same, for the same workspace,
 * home and $TMPDIR (plan_digest).
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct session_request;

/* What the supervisor says of itself. */
struct outer {
	bool is_there;
	bool is_shell;				  /* a run of cordon-sh, and not of a whole agent */
	struct str run, backend, profile, policy; /* the last is a plan_digest() */
};

/* In `a`. Not there is no error; ERR_SYS, ERR_SYNTAX, ERR_LIMIT, ERR_INTERNAL, ERR_NOMEM. */
int outer_find(struct arena *a, struct outer *out, struct err *e) MUST_CHECK NONNULL;

/* Why the supervisor does not answer, which is there: `r` is -errno. */
int outer_fail_talk(int r, struct err *e) MUST_CHECK NONNULL;

/* CAUSE_NOBODY_ASKED, CAUSE_OUTER_POLICY. `backend` is that of the sandbox. */
int outer_enter(struct arena *a, const struct session_request *in, struct str *backend,
		struct err *e) MUST_CHECK NONNULL;
