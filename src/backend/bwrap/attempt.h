/* SPDX-License-Identifier: MIT */
/* A launch with bwrap on its way: what launch.c, prepare.c and spawn.c share. */
#pragma once

#include "backend/bwrap/bwrap.h"

/* One launch in progress. -1 or empty: not there (yet). */
struct attempt {
	struct arena *a;
	const struct launch *in;
	kernel_mounts kernel; /* none, as long as `knows_kernel_mounts` is false */
	bool knows_kernel_mounts;
	struct mounts mounts;
	struct narrowed_list narrowed;
	bool expects; /* placeholders that are not made yet: `mounts` lack their inodes */
	struct bwrap_job job;
	struct bwrap_facts facts;
	struct bwrap_program program;
	struct bwrap_words words;
	int stage;		       /* O_PATH: the program that is the inner stage */
	int errors, info, gate, block; /* this process's ends */
	int args_file, job_file;
	VEC(int) fds;		 /* for bwrap, in the order of enum bwrap_fd; may be there twice */
	VEC(int) owned;		 /* those of them that are closed when bwrap has them */
	pid_t group;		 /* that bwrap is in: the number of the helper, or its own */
	bool has_own_namespaces; /* this process has compared them; false: PID 1 has to */
	bool stands;		 /* PID 1 runs the inner stage, and was verified */
	bool lacks_proc;	 /* it failed because it can't mount /proc */
	bool was_misled;	 /* it failed because bwrap got wrong descriptors */
	struct sandbox s;
};

/*
 * prepare.c: sets `facts`, `mounts`, `narrowed` and the Landlock rules. ERR_WEAKER for what this host
 * can't enforce. To save time it assumes that there are no kernel mounts in unusual places and that
 * all placeholders can be made; both are checked while bwrap is loaded.
 */
int bwrap_prepare(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* Sets all of that but `facts` again, from what is known now. */
int bwrap_lower(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/*
 * Check the assumptions, and make the placeholders. ERR_POLICY with `was_misled` if bwrap would need
 * other descriptors: then it has to be started again.
 */
int bwrap_find_kernel_mounts(struct attempt *t, struct err *e) MUST_CHECK NONNULL;
int bwrap_hold_places(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* Fills in the rest of `job` while bwrap starts. Errors of inner_prepare(), and ERR_WEAKER. */
int bwrap_prepare_job(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/*
 * spawn.c: makes all descriptors that bwrap needs, and starts it. The files for its arguments and for
 * the job are still empty; the job is read after the id maps are written. ERR_SYS; ERR_POLICY for
 * a path that changed since the plan was made.
 */
int bwrap_spawn(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* Writes bwrap's arguments, for which it waits. */
int bwrap_write_args(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* Writes the job, while bwrap makes its namespaces. */
int bwrap_write_job(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* Closes the descriptors that were needed only to start bwrap. */
void bwrap_close_ends(struct attempt *t) NONNULL;
