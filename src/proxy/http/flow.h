/* SPDX-License-Identifier: MIT */
/*
 * Forwards the body of one message from one connection to another: reads, parses in place, writes.
 * Large parts that need no parsing go through a pipe.
 */
#pragma once

#include "proxy/http/body.h"
#include "proxy/server.h"

enum http_flow_state {
	FLOW_DONE,	    /* all of it has gone */
	FLOW_WAITS_SOURCE,  /* nothing more has come */
	FLOW_WAITS_SINK,    /* it takes no more for now */
	FLOW_STARVES,	    /* there is no block */
	FLOW_SOURCE_ENDED,  /* before the body's end, unless the end of the stream is its end */
	FLOW_SOURCE_FAILED, /* with a RST, or the like */
	FLOW_SINK_FAILED,
	FLOW_MALFORMED, /* `fault` says why */
};

struct http_flow {
	struct block *head;  /* the rest of a head, which is written first */
	struct block *block; /* [start, ready) can be written, [raw, end) is not parsed yet */
	uint32_t ready, raw;
	uint32_t piped; /* bytes in the pipe */
	bool is_dry;	/* the last read took all that there was */
	struct pipe pipe;
	struct http_body body;
};

#define HTTP_FLOW_NONE                         \
	{                                      \
		.pipe = {.in = -1, .out = -1 } \
	}

/* The bytes that were read and not parsed. */
struct str http_flow_raw(const struct http_flow *f) NONNULL;

/* Removes the first `bytes` of them. */
void http_flow_skip(struct http_flow *f, size_t bytes) NONNULL;

/* Reads more, after what is there. FLOW_DONE: something came. FLOW_WAITS_SINK: there is no room. */
enum http_flow_state http_flow_read(struct server *s, struct http_flow *f, int source) NONNULL;

/*
 * Writes `head`, and as much of the body as was read already. As http_flow_run(), but never reads.
 */
enum http_flow_state http_flow_begin(struct server *s, struct http_flow *f, int sink,
				     struct str head, struct http_fault *fault) MUST_CHECK NONNULL;

/* Continues until it has to wait. `sink` -1: nobody wants the body. */
enum http_flow_state http_flow_run(struct server *s, struct http_flow *f, int source, int sink,
				   struct http_fault *fault) MUST_CHECK NONNULL;

/* Whether it holds bytes that were read, or a head. */
bool http_flow_has_any(const struct http_flow *f) NONNULL PURE;

/* Frees the block if it is empty. */
void http_flow_rest(struct server *s, struct http_flow *f) NONNULL;

/* Drops what was to be written, and keeps what is not parsed. */
void http_flow_forget(struct server *s, struct http_flow *f) NONNULL;

/* Gives back everything. */
void http_flow_done(struct server *s, struct http_flow *f) NONNULL;
