/* SPDX-License-Identifier: MIT */
/*
 * An HTTP client, and the server of its last request if that connection can be reused. client.c
 * reads requests, checks the policy and finds the server; relay.c forwards the request and its
 * answer.
 */
#pragma once

#include "proxy/http/flow.h"
#include "proxy/server.h"

enum {
	HTTP_DRAIN_BYTES = 64 * 1024, /* of an unwanted body, to keep the connection */
	HTTP_MAX_INTERIM = 16,	      /* 1xx before the answer */
	HTTP_RECORD_MS = 1000,	      /* how long equal requests share one record */
	HTTP_STARVED_MS = 1000,
	HTTP_HALF_CLOSED_MS = 5000, /* for an answer, after the client has closed its side */
};

/* What a step comes to. */
enum http_step {
	HTTP_ENDED, /* the client has ended, and this struct is freed */
	HTTP_WAITS, /* for an event */
	HTTP_CONTINUES,
};

enum http_phase {
	HTTP_READS_HEAD,
	HTTP_WAITS_ROOM, /* for records */
	HTTP_IS_JUDGED,
	HTTP_DIALS,
	HTTP_RELAYS, /* forwards the request, and the server's answer or ours */
};

struct http {
	struct client *client;
	struct watcher server; /* its fd is -1 without one */
	uint32_t server_events;
	uint8_t phase;			  /* enum http_phase */
	uint8_t interim;		  /* 1xx that have come */
	uint8_t up_state, down_state;	  /* enum http_flow_state, while it relays */
	size_t request_seen, answer_seen; /* of a head: see http_head_end() */
	/* of a request whose head is still in `up`, so that it can be sent again */
	size_t head_bytes;

	bool is_timed;	   /* the head has a deadline */
	bool has_skipped;  /* skipped one empty line before the head */
	bool client_ended; /* it sends no more */
	bool is_known;	   /* has shown the token, or there is none */
	bool is_full;	   /* no block is free for what it sends early */
	bool client_keeps; /* wants to keep the connection after this request */
	bool wants_json, is_to_head, is_to_1_0, is_connect, expects_continue;
	bool upgrades;	 /* asks for a WebSocket */
	bool is_refused; /* the answer is ours */
	bool has_answer; /* its head was written */
	bool keeps;	 /* keeps the client's connection afterwards */
	bool server_keeps;
	bool server_is_deaf; /* takes no more of the request */
	/* see http_has_odd_body(): the server's connection closes afterwards */
	bool has_odd_body;
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

/* Answers in place of a server, with the reason of `c->exchange`. `status` 0: the reason's own. */
enum http_step http_refuse(struct client *c, struct str detail, unsigned status) NONNULL;

/* Parses the request at the front of `up` again. */
void http_request_again(struct http *h, struct http_request *out) NONNULL;

/* Dials the exchange's target for the request whose head is in `up`. */
enum http_step http_dial(struct client *c) NONNULL;

/* ---- relay.c ------------------------------------------------------------------------ */

/* Sends the request to the server that is connected. */
enum http_step http_forward(struct client *c, const struct http_request *r, bool is_reused) NONNULL;

/* Whether the method only reads. */
bool http_may_send_again(struct str method) PURE;

/* Forwards both ways as far as it goes. */
enum http_step http_relay(struct client *c) NONNULL;

/* Fails the request, before any of an answer has gone to the client. */
enum http_step http_fail(struct client *c, enum proxy_reason reason, const char *detail,
			 unsigned status) NONNULL;

/* `answer` is ours. */
enum http_step http_answer(struct client *c, struct str answer, bool keeps) NONNULL;

/* Counts the request's bytes in the record. */
void http_note_bytes(struct client *c) NONNULL;

/* Turns the connection into a tunnel to `fd`, and frees this struct. */
enum http_step http_tunnel(struct client *c, int fd, struct str to_client) NONNULL;

void http_give(struct server *s, struct http *h) NONNULL;
