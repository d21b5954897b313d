/* SPDX-License-Identifier: MIT */
/* One connection of inside.h: reads a frame, has it answered, writes the answer. */
#pragma once

#include "linux/notify/inside.h"
#include "linux/notify/inside_message.h"

enum client_state {
	CLIENT_NONE,
	CLIENT_READS,
	CLIENT_WAITS,	/* for the answer to its request */
	CLIENT_ANSWERS, /* the answer is not all written */
	CLIENT_ENDED,	/* its socket is still to be closed */
};

struct inside_client {
	struct inside *owner;
	enum client_state state;
	struct watcher socket, process; /* the latter: a pidfd */
	int32_t pid;			/* of the process, in this process's namespace */
	int32_t inner_pid;
	unsigned char head[INSIDE_LENGTH_BYTES];
	size_t head_got;
	char *body;
	size_t size, got;
	uint64_t request; /* that waits, or whose command runs outside */
	bool is_served;	  /* that command runs, so all that may come are signals for it */
	char *answer;
	size_t answer_size, answered;
};

struct inside {
	struct engine *engine;
	const struct sandbox *sandbox;
	const struct inside_events *events;
	struct inside_counts counts;
	uint64_t last_request;
	struct arena *arena;
	/* INSIDE_MAX_CLIENTS of both, once somebody has connected. */
	struct engine_call *pending; /* connect() calls, the oldest first */
	size_t pending_count;
	struct inside_client *clients;
	struct timer closing; /* of what clients have left */
};

/* Takes over both descriptors. ERR_SYS. */
int inside_client_start(struct inside_client *c, int socket, int pidfd, struct err *e)
	MUST_CHECK NONNULL;
/* `goes_on`: it is not the last answer to its request. */
void inside_client_answer(struct inside_client *c, struct str json, bool goes_on) NONNULL;
/* Nobody is told. A socket that may not be closed here is left in it: CLIENT_ENDED. */
void inside_client_end(struct inside_client *c) NONNULL;

/* The socket of a client that has ended, which is forgotten; -1: there is none. */
int inside_client_take_left(struct inside_client *c) NONNULL;

/* ---- inside_take.c ------------------------------------------------------------------------- */

/*
 * Takes the standard streams and the directory of a process, with the paths in `text`. True: `out` has
 * four descriptors, to be closed by connector_close_all(). False: nothing was taken, and `*why` says
 * why not.
 */
bool inside_take_streams(const struct sandbox *sandbox, int pidfd, int32_t pid, char *text,
			 size_t room, struct inside_taken *out, const char **why)
	MUST_CHECK NONNULL;

/* ---- inside_path.c ------------------------------------------------------------------------- */

/*
 * The canonical form of an absolute path as the command sees it: of a path that is missing, that of
 * the part that is there, and the rest as it is. Its length, or -errno.
 */
int inside_find_path(const struct sandbox *sandbox, struct str path, char *out, size_t room)
	MUST_CHECK NONNULL;
