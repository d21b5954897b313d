/* SPDX-License-Identifier: MIT */
/* See ip.h. */
#include "base/ip.h"

#include <stdio.h>

static const uint8_t mapped_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static void set_v4(struct ip *ip, const uint8_t quad[4])
{
	memcpy(ip->bytes, mapped_prefix, sizeof(mapped_prefix));
	memcpy(ip->bytes + 12, quad, 4);
}

/* A decimal number up to `max` (under 1000) without leading zeros; steps over it. */
static bool parse_number(struct str s, size_t *at, unsigned max, unsigned *out)
{
	size_t start = *at;
	unsigned n = 0;

	for (; *at < s.len && *at - start < 3 && ascii_is_digit(s.p[*at]); (*at)++)
		n = n * 10 + (unsigned)(s.p[*at] - '0');
	if (*at == start || n > max || (s.p[start] == '0' && *at - start > 1))
		return false;
	*out = n;
	return true;
}

static bool parse_quad(struct str s, uint8_t quad[4])
{
	size_t at = 0;

	for (size_t i = 0; i < 4; i++) {
		unsigned n;

		if (i > 0 && (at >= s.len || s.p[at++] != '.'))
			return false;
		if (!parse_number(s, &at, 255, &n))
			return false;
		quad[i] = (uint8_t)n;
	}
	return at == s.len;
}

static int hex_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One to four hexadecimal digits; steps over them. */
static bool parse_group(struct str s, size_t *at, uint8_t out[2])
{
	size_t start = *at;
	unsigned n = 0;

	for (; *at < s.len && *at - start < 4 && hex_value(s.p[*at]) >= 0; (*at)++)
		n = n << 4 | (unsigned)hex_value(s.p[*at]);
	out[0] = (uint8_t)(n >> 8);
	out[1] = (uint8_t)n;
	return *at > start;
}

/*
 * The groups up to the end or "::", as bytes; *at is then behind the last group.
 * The last of them may be a dotted quad (RFC 4291, 2.2, form 3).
 */
static bool parse_groups(struct str s, size_t *at, uint8_t bytes[16], size_t *used)
{
	for (*used = 0; *used < 16;) {
		struct str rest = str_from(s, *at);

		if (*used <= 12 && str_find(rest, '.') < str_find(rest, ':')) {
			if (!parse_quad(rest, bytes + *used))
				return false;
			*used += 4;
			*at = s.len;
			return true;
		}
		if (!parse_group(s, at, bytes + *used))
			return false;
		*used += 2;
		if (*at == s.len)
			return true;
		if (s.p[*at] != ':')
			return false;
		if (*at + 1 < s.len && s.p[*at + 1] == ':')
			return true;
		(*at)++;
	}
	return false;
}

static bool parse_v6(struct str s, struct ip *out)
{
	uint8_t head[16] = { 0 }, tail[16] = { 0 };
	size_t head_used = 0, tail_used = 0;
	size_t at = 0;

	if (!str_has_prefix(s, STR("::")) && !parse_groups(s, &at, head, &head_used))
		return false;
	if (at == s.len) {
		if (head_used != 16)
			return false;
		memcpy(out->bytes, head, 16);
		return true;
	}
	at += 2; /* the "::" */
	if (at < s.len && !parse_groups(s, &at, tail, &tail_used))
		return false;
	/* "::" stands for at least one group, and there is one of it. */
	if (at != s.len || head_used + tail_used > 14)
		return false;
	memcpy(head + 16 - tail_used, tail, tail_used);
	memcpy(out->bytes, head, 16);
	return true;
}

bool ip_parse(struct str text, struct ip *out)
{
	uint8_t quad[4];

	if (str_find(text, ':') < text.len)
		return parse_v6(text, out);
	if (!parse_quad(text, quad))
		return false;
	set_v4(out, quad);
	return true;
}

bool ip_block_parse(struct str text, struct ip_block *out)
{
	size_t slash = str_find(text, '/');
	struct str address = str_first(text, slash);
	bool dotted = str_find(address, ':') == address.len;
	struct ip_block block = { .bits = 128 };

	if (!ip_parse(address, &block.first))
		return false;
	if (slash < text.len) {
		size_t at = slash + 1;
		unsigned bits;

		if (!parse_number(text, &at, dotted ? 32 : 128, &bits) || at != text.len)
			return false;
		block.bits = (uint8_t)(dotted ? bits + 96 : bits);
	}
	for (size_t i = block.bits; i < 128; i++)
		if (block.first.bytes[i / 8] >> (7 - i % 8) & 1)
			return false;
	*out = block;
	return true;
}

bool ip_is_v4(const struct ip *ip)
{
	return memcmp(ip->bytes, mapped_prefix, sizeof(mapped_prefix)) == 0;
}

bool ip_is_loopback(const struct ip *ip)
{
	static const struct ip six = { .bytes = { [15] = 1 } };

	return ip_is_v4(ip) ? ip->bytes[12] == 127 : memcmp(ip, &six, sizeof(six)) == 0;
}

static bool has_prefix(const struct ip *ip, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(ip->bytes, prefix, whole) != 0)
		return false;
	return rest == 0 || (ip->bytes[whole] ^ prefix[whole]) >> (8 - rest) == 0;
}

bool ip_block_has(const struct ip_block *block, const struct ip *ip)
{
	/* "::/0" means IPv6, not the IPv4 addresses that are stored inside it. */
	if (ip_is_v4(ip) && (block->bits < 96 || !ip_is_v4(&block->first)))
		return false;
	return has_prefix(ip, block->first.bytes, block->bits);
}

/* An entry of a table of blocks; IPv4 ones have their prefix counted within the quad. */
struct range {
	uint8_t prefix[16];
	uint8_t bits;
};

/*
 * ISATAP (RFC 5214, 6.1): below any prefix, ::0:5efe:a.b.c.d or ::200:5efe:a.b.c.d
 * is tunnelled to a.b.c.d.
 */
static bool is_isatap(const struct ip *ip)
{
	return (ip->bytes[8] & ~0x02U) == 0 && ip->bytes[9] == 0 && ip->bytes[10] == 0x5e &&
	       ip->bytes[11] == 0xfe;
}

/* The address inside, where the prefix says that there is one. */
static bool find_behind_prefix(const struct ip *ip, struct ip *out)
{
	static const uint8_t nat64[12] = { 0x00, 0x64, 0xff, 0x9b }; /* RFC 6052 */
	static const uint8_t sixtofour[2] = { 0x20, 0x02 };	     /* RFC 3056 */
	static const uint8_t teredo[4] = { 0x20, 0x01, 0x00, 0x00 }; /* RFC 4380 */
	static const uint8_t zeros[15] = { 0 };
	uint8_t quad[4];

	if (ip_is_v4(ip) || has_prefix(ip, nat64, 96)) {
		memcpy(quad, ip->bytes + 12, 4);
	} else if (has_prefix(ip, sixtofour, 16)) {
		memcpy(quad, ip->bytes + 2, 4);
	} else if (has_prefix(ip, teredo, 32)) {
		/* The client's address, with every bit flipped (RFC 4380, section 4). */
		for (size_t i = 0; i < 4; i++)
			quad[i] = (uint8_t)~ip->bytes[12 + i];
	} else if (has_prefix(ip, zeros, 96)) {
		/* v4-compatible (RFC 4291, 2.5.5.1); "::" and "::1" are themselves. */
		if (has_prefix(ip, zeros, 120) && ip->bytes[15] <= 1)
			return false;
		memcpy(quad, ip->bytes + 12, 4);
	} else {
		return false;
	}
	set_v4(out, quad);
	return true;
}

bool ip_embedded_v4(const struct ip *ip, struct ip *out)
{
	if (find_behind_prefix(ip, out))
		return true;
	if (!is_isatap(ip))
		return false;
	set_v4(out, ip->bytes + 12);
	return true;
}

/* IANA IPv4 Special-Purpose Address Registry, what is not globally reachable; and RFC 5771, 1112. */
static const struct range special_v4[] = {
	{ { 0 }, 8 },		  /* this network, RFC 791 */
	{ { 10 }, 8 },		  /* private, RFC 1918 */
	{ { 100, 64 }, 10 },	  /* shared (CGNAT), RFC 6598 */
	{ { 127 }, 8 },		  /* loopback, RFC 1122 */
	{ { 169, 254 }, 16 },	  /* link-local, RFC 3927 */
	{ { 172, 16 }, 12 },	  /* private, RFC 1918 */
	{ { 192, 0, 0 }, 24 },	  /* IETF protocol assignments, RFC 6890; all of it */
	{ { 192, 0, 2 }, 24 },	  /* documentation, RFC 5737 */
	{ { 192, 88, 99 }, 24 },  /* 6to4 relays, deprecated by RFC 7526 */
	{ { 192, 168 }, 16 },	  /* private, RFC 1918 */
	{ { 198, 18 }, 15 },	  /* benchmarking, RFC 2544 */
	{ { 198, 51, 100 }, 24 }, /* documentation, RFC 5737 */
	{ { 203, 0, 113 }, 24 },  /* documentation, RFC 5737 */
	{ { 224 }, 4 },		  /* multicast, RFC 5771 */
	{ { 240 }, 4 },		  /* reserved and broadcast, RFC 1112, RFC 919 */
};

/*
 * The same for IPv6, within 2000::/3: nothing outside of it is global unicast
 * (RFC 4291, 2.4, and IANA's IPv6 address space registry).
 */
static const struct range special_v6[] = {
	{ { 0x20, 0x01, 0x00 }, 23 },	    /* IETF protocol assignments, RFC 2928; all of it */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 }, /* documentation, RFC 3849 */
	{ { 0x3f, 0xff, 0x00 }, 20 },	    /* documentation, RFC 9637 */
};

static bool v4_is_public(const uint8_t quad[4])
{
	struct ip as_prefix = { { quad[0], quad[1], quad[2], quad[3] } };

	for (size_t i = 0; i < COUNT_OF(special_v4); i++)
		if (has_prefix(&as_prefix, special_v4[i].prefix, special_v4[i].bits))
			return false;
	return true;
}

bool ip_is_public(const struct ip *ip)
{
	static const uint8_t compatible[12] = { 0 };
	struct ip inner;

	/*
	 * SECURITY: both ends of the tunnel count, so ISATAP is checked before the prefix.
	 * Otherwise a public prefix would hide a private address behind it.
	 */
	if (is_isatap(ip) && !v4_is_public(ip->bytes + 12))
		return false;
	if (find_behind_prefix(ip, &inner))
		return !has_prefix(ip, compatible, 96) && v4_is_public(inner.bytes + 12);
	if (ip->bytes[0] >> 5 != 1)
		return false;
	for (size_t i = 0; i < COUNT_OF(special_v6); i++)
		if (has_prefix(ip, special_v6[i].prefix, special_v6[i].bits))
			return false;
	return true;
}

static unsigned group(const struct ip *ip, size_t i)
{
	return (unsigned)ip->bytes[2 * i] << 8 | ip->bytes[2 * i + 1];
}

/* The longest run of zero groups, the first of equals; it has two at least (RFC 5952, 4.2). */
static void longest_zeros(const struct ip *ip, size_t *from, size_t *count)
{
	*from = 8;
	*count = 1;
	for (size_t i = 0; i < 8; i++) {
		size_t n = 0;

		while (i + n < 8 && group(ip, i + n) == 0)
			n++;
		if (n > *count) {
			*from = i;
			*count = n;
		}
	}
}

void ip_print(struct buf *b, const struct ip *ip)
{
	size_t from, count;

	if (ip_is_v4(ip)) {
		buf_printf(b, "%u.%u.%u.%u", (unsigned)ip->bytes[12], (unsigned)ip->bytes[13],
			   (unsigned)ip->bytes[14], (unsigned)ip->bytes[15]);
		return;
	}
	longest_zeros(ip, &from, &count);
	for (size_t i = 0; i < 8; i++) {
		if (i == from) {
			buf_add_text(b, "::");
			i += count - 1;
			continue;
		}
		buf_printf(b, "%s%x", i > 0 && i != from + count ? ":" : "", group(ip, i));
	}
}
