/* SPDX-License-Identifier: MIT */
/*
 * What a process shows of itself: the program that it executes, its arguments and its directory.
 *
 * SECURITY: the process writes its arguments itself and can change them at any time. They are shown to
 * a person, and nothing is decided by them.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum {
	CALLER_MAX_WORDS = 256,	       /* ASK_MAX_ARGV */
	CALLER_WORDS_BYTES = 16 << 10, /* what is beyond is left out */
};

struct caller_words {
	char text[CALLER_WORDS_BYTES];
	size_t used;
	struct str words[CALLER_MAX_WORDS];
	size_t count;
	struct str program; /* as the path is inside; "": not known */
	struct str cwd;	    /* likewise */
};

/* The thread may be gone: ask engine_is_waiting() afterwards, or look at a pidfd. */
void caller_read_words(int32_t pid, struct caller_words *out) NONNULL;
