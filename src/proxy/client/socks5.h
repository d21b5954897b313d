/* SPDX-License-Identifier: MIT */
/*
 * The server's side of SOCKS version 5 (RFC 1928, RFC 1929). Pure: each parser looks at the bytes
 * that have come so far. It returns how many of them its message has, 0 if the message is not
 * complete, or -1 if it is malformed. No message is longer than its *_BYTES.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/str.h"

enum {
	SOCKS5_VERSION = 5, /* the first byte, which tells SOCKS from HTTP */
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
 * Chooses the method. If there is a token, only the password method will do. If there is none,
 * either will: some clients offer only passwords, and any password is accepted. The answer is { 5,
 * method }; after SOCKS5_NO_METHOD the connection is closed.
 */
enum socks5_method socks5_choose(const struct socks5_greeting *g, bool needs_token) NONNULL;

struct socks5_auth {
	struct str user, password; /* point into the input */
};

/* The answer is { 1, 0 } if the password is right; else { 1, 1 }, and the connection is closed. */
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
	 * SOCKS5_DONE: a CONNECT to host and port. Any other value is the reply to send:
	 * BAD_COMMAND for BIND and UDP ASSOCIATE, BAD_ADDRESS for unknown address types, FAILURE
	 * for port 0 and an empty name. Also set if the parser returns -1.
	 */
	enum socks5_reply refused;
	bool is_ip;
	struct ip ip; /* when is_ip */
	/* otherwise; points into the input and may hold any bytes: see target_parse() */
	struct str name;
	uint16_t port;
};

int socks5_parse_request(struct str in, struct socks5_request *out) MUST_CHECK NONNULL;

/* Writes the reply to a request and returns its length. `bound` NULL: 0.0.0.0:0. */
size_t socks5_put_reply(uint8_t reply, const struct ip *bound, uint16_t port,
			uint8_t out[SOCKS5_REPLY_BYTES]);
