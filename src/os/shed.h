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

#include <stddef.h>

#include "base/macros.h"

struct shed {
	int ends[2]; /* -1: none */
};

#define SHED_NONE                  \
	{                          \
		.ends = { -1, -1 } \
	}

/* Takes copies of up to FD_PASS_MAX - 1 descriptors at a time; the caller closes its own. */
void shed_put(struct shed *s, const int *fds, size_t count) NONNULL;

/* When nobody else has them any more. */
void shed_leave(struct shed *s) NONNULL;
