/* SPDX-License-Identifier: MIT */
/*
 * Descriptors whose last close() takes its time, closed by nobody who waits for it.
 *
 * A unix socket that lies in its own queue can't be reached by anyone once it is
 * closed. The kernel finds such garbage by itself, and closes what lies in that queue
 * with it, in a process of its own. So there is no child to be reaped for it. Where a
 * kernel does otherwise, or takes no more descriptors, the close is where it always
 * was. Async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

struct shed {
	int ends[2]; /* -1: none */
};

#define SHED_NONE                  \
	{                          \
		.ends = { -1, -1 } \
	}

/* Before the first is put there; shed_put() does it, too. False: it can't be made. */
bool shed_open(struct shed *s) NONNULL;

/* Takes copies of up to FD_PASS_MAX descriptors at a time; the caller closes its own. False: it takes none. */
bool shed_put(struct shed *s, const int *fds, size_t count) NONNULL;

/*
 * When nobody else has them any more. What was put there first is closed first, the shed itself last. False:
 * they were closed by this call.
 */
bool shed_leave(struct shed *s) NONNULL;
