/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (FIPS 180-4), for the digest that ties trust to one exact file (P2), and HMAC (RFC 2104)
 * for what has to come back as it was sent.
 */
#pragma once

#include "base/str.h"

enum { SHA256_BYTES = 32, SHA256_HEX_BYTES = 65 }; /* 64 digits and a NUL */

void sha256(struct str bytes, unsigned char out[SHA256_BYTES]) NONNULL;
void sha256_print(const unsigned char digest[SHA256_BYTES], char out[SHA256_HEX_BYTES]) NONNULL;
void sha256_hex(struct str bytes, char out[SHA256_HEX_BYTES]) NONNULL;

/* HMAC-SHA-256, of the SHA-256 of `bytes`: nobody can make it without the key. */
void sha256_mac(const unsigned char key[SHA256_BYTES], struct str bytes,
		unsigned char out[SHA256_BYTES]) NONNULL;
