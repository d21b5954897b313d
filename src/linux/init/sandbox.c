/* SPDX-License-Identifier: MIT */
/* See sandbox.h. */
#include "linux/init/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "linux/init/init.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/loop.h"

int sandbox_start(struct sandbox *s, struct err *e)
{
	const struct init_order order = { .kind = INIT_START };

	if (!s->waits)
		return 0;
	if (fd_pass_tell(s->channel, &order, sizeof(order), 0) != (ssize_t)sizeof(order))
		return FAIL_START(e, errno, "can't start the command");
	s->waits = false;
	return 0;
}

/* The helper has killed it, or it was never needed. */
static void reap_starter(struct sandbox *s)
{
	if (s->starter < 0)
		return;
	os_kill(s->starter, SIGKILL);
	os_reap(s->starter);
	fd_close(&s->starter);
}

/*
 * PID 1 is its child until it is dead, and a child of this process only then. SECURITY: its
 * number is not freed before the helper is gone, which may kill by it.
 */
static void end_starter(const struct sandbox *s)
{
	struct pollfd dead = { .fd = s->starter, .events = POLLIN };

	if (s->starter < 0)
		return;
	os_kill(s->starter, SIGKILL);
	while (poll(&dead, 1, -1) < 0 && errno == EINTR)
		;
}

void sandbox_reap(const struct sandbox *s, int first)
{
	end_starter(s);
	os_reap(first);
}

bool sandbox_helper_left(struct sandbox *s)
{
	int status;

	if (!s->helper_leaves)
		return false;
	status = os_reap(s->helper);
	fd_close(&s->helper);
	reap_starter(s);
	return status == 0;
}

enum { HELPER_PATIENCE_MS = 1000 };

/* It has reason to end; one that is stopped is made to. */
static void end_helper(struct sandbox *s)
{
	struct pollfd wait = { .fd = s->helper, .events = POLLIN };
	uint64_t until = loop_now() + HELPER_PATIENCE_MS;

	if (s->helper < 0)
		return;
	/* That the host program hears of a child is no reason to kill who reaps the rest. */
	while (poll(&wait, 1, HELPER_PATIENCE_MS) < 0 && errno == EINTR && loop_now() < until)
		;
	os_kill(s->helper, SIGKILL);
	os_reap(s->helper);
	fd_close(&s->helper);
}

void sandbox_close(struct sandbox *s)
{
	fd_close(&s->helper_life);
	fd_close(&s->pidfd);
	fd_close(&s->channel);
	fd_close(&s->listener);
	fd_close(&s->unix_diag);
	fd_close(&s->root);
	for (size_t i = 0; i < COUNT_OF(s->reopened); i++)
		fd_close(&s->reopened[i]);
	for (size_t i = 0; i < s->socket_count; i++)
		fd_close(&s->sockets[i].fd);
	s->socket_count = 0;
	fd_close(&s->user_ns);
	fd_close(&s->mount_ns);
}

void sandbox_done(struct sandbox *s)
{
	sandbox_close(s);
	end_helper(s);
	reap_starter(s);
}
