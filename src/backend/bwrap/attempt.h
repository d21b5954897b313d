/* SPDX-License-Identifier: MIT */
/* A launch with bwrap on its way: what launch.c, prepare.c and spawn.c share. */
#pragma once

#include "backend/bwrap/bwrap.h"

/* A launch on its way. What is -1 or empty is not there (yet). */
struct attempt {
	struct arena *a;
	const struct launch *in;
	kernel_mounts kernel; /* none, as long as `knows_kernel_mounts` is false */
	bool knows_kernel_mounts;
	struct mounts mounts;
	struct narrowed_list narrowed;
	bool expects; /* placeholders that are not there yet: `mounts` lack their inodes */
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
	bool has_own_namespaces; /* PID 1, as seen from here; false: it has to look itself */
	bool stands;		 /* PID 1 has said so, and it was PID 1 */
	bool lacks_proc;	 /* that is why it failed */
	bool was_misled;	 /* likewise: bwrap was started with other expectations */
	struct sandbox s;
};

/*
 * prepare.c: `facts`, `mounts`, `narrowed` and the walls. ERR_WEAKER for what can't be
 * held here. What takes time is expected, and is found out while bwrap is loaded: that
 * there are no windows into the kernel, and that all placeholders can be made.
 */
int bwrap_prepare(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* All of that but `facts` again, from what is known by now. */
int bwrap_lower(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/*
 * What was expected is looked for, and made. ERR_POLICY, and `was_misled`, when it needs other
 * descriptors than bwrap was given: then it has to be started again.
 */
int bwrap_find_kernel_mounts(struct attempt *t, struct err *e) MUST_CHECK NONNULL;
int bwrap_hold_places(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* The rest of `job`, while bwrap starts. As inner_prepare(), and ERR_WEAKER. */
int bwrap_prepare_job(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/*
 * spawn.c: makes all that bwrap needs as descriptors and starts it. Its arguments and
 * the job are still empty then; the job is read when the identities have been mapped.
 * ERR_SYS, ERR_POLICY for what is no longer what the plan was made from.
 */
int bwrap_spawn(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* While bwrap is loaded; at the end of them it goes on. */
int bwrap_write_args(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* While it makes its namespaces. */
int bwrap_write_job(struct attempt *t, struct err *e) MUST_CHECK NONNULL;

/* What belongs to the start of bwrap, and not to the sandbox that came of it. */
void bwrap_close_ends(struct attempt *t) NONNULL;
