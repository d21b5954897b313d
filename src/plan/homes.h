/* SPDX-License-Identifier: MIT */
/* Which directories are homes, or have one in them. Internal to plan/ and for lib/. */
#pragma once

#include "base/arena.h"
#include "plan/host.h"
#include "policy/places.h"

struct home_match {
	struct str home; /* canonical; "" when `dir` is none and has none in it */
	bool is_above;	 /* `dir` is not the home itself */
};

/* Whether `dir`, canonical, is one of the homes of `places` or above one, by inode. */
int homes_match(struct arena *a, const struct host *host, const struct places *places,
		struct str dir, struct home_match *out, struct err *e) MUST_CHECK NONNULL;
