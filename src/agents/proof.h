/* SPDX-License-Identifier: MIT */
/* Whether this process is in a sandbox of Cordon, as its supervisor says (check.c). */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

/* What a supervisor has answered. */
struct proof {
	bool is_inside;
	bool is_shell; /* of a run of cordon-sh, and not of a whole agent */
	struct str run, profile, backend, policy; /* the last is a plan_digest() */
};

/* Whether a supervisor answers this process. */
int setup_prove(struct arena *a, struct proof *out, struct err *e) MUST_CHECK NONNULL;
