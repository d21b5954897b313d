/* SPDX-License-Identifier: MIT */
/*
 * A client that speaks HTTP, and the server that its last request went to, if that
 * connection is still of use. client.c reads requests, asks policy and finds the
 * server; relay.c moves a request there and its answer back.
 */
#pragma once

#include "proxy/http/flow.h"
#include "proxy/server.h"

enum {
	HTTP_DRAIN_BYTES = 64 * 1024, /* of a body that nobody wants, to keep the connection */
	HTTP_MAX_INTERIM = 16,	      /* 1xx before the answer */
	HTTP_RECORD_MS = 1000,	      /* equal requests are one record for so long */
	HTTP_STARVED_MS = 1000,
	HTTP_HALF_CLOSED_MS = 5000, /* for an answer, once the client has ended its side */
};

/* What a step comes to. */
enum http_step {
	HTTP_ENDED, /* the client is gone, and all of this with it */
	HTTP_WAITS, /* for an event */
	HTTP_GOES_ON,
};

enum http_phase {
	HTTP_READS_HEAD,
	HTTP_WAITS_ROOM, /* for records */
	HTTP_IS_JUDGED,
	HTTP_DIALS,
	HTTP_RELAYS, /* the request to the server, and its answer, or ours, to the client */
};

struct http {
	struct client *client;
	struct watcher server; /* its fd is -1 without one */
	uint32_t server_events;
	uint8_t phase;			  /* enum http_phase */
	uint8_t interim;		  /* 1xx that have come */
	uint8_t up_state, down_state;	  /* enum http_flow_state, while it relays */
	size_t request_seen, answer_seen; /* of a head: see http_head_end() */
	size_t head_bytes; /* of a request whose head is in `up` still: it may be sent again */

	bool is_timed;	   /* the head has a deadline */
	bool has_skipped;  /* one empty line before the head */
	bool client_ended; /* it sends no more */
	bool is_known;	   /* has shown the token, where there is one */
	bool is_full;	   /* there is no block for what it sends before its turn */
	bool client_keeps; /* wants to, when this request is answered */
	bool wants_json, is_to_head, is_to_1_0, is_connect, expects_continue;
	bool upgrades;	 /* a WebSocket was asked for */
	bool is_refused; /* the answer is ours */
	bool has_answer; /* its head was written */
	bool keeps;	 /* the client's connection, after it */
	bool server_keeps;
	bool server_is_deaf; /* takes no more of the request */
	bool has_odd_body;   /* see http_has_odd_body(): the server's connection ends with it */
	bool server_has_hung_up;

	struct http_flow up, down;
	struct target target; /* of the server */
	size_t rules;	      /* rules_added() when it was dialled */
	bool has_address;
	struct ip address;
};

static inline bool http_has_server(const struct http *h)
{
	return h->server.fd >= 0;
}

void http_close_server(struct http *h) NONNULL;

/* Answers in the place of a server; `c->exchange` has the reason. `status` 0: by that. */
enum http_step http_refuse(struct client *c, struct str detail, unsigned status) NONNULL;

/* The request at the front of `up`, read again. */
void http_request_again(struct http *h, struct http_request *out) NONNULL;

/* Dials the exchange's target for the request whose head is in `up`. */
enum http_step http_dial(struct client *c) NONNULL;

/* ---- relay.c ------------------------------------------------------------------------ */

/* Sends the request to the server that is connected. */
enum http_step http_forward(struct client *c, const struct http_request *r, bool is_reused) NONNULL;

/* A method that asks and changes nothing. */
bool http_may_send_again(struct str method) PURE;

/* Both ways as far as it goes. */
enum http_step http_relay(struct client *c) NONNULL;

/* Instead of an answer, none of which has gone to the client yet. */
enum http_step http_fail(struct client *c, enum proxy_reason reason, const char *detail,
			 unsigned status) NONNULL;

/* `answer` is ours. */
enum http_step http_answer(struct client *c, struct str answer, bool keeps) NONNULL;

/* What became of the request, for the record. */
void http_note_bytes(struct client *c) NONNULL;

/* From now on it is a tunnel to `fd`; the struct is given back. */
enum http_step http_tunnel(struct client *c, int fd, struct str to_client) NONNULL;

void http_give(struct server *s, struct http *h) NONNULL;
