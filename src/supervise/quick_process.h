/* SPDX-License-Identifier: MIT */
/* Between quick_connect.c and its process. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "supervise/caller.h"
#include "supervise/connector.h"

enum { QUICK_KNOWN = 64 };

/* The process changes it, but for the last step. */
enum quick_state { QUICK_BUSY, QUICK_RECEIVES, QUICK_IS_RETIRED };

/* SECURITY: for the audit log. What is torn because it is being written is a wrong name. */
struct quick_known {
	atomic_int pid;
	int32_t inner;
	char program[CALLER_NAME_BYTES];
	atomic_uint_fast64_t until_ms;
};

struct quick_shared {
	atomic_int state;
	atomic_uint_fast64_t turns;
	atomic_uint_fast64_t made; /* connects that nobody else has counted yet */
	struct quick_known known[QUICK_KNOWN];
};

struct quick_job {
	int fds[CONNECTOR_MAX_OWN]; /* the channel, the listener, that of the proxy */
	struct quick_shared *shared;
	uint64_t network;
	/* The last caller. A number that has become another's leads to nobody by this. */
	int32_t pid;
	int thread;
};

/* The process itself; `arg` is a struct quick_job. Does not return. */
void quick_run(void *arg) NONNULL;
