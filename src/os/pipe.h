/* SPDX-License-Identifier: MIT */
/* Moving bytes between sockets through a pipe, without copying them into this process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"

struct pipe {
	int in, out; /* -1: none */
};

/*
 * Makes room for about `bytes`. False: no descriptors are left, or this system can't: copy instead.
 */
bool pipe_open(struct pipe *out, size_t bytes) NONNULL;

/* How many bytes were moved; -1 and errno, EAGAIN instead of waiting. 0: `socket` has closed. */
ssize_t pipe_fill(const struct pipe *p, int socket, size_t bytes) NONNULL;
ssize_t pipe_empty(const struct pipe *p, int socket, size_t bytes) NONNULL;
