/* SPDX-License-Identifier: MIT */
/* See sha256.h. Names of variables and constants are those of FIPS 180-4. */
#include "base/sha256.h"

#include <stdint.h>

enum { BLOCK_BYTES = 64 };

static const uint32_t K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void add_block(uint32_t H[8], const unsigned char block[BLOCK_BYTES])
{
	uint32_t W[64];
	uint32_t v[8];

	for (size_t t = 0; t < 16; t++)
		W[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
		       (uint32_t)block[4 * t + 2] << 8 | (uint32_t)block[4 * t + 3];
	for (size_t t = 16; t < 64; t++) {
		uint32_t x = W[t - 15];
		uint32_t y = W[t - 2];

		W[t] = W[t - 16] + W[t - 7] + (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) +
		       (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10);
	}
	memcpy(v, H, sizeof(v));
	for (size_t t = 0; t < 64; t++) {
		uint32_t a = v[0];
		uint32_t e = v[4];
		uint32_t T1 = v[7] +
			      (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
			      ((e & v[5]) ^ (~e & v[6])) + K[t] + W[t];
		uint32_t T2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
			      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += T1;
		v[0] = T1 + T2;
	}
	for (size_t i = 0; i < 8; i++)
		H[i] += v[i];
}

void sha256(struct str bytes, unsigned char out[SHA256_BYTES])
{
	uint32_t H[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	unsigned char last[2 * BLOCK_BYTES] = { 0 };
	uint64_t bits = (uint64_t)bytes.len * 8;
	size_t whole = bytes.len / BLOCK_BYTES * BLOCK_BYTES;
	size_t rest = bytes.len - whole;
	size_t padded = rest + 9 <= BLOCK_BYTES ? BLOCK_BYTES : 2 * BLOCK_BYTES;

	for (size_t at = 0; at < whole; at += BLOCK_BYTES)
		add_block(H, (const unsigned char *)bytes.p + at);
	if (rest)
		memcpy(last, bytes.p + whole, rest);
	last[rest] = 0x80;
	for (size_t i = 0; i < 8; i++)
		last[padded - 1 - i] = (unsigned char)(bits >> (8 * i));
	for (size_t at = 0; at < padded; at += BLOCK_BYTES)
		add_block(H, last + at);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		out[i] = (unsigned char)(H[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_print(const unsigned char digest[SHA256_BYTES], char out[SHA256_HEX_BYTES])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_BYTES; i++) {
		out[2 * i] = digits[digest[i] >> 4];
		out[2 * i + 1] = digits[digest[i] & 0xF];
	}
	out[SHA256_HEX_BYTES - 1] = '\0';
}

void sha256_hex(struct str bytes, char out[SHA256_HEX_BYTES])
{
	unsigned char digest[SHA256_BYTES];

	sha256(bytes, digest);
	sha256_print(digest, out);
}

/* The text is hashed first, so that all of it has one length here: HMAC of the digest. */
void sha256_mac(const unsigned char key[SHA256_BYTES], struct str bytes,
		unsigned char out[SHA256_BYTES])
{
	unsigned char block[BLOCK_BYTES + SHA256_BYTES];

	for (size_t i = 0; i < BLOCK_BYTES; i++)
		block[i] = (unsigned char)((i < SHA256_BYTES ? key[i] : 0) ^ 0x36);
	sha256(bytes, block + BLOCK_BYTES);
	sha256((struct str){ (const char *)block, sizeof(block) }, out);
	for (size_t i = 0; i < BLOCK_BYTES; i++)
		block[i] ^= 0x36 ^ 0x5c;
	memcpy(block + BLOCK_BYTES, out, SHA256_BYTES);
	sha256((struct str){ (const char *)block, sizeof(block) }, out);
}
