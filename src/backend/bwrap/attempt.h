/* SPDX-License-Identifier: MIT */
/* A launch with bwrap on its way: what launch.c, prepare.c and spawn.c share. */
#pragma once

#include "backend/bwrap/bwrap.h"

/* A launch on its way. What is -1 or empty is not there (yet). */
struct attempt {
	struct arena *a;
	const struct launch *in;
	struct mounts mounts;
	bool expects; /* placeholders that are not there yet: `mounts` lack their inodes */
	struct bwrap_job job;
	struct bwrap_facts facts;
	struct bwrap_program program;
	struct bwrap_words words;
	int stage;			   /* O_PATH: the program that is the inner stage */
	int errors, info, block, job_file; /* this process's ends */
	VEC(int) fds;	 /* for bwrap, in the order of enum bwrap_fd; may be there twice */
	VEC(int) owned;	 /* those of them that are closed when bwrap has them */
	pid_t helper;	 /* its number, and that of the group of bwrap */
	bool lacks_proc; /* that is why it failed */
	bool was_misled; /* likewise: not all placeholders that were expected could be made */
	struct sandbox s;
};

/* prepare.c: `facts`, `mounts` and the walls. ERR_WEAKER for what can't be held here. */
int bwrap_prepare(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* `mounts` and the walls again, from the placeholders that there are, or are expected. */
int bwrap_lower(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* Makes the placeholders. Not all that were expected: ERR_POLICY, and `was_misled`. */
int bwrap_hold_places(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* The rest of `job`, while bwrap starts. As inner_prepare(), and ERR_WEAKER. */
int bwrap_prepare_job(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/*
 * spawn.c: makes all that bwrap needs as descriptors and starts it. The job is still
 * empty then; it is read when the identities have been mapped. ERR_SYS, ERR_POLICY
 * for what is no longer what the plan was made from.
 */
int bwrap_spawn(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* While bwrap starts. */
int bwrap_write_job(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* What belongs to the start of bwrap, and not to the sandbox that came of it. */
void bwrap_close_ends(struct attempt *t) NONNULL;
