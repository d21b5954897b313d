/* SPDX-License-Identifier: MIT */
/* See graft.h: sends the masker the orders of a transaction, and waits for its answer. */
#include "linux/live/graft.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "linux/placeholder/masker.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/loop.h"

/* The masker may have to look at a file system of the user's (FUSE) that does not answer. */
enum { PATIENCE_MS = 5000 };

static int fail_masker(int os_error, struct err *e)
{
	return FAIL_SYS(e, os_error, "the process that mounts in the sandbox does not answer");
}

/* 0, or the errno. */
static int await(int channel, short events)
{
	const uint64_t until = loop_now() + PATIENCE_MS;
	struct pollfd ready = { .fd = channel, .events = events };
	int r;

	do {
		uint64_t now = loop_now();

		r = poll(&ready, 1, now < until ? (int)(until - now) : 0);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return errno;
	return r == 0 ? ETIMEDOUT : 0;
}

int graft_send(struct masker *m, const struct graft_order *order, struct str path, struct err *e)
{
	UNINITIALIZED struct graft_order sent;
	const size_t fixed = offsetof(struct graft_order, path);
	ssize_t n;
	int r = 0;

	memcpy(&sent, order, fixed);
	/* From the sandbox's root on. */
	if (path.len && path.p[0] == '/')
		path = str_from(path, 1);
	if (path.len >= sizeof(sent.path))
		return FAIL_CAUSE(e, CAUSE_PATH_LIMIT, "a path is too long to be opened");
	memcpy(sent.path, path.p ? path.p : "", path.len);
	do {
		n = fd_pass_tell(m->channel, &sent, fixed + path.len, 0);
		if (n < 0 && errno == EAGAIN)
			r = await(m->channel, POLLOUT);
		else if (n < 0 && errno != EINTR)
			r = errno;
	} while (n < 0 && r == 0);
	if (r)
		return fail_masker(r, e);
	m->asked += graft_is_answered(order->kind);
	return 0;
}

int graft_order(struct masker *m, enum graft_order_kind kind, uint32_t number, struct str path,
		struct err *e)
{
	const struct graft_order order = { .kind = kind, .number = number };

	return graft_send(m, &order, path, e);
}

int graft_wait(struct masker *m, struct graft_answer *out, int *fd, struct err *e)
{
	ssize_t n;

	*fd = -1;
	/* SECURITY: an answer that came too late for who waited for it is about something else. */
	do {
		size_t count = 1;
		int r = await(m->channel, POLLIN);

		fd_done(fd);
		*fd = -1;
		n = r ? -r : fd_pass_receive(m->channel, out, sizeof(*out), fd, &count);
		if (n < 0 || count == 0)
			*fd = -1;
	} while (n == -EAGAIN || n == -EINTR ||
		 (n == (ssize_t)sizeof(*out) && out->serial != m->asked));
	if (n == (ssize_t)sizeof(*out))
		return 0;
	fd_done(fd);
	*fd = -1;
	return fail_masker(n < 0 ? (int)-n : EPIPE, e);
}
