/* SPDX-License-Identifier: MIT */
/* IP addresses and blocks of them; text in one spelling only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* IPv4 is kept as v4-mapped IPv6, so that one comparison serves both. */
struct ip {
	uint8_t bytes[16];
};

struct ip_block {
	struct ip first;
	uint8_t bits; /* of the 128 that count */
};

/*
 * Dotted-quad IPv4 (four decimal numbers, no leading zeros) or RFC 4291 IPv6,
 * without brackets, without zone. False for everything else.
 */
bool ip_parse(struct str text, struct ip *out) NONNULL;

/* "10.0.0.0/8", "fd00::/8", or one address. False when bits beyond the prefix are set. */
bool ip_block_parse(struct str text, struct ip_block *out) NONNULL;

bool ip_is_v4(const struct ip *ip) NONNULL;

/* 127.0.0.0/8 and ::1. */
bool ip_is_loopback(const struct ip *ip) NONNULL;

/* A block that is written as IPv6 ("::/0") has no IPv4 address in it. */
bool ip_block_has(const struct ip_block *block, const struct ip *ip) NONNULL;

/*
 * The IPv4 address that a packet to `ip` would really reach, if `ip` carries one: v4-mapped,
 * v4-compatible, NAT64 (64:ff9b::/96), 6to4, Teredo (the client), ISATAP. False if it carries none.
 * An IPv4 address gives itself.
 */
bool ip_embedded_v4(const struct ip *ip, struct ip *out) NONNULL;

/*
 * Whether `ip` is an ordinary public unicast address: not loopback, private,
 * link-local, CGNAT, multicast, documentation, benchmarking, reserved or
 * otherwise special (IANA's special-purpose registries), nor one that carries
 * such an IPv4 address. Blocks with single public addresses in them (192.0.0/24,
 * 2001::/23 except Teredo) are not public as a whole.
 */
bool ip_is_public(const struct ip *ip) NONNULL;

/* RFC 5952 for IPv6, dotted quad for IPv4. */
void ip_print(struct buf *b, const struct ip *ip) NONNULL;
