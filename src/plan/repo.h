/* SPDX-License-Identifier: MIT */
/* The git work tree around the working directory. */
#pragma once

#include "base/arena.h"
#include "plan/host.h"
#include "policy/places.h"

struct repo {
	struct str top; /* canonical; "" if the working directory is in none */
	uint64_t device, inode;
	const char *distrusted; /* why it must not be the workspace; NULL: it may be */
};

/* Searches upwards from places->cwd, which is canonical. */
int repo_find(struct arena *a, const struct host *host, const struct places *places,
	      struct repo *out, struct err *e) MUST_CHECK NONNULL;
