/* SPDX-License-Identifier: MIT */
/* Between a fork and an exec: async-signal-safe. */
#pragma once

/*
 * Handlers and the mask of signals are the caller's own, so they go. What it ignores, but for SIGPIPE, stays
 * so (nohup).
 */
void spawned_reset_signals(void);
