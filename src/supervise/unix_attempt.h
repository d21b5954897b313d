/* SPDX-License-Identifier: MIT */
/* One connect() that is being made for its caller. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "supervise/engine.h"

struct attempt {
	struct engine_call call;
	int socket; /* the caller's */
	int target; /* O_PATH of the socket file; -1: the address is used as it is */
	int domain, type;
	bool is_blocking;     /* the caller waits for the end of it */
	uint64_t deadline_ms; /* SO_SNDTIMEO on loop_now(); 0: none */
	union {
		struct sockaddr any;
		struct sockaddr_un path;
		struct sockaddr_storage storage;
	} address;
	socklen_t size;
};

#define ATTEMPT_NONE                       \
	{                                  \
		.socket = -1, .target = -1 \
	}

/* Takes the socket and copies the address. 0 or -errno as the kernel would have it. */
int attempt_init(struct attempt *t, const struct engine *engine, const struct engine_call *call)
	MUST_CHECK NONNULL;
void attempt_done(struct attempt *t) NONNULL;

/* Whether the address is the path of a unix socket, which then is a C string. */
bool attempt_has_path(struct attempt *t) NONNULL;

/*
 * Connects without waiting. 0 or -errno; ATTEMPT_WAITS when the caller blocks and
 * so has to wait for the socket to become writable (inet) or for room in the
 * server's queue (unix).
 */
enum { ATTEMPT_WAITS = 1 };
int attempt_connect(struct attempt *t) MUST_CHECK NONNULL;

/* What a caller whose time is up, or whom a signal interrupts, is told. */
int attempt_timed_out(const struct attempt *t) NONNULL;
int attempt_interrupted(const struct attempt *t) NONNULL;
