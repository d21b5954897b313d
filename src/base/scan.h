/* SPDX-License-Identifier: MIT */
/*
 * Finds a short text in a long one, 16 bytes at a time: the C library of the program goes byte by
 * byte. Letters of ASCII may stand for either case.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { SCAN_MAX_BYTES = 64 };

struct scan_needle {
	size_t len;
	/* A byte b of the text is the right one when (b | fold[i]) == bytes[i]. */
	unsigned char bytes[SCAN_MAX_BYTES], fold[SCAN_MAX_BYTES];
	size_t rare[2]; /* the offsets of the two bytes that are looked for */
};

/* Chooses what to look for, once the bytes are there (1 to SCAN_MAX_BYTES). */
void scan_needle_init(struct scan_needle *n) NONNULL;

/* Where it is at or behind `from`; text.len: nowhere. */
size_t scan_find(const struct scan_needle *n, struct str text, size_t from) NONNULL;

/* The position of `c` at or behind `from`, or text.len. */
size_t scan_byte(struct str text, size_t from, char c) PURE;

/* One behind the last `c` before `from`, or 0. */
size_t scan_back(struct str text, size_t from, char c) PURE;

/* How many of `c` there are. */
size_t scan_count(struct str text, char c) PURE;
