/* SPDX-License-Identifier: MIT */
/*
 * Which grants would be enough for an attempt that the policy refuses (P18), and what the policy is
 * with grants added. Each offer is tried on a copy of the policy, with the function that answers for
 * everybody (P7, P13, P15): what an entry, a narrowing layer, P9, P10, P11 or P25 refuses, no grant
 * opens, so it is not offered.
 */
#pragma once

#include "approve/approve.h"
#include "plan/net.h"
#include "plan/obeyed.h"
#include "plan/plan.h"
#include "plan/suggest.h"

/*
 * Each sets ask->offers, narrowest first; none: it can't be asked for. `plan` is that of `in`, with
 * the grants so far. `can_once`: this one call can be performed without a grant; it is then a scope
 * of the narrowest offer. The other scopes are all that there are: the broker has those of the run.
 * The strings are in the arena, or those of `needs`, `host` and `path`.
 *
 * Many attempts are in one directory, and a trial costs about as much as plan_build_answers().
 * ERR_NOMEM, ERR_LIMIT, ERR_SYS.
 */
int offers_for_path(struct arena *a, const struct plan_inputs *in, const struct plan *plan,
		    const struct attempt_needs *needs, enum operation operation, bool can_once,
		    struct ask *ask, struct err *e) MUST_CHECK NONNULL;
/* `port` 0: not known, so only every port can be had. `ask` also gets its subject. */
int offers_for_host(struct arena *a, const struct plan_inputs *in, const struct hostname *host,
		    uint16_t port, bool can_once, struct ask *ask, struct err *e)
	MUST_CHECK NONNULL;
/* `path` is canonical. */
int offers_for_socket(struct arena *a, const struct plan_inputs *in, const struct plan *plan,
		      struct str path, bool can_once, struct ask *ask, struct err *e)
	MUST_CHECK NONNULL;

/* What of P9 `path` is or lies in, wherever that is, so that nobody is asked for it. ERR_NOMEM, ERR_SYS. */
int offers_find_obeyed(struct arena *a, const struct plan_inputs *in, struct str path,
		       struct obeyed *out, struct err *e) MUST_CHECK NONNULL;

/* Whether an entry denies it: nobody may lift that. */
bool offers_is_denied(const struct plan *plan, struct str path) NONNULL;

/*
 * Whether a grant may be made live here and now: it is canonical, what it was (a directory or none),
 * never too wide, and the policy with it opens it. `*why_not` is NULL if so. For what an answer grants
 * within an offer, and for what was kept from earlier. ERR_NOMEM, ERR_LIMIT, ERR_SYS.
 */
int offers_check(struct arena *a, const struct plan_inputs *in, const struct grant *grant,
		 const char **why_not, struct err *e) MUST_CHECK NONNULL;

/* Whether it is in /proc, /sys or /dev, of which the sandbox has its own. */
bool offers_is_kernel_path(struct str path) PURE;

/*
 * The same for a path, without the last part: for who makes the whole plan with the grant anyway.
 *
 * SECURITY: that plan has to give write access to the path, or the grant must not be made live.
 */
int offers_check_path(struct arena *a, const struct plan_inputs *in, const struct grant *grant,
		      const char **why_not, struct err *e) MUST_CHECK NONNULL;

/*
 * A copy of the policy with the grants added; it borrows from `policy` and from the grants. An
 * escalation changes nothing in it. `origin` says who granted. ERR_NOMEM, ERR_LIMIT, ERR_SYNTAX.
 */
int offers_add_grants(struct arena *a, const struct policy *policy, const struct grant *grants,
		      size_t count, struct origin origin, const struct policy **out, struct err *e)
	MUST_CHECK;
