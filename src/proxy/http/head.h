/* SPDX-License-Identifier: MIT */
/*
 * Parses heads of HTTP/1 messages as a filter must: it refuses whatever two programs could
 * understand differently, and forwards nothing that it did not understand. Lengths, the host and
 * every field that concerns one connection are written anew; the rest stays as it came.
 *
 * Pure: no allocation, no system calls. All `struct str` point into the text.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "proxy/decide.h"

enum {
	HTTP_MAX_HEAD_BYTES = 32768, /* first line, fields and the empty line; more is a 431 */
	HTTP_MAX_FIELDS = 128,	     /* the same */
	HTTP_MAX_TOKENS = 64,	     /* in all Connection fields */
	HTTP_MAX_METHOD_BYTES = 32,
	HTTP_ADDED_BYTES = 512, /* how much longer a rewritten head may be */
};

/* What is wrong with a head or a body; `text` is NULL if nothing is. */
struct http_fault {
	unsigned status; /* what the client gets: 400, 431, 501, 505 */
	const char *text;
};

enum http_name {
	HTTP_OTHER,
	HTTP_ACCEPT,
	HTTP_CONNECTION,
	HTTP_CONTENT_LENGTH,
	HTTP_EXPECT,
	HTTP_HOST,
	HTTP_KEEP_ALIVE,
	HTTP_PROXY_AUTHENTICATE,
	HTTP_PROXY_AUTHENTICATION_INFO,
	HTTP_PROXY_AUTHORIZATION,
	HTTP_PROXY_CONNECTION,
	HTTP_TE,
	HTTP_TRAILER,
	HTTP_TRANSFER_ENCODING,
	HTTP_UPGRADE,
};

struct http_field {
	uint16_t at, name_len; /* of the line, in the head */
	uint16_t value_at, value_len;
	uint16_t end; /* behind its CR LF */
	uint8_t name; /* enum http_name */
	bool is_hop;  /* concerns this connection: not forwarded */
};

struct http_fields {
	struct str head;
	struct http_field list[HTTP_MAX_FIELDS];
	size_t count;

	bool has_length, is_chunked;
	uint64_t length;
	bool says_close, says_keep_alive; /* Connection, Proxy-Connection */
	bool is_websocket;		  /* Connection: upgrade, and Upgrade: websocket */
	bool expects_continue;
	bool has_host, has_accept;
	struct str host, accept, proxy_authorization;
};

enum http_form { HTTP_ABSOLUTE, HTTP_ORIGIN, HTTP_AUTHORITY, HTTP_ASTERISK };

struct http_request {
	struct str method;
	enum http_form form;
	bool is_1_0;
	struct str authority; /* as written in the target, or in the Host field */
	struct str path;      /* with the query, "" for "/"; "*" */
	struct http_fields fields;
};

struct http_response {
	unsigned status;
	bool is_1_0;
	struct str reason;
	struct http_fields fields;
};

/*
 * How much of an empty line `text` begins with: 0, 1 if only the carriage return has come, or 2.
 * Some clients send an empty line after a body, so one before a request is ignored (RFC 9112, 2.2).
 */
size_t http_empty_line(struct str text) PURE;

/*
 * The length of the head at the beginning of `text`; 0 if it is not complete. `seen` is 0 at first,
 * and remembers how far was searched. A line feed without a carriage return, and a head that is too
 * long, are faults.
 */
size_t http_head_end(struct str text, size_t *seen, struct http_fault *fault) NONNULL;

/* `head` is the complete head that http_head_end() found. */
bool http_request_parse(struct str head, struct http_request *out, struct http_fault *fault)
	MUST_CHECK NONNULL;
/* False once the bytes so far can't become a response. */
bool http_response_may_begin(struct str text) PURE;
bool http_response_parse(struct str head, struct http_response *out, struct http_fault *fault)
	MUST_CHECK NONNULL;

/*
 * Which host a request is for. Checks that the Host field names the same. `detail` has 128 bytes
 * for the fault's text.
 */
bool http_request_target(const struct http_request *r, struct target *out, struct http_fault *fault,
			 char *detail, size_t detail_bytes) MUST_CHECK NONNULL;

bool http_method_is(struct str method, const char *name) NONNULL PURE;

/*
 * Whether a request has a body that its method does not use. SECURITY: close the server's
 * connection after such a request. Some servers do not read the body, and would take it for the
 * next request, which no rule has checked.
 */
bool http_has_odd_body(const struct http_request *r) NONNULL PURE;

/* Compares field values and their parts, ignoring case. */
bool http_token_is(struct str token, const char *lower) NONNULL PURE;

/* Whether a client with that Accept header prefers JSON to text. */
bool http_wants_json(const struct http_fields *f) NONNULL PURE;

/* Decodes the password of Proxy-Authorization: Basic into `room`. False: there is none. */
bool http_password(const struct http_fields *f, char *room, size_t room_bytes, struct str *out)
	MUST_CHECK NONNULL;

/*
 * Writes the request for the server `t`: origin-form, its own Host, the framing that was parsed.
 * `upgrades`: asks for a WebSocket.
 */
void http_request_write(const struct http_request *r, const struct target *t, bool upgrades,
			struct buf *out) NONNULL;

/* Writes the response for the client. */
struct http_answer {
	bool is_chunked;   /* its body is */
	bool has_length;   /* tells the length that was parsed; not for a 1xx or a 204 */
	bool keeps;	   /* the connection stays open */
	bool is_to_1_0;	   /* an HTTP/1.0 client must be told that it stays open */
	bool is_websocket; /* a 101 that was asked for */
};
void http_response_write(const struct http_response *r, const struct http_answer *how,
			 struct buf *out) NONNULL;
