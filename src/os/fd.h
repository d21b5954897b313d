/* SPDX-License-Identifier: MIT */
/* Closing descriptors, also in processes that were forked from a threaded program. */
#pragma once

#include <stdint.h>

#include "base/macros.h"

/* Closes it if it is open. Keeps errno. */
void fd_done(const int *fd) NONNULL;

/* The same, and sets it to -1. */
static inline void fd_close(int *fd)
{
	fd_done(fd);
	*fd = -1;
}

/*
 * Raises this process's limit of open descriptors as far as allowed and returns it; 0: not known.
 */
uint64_t fd_limit(void);

/* How many this process may have open as it is; 0: not known. */
uint64_t fd_room(void);

/* A descriptor that is closed when the block that declares it is left. */
#define scoped_fd SCOPED(fd_done) int
