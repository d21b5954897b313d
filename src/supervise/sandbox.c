/* SPDX-License-Identifier: MIT */
/* See sandbox.h. */
#include "supervise/sandbox.h"

#include "os/fd.h"

void sandbox_done(struct sandbox *s)
{
	fd_close(&s->pidfd);
	fd_close(&s->channel);
	fd_close(&s->listener);
	fd_close(&s->unix_diag);
	fd_close(&s->root);
	fd_close(&s->user_ns);
	fd_close(&s->mount_ns);
}
