/* SPDX-License-Identifier: MIT */
/*
 * A process that receives the system calls of a command which connects over and over, and
 * makes those connects by itself that need no judgement. By way of the supervising
 * process and a connector each of them takes four switches; by way of this one, two.
 *
 * It answers one kind of call alone: connect() of an IP socket of the sandbox's own network
 * that does not block, to loopback (which is the sandbox's own) or to the proxy (which
 * judges whatever comes), of a caller that the supervising process has looked at a moment
 * ago. What it answers is what its own connect() of its copy of the address gives.
 * Everything else, and whatever goes wrong, is handed on as it came.
 *
 * SECURITY: the engine's rules hold (engine.h): the socket is taken, the address copied,
 * and the kernel is never asked to look again. Whether a call waits is up to whoever shares
 * the socket, so the process may be made to wait: it is looked after, and when it has not
 * gone on for a moment, the supervising process receives again as before.
 */
#pragma once

#include "supervise/caller.h"
#include "supervise/connector.h"
#include "supervise/engine.h"

struct quick_shared; /* between the two processes */

struct quick_connect {
	struct engine *engine;
	struct connector process;
	struct watcher channel;
	struct timer watch;
	struct quick_shared *shared; /* NULL: never started */
	uint64_t last_turn;
	bool is_on; /* it receives, the engine does not */
};

void quick_init(struct quick_connect *q, struct engine *engine) NONNULL;

/*
 * Starts it, once: one that has been made to wait is not trusted again. `network` is the
 * number (SO_NETNS_COOKIE) of the sandbox's, `proxy` the channel on which it tells who has
 * connected (PROXY_HAS_CONNECTED). That it can't be had is no failure.
 */
void quick_start(struct quick_connect *q, uint64_t network, int proxy) NONNULL;

/* Who that thread is, for the calls that it makes until then (loop_now()). */
void quick_know(struct quick_connect *q, int32_t pid, int32_t inner, const char *program,
		uint64_t until_ms) NONNULL;

/* No process is left. */
void quick_stop(struct quick_connect *q) NONNULL;
