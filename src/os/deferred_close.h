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

struct deferred_close {
	int ends[2]; /* -1: none */
};

#define DEFERRED_CLOSE_NONE        \
	{                          \
		.ends = { -1, -1 } \
	}

/* Call before the first put; deferred_close_add() does it too. False: it can't be made. */
bool deferred_close_open(struct deferred_close *s) NONNULL;

/*
 * Takes copies of up to FD_PASS_MAX descriptors at a time; the caller closes its own. False: takes
 * none.
 */
bool deferred_close_add(struct deferred_close *s, const int *fds, size_t count) NONNULL;

/*
 * Call when nobody else holds the descriptors any more. The kernel closes them in the order of the
 * puts, and the sockets last. False: this call closed them.
 */
bool deferred_close_finish(struct deferred_close *s) NONNULL;
