/* SPDX-License-Identifier: MIT */
/* See pipe.h: macOS has no splice(), so bytes are copied. */
#include "os/pipe.h"

#include <errno.h>

bool pipe_open(struct pipe *out, size_t bytes)
{
	(void)bytes;
	*out = (struct pipe){ .in = -1, .out = -1 };
	return false;
}

ssize_t pipe_fill(const struct pipe *p, int socket, size_t bytes)
{
	(void)p;
	(void)socket;
	(void)bytes;
	errno = ENOTSUP;
	return -1;
}

ssize_t pipe_empty(const struct pipe *p, int socket, size_t bytes)
{
	return pipe_fill(p, socket, bytes);
}
