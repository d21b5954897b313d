/* SPDX-License-Identifier: MIT */
/*
 * The socket to which a process inside connects in order to ask (backend/inside.h). There is no such
 * file: a connect() to its path is answered here. PID 1 makes a pair of sockets in the sandbox's
 * own network namespace; one end takes the place of the caller's socket, the other is served. So
 * each connection belongs to one process, which the supervisor knows, and nobody outside can have
 * one.
 *
 * SECURITY: a client may be anything that runs inside. It sends whatever it likes as fast as it can,
 * with descriptors, and need not read. So each has at most one request, one buffer of one frame
 * and one answer at a time, and nothing here waits for it. What is no request ends the connection.
 * What it sends as descriptors is closed by another process, because closing a socket may block.
 * What a command is to be run outside with is not sent: it is taken (inside_take.c).
 *
 * Differences from an ordinary connect():
 *  - The caller's descriptor becomes another socket. Copies of it (dup(), an epoll set) keep the old.
 *  - Another process than the one that connected can't use it: what it sends ends the connection.
 */
#pragma once

#include "backend/inside.h"
#include "base/arena.h"
#include "linux/init/sandbox.h"
#include "linux/notify/engine.h"

enum { INSIDE_MAX_CLIENTS = 64 };

struct inside;

struct inside_events {
	void *user;
	/* inside_answer() answers, perhaps before this returns. */
	void (*request)(void *user, const struct inside_request *request);
	/* Nobody waits for the answer any more. */
	void (*unrequest)(void *user, uint64_t id);
	/* Asks PID 1 for a pair, which inside_take_pair() gets. False: it has ended. */
	bool (*order_pair)(void *user);
};

struct inside_counts {
	uint64_t connected, turned_away, requests;
	uint64_t broken; /* connections that ended because of what was sent */
};

/* `sandbox` and `events` must outlive it. ERR_NOMEM, ERR_SYS. */
int inside_start(struct arena *a, struct engine *engine, const struct sandbox *sandbox,
		 const struct inside_events *events, struct inside **out, struct err *e)
	MUST_CHECK NONNULL;
/* Nobody is told of what still waits. */
void inside_stop(struct inside *in) NONNULL;

/* Whether the call is a connect() to the reserved path. */
bool inside_is_meant(const struct inside *in, const struct engine_call *call) NONNULL;
/* Answers it, as an engine_handler does. */
enum engine_answer inside_connect(struct inside *in, const struct engine_call *call, int64_t *value)
	NONNULL;

/* From PID 1, for the oldest connect() that waits: takes over two descriptors. NULL: it has none. */
void inside_take_pair(struct inside *in, const int *ends);

/*
 * Does nothing for a request that nobody waits for. `goes_on`: an ESCALATE is answered again when the
 * command has ended; until then its client sends signals, and that it goes is told by `unrequest`.
 */
void inside_answer(struct inside *in, uint64_t id, struct str json, bool goes_on) NONNULL;

const struct inside_counts *inside_counts(const struct inside *in) NONNULL;
