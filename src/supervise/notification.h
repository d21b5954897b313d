/* SPDX-License-Identifier: MIT */
/*
 * A system call that waits for an answer, as the kernel tells of it (seccomp_unotify(2)).
 * For the engine, and for a process that receives in its place: async-signal-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

struct engine_call {
	uint64_t id;
	int32_t pid; /* of the calling thread, in this process's pid namespace */
	int32_t number;
	uint64_t args[6];
};

/* 0, or -errno when this kernel tells more than there is room for. */
int notification_fits(void) MUST_CHECK;

/* Waits for one. 0 or -errno; -ENOENT: it was killed, or a signal came first. */
int notification_receive(int listener, struct engine_call *out) MUST_CHECK NONNULL;

/* `value` >= 0 is the result, < 0 is -errno. That the caller is gone is fine. */
void notification_reply(int listener, uint64_t id, int64_t value);

/* SECURITY: the kernel looks again at what may have changed: see engine.h. */
void notification_let_go_on(int listener, uint64_t id);

/* Whether the caller still waits. */
bool notification_is_waiting(int listener, uint64_t id);
