/* SPDX-License-Identifier: MIT */
/*
 * The masker: a process that covers names inside a sandbox that already runs.
 * It joins the sandbox's user and mount namespaces once and then takes orders,
 * one path each, so that a mask costs a few system calls and no fork.
 *
 * It is forked without exec from what may be a threaded program: nothing in it
 * but async-signal-safe calls. It is in no pid namespace that the sandbox can
 * see, keeps no descriptor of this process, hears no signal but SIGKILL, and
 * ends with its channel, so also when this process was killed.
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
	atomic_uint_fast64_t masked; /* covered by it */
	atomic_uint_fast64_t missed; /* there, and could not be covered */
	atomic_uint_fast64_t done;   /* orders, whatever came of them */
};

struct masker {
	int pidfd;
	int channel; /* writable when it takes another order; at its end the process is gone */
	struct masker_counts *counts;
};

#define MASKER_NONE                                        \
	{                                                  \
		.pidfd = -1, .channel = -1, .counts = NULL \
	}

/* Returns when it stands in the sandbox. ERR_SYS. */
int masker_start(struct masker *m, const struct sandbox *sandbox, struct err *e) MUST_CHECK NONNULL;

/*
 * Whatever lies at `path` (plain) when the order is carried out is covered by
 * something empty that can't be read. What is gone by then, or covered already, is
 * neither masked nor missed. 1; 0 when the channel is full; ERR_SYS when the
 * process is gone.
 */
int masker_order(struct masker *m, struct str path, struct err *e) MUST_CHECK NONNULL;

/* Orders that were not yet carried out are lost. Fine when it was never started. */
void masker_stop(struct masker *m, uint64_t *masked, uint64_t *missed) NONNULL;

/* Whether what lies at `name` below `dir`, not followed, is the root of a mount. */
bool masker_is_covered(int dir, const char *name) NONNULL;
