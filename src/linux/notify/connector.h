/* SPDX-License-Identifier: MIT */
/*
 * A process that makes connects which were judged, one at a time.
 *
 * SECURITY: anybody who shares the socket can make connect() block at any moment (O_NONBLOCK belongs
 * to the open file), and can make the last close() block (SO_LINGER). Either would stop the
 * supervisor, so another process does both. It has no capability and none of this process's
 * descriptors, and its answers are checked: killed or compromised, it can spoil only its own call.
 * It ends with its channel, even during a connect().
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

/* Kills it without waiting; `pidfd` becomes readable when it has ended. */
void connector_kill(struct connector *c) NONNULL;

/* Waits for that. */
void connector_reap(struct connector *c) NONNULL;

/*
 * Closes callers' descriptors without blocking: a forked process holds copies meanwhile and is then
 * killed, and a dying process does not linger. Without such a process, closes them directly.
 */
void connector_close_all(const int *fds, size_t count) NONNULL;
