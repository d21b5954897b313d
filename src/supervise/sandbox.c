/* SPDX-License-Identifier: MIT */
/* See sandbox.h. */
#include "supervise/sandbox.h"

#include <unistd.h>

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void sandbox_done(struct sandbox *s)
{
	close_one(&s->pidfd);
	close_one(&s->channel);
	close_one(&s->listener);
	close_one(&s->unix_diag);
	close_one(&s->root);
	close_one(&s->user_ns);
	close_one(&s->mount_ns);
}
