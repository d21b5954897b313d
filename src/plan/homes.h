/* SPDX-License-Identifier: MIT */
/* Which directories are homes, or contain one. For plan/ and lib/. */
#pragma once

#include "base/arena.h"
#include "plan/host.h"
#include "policy/places.h"

struct home_match {
	struct str home; /* canonical; "" if `dir` is not a home and contains none */
	bool is_above;	 /* `dir` contains the home, and is not the home itself */
};

/* Whether `dir` (canonical) is one of the homes of `places` or above one, compared by inode. */
int homes_match(struct arena *a, const struct host *host, const struct places *places,
		struct str dir, struct home_match *out, struct err *e) MUST_CHECK NONNULL;
