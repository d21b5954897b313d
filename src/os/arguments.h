/* SPDX-License-Identifier: MIT */
/*
 * The memory that holds the arguments and environment of this program, which the kernel shows to
 * others in /proc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

struct os_arguments {
	char *from;
	size_t bytes;
};

/* Those of this process. 0 or -errno, EINVAL if they can't be found. */
int os_find_arguments(struct os_arguments *out) NONNULL;

/*
 * Notes main()'s argv before anything in it was changed, so that os_find_arguments() needs no look-up.
 */
void os_note_arguments(char **argv) NONNULL;

/*
 * Whether this program can be executed again, by descriptor alone, as the process inside the
 * sandbox: its main() has called cordon_inner_main(), which calls os_note_arguments(), and it needs no
 * other file to start.
 */
bool os_can_be_inner(void);
