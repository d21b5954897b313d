/* SPDX-License-Identifier: MIT */
/*
 * Bodies of HTTP/1 messages: where they end, and whether their framing is valid. A chunked body is
 * filtered in place: sizes and data stay, extensions and trailers are removed, and anything
 * ambiguous is a fault.
 *
 * Pure: no allocation, no system calls.
 */
#pragma once

#include "proxy/http/head.h"

enum {
	HTTP_MAX_CHUNK_LINE = 4096, /* a size and its extensions */
	HTTP_MAX_TRAILERS = 16384,  /* all of them */
};

enum http_body_kind { HTTP_NO_BODY, HTTP_SIZED, HTTP_CHUNKED, HTTP_UNTIL_CLOSE };

struct http_body {
	uint8_t kind;	/* enum http_body_kind */
	uint8_t state;	/* of chunks */
	bool is_bare;	/* also removes the chunk framing, for HTTP/1.0 */
	bool is_whole;	/* its last byte was seen; never set for HTTP_UNTIL_CLOSE */
	uint16_t line;	/* bytes so far of this line, or of the trailers */
	uint64_t left;	/* of HTTP_SIZED, or of this chunk's data */
	uint64_t bytes; /* of payload so far */
};

struct http_body http_request_body(const struct http_request *r) NONNULL;

/* `is_to_head`: the answer to a HEAD request, which has no body. */
struct http_body http_response_body(const struct http_response *r, bool is_to_head) NONNULL;

/*
 * Takes the body's bytes from the `len` bytes at `p`: `used` of them, of which `kept` go on and now
 * stand at `p`. Leaves what follows the body alone. False: malformed from there on; the bytes kept
 * before may have been forwarded already.
 */
bool http_body_take(struct http_body *b, char *p, size_t len, size_t *used, size_t *kept,
		    struct http_fault *fault) MUST_CHECK NONNULL;

/* How many of the next bytes can be forwarded without parsing. */
uint64_t http_body_plain(const struct http_body *b) NONNULL PURE;

/* So many of them did. */
void http_body_skip(struct http_body *b, uint64_t bytes) NONNULL;
