/* SPDX-License-Identifier: MIT */
/* See base64.h. */
#include "base/base64.h"

void base64_add(struct buf *b, struct str in)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < in.len; i += 3) {
		uint32_t group = 0;

		for (size_t k = 0; k < 3; k++)
			group = group << 8 | (i + k < in.len ? (unsigned char)in.p[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			buf_add_char(b, i + k > in.len ? '=' : digits[group >> (18 - 6 * k) & 63]);
	}
}

/* The value of a digit of RFC 4648's first alphabet, or -1. */
static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (ascii_is_digit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(struct str s, char *out, size_t room, size_t *len)
{
	uint32_t bits = 0;
	unsigned count = 0;

	while (s.len > 0 && s.p[s.len - 1] == '=')
		s.len--;
	*len = 0;
	for (size_t i = 0; i < s.len; i++) {
		int digit = digit_value(s.p[i]);

		if (digit < 0)
			return false;
		bits = (bits << 6 | (uint32_t)digit) & 0xffff;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		if (*len == room)
			return false;
		out[(*len)++] = (char)(bits >> count & 0xff);
	}
	return true;
}
