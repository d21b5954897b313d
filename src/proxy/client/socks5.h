/* SPDX-License-Identifier: MIT */
/*
 * SOCKS version 5 (RFC 1928, RFC 1929), the server's side: pure, over bytes that have come
 * so far. Each parser gives how many of them its message took, 0 when the rest has not come
 * yet, or -1 when it is malformed. A message is never longer than its *_BYTES.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/str.h"

enum {
	SOCKS5_VERSION = 5, /* the first byte: tells SOCKS from HTTP */
	SOCKS5_GREETING_BYTES = 2 + 255,
	SOCKS5_AUTH_BYTES = 3 + 255 + 255,
	SOCKS5_REQUEST_BYTES = 4 + 1 + 255 + 2,
	SOCKS5_REPLY_BYTES = 4 + 16 + 2,
};

enum socks5_method { SOCKS5_NO_AUTH = 0, SOCKS5_PASSWORD = 2, SOCKS5_NO_METHOD = 0xFF };

struct socks5_greeting {
	bool offers_no_auth, offers_password;
};

int socks5_parse_greeting(struct str in, struct socks5_greeting *out) MUST_CHECK NONNULL;

/*
 * What is chosen: a token needs the password method; without one either will do, the
 * password (any) for clients that offer nothing else. The answer is { 5, method }; after
 * SOCKS5_NO_METHOD the connection is closed.
 */
enum socks5_method socks5_choose(const struct socks5_greeting *g, bool needs_token) NONNULL;

struct socks5_auth {
	struct str user, password; /* point into the input */
};

/* The answer is { 1, 0 } when it is right, { 1, 1 } and the end when it is not. */
int socks5_parse_auth(struct str in, struct socks5_auth *out) MUST_CHECK NONNULL;

enum socks5_reply {
	SOCKS5_DONE = 0,
	SOCKS5_FAILURE = 1,
	SOCKS5_NOT_ALLOWED = 2,
	SOCKS5_BAD_COMMAND = 7,
	SOCKS5_BAD_ADDRESS = 8,
};

struct socks5_request {
	/*
	 * SOCKS5_DONE: a CONNECT to host and port. Else what has to be answered: BIND and UDP
	 * ASSOCIATE are BAD_COMMAND, unknown kinds of addresses BAD_ADDRESS, port 0 and an
	 * empty name FAILURE. Set also when the parser gives -1.
	 */
	enum socks5_reply refused;
	bool is_ip;
	struct ip ip;	 /* when is_ip */
	struct str name; /* else; points into the input, any bytes: see target_parse() */
	uint16_t port;
};

int socks5_parse_request(struct str in, struct socks5_request *out) MUST_CHECK NONNULL;

/* A reply to a request; `bound` NULL: 0.0.0.0:0. Gives its length. */
size_t socks5_put_reply(uint8_t reply, const struct ip *bound, uint16_t port,
			uint8_t out[SOCKS5_REPLY_BYTES]);
