/* SPDX-License-Identifier: MIT */
/*
 * Heads of HTTP/1 messages, read as a filter has to read them: whatever two programs
 * could understand differently is refused, and nothing is passed on that was not
 * understood here. Lengths, the host and everything that belongs to one connection only
 * are written anew; the rest goes on as it came.
 *
 * Pure: no allocation, no system calls. All `struct str` point into the text.
 */
#pragma once

#include "base/buf.h"
#include "base/str.h"
#include "proxy/decide.h"

enum {
	HTTP_MAX_HEAD_BYTES = 32768, /* first line, fields, and the empty line: else 431 */
	HTTP_MAX_FIELDS = 128,	     /* the same */
	HTTP_MAX_TOKENS = 64,	     /* in all Connection fields */
	HTTP_MAX_METHOD_BYTES = 32,
	HTTP_ADDED_BYTES = 512, /* what writing a head anew may add to it */
};

/* What is wrong with a head or a body; `text` is NULL when nothing is. */
struct http_fault {
	unsigned status; /* that a client gets: 400, 431, 501, 505 */
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
	bool is_hop;  /* belongs to this connection: is not passed on */
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
	struct str authority; /* whom it is for, as written: of the target, or the Host field */
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
 * How much of an empty line `text` begins with: 0, 1 when only its carriage return has come
 * yet, or 2. Some clients send one behind a body that has ended already, so one before a
 * request is ignored (RFC 9112, 2.2).
 */
size_t http_empty_line(struct str text) PURE;

/*
 * Where the head at the beginning of `text` ends: how long it is, 0 when it is not whole
 * yet. `seen` is 0 at first and remembers how far was looked. A line feed without its
 * carriage return and a head that is too long are faults.
 */
size_t http_head_end(struct str text, size_t *seen, struct http_fault *fault) NONNULL;

/* `head` is what http_head_end() found, whole. */
bool http_request_parse(struct str head, struct http_request *out, struct http_fault *fault)
	MUST_CHECK NONNULL;
/* False as soon as what a server has sent so far can't become a response. */
bool http_response_may_begin(struct str text) PURE;
bool http_response_parse(struct str head, struct http_response *out, struct http_fault *fault)
	MUST_CHECK NONNULL;

/*
 * Whom a request is for: its authority read, and the Host field found to say the same.
 * `detail` of 128 bytes serves for the fault's text.
 */
bool http_request_target(const struct http_request *r, struct target *out, struct http_fault *fault,
			 char *detail, size_t detail_bytes) MUST_CHECK NONNULL;

bool http_method_is(struct str method, const char *name) NONNULL PURE;

/*
 * SECURITY: with a method that has no use for one there are servers that do not read the
 * body, and take it for the next request: one that nobody has judged.
 */
bool http_has_odd_body(const struct http_request *r) NONNULL PURE;

/* The same without case: for field values and their parts. */
bool http_token_is(struct str token, const char *lower) NONNULL PURE;

/* Whether somebody who asks like that wants to read JSON rather than text. */
bool http_wants_json(const struct http_fields *f) NONNULL PURE;

/* The password in Proxy-Authorization: Basic, decoded into `room`. False: there is none. */
bool http_password(const struct http_fields *f, char *room, size_t room_bytes, struct str *out)
	MUST_CHECK NONNULL;

/*
 * The request as it goes to the server `t`: origin-form, its own Host, the framing
 * that was read. `upgrades`: asks for a WebSocket.
 */
void http_request_write(const struct http_request *r, const struct target *t, bool upgrades,
			struct buf *out) NONNULL;

/* The response as it goes to the client. */
struct http_answer {
	bool is_chunked;   /* its body is */
	bool has_length;   /* the length that was read is told; not for a 1xx or a 204 */
	bool keeps;	   /* the connection stays open after it */
	bool is_to_1_0;	   /* such a client has to be told that it stays open */
	bool is_websocket; /* a 101 that was asked for */
};
void http_response_write(const struct http_response *r, const struct http_answer *how,
			 struct buf *out) NONNULL;
