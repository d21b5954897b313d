/* SPDX-License-Identifier: MIT */
/*
 * The server name in the TLS hello that a tunnel starts with (RFC 8446, RFC 6066): pure,
 * fed as bytes come, in pieces of any size and records of any size. It keeps no bytes but
 * the name. With an encrypted hello (ECH) it is the outer name, which is the one that the
 * server routes by.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum {
	TLS_HELLO_MAX_BYTES = 32768, /* of the hello; more is TLS_HELLO_BAD */
	TLS_HELLO_NAME_BYTES = 256,  /* with the NUL; a longer name is TLS_HELLO_BAD */
};

enum tls_hello_result {
	TLS_HELLO_MORE,	   /* not decided yet */
	TLS_HELLO_NOT_TLS, /* something else: known at the second byte at the latest */
	TLS_HELLO_NAME,	   /* whole, with a name */
	TLS_HELLO_NO_NAME, /* whole, without one: then the name of the target counts */
	TLS_HELLO_BAD,	   /* starts as TLS and is malformed, or too large */
};

struct tls_hello {
	enum tls_hello_result result;
	uint8_t record_state, state;
	bool has_name;	      /* the extension was there */
	bool is_odd;	      /* the first record is of a kind that no hello begins with */
	bool is_next;	      /* there was one before: what comes may be none */
	bool has_early_data;  /* it says that data comes before the server has answered */
	bool comes_early;     /* the one before has said so */
	bool is_skipped;      /* this record: it is of a kind that may come before a hello */
	uint16_t record_left; /* bytes of this record */
	uint16_t number;      /* that is being read */
	uint16_t name_len;
	uint32_t left; /* of the hello */
	uint32_t skip; /* to go over before the next field */
	uint32_t extension_left;
	uint16_t extension;		 /* its kind */
	char name[TLS_HELLO_NAME_BYTES]; /* printable, NUL behind it */
	size_t taken;			 /* how many bytes of the last call decided */
	size_t settled; /* how many of them came before what may be another hello */
};

void tls_hello_init(struct tls_hello *h) NONNULL;

/*
 * Takes the next bytes; once the result is other than MORE it stays, and bytes are no
 * longer looked at.
 */
enum tls_hello_result tls_hello_feed(struct tls_hello *h, struct str bytes) NONNULL;

/*
 * After a whole hello: a server may ask for another one (HelloRetryRequest), and go by the name in
 * that. Goes on behind the first; TLS_HELLO_NOT_TLS says that no other can come.
 */
void tls_hello_next(struct tls_hello *h) NONNULL;

/* Nothing of another one has come yet. */
bool tls_hello_is_between(const struct tls_hello *h) NONNULL PURE;
