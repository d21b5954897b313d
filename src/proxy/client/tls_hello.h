/* SPDX-License-Identifier: MIT */
/*
 * Finds the server name in the TLS ClientHello at the start of a tunnel (RFC 8446, RFC 6066). Pure:
 * takes bytes as they come, split in any way, and keeps none of them but the name. If the hello is
 * encrypted (ECH) this is the outer name, by which the server's front end routes.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum {
	TLS_HELLO_MAX_BYTES = 32768, /* of a hello; a larger one is TLS_HELLO_BAD */
	TLS_HELLO_NAME_BYTES = 256,  /* with the NUL; a longer name is TLS_HELLO_BAD */
};

enum tls_hello_result {
	TLS_HELLO_MORE,	   /* not decided yet */
	TLS_HELLO_NOT_TLS, /* not TLS: known after two bytes at most */
	TLS_HELLO_NAME,	   /* whole, with a name */
	TLS_HELLO_NO_NAME, /* complete, without a server name: then the target's name counts */
	TLS_HELLO_BAD,	   /* begins as TLS, and is malformed or too large */
};

struct tls_hello {
	enum tls_hello_result result;
	uint8_t record_state, state;
	bool has_name;	      /* the extension was there */
	bool is_odd;	      /* the first record has a type that no hello begins with */
	bool is_next;	      /* looks for a second hello; none may come */
	bool has_early_data;  /* the hello announces early data */
	bool comes_early;     /* the hello before this one announced it */
	bool is_skipped;      /* this record has a type that may come before a hello */
	uint16_t record_left; /* bytes of this record */
	uint16_t number;      /* that is being read */
	uint16_t name_len;
	uint32_t left; /* of the hello */
	uint32_t skip; /* bytes to skip before the next field */
	uint32_t extension_left;
	uint16_t extension;		 /* its kind */
	char name[TLS_HELLO_NAME_BYTES]; /* printable, NUL behind it */
	/* how many bytes of the last call it used before the result was known */
	size_t taken;
	size_t settled; /* how many of them came before a possible second hello */
};

void tls_hello_init(struct tls_hello *h) NONNULL;

/* Takes the next bytes. Once the result is not MORE it stays, and further bytes are ignored. */
enum tls_hello_result tls_hello_feed(struct tls_hello *h, struct str bytes) NONNULL;

/*
 * Starts over after a complete hello: a server may ask for a second one (HelloRetryRequest) and use
 * the name in that. Call it again with what follows the first. TLS_HELLO_NOT_TLS: no second hello
 * can come.
 */
void tls_hello_next(struct tls_hello *h) NONNULL;

/* Whether no byte of a second hello has come yet. */
bool tls_hello_is_between(const struct tls_hello *h) NONNULL PURE;
