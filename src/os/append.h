/* SPDX-License-Identifier: MIT */
/* Lines that are written to a file, a pipe or a socket while something else goes on. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/*
 * Opens a file for appending; a missing one is made for its owner alone. A link is not followed.
 * A named pipe needs a reader. ERR_SYS, ERR_POLICY (a link, a directory), ERR_SYNTAX, ERR_LIMIT.
 */
int os_append_open(struct str path, int *out, struct err *e) MUST_CHECK NONNULL;

/*
 * A copy of a descriptor of this process. No program that this process executes gets either of
 * them. ERR_ARGUMENT when it is not open for writing.
 */
int os_append_take(int fd, int *out, struct err *e) MUST_CHECK NONNULL;

/* The path of the regular file that a descriptor is open on, in `room`; "" for anything else. */
struct str os_append_path(int fd, char *room, size_t size) NONNULL;

/* Writes all of it, and waits for a reader that is slow. 0, or -errno. */
int os_append(int fd, struct str bytes);
