/* SPDX-License-Identifier: MIT */
/*
 * The masker: a process that covers names inside a sandbox that already runs.
 * It joins the sandbox's user and mount namespaces once and then takes orders,
 * one path each, so that a mask costs a few system calls and no fork. It also makes grafts
 * (linux/live/graft.h), in order with the masks.
 *
 * It is forked without exec from what may be a threaded program, so it makes only async-signal-safe
 * calls. The sandbox can't see it: it is not in the sandbox's pid namespace. It keeps none of this
 * process's descriptors, blocks all signals but SIGKILL, and ends with its channel or its parent.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "linux/init/sandbox.h"

/* Shared with the process. */
struct masker_counts {
	atomic_uint_fast64_t masked; /* names that it covered */
	atomic_uint_fast64_t missed; /* names that it could not cover */
	atomic_uint_fast64_t done;   /* orders carried out, with or without success */
};

struct masker {
	int pidfd;
	int channel; /* writable when it takes another order; at its end the process is gone */
	struct masker_counts *counts;
	uint32_t asked; /* answers that it owes or has given; see linux/live/graft.h */
};

#define MASKER_NONE                                        \
	{                                                  \
		.pidfd = -1, .channel = -1, .counts = NULL \
	}

/* Returns when it has joined the sandbox. ERR_SYS. */
int masker_start(struct masker *m, const struct sandbox *sandbox, struct err *e) MUST_CHECK NONNULL;

/*
 * Orders the masker to cover whatever lies at `path` (plain) with something empty and unreadable. A
 * name that is gone by then, or already covered, counts neither as masked nor as missed. Returns 1,
 * or 0 if the channel is full; ERR_SYS if the process has ended.
 */
int masker_order(struct masker *m, struct str path, struct err *e) MUST_CHECK NONNULL;

/* Drops orders that were not carried out yet. May be called if it was never started. */
void masker_stop(struct masker *m, uint64_t *masked, uint64_t *missed) NONNULL;

/* Whether what lies at `name` below `dir`, not followed, is the root of a mount. */
bool masker_is_covered(int dir, const char *name) NONNULL;
