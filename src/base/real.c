/* SPDX-License-Identifier: MIT */
/*
 * See real.h. Reading is exact long division of big integers: the simplest way
 * that is right for every input, and fast enough for the few reals that policy
 * and protocol texts hold. All sizes are fixed, whatever the text's length.
 */
#include "base/real.h"

#include <stdint.h>
#include <stdio.h>

enum {
	/* No tie between two doubles needs more digits; a nonzero rest becomes one "1". */
	MOST_DIGITS = 768,
	/* Decimal exponents of the first digit past which all is infinity or zero. */
	HIGHEST = 310,
	LOWEST = -326,
	/* 10^(MOST_DIGITS + 1 - LOWEST) needs 3638 bits; shifts add less than 1200. */
	LIMBS = 160,
};

/* A natural number, least significant limb first, no zero limbs at the top. */
struct big {
	uint32_t limb[LIMBS];
	size_t count;
};

static void big_mul_add(struct big *n, uint32_t factor, uint32_t add)
{
	uint64_t carry = add;

	for (size_t i = 0; i < n->count; i++) {
		carry += (uint64_t)n->limb[i] * factor;
		n->limb[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry)
		n->limb[n->count++] = (uint32_t)carry;
}

static void big_scale_ten(struct big *n, int power)
{
	for (; power >= 9; power -= 9)
		big_mul_add(n, 1000000000, 0);
	for (; power > 0; power--)
		big_mul_add(n, 10, 0);
}

static void big_shift_left(struct big *n, int bits)
{
	for (; bits >= 31; bits -= 31)
		big_mul_add(n, UINT32_C(1) << 31, 0);
	if (bits > 0)
		big_mul_add(n, UINT32_C(1) << bits, 0);
}

static int big_cmp(const struct big *a, const struct big *b)
{
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (size_t i = a->count; i-- > 0;)
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

/* a -= b, where a >= b. */
static void big_subtract(struct big *a, const struct big *b)
{
	uint64_t borrow = 0;

	for (size_t i = 0; i < a->count; i++) {
		uint64_t take = (i < b->count ? b->limb[i] : 0) + borrow;

		borrow = a->limb[i] < take;
		a->limb[i] = (uint32_t)(a->limb[i] - take);
	}
	while (a->count && a->limb[a->count - 1] == 0)
		a->count--;
}

static int big_bits(const struct big *n)
{
	uint32_t top = n->count ? n->limb[n->count - 1] : 0;
	int bits = 0;

	for (; top; top >>= 1)
		bits++;
	return n->count ? (int)(n->count - 1) * 32 + bits : 0;
}

/* The double nearest to n / d, both positive, by its bits. */
static uint64_t divide(struct big *n, struct big *d)
{
	int exponent = big_bits(n) - big_bits(d);
	int digits;
	uint64_t q = 0;
	int rest;

	/* Scale until 1 <= n / d < 2; the value is then n / d * 2^exponent. */
	if (exponent > 0)
		big_shift_left(d, exponent);
	else
		big_shift_left(n, -exponent);
	if (big_cmp(n, d) < 0) {
		big_shift_left(n, 1);
		exponent--;
	}
	if (exponent > 1023)
		return UINT64_C(0x7FF) << 52;
	digits = exponent < -1022 ? 53 + 1022 + exponent : 53;
	if (digits < 0)
		return 0;
	for (int i = 0; i < digits; i++) {
		q <<= 1;
		if (big_cmp(n, d) >= 0) {
			big_subtract(n, d);
			q |= 1;
		}
		big_shift_left(n, 1);
	}
	rest = big_cmp(n, d);
	if (rest > 0 || (rest == 0 && (q & 1)))
		q++;
	/* A carry out of the fraction lands in the exponent, up to infinity: as it should. */
	if (exponent < -1022)
		return q;
	return ((uint64_t)(exponent + 1022) << 52) + q;
}

/* What a text says, before it is a double: digits * 10^exponent. */
struct decimal {
	struct big digits;
	int kept; /* significant digits in `digits` */
	int64_t exponent;
	bool is_negative;
};

static int64_t read_exponent(struct str text, size_t at)
{
	bool is_negative = false;
	int64_t n = 0;

	for (; at < text.len; at++) {
		if (text.p[at] == '-')
			is_negative = true;
		else if (ascii_is_digit(text.p[at]) && n < INT64_C(1) << 40)
			n = n * 10 + (text.p[at] - '0');
	}
	return is_negative ? -n : n;
}

static void add_digit(struct decimal *d, char c, bool is_fraction, bool *has_rest)
{
	if (d->kept == 0 && c == '0') {
		d->exponent -= is_fraction;
		return;
	}
	if (d->kept == MOST_DIGITS) {
		d->exponent += !is_fraction;
		*has_rest = *has_rest || c != '0';
		return;
	}
	big_mul_add(&d->digits, 10, (uint32_t)(c - '0'));
	d->kept++;
	d->exponent -= is_fraction;
}

static void read_decimal(struct str text, struct decimal *d)
{
	bool is_fraction = false;
	bool has_rest = false;

	for (size_t at = 0; at < text.len; at++) {
		char c = text.p[at];

		if (c == 'e' || c == 'E') {
			d->exponent += read_exponent(text, at + 1);
			break;
		}
		if (ascii_is_digit(c))
			add_digit(d, c, is_fraction, &has_rest);
		else if (c == '.')
			is_fraction = true;
		else if (c == '-')
			d->is_negative = true;
	}
	if (has_rest) {
		big_mul_add(&d->digits, 10, 1);
		d->kept++;
		d->exponent--;
	}
}

double real_parse(struct str text)
{
	struct decimal d = { .kept = 0 };
	struct big divisor = { .limb = { 1 }, .count = 1 };
	uint64_t bits;
	double value;

	read_decimal(text, &d);
	if (d.kept == 0 || d.exponent + d.kept < LOWEST) {
		bits = 0;
	} else if (d.exponent + d.kept > HIGHEST) {
		bits = UINT64_C(0x7FF) << 52;
	} else {
		if (d.exponent >= 0)
			big_scale_ten(&d.digits, (int)d.exponent);
		else
			big_scale_ten(&divisor, (int)-d.exponent);
		bits = divide(&d.digits, &divisor);
	}
	if (d.is_negative)
		bits |= UINT64_C(1) << 63;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Copies what snprintf made, with '.' for whatever the locale puts in its place. */
static void copy_neutral(const char *made, char out[REAL_TEXT_BYTES])
{
	bool has_mark = false;
	size_t used = 0;

	for (; *made && used < REAL_TEXT_BYTES - 3; made++) {
		bool is_plain = ascii_is_digit(*made) || *made == '-' || *made == '+' ||
				*made == 'e';

		if (is_plain)
			out[used++] = *made;
		else if (!has_mark)
			out[used++] = '.';
		has_mark = has_mark || !is_plain || *made == 'e';
	}
	if (!has_mark) {
		out[used++] = '.';
		out[used++] = '0';
	}
	out[used] = '\0';
}

const char *real_print(double value, char out[REAL_TEXT_BYTES])
{
	char made[REAL_TEXT_BYTES];

	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(made, sizeof(made), "%.*g", digits, value);
		copy_neutral(made, out);
		if (real_is_same(real_parse(str_of(out)), value))
			break;
	}
	return out;
}
