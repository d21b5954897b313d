/* SPDX-License-Identifier: MIT */
/*
 * Placeholders are directories of the host: who removes one outside (`git clean`
 * in another window) takes away the mount that covers it in the sandbox, and the
 * command could create what it must not. The directories that hold them are
 * watched, and a run that loses one is ended.
 */
#pragma once

#include "base/arena.h"
#include "os/loop.h"
#include "supervise/placeholder.h"

struct guard {
	struct watcher watcher; /* of inotify; fd -1: nothing to watch */
	struct loop *loop;
	const struct placeholders *held;
};

#define GUARD_NONE                     \
	{                              \
		.watcher = {.fd = -1 } \
	}

/* `held` must outlive it. ERR_SYS. A loss is a failure of the loop: ERR_POLICY by name. */
int guard_start(struct guard *g, struct loop *loop, const struct placeholders *held, struct err *e)
	MUST_CHECK NONNULL;
void guard_stop(struct guard *g) NONNULL;
