/* SPDX-License-Identifier: MIT */
/*
 * Where the words and the environment that a program was started with lie, one behind the
 * other: what stands there the kernel shows to others, in /proc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

struct os_words {
	char *from;
	size_t bytes;
};

/* Those of this process. 0 or -errno, EINVAL when that can't be told. */
int os_find_words(struct os_words *out) NONNULL;

/* What main() was given, before anything of it was changed: then nothing is looked up. */
void os_note_words(char **argv) NONNULL;

/*
 * Whether this program can be started again as what is inside, by its descriptor alone: its main()
 * has called cordon_inner_main(), which notes the words, and it needs no other file to start.
 */
bool os_can_be_inner(void);
