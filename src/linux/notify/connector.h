/* SPDX-License-Identifier: MIT */
/*
 * A process that makes connects which were judged, one at a time.
 *
 * SECURITY: whether a connect() blocks is up to whoever shares the socket, at any
 * moment (O_NONBLOCK belongs to the open file); so is whether the last close()
 * does (SO_LINGER). Neither may be done by who looks after the run. The process
 * has no capability, none of this process's descriptors, and what it answers is
 * checked: killed or gone bad, it harms its own call alone. It ends with its
 * channel, also while it waits in a connect().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/macros.h"

struct connector {
	int channel, pidfd;
};

#define CONNECTOR_NONE                     \
	{                                  \
		.channel = -1, .pidfd = -1 \
	}

struct connector_order {
	uint64_t id;
	int32_t verdict; /* < 0: nothing is connected, this is the answer */
	uint32_t has_target;
	uint32_t wants_source;
	uint32_t size;
	struct sockaddr_storage address; /* used when there is no target */
};

/* How a connect went. */
struct connector_result {
	int result;	 /* 0 or -errno */
	bool is_refused; /* nobody listens there, also when a connect that does not wait is not told */
	/* From where, when that was wanted and it was made, or is being made; size 0: not. */
	struct sockaddr_storage source;
	uint32_t source_size;
};

/* 0 or -errno. */
int connector_start(struct connector *c) MUST_CHECK NONNULL;

/*
 * Hands over the caller's socket and, when the order says so, the O_PATH
 * descriptor of the socket file that is meant. Only while it has nothing to do.
 * 0 or -errno.
 */
int connector_send(const struct connector *c, const struct connector_order *order, int socket,
		   int target) MUST_CHECK NONNULL;

/* False when what it says can't be an answer to the call `id`, or it is gone. */
bool connector_receive(const struct connector *c, uint64_t id, struct connector_result *out)
	MUST_CHECK NONNULL;

/*
 * Its connect(), if it is in one, ends with -EINTR. When it is just about to call
 * it, that goes unnoticed: to be repeated.
 */
void connector_interrupt(const struct connector *c) NONNULL;

/* Kills it without waiting for its end: then `pidfd` is readable. */
void connector_kill(struct connector *c) NONNULL;

/* Waits for that. */
void connector_reap(struct connector *c) NONNULL;

/*
 * Closes descriptors of callers, none of which may be the last of its file: a
 * process has all of them meanwhile, and is killed. One that dies does not linger.
 * Where no process can be had, they are closed as they are.
 */
void connector_close_all(const int *fds, size_t count) NONNULL;
