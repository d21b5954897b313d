/* SPDX-License-Identifier: MIT */
/* See pipe.h. */
#include "os/pipe.h"

#include <fcntl.h>
#include <unistd.h>

bool pipe_open(struct pipe *out, size_t bytes)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return false;
	/* A pipe of the default size works too, in more steps. */
	(void)fcntl(ends[1], F_SETPIPE_SZ, (int)bytes);
	*out = (struct pipe){ .in = ends[1], .out = ends[0] };
	return true;
}

ssize_t pipe_fill(const struct pipe *p, int socket, size_t bytes)
{
	return splice(socket, NULL, p->in, NULL, bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}

ssize_t pipe_empty(const struct pipe *p, int socket, size_t bytes)
{
	return splice(p->out, NULL, socket, NULL, bytes, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}
