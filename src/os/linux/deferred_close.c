/* SPDX-License-Identifier: MIT */
/* See deferred_close.h. */
#include "os/deferred_close.h"

#include <sys/socket.h>

#include "os/fd.h"
#include "os/fd_pass.h"

/* If the kernel refuses (full queue, limit), the caller's close is the last. */
static bool send_all(const struct deferred_close *s, const int *fds, size_t count)
{
	char unused = 0;

	return fd_pass_send(s->ends[0], &unused, sizeof(unused), fds, count, MSG_DONTWAIT) == 0;
}

bool deferred_close_open(struct deferred_close *s)
{
	return s->ends[0] >= 0 || socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, s->ends) == 0;
}

bool deferred_close_add(struct deferred_close *s, const int *fds, size_t count)
{
	return count > 0 && deferred_close_open(s) && send_all(s, fds, count);
}

bool deferred_close_finish(struct deferred_close *s)
{
	bool is_left = s->ends[0] >= 0 && send_all(s, &s->ends[1], 1);

	fd_close(&s->ends[1]);
	fd_close(&s->ends[0]); /* the close that makes the pair unreachable */
	return is_left;
}
