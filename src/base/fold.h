/* SPDX-License-Identifier: MIT */
/*
 * Names as a volume compares them that ignores case and Unicode composition: full case folding of
 * the canonical decomposition. Two spellings name one file where their folded forms are equal.
 * A byte that is not UTF-8 stays as it is.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum { FOLD_GROWTH = 3 }; /* a folded text has at most that many times the bytes */

/*
 * Adds the folded form of `s` to a buffer with room for FOLD_GROWTH times its length. Separators
 * stay what and where they are between components.
 */
void fold_add(struct buf *out, struct str s) NONNULL;

/* The folded form in `room`. `s` itself if it does not fit, which no path is too long for. */
enum { FOLD_ROOM = FOLD_GROWTH * 4096 + 1 };
struct str fold_in(struct str s, char room[FOLD_ROOM]) NONNULL;

int fold_copy(struct arena *a, struct str s, struct str *out, struct err *e) MUST_CHECK NONNULL;

/* Whether the character at `at` is a combining mark. */
bool fold_is_mark(struct str s, size_t at) NONNULL;

/*
 * Calls `each` for every character but Hangul that folds to something else and whose folded form starts
 * with the byte `first`, in order. For who has to list spellings.
 */
void fold_list(unsigned char first, void (*each)(void *arg, uint32_t c, struct str folded),
	       void *arg);
