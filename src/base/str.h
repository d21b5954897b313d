/* SPDX-License-Identifier: MIT */
/*
 * Byte strings with a length. What comes from outside (paths, names, texts) is
 * a `struct str` until it has been checked; it may hold any byte, and is
 * borrowed from whoever made it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

struct str {
	const char *p;
	size_t len;
};

/* A literal as a struct str; also in static initialisers. */
#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define STR_INIT(literal)                       \
	{                                       \
		"" literal, sizeof(literal) - 1 \
	}
#define STR_EMPTY ((struct str){ "", 0 })

/* For printf's %.*s in what people read: a text over 200 bytes is cut there. */
#define STR_ARG(s) ((int)MIN_OF((s).len, (size_t)200)), (s).p

/* SECURITY: the same for what programs read. A path that is cut is another path. */
#define STR_ALL(s) ((int)MIN_OF((s).len, (size_t)INT32_MAX)), (s).p

static inline struct str str_of(const char *text)
{
	return (struct str){ text, strlen(text) };
}

/*
 * How many of the first `n` bytes are equal. Names and paths are short: the call of memcmp() alone
 * costs more than this loop, and musl's memcmp() goes byte by byte.
 */
static inline size_t bytes_same(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	for (; n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		uint64_t x, y;

		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		if (x != y)
			break;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.len == b.len && bytes_same(a.p, b.p, a.len) == a.len;
}

static inline bool str_is(struct str a, const char *text)
{
	return str_eq(a, str_of(text));
}

/* Compares bytes; a prefix comes first. */
static inline int str_cmp(struct str a, struct str b)
{
	size_t n = MIN_OF(a.len, b.len);
	size_t i = bytes_same(a.p, b.p, n);

	if (i < n)
		return (unsigned char)a.p[i] < (unsigned char)b.p[i] ? -1 : 1;
	return (a.len > b.len) - (a.len < b.len);
}

static inline bool str_has_prefix(struct str s, struct str prefix)
{
	return s.len >= prefix.len && bytes_same(s.p, prefix.p, prefix.len) == prefix.len;
}

static inline bool str_has_suffix(struct str s, struct str suffix)
{
	return s.len >= suffix.len &&
	       (suffix.len == 0 ||
		bytes_same(s.p + s.len - suffix.len, suffix.p, suffix.len) == suffix.len);
}

/* From `from` (at most the end) on. */
static inline struct str str_from(struct str s, size_t from)
{
	from = MIN_OF(from, s.len);
	return (struct str){ s.p + from, s.len - from };
}

static inline struct str str_first(struct str s, size_t n)
{
	return (struct str){ s.p, MIN_OF(n, s.len) };
}

/* The position of `c`, or s.len. */
static inline size_t str_find(struct str s, char c)
{
	const char *at = s.len ? memchr(s.p, c, s.len) : NULL;

	return at ? (size_t)(at - s.p) : s.len;
}

static inline bool str_has_nul(struct str s)
{
	return str_find(s, '\0') < s.len;
}

/* Removes the first word, up to a space, from `line`. */
static inline struct str str_take_word(struct str *line)
{
	struct str word = str_first(*line, str_find(*line, ' '));

	*line = str_from(*line, word.len + 1);
	return word;
}

/* Removes the first line from `text`; false if nothing is left. */
static inline bool str_next_line(struct str *text, struct str *out)
{
	if (!text->len)
		return false;
	*out = str_first(*text, str_find(*text, '\n'));
	*text = str_from(*text, out->len + 1);
	return true;
}

/* ASCII only: the locale must not affect what a policy means. */
static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
