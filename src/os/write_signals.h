/* SPDX-License-Identifier: MIT */
/*
 * Writing without signals. Writing to a pipe that nobody reads raises SIGPIPE, and writing beyond
 * `ulimit -f` raises SIGXFSZ. Both would kill the host program unless it handles them. Between the
 * two calls a failed write() only returns its error.
 */
#pragma once

#include <stdalign.h>

#include "base/macros.h"

struct os_write_signals {
	alignas(8) unsigned char before[128];  /* the signals that this thread blocked */
	alignas(8) unsigned char pending[128]; /* and those that were pending already */
};

void os_write_signals_block(struct os_write_signals *signals) NONNULL;

/* Discards the signals that were raised meanwhile; errno stays as it is. */
void os_write_signals_restore(const struct os_write_signals *signals) NONNULL;
