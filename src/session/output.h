/* SPDX-License-Identifier: MIT */
/*
 * The command's stdout and stderr where someone wants them: a pipe each, read as
 * it fills, kept up to a limit, handed out, and passed on to this process's own.
 *
 * Nothing here waits. When what is passed on can't be written, reading stops until
 * it can, so that a slow reader slows the command as it would without Cordon,
 * while everything else of the run goes on.
 */
#pragma once

#include "os/loop.h"
#include "session/session.h"

enum { OUTPUT_CHUNK_BYTES = 64 << 10 };

struct output {
	struct loop *loop;
	const struct session_request *request;
	struct captured *captured; /* NULL: not kept */
	int stream;		   /* 1 or 2 */
	struct watcher in;	   /* the pipe; fd -1 when it has ended */
	struct watcher mirror;	   /* this process's own stream; fd -1: not passed on */
	bool is_over; /* the command has ended: only what is in the pipe still counts */
	size_t left;  /* of that */
	char *chunk;  /* what was read; from `sent` to `length` is still to be passed on */
	size_t sent, length;
};

/*
 * Makes the pipe. `*write_end` is for the command and is closed by the caller.
 * `captured` NULL: not kept. ERR_SYS, ERR_NOMEM.
 */
int output_start(struct arena *a, struct output *o, struct loop *loop, int stream,
		 const struct session_request *request, struct captured *captured, int *write_end,
		 struct err *e) MUST_CHECK;

/*
 * The command has ended: takes what is in the pipe now and nothing that comes
 * later, for it may be held open by others. True when all is done; else the loop
 * goes on until output_is_done().
 */
void output_end(struct output *o) NONNULL;
bool output_is_done(const struct output *o) NONNULL;

/* Nothing more is read or passed on. */
void output_stop(struct output *o) NONNULL;
