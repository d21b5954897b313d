/* SPDX-License-Identifier: MIT */
/*
 * The body of one message on its way from one connection to the other: read, looked at in
 * place, written. What needs no look goes through a pipe when there is much of it.
 */
#pragma once

#include "proxy/http/body.h"
#include "proxy/server.h"

enum http_flow_state {
	FLOW_DONE,	    /* all of it has gone */
	FLOW_WAITS_SOURCE,  /* nothing more has come */
	FLOW_WAITS_SINK,    /* it takes no more for now */
	FLOW_STARVES,	    /* there is no block */
	FLOW_SOURCE_ENDED,  /* before the end of the body, unless that is its end */
	FLOW_SOURCE_FAILED, /* with a RST, or the like */
	FLOW_SINK_FAILED,
	FLOW_MALFORMED, /* `fault` says why */
};

struct http_flow {
	struct block *head;  /* what is left of a head that is to be written first */
	struct block *block; /* [start, ready) is to go on, [raw, end) not looked at yet */
	uint32_t ready, raw;
	uint32_t piped; /* bytes in the pipe */
	bool is_dry;	/* the last read got all that there was */
	struct pipe pipe;
	struct http_body body;
};

#define HTTP_FLOW_NONE                         \
	{                                      \
		.pipe = {.in = -1, .out = -1 } \
	}

/* What was read and not looked at. */
struct str http_flow_raw(const struct http_flow *f) NONNULL;

/* So many bytes of it are done with. */
void http_flow_skip(struct http_flow *f, size_t bytes) NONNULL;

/*
 * Reads behind what is there, whatever it is. FLOW_DONE: something came. FLOW_WAITS_SINK:
 * there is no room.
 */
enum http_flow_state http_flow_read(struct server *s, struct http_flow *f, int source) NONNULL;

/*
 * Writes `head`, and with it as much of the body as was read already. As http_flow_run(),
 * but that it never reads.
 */
enum http_flow_state http_flow_begin(struct server *s, struct http_flow *f, int sink,
				     struct str head, struct http_fault *fault) MUST_CHECK NONNULL;

/* Goes on until something has to be waited for. `sink` -1: nobody wants it. */
enum http_flow_state http_flow_run(struct server *s, struct http_flow *f, int source, int sink,
				   struct http_fault *fault) MUST_CHECK NONNULL;

/* Whether bytes are left in it that were read, or a head. */
bool http_flow_has_any(const struct http_flow *f) NONNULL PURE;

/* Gives back the block when there is nothing in it. */
void http_flow_rest(struct server *s, struct http_flow *f) NONNULL;

/* What was to be written is not; what was not looked at stays. */
void http_flow_forget(struct server *s, struct http_flow *f) NONNULL;

/* Gives back everything. */
void http_flow_done(struct server *s, struct http_flow *f) NONNULL;
