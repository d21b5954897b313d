/* SPDX-License-Identifier: MIT */
/* Which words of a command, as a setting or a variable holds it, may be files that it runs. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* `is_clear`: a shell would make nothing else of the word. */
typedef int command_word(void *arg, struct str word, bool is_clear);

/*
 * Calls `each` for every word with a slash, and for every word behind a program that runs what its
 * arguments say ("sh clean.sh"). "." stands for a program that runs what is in the working directory ("make"), or
 * what it reads ("sh"). Stops when `each` returns non-zero, and returns that.
 *
 * SECURITY: this is no shell. Quotes do not keep words together, so what is behind `sh -c` counts too, and no
 * word ends what an interpreter before it may run.
 */
int command_words_each(struct str text, command_word *each, void *arg) MUST_CHECK;
