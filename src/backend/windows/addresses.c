/* SPDX-License-Identifier: MIT */
/*
 * See windows.h. The firewall gives a rule's addresses back in another form and order than they were written
 * in, so lists are compared by what they cover.
 */
#include "backend/windows/windows.h"
#include "base/ip.h"
#include "base/sort.h"

struct range {
	struct ip first, last;
};

/* Whether the ones of `mask` are all in front; how many they are. */
static bool count_mask(const struct ip *mask, unsigned from, unsigned *bits)
{
	unsigned at = from;

	while (at < 128 && mask->bytes[at / 8] & 0x80u >> at % 8)
		at++;
	*bits = at;
	for (; at < 128; at++)
		if (mask->bytes[at / 8] & 0x80u >> at % 8)
			return false;
	return true;
}

static bool parse_bits(struct str text, unsigned *out)
{
	unsigned bits = 0;

	if (!text.len || text.len > 3)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!ascii_is_digit(text.p[i]))
			return false;
		bits = bits * 10 + (unsigned)(text.p[i] - '0');
	}
	*out = bits;
	return true;
}

static void fill(struct range *range, unsigned bits)
{
	range->last = range->first;
	for (unsigned at = bits; at < 128; at++) {
		range->first.bytes[at / 8] &= (uint8_t) ~(0x80u >> at % 8);
		range->last.bytes[at / 8] |= (uint8_t)(0x80u >> at % 8);
	}
}

/* ADDRESS/BITS or ADDRESS/MASK. */
static bool parse_block(struct str text, size_t slash, struct range *out)
{
	struct str behind = str_from(text, slash + 1);
	struct ip mask;
	unsigned from, bits;

	if (!ip_parse(str_first(text, slash), &out->first))
		return false;
	from = ip_is_v4(&out->first) ? 96 : 0;
	if (parse_bits(behind, &bits))
		bits += from;
	else if (!ip_parse(behind, &mask) || ip_is_v4(&mask) != ip_is_v4(&out->first) ||
		 !count_mask(&mask, from, &bits))
		return false;
	if (bits > 128)
		return false;
	fill(out, bits);
	return true;
}

static bool parse_range(struct str text, struct range *out)
{
	const size_t slash = str_find(text, '/');
	const size_t dash = str_find(text, '-');

	if (slash < text.len)
		return parse_block(text, slash, out);
	if (dash < text.len)
		return ip_parse(str_first(text, dash), &out->first) &&
		       ip_parse(str_from(text, dash + 1), &out->last) &&
		       ip_is_v4(&out->first) == ip_is_v4(&out->last) &&
		       memcmp(out->first.bytes, out->last.bytes, sizeof(out->last.bytes)) <= 0;
	if (!ip_parse(text, &out->first))
		return false;
	out->last = out->first;
	return true;
}

/* IPv4 first, which is in the middle of IPv6 otherwise. */
static int compare(const void *context, uint32_t a, uint32_t b)
{
	const struct range *x = (const struct range *)context + a;
	const struct range *y = (const struct range *)context + b;

	if (ip_is_v4(&x->first) != ip_is_v4(&y->first))
		return ip_is_v4(&x->first) ? -1 : 1;
	return memcmp(x->first.bytes, y->first.bytes, sizeof(x->first.bytes));
}

/* Whether `next` begins at most one behind the end of `range`, both of one family. */
static bool touches(const struct range *range, const struct range *next)
{
	struct ip behind = range->last;
	size_t at = sizeof(behind.bytes);

	if (ip_is_v4(&range->first) != ip_is_v4(&next->first))
		return false;
	while (at > 0 && ++behind.bytes[at - 1] == 0)
		at--;
	return at == 0 || memcmp(next->first.bytes, behind.bytes, sizeof(behind.bytes)) <= 0;
}

static void print_ranges(struct buf *b, const struct range *ranges, const uint32_t *order,
			 size_t count)
{
	struct range now;

	for (size_t i = 0; i < count;) {
		now = ranges[order[i]];
		for (i++; i < count && touches(&now, &ranges[order[i]]); i++) {
			const struct ip *last = &ranges[order[i]].last;

			if (memcmp(last->bytes, now.last.bytes, sizeof(last->bytes)) > 0)
				now.last = *last;
		}
		buf_add_text(b, b->len ? "," : "");
		ip_print(b, &now.first);
		buf_add_char(b, '-');
		ip_print(b, &now.last);
	}
}

int windows_merge_addresses(struct arena *a, const struct str *items, size_t count, struct str *out,
			    struct err *e)
{
	struct range *ranges = arena_array(a, count + 1, sizeof(*ranges), e);
	uint32_t *order = ranges ? arena_array(a, 2 * count + 1, sizeof(*order), e) : NULL;
	scoped_buf text = BUF_INIT(64 << 10);

	if (!order)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		order[i] = (uint32_t)i;
		if (!parse_range(items[i], &ranges[i]))
			return FAIL(e, ERR_SYNTAX, "'%.*s' is no address of a rule",
				    STR_ARG(items[i]));
	}
	sort_numbers(order, order + count, count, compare, ranges);
	print_ranges(&text, ranges, order, count);
	return buf_check(&text, e) < 0 ? err_result(e) : arena_copy(a, buf_str(&text), out, e);
}
