/* SPDX-License-Identifier: MIT */
/* TOML integers and floats; see toml_parser.h. */
#include <math.h>

#include "base/real.h"
#include "base/toml_parser.h"

/*
 * Digits of `base` from `*at` on, underscores only between two of them. Gives
 * how many there are, 0 for a misplaced underscore too.
 */
static size_t count_digits(struct str s, size_t *at, unsigned base)
{
	size_t count = 0;
	bool was_digit = false;

	for (; *at < s.len; (*at)++) {
		char c = ascii_lower(s.p[*at]);
		unsigned value = ascii_is_digit(c) ? (unsigned)(c - '0')
						   : (unsigned)(c - 'a') + 10U;

		if (c == '_' && was_digit) {
			was_digit = false;
			continue;
		}
		if ((!ascii_is_digit(c) && (c < 'a' || c > 'f')) || value >= base)
			break;
		was_digit = true;
		count++;
	}
	return was_digit ? count : 0;
}

/* The value of checked digits; false when it does not fit. */
static bool sum_digits(struct str s, unsigned base, uint64_t limit, uint64_t *out)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s.len; i++) {
		char c = ascii_lower(s.p[i]);
		uint64_t value = ascii_is_digit(c) ? (uint64_t)(c - '0')
						   : (uint64_t)(c - 'a') + 10U;

		if (c == '_')
			continue;
		if (value > limit || n > (limit - value) / base)
			return false;
		n = n * base + value;
	}
	*out = n;
	return true;
}

static int fail_range(struct toml_parser *p, size_t start)
{
	return toml_fail(
		p, start, ERR_SYNTAX,
		"an integer must lie between -9223372036854775808 and 9223372036854775807");
}

/* 0x, 0o, 0b: no sign, lower-case prefix. */
static int read_based(struct toml_parser *p, struct str token, struct toml *out)
{
	unsigned base = token.p[1] == 'x' ? 16 : token.p[1] == 'o' ? 8 : 2;
	uint64_t n;
	size_t at = 2;

	if (count_digits(token, &at, base) == 0 || at != token.len)
		return toml_fail(
			p, p->at + at, ERR_SYNTAX,
			"0%c must be followed by digits of base %u, with single underscores "
			"only between them",
			token.p[1], base);
	if (!sum_digits(str_from(token, 2), base, INT64_MAX, &n))
		return fail_range(p, p->at);
	out->type = TOML_INTEGER;
	out->integer = (int64_t)n;
	p->at += token.len;
	return 0;
}

/* After a sign: inf and nan. */
static bool read_special(struct str word, bool is_negative, struct toml *out)
{
	if (str_is(word, "inf"))
		out->real = (double)INFINITY;
	else if (str_is(word, "nan"))
		out->real = (double)NAN;
	else
		return false;
	if (is_negative)
		out->real = -out->real;
	out->type = TOML_FLOAT;
	return true;
}

/* Steps over [.digits][e[+-]digits]; false when a part is malformed. */
static bool skip_fraction(struct str s, size_t *at)
{
	if (*at < s.len && s.p[*at] == '.') {
		(*at)++;
		if (count_digits(s, at, 10) == 0)
			return false;
	}
	if (*at < s.len && ascii_lower(s.p[*at]) == 'e') {
		(*at)++;
		if (*at < s.len && (s.p[*at] == '+' || s.p[*at] == '-'))
			(*at)++;
		if (count_digits(s, at, 10) == 0)
			return false;
	}
	return true;
}

/* All that could belong to a number, so that an error names the whole word. */
static struct str find_token(const struct toml_parser *p)
{
	struct str rest = str_from(p->text, p->at);
	size_t len = 0;

	while (len < rest.len && (ascii_is_digit(rest.p[len]) || ascii_is_alpha(rest.p[len]) ||
				  (rest.p[len] && strchr("+-_.", rest.p[len]))))
		len++;
	return str_first(rest, len);
}

int toml_read_number(struct toml_parser *p, struct toml *out)
{
	struct str token = find_token(p);
	bool has_sign = token.len > 0 && (token.p[0] == '+' || token.p[0] == '-');
	bool is_negative = has_sign && token.p[0] == '-';
	size_t sign = has_sign ? 1 : 0;
	size_t at = sign;
	size_t whole;
	uint64_t n;

	if (read_special(str_from(token, sign), is_negative, out)) {
		p->at += token.len;
		return 0;
	}
	if (token.len > 2 && token.p[0] == '0' && strchr("xob", token.p[1]))
		return read_based(p, token, out);
	if (count_digits(token, &at, 10) == 0)
		return toml_fail(
			p, p->at + at, ERR_SYNTAX,
			"'%.*s' is not a value; a string needs quotes, and underscores in a "
			"number may only stand between digits",
			STR_ARG(token));
	whole = at - sign;
	if (whole > 1 && token.p[sign] == '0')
		return toml_fail(p, p->at, ERR_SYNTAX, "a number can't begin with a zero: '%.*s'",
				 STR_ARG(token));
	if (!skip_fraction(token, &at) || at != token.len)
		return toml_fail(p, p->at + at, ERR_SYNTAX,
				 "'%.*s' is not a number; a string needs quotes", STR_ARG(token));
	if (at > sign + whole) {
		out->type = TOML_FLOAT;
		out->real = real_parse(token);
	} else {
		if (!sum_digits(str_from(token, sign), 10, (uint64_t)INT64_MAX + is_negative, &n))
			return fail_range(p, p->at);
		out->type = TOML_INTEGER;
		/* -2^63 has no positive twin: negate it as unsigned. */
		out->integer = (int64_t)(is_negative ? ~n + 1 : n);
	}
	p->at += token.len;
	return 0;
}
