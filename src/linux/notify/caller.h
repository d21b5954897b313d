/* SPDX-License-Identifier: MIT */
/*
 * What /proc says of a thread whose system call is being answered. The thread
 * may be gone, and its number another's: whoever acts on what is found here asks
 * engine_is_waiting() afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

enum { CALLER_PATH_BYTES = 64, CALLER_NAME_BYTES = 16 };

struct caller_status {
	int32_t process;       /* its thread group */
	int32_t inner_process; /* the same in the pid namespace of the sandbox */
	uint64_t threads;      /* of the process */
	uint32_t umask;
	uint64_t thread_signals;  /* pending for the thread, neither blocked nor ignored */
	uint64_t process_signals; /* likewise for the process */
};

/* False when the thread is gone. */
bool caller_read_status(int32_t pid, struct caller_status *out) MUST_CHECK NONNULL;

/* The name of its program, "" when it is gone. */
void caller_read_name(int32_t pid, char out[CALLER_NAME_BYTES]) NONNULL;

/* Opens /proc/PID/NAME, close-on-exec; the descriptor or -1 with errno. */
int caller_open(int32_t pid, const char *name, int flags) MUST_CHECK NONNULL;

/*
 * Whether a signal waits that the thread itself has to take, so that a call that
 * blocks would be interrupted now.
 */
bool caller_has_signal(int32_t pid) MUST_CHECK;

/*
 * Whether a signal waits that asks the thread to end, and that it wants to handle itself. Others
 * (a clock that rings all the time) can wait until a person has answered.
 */
bool caller_is_asked_to_end(int32_t pid) MUST_CHECK;
