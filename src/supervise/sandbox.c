/* SPDX-License-Identifier: MIT */
/* See sandbox.h. */
#include "supervise/sandbox.h"

#include <errno.h>
#include <sys/socket.h>

#include "os/fd.h"
#include "supervise/init.h"

int sandbox_start(struct sandbox *s, struct err *e)
{
	const struct init_order order = { .kind = INIT_START };

	if (!s->waits)
		return 0;
	if (send(s->channel, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order))
		return FAIL_SYS(e, errno, "can't start the command");
	s->waits = false;
	return 0;
}

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
