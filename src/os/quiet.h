/* SPDX-License-Identifier: MIT */
/*
 * Writing without signals. A pipe that nobody reads any more brings SIGPIPE, a file that would
 * get larger than `ulimit -f` allows SIGXFSZ, and both end a process that has not asked for
 * them, here somebody else's. Between the two calls the error of write() is all there is.
 */
#pragma once

#include <signal.h>

#include "base/macros.h"

struct os_quiet {
	sigset_t before;  /* what this thread blocked */
	sigset_t pending; /* and what had come already */
};

void os_quiet_begin(struct os_quiet *quiet) NONNULL;

/* What came meanwhile is forgotten; errno stays as it is. */
void os_quiet_end(const struct os_quiet *quiet) NONNULL;
