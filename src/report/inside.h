/* SPDX-License-Identifier: MIT */
/*
 * Where a sandbox does not show the host's files: P20's /proc, /sys and /dev, and a
 * private /tmp (P5). The answer for a path is about the host's there, so `why` says
 * beside it what holds inside, and does not suggest an edit that changes nothing.
 */
#pragma once

#include "base/arena.h"
#include "plan/plan.h"

struct inside {
	struct str text;		/* what holds there; "": what the answer says */
	bool ignores[ACCESS_WRITE + 1]; /* an entry of this access changes nothing inside */
};

/* `path` is canonical, and `v` the answer for it. ERR_NOMEM. */
int inside_find(struct arena *a, const struct plan *plan, struct str path, const struct verdict *v,
		struct inside *out, struct err *e) MUST_CHECK NONNULL;
