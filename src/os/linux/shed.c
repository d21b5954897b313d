/* SPDX-License-Identifier: MIT */
/* See shed.h. */
#include "os/shed.h"

#include <sys/socket.h>

#include "os/fd.h"
#include "os/fd_pass.h"

static void send_all(const struct shed *s, const int *fds, size_t count)
{
	char unused = 0;
	/* Where it is refused (a queue that is full, a limit), the caller's close is the last. */
	int r = fd_pass_send(s->ends[0], &unused, sizeof(unused), fds, count, MSG_DONTWAIT);

	(void)r;
}

void shed_put(struct shed *s, const int *fds, size_t count)
{
	if (count == 0 ||
	    (s->ends[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, s->ends) < 0))
		return;
	send_all(s, fds, count);
}

void shed_leave(struct shed *s)
{
	if (s->ends[0] < 0)
		return;
	send_all(s, &s->ends[1], 1);
	fd_close(&s->ends[0]);
	fd_close(&s->ends[1]);
}
