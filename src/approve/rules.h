/* SPDX-License-Identifier: MIT */
/*
 * [[approve]] of the user's configuration: requests that are answered without asking. A rule goes by
 * what is asked for alone; SECURITY: never by the program, its arguments, its directory or its
 * reason, which the command controls.
 */
#pragma once

#include "approve/approve.h"

struct approve_rules;
struct plan_inputs;

enum ruling_answer { RULED_NOT, RULED_ALLOW, RULED_ASK, RULED_DENY }; /* the later wins */

struct ruling {
	enum ruling_answer answer;
	size_t offer;		/* RULED_ALLOW: which one */
	enum grant_scope scope; /* likewise */
	struct origin origin;	/* of the rule; without a file: none */
	/*
	 * Bit i: offer i is wider than the request, and a rule denies something in it. So it can be
	 * had for this one call alone (`once`).
	 */
	uint32_t denied_offers;
};

/*
 * The rules that hold for the profile in force. A path in a rule that denies or asks stands for what
 * it leads to as well; one that allows is not followed through links, because whoever can write
 * there could have put them there. ERR_NOMEM, ERR_LIMIT, ERR_SYS, ERR_POLICY (a loop of links).
 */
int approve_rules_new(struct arena *a, const struct plan_inputs *in,
		      const struct approve_rules **out, struct err *e) MUST_CHECK NONNULL;

/*
 * SECURITY: of all rules, whatever the profile: an allow to write must not cover "/", a home, or every
 * name in one, because each request below it would then be granted. `in` has to know the homes.
 * CAUSE_APPROVAL_TOO_WIDE.
 */
int approve_rules_check(struct arena *a, const struct plan_inputs *in, struct err *e)
	MUST_CHECK NONNULL;

/*
 * An allow is for an offer that has the scope of the rule, or `run` in place of `session`; if there is
 * none, for one that can be had `once`.
 */
void approve_rules_judge(const struct approve_rules *r, const struct ask *ask, struct ruling *out)
	NONNULL;
