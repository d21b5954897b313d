/* SPDX-License-Identifier: MIT */
/* See utf8.h. */
#include "base/utf8.h"

#include <stdio.h>

bool utf8_next(struct str s, size_t *at, uint32_t *out)
{
	static const uint32_t smallest[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char first;
	size_t more;
	uint32_t c;

	if (*at >= s.len)
		return false;
	first = (unsigned char)s.p[*at];
	if (first < 0x80) {
		*out = first;
		(*at)++;
		return true;
	}
	if (first < 0xC2 || first > 0xF4)
		return false;
	more = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
	if (s.len - *at <= more)
		return false;
	c = first & (0x3FU >> more);
	for (size_t i = 1; i <= more; i++) {
		unsigned char next = (unsigned char)s.p[*at + i];

		if ((next & 0xC0) != 0x80)
			return false;
		c = c << 6 | (next & 0x3F);
	}
	if (c < smallest[more] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
		return false;
	*out = c;
	*at += more + 1;
	return true;
}

size_t utf8_check(struct str s)
{
	size_t at = 0;
	uint32_t c;

	while (at < s.len && ((unsigned char)s.p[at] < 0x80 ? ++at : utf8_next(s, &at, &c)))
		;
	return at;
}

bool utf8_put(uint32_t c, char out[4], size_t *len)
{
	if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
		return false;
	if (c < 0x80) {
		out[0] = (char)c;
		*len = 1;
	} else if (c < 0x800) {
		out[0] = (char)(0xC0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3F));
		*len = 2;
	} else if (c < 0x10000) {
		out[0] = (char)(0xE0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3F));
		out[2] = (char)(0x80 | (c & 0x3F));
		*len = 3;
	} else {
		out[0] = (char)(0xF0 | c >> 18);
		out[1] = (char)(0x80 | (c >> 12 & 0x3F));
		out[2] = (char)(0x80 | (c >> 6 & 0x3F));
		out[3] = (char)(0x80 | (c & 0x3F));
		*len = 4;
	}
	return true;
}

bool utf8_is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0x061C || c == 0x200E || c == 0x200F ||
	       (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/* What Unicode calls Default_Ignorable_Code_Point or a space separator, and U+2800. */
bool utf8_is_invisible(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{ 0xA0, 0xA0 },	      { 0xAD, 0xAD },	    { 0x34F, 0x34F },
		{ 0x115F, 0x1160 },   { 0x1680, 0x1680 },   { 0x17B4, 0x17B5 },
		{ 0x180B, 0x180F },   { 0x2000, 0x200D },   { 0x202F, 0x202F },
		{ 0x205F, 0x2065 },   { 0x206A, 0x206F },   { 0x2800, 0x2800 },
		{ 0x3000, 0x3000 },   { 0x3164, 0x3164 },   { 0xFE00, 0xFE0F },
		{ 0xFEFF, 0xFEFF },   { 0xFFA0, 0xFFA0 },   { 0xFFF0, 0xFFFB },
		{ 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A }, { 0xE0000, 0xE0FFF },
	};

	for (size_t i = 0; c >= ranges[0][0] && i < COUNT_OF(ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

struct str utf8_next_shown(struct str s, size_t *at, char escaped[16])
{
	size_t from = *at;
	uint32_t c;
	int n;

	if (!utf8_next(s, at, &c)) {
		(*at)++;
		n = snprintf(escaped, 16, "\\x%02x", (unsigned)(unsigned char)s.p[from]);
	} else if (!utf8_is_control(c) && !utf8_is_invisible(c)) {
		return (struct str){ s.p + from, *at - from };
	} else if (c < 0x80) {
		n = snprintf(escaped, 16, "\\x%02x", (unsigned)c);
	} else {
		n = snprintf(escaped, 16, "\\u{%04x}", (unsigned)c);
	}
	return (struct str){ escaped, (size_t)n };
}

size_t utf8_count_plain(struct str s)
{
	size_t count = 0;

	while (count < s.len && s.p[count] >= 0x20 && s.p[count] < 0x7F)
		count++;
	return count;
}

void utf8_add_shown(struct buf *b, struct str s)
{
	char escaped[16];

	for (size_t at = 0; at < s.len;) {
		struct str plain = str_first(str_from(s, at), utf8_count_plain(str_from(s, at)));

		buf_add(b, plain);
		at += plain.len;
		if (at < s.len)
			buf_add(b, utf8_next_shown(s, &at, escaped));
	}
}

size_t utf8_shown_width(struct str s)
{
	char escaped[16];
	size_t width = 0;
	size_t at = 0;

	while (at < s.len) {
		struct str next = utf8_next_shown(s, &at, escaped);

		width += next.p == escaped ? next.len : 1;
	}
	return width;
}

const char *utf8_show(struct str s, char *out, size_t size)
{
	static const char dots[] = "...";
	char escaped[16];
	size_t used = 0;
	size_t at = 0;

	while (at < s.len) {
		struct str next = utf8_next_shown(s, &at, escaped);
		size_t after = at < s.len ? sizeof(dots) : 1;

		if (next.len + after > size - used) {
			memcpy(out + used, dots, sizeof(dots));
			return out;
		}
		memcpy(out + used, next.p, next.len);
		used += next.len;
	}
	out[used] = '\0';
	return out;
}

/* Where what has to be escaped begins, or is no ASCII. */
static size_t find_special(struct str s, size_t at)
{
	while (at < s.len && s.p[at] >= ' ' && s.p[at] <= '~' && s.p[at] != '"' && s.p[at] != '\\')
		at++;
	return at;
}

void utf8_add_quoted(struct buf *b, struct str s, bool keeps_bytes)
{
	static const char names[] = "btnfr\"\\";
	static const char values[] = "\b\t\n\f\r\"\\";
	size_t at = 0;
	uint32_t c;

	buf_add_char(b, '"');
	while (at < s.len) {
		size_t from = at;
		const char *value;

		at = find_special(s, from);
		buf_add(b, (struct str){ s.p + from, at - from });
		if (at == s.len)
			break;
		from = at;
		if (!utf8_next(s, &at, &c)) {
			unsigned byte = (unsigned char)s.p[at++];

			buf_printf(b, "\\u%04x", keeps_bytes ? 0xDC00 | byte : 0xFFFD);
			continue;
		}
		value = c && c < 0x80 ? strchr(values, (int)c) : NULL;
		if (value)
			buf_add(b, (struct str){ (char[]){ '\\', names[value - values] }, 2 });
		else if (utf8_is_control(c))
			buf_printf(b, "\\u%04x", (unsigned)c);
		else
			buf_add(b, (struct str){ s.p + from, at - from });
	}
	buf_add_char(b, '"');
}
