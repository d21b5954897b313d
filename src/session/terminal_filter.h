/* SPDX-License-Identifier: MIT */
/*
 * What a command's output may not tell the user's terminal while somebody may be asked there: what
 * would hide or fake a question and can't be undone before it, because terminals differ in how, or
 * because it acts at once (a printer, the window, other emulations). It is left out; all else passes
 * as it is. Pure.
 *
 * SECURITY: a sequence is passed on when all of it that matters is known, and what was left out can't
 * join what is before and behind it into another. The terminal is taken for one of UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { FILTER_HELD_BYTES = 192 };

struct terminal_filter {
	int state; /* of the parser */
	int more;  /* bytes of a character in UTF-8, or of a colour, that are to come */
	char held[FILTER_HELD_BYTES]; /* what is not decided yet */
	size_t held_bytes;
	bool is_too_long; /* for `held` */
	uint32_t number;  /* of the operating system command */
	char first;	  /* intermediate byte of an escape sequence */
};

void filter_init(struct terminal_filter *f) NONNULL;

/* Adds at most FILTER_HELD_BYTES more than `bytes` has: what was held before. */
void filter_pass(struct terminal_filter *f, struct str bytes, struct buf *out) NONNULL;
