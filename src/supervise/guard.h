/* SPDX-License-Identifier: MIT */
/*
 * Placeholders are directories of the host: who removes one outside (`git clean`
 * in another window) takes away the mount that covers it in the sandbox, and the
 * command could create what it must not. They are looked at ten times a second,
 * and a run that loses one is ended. (Not by inotify: to close it takes the kernel
 * longer than most runs.)
 */
#pragma once

#include "os/loop.h"
#include "supervise/placeholder.h"

struct guard {
	struct loop *loop; /* NULL: nothing to guard */
	struct timer timer;
	const struct placeholders *held;
};

/* `held` must outlive it. ERR_SYS. A loss is a failure of the loop: ERR_POLICY by name. */
int guard_start(struct guard *g, struct loop *loop, const struct placeholders *held, struct err *e)
	MUST_CHECK NONNULL;
void guard_stop(struct guard *g) NONNULL;
