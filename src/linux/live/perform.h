/* SPDX-License-Identifier: MIT */
/* From a system call of the command to an order for the opener (opener.h). */
#pragma once

#include "linux/live/opener.h"
#include "linux/notify/naming.h"

/* A call whose paths were found and judged: it may happen. */
struct performed {
	const struct engine *engine;
	const struct engine_call *call;
	const struct naming_target *targets;
	const struct naming_path *at; /* of a hard link `at[1]` is the file that there is already */
	int count;
};

/* Whether the kernel can't do it though it is granted: `all` or only what Landlock still forbids. */
bool perform_is_needed(const struct performed *p) MUST_CHECK NONNULL;

/*
 * Has the opener perform the call; `dir` is -1, or a writable clone of the directory that holds the
 * file. 0: it will be answered; -errno: it has to be answered with that, or -EAGAIN: it has to
 * continue.
 */
int perform(struct opener *o, const struct performed *p, int dir) MUST_CHECK NONNULL;
