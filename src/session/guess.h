/* SPDX-License-Identifier: MIT */
/*
 * What was refused and not seen, concluded from what the command wrote ("cat: /x: Permission denied"): for
 * accesses that a run can't name, and output that was captured.
 *
 * A line counts only if it names a path that the plan refuses in that way and the host does not. Who writes
 * the output can make a guess wrong, and nothing else: nobody is asked about a guess, and none opens
 * anything.
 */
#pragma once

#include "backend/denials.h"
#include "plan/plan.h"
#include "policy/policy.h"

struct guess_request {
	const struct plan *plan;
	const struct plan_inputs *inputs;
	struct str directory; /* of the run; where the command went from there is not known */
	enum naming naming;   /* what was named: of that nothing is guessed */
	bool has_mounts; /* what may not be written is a read-only file system, not a denied access */
	struct str outputs[2]; /* in the order in which they are believed */
	/* Whether the host lets this user write (or read) what is there. */
	bool (*host_allows)(const char *path, bool writes);
};

/* Adds to `denials` what they do not have yet. Never fails: without memory there are fewer. */
void guess_denials(const struct guess_request *in, struct denials *denials) NONNULL;
