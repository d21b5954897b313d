/* SPDX-License-Identifier: MIT */
/* See scan.h. The vectors are those of gcc and clang, which every processor has in some way. */
#include "base/scan.h"

#include "base/macros.h"

enum { WIDE = 16 };

typedef unsigned char wide __attribute__((vector_size(WIDE)));
typedef uint64_t halves __attribute__((vector_size(WIDE)));

static inline wide load(const char *p)
{
	wide w;

	memcpy(&w, p, sizeof(w));
	return w;
}

static inline wide spread(unsigned char c)
{
	return (wide){ 0 } + c;
}

static inline bool is_any(wide w)
{
	halves h = (halves)w;

	return (h[0] | h[1]) != 0;
}

/* Roughly how often a byte is in sources and texts; more is more often. */
static unsigned frequency(unsigned char c, unsigned char fold)
{
	static const char often[] = " etaoinsrlcdupm_f.,()-;=/g\"\t\nhb*:y>v<0xk";
	const char *at = memchr(often, c, sizeof(often) - 1);
	unsigned score = at ? 60 - (unsigned)(at - often) : ascii_is_alpha((char)c) ? 12 : 8;

	return fold ? score + 2 : score;
}

void scan_needle_init(struct scan_needle *n)
{
	n->rare[0] = n->rare[1] = 0;
	for (size_t i = 1; i < n->len; i++)
		if (frequency(n->bytes[i], n->fold[i]) <
		    frequency(n->bytes[n->rare[0]], n->fold[n->rare[0]]))
			n->rare[0] = i;
	if (n->rare[0] == 0 && n->len > 1)
		n->rare[1] = 1;
	for (size_t i = 0; i < n->len; i++)
		if (i != n->rare[0] && frequency(n->bytes[i], n->fold[i]) <
					       frequency(n->bytes[n->rare[1]], n->fold[n->rare[1]]))
			n->rare[1] = i;
}

static bool is_here(const struct scan_needle *n, const char *p)
{
	for (size_t i = 0; i < n->len; i++)
		if (((unsigned char)p[i] | n->fold[i]) != n->bytes[i])
			return false;
	return true;
}

size_t scan_find(const struct scan_needle *n, struct str text, size_t from)
{
	size_t a = n->rare[0], b = n->rare[1], i = from, end;
	wide first = spread(n->bytes[a]), first_fold = spread(n->fold[a]);
	wide second = spread(n->bytes[b]), second_fold = spread(n->fold[b]);

	if (text.len < n->len || from > text.len - n->len)
		return text.len;
	end = text.len - n->len + 1; /* it begins before this */
	for (; i + WIDE <= end; i += WIDE) {
		wide hit = (wide)((load(text.p + i + a) | first_fold) == first) &
			   (wide)((load(text.p + i + b) | second_fold) == second);

		if (!is_any(hit))
			continue;
		for (size_t k = 0; k < WIDE; k++)
			if (hit[k] && is_here(n, text.p + i + k))
				return i + k;
	}
	for (; i < end; i++)
		if (is_here(n, text.p + i))
			return i;
	return text.len;
}

size_t scan_byte(struct str text, size_t from, char c)
{
	wide all = spread((unsigned char)c);
	size_t i = from;

	for (; i + WIDE <= text.len; i += WIDE)
		if (is_any((wide)(load(text.p + i) == all)))
			break;
	while (i < text.len && text.p[i] != c)
		i++;
	return i;
}

size_t scan_back(struct str text, size_t from, char c)
{
	wide all = spread((unsigned char)c);
	size_t i = from;

	for (; i >= WIDE; i -= WIDE)
		if (is_any((wide)(load(text.p + i - WIDE) == all)))
			break;
	while (i > 0 && text.p[i - 1] != c)
		i--;
	return i;
}

size_t scan_count(struct str text, char c)
{
	wide all = spread((unsigned char)c);
	size_t i = 0, count = 0;

	while (i + WIDE <= text.len) {
		wide sum = { 0 };

		/* A byte of the sum overflows after 255 steps. */
		for (unsigned step = 0; step < 255 && i + WIDE <= text.len; step++, i += WIDE)
			sum -= (wide)(load(text.p + i) == all);
		for (size_t k = 0; k < WIDE; k++)
			count += sum[k];
	}
	for (; i < text.len; i++)
		count += text.p[i] == c;
	return count;
}
