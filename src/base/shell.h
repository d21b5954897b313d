/* SPDX-License-Identifier: MIT */
/* Command lines that people paste into a shell. */
#pragma once

#include "base/buf.h"

/*
 * `word` as one word of a POSIX shell: as it is where nothing in it is special, else within '...'.
 * Control characters are for who prints the line to escape, and it can't be pasted then.
 */
void shell_add_word(struct buf *b, struct str word) NONNULL;
