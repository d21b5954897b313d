/* SPDX-License-Identifier: MIT */
/*
 * Decimal text to double and back, exactly rounded and without the locale: in a
 * host program that called setlocale(), the C library would read "1.5" as 1.
 */
#pragma once

#include "base/str.h"

enum { REAL_TEXT_BYTES = 40 };

/*
 * The double nearest to `text`, which the caller has checked: [+-] digits [. digits]
 * [e|E [+-] digits], with underscores between digits ignored. Ties go to even;
 * what is too large becomes infinity, what is too small zero.
 */
double real_parse(struct str text) PURE;

/*
 * The shortest of 15 to 17 digits that reads back as `value`, always with a
 * '.' or an exponent, so that it stays a real. `value` is finite. Returns `out`.
 */
const char *real_print(double value, char out[REAL_TEXT_BYTES]) NONNULL;

/* Bit for bit the same: 0 and -0 are not, nan and itself are. */
static inline bool real_is_same(double a, double b)
{
	uint64_t left, right;

	memcpy(&left, &a, sizeof(left));
	memcpy(&right, &b, sizeof(right));
	return left == right;
}
