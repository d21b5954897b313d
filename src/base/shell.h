/* SPDX-License-Identifier: MIT */
/* Command lines that people paste into a shell. */
#pragma once

#include "base/buf.h"

/*
 * `word` as one word of a POSIX shell: unchanged if nothing in it is special, else within '...'.
 * Whoever prints the line must escape control characters; it can't be pasted then.
 */
void shell_add_word(struct buf *b, struct str word) NONNULL;
