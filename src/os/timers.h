/* SPDX-License-Identifier: MIT */
/* Between timers.c and the loop of a system; nobody else includes this. */
#pragma once

#include "os/loop.h"

/* Has `l->clock` fire at `at_ms`, or at once if that is over; it fires once. */
void native_set_clock(struct loop *l, uint64_t at_ms) NONNULL;

/* Takes it out of what was fetched. */
void timers_forget(struct loop *l, struct watcher *w) NONNULL;

/* The clock has fired: calls the timers that are due. */
int timers_run(struct loop *l, struct err *e) MUST_CHECK NONNULL;
