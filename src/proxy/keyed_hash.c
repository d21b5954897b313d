/* SPDX-License-Identifier: MIT */
/* SipHash-1-3: one round for each word and three at the end (Aumasson, Bernstein 2012). */
#include "proxy/keyed_hash.h"

#include <string.h>

#include "os/random.h"

int hash_key_make(struct hash_key *out, struct err *e)
{
	int r = os_random(out, sizeof(*out));

	return r < 0 ? FAIL_SYS(e, -r, "can't get random numbers") : 0;
}

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static void mix(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static void add_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	mix(v);
	v[0] ^= word;
}

uint64_t keyed_hash(const struct hash_key *key, struct str bytes)
{
	const uint64_t *k = key->words;
	uint64_t v[4] = { k[0] ^ 0x736f6d6570736575u, k[1] ^ 0x646f72616e646f6du,
			  k[0] ^ 0x6c7967656e657261u, k[1] ^ 0x7465646279746573u };
	uint64_t last = (uint64_t)bytes.len << 56;
	size_t at = 0;

	for (; bytes.len - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes.p + at, sizeof(word));
		add_word(v, word);
	}
	for (unsigned shift = 0; at < bytes.len; at++, shift += 8)
		last |= (uint64_t)(unsigned char)bytes.p[at] << shift;
	add_word(v, last);
	v[2] ^= 0xff;
	for (unsigned i = 0; i < 3; i++)
		mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
