/* SPDX-License-Identifier: MIT */
/*
 * Closes descriptors without waiting for the work that their last close() causes.
 *
 * A unix socket whose only reference lies in its own queue is unreachable once it is closed. The
 * kernel collects such garbage by itself, in a thread of its own, and closes every descriptor in
 * that queue. So no child process is needed. If a kernel does otherwise, or accepts no more
 * descriptors, the caller's close does the work as usual. Async-signal-safe.
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

/* Call before the first put; shed_put() does it too. False: it can't be made. */
bool shed_open(struct shed *s) NONNULL;

/*
 * Takes copies of up to FD_PASS_MAX descriptors at a time; the caller closes its own. False: takes
 * none.
 */
bool shed_put(struct shed *s, const int *fds, size_t count) NONNULL;

/*
 * Call when nobody else holds the descriptors any more. The kernel closes them in the order of the
 * puts, and the sockets last. False: this call closed them.
 */
bool shed_leave(struct shed *s) NONNULL;
