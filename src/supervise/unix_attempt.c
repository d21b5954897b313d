/* SPDX-License-Identifier: MIT */
/* Takes over a connect() and makes it here, with the rights of its caller. */
#include "supervise/unix_attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "supervise/caller.h"
#include "supervise/fd.h"
#include "supervise/rights.h"

/*
 * Of the kernel's inside: "restart the call, or EINTR, as the handler of the
 * signal wants it". Only for a caller for whom a signal waits; else it would see
 * the number itself.
 */
enum { RESTART = 512 }; /* ERESTARTSYS */

static int get_option(int socket, int option, int *out)
{
	socklen_t size = sizeof(*out);

	return getsockopt(socket, SOL_SOCKET, option, out, &size) < 0 ? -errno : 0;
}

static uint64_t find_deadline(int socket)
{
	struct timeval limit = { .tv_sec = 0 };
	socklen_t size = sizeof(limit);

	if (getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) < 0 ||
	    (limit.tv_sec == 0 && limit.tv_usec == 0))
		return 0;
	return loop_now() + (uint64_t)limit.tv_sec * 1000 + (uint64_t)limit.tv_usec / 1000;
}

int attempt_init(struct attempt *t, const struct engine *engine, const struct engine_call *call)
{
	int size = (int)call->args[2];
	int flags, r;

	*t = (struct attempt)ATTEMPT_NONE;
	t->call = *call;
	/* The order is the kernel's: the descriptor, the address, what it is a descriptor of. */
	t->socket = engine_take_fd(engine, call, (int)call->args[0]);
	if (t->socket < 0)
		return t->socket;
	flags = fcntl(t->socket, F_GETFL);
	if (flags < 0 || flags & O_PATH)
		return -EBADF;
	if (size < 0 || (size_t)size > sizeof(t->address))
		return -EINVAL;
	r = engine_read(engine, call, call->args[1], &t->address, (size_t)size);
	if (r == 0)
		r = get_option(t->socket, SO_DOMAIN, &t->domain);
	if (r == 0)
		r = get_option(t->socket, SO_TYPE, &t->type);
	if (r < 0)
		return r;
	t->size = (socklen_t)size;
	t->is_blocking = !(flags & O_NONBLOCK);
	if (t->is_blocking)
		t->deadline_ms = find_deadline(t->socket);
	return 0;
}

void attempt_done(struct attempt *t)
{
	scoped_fd_done(&t->socket);
	scoped_fd_done(&t->target);
	t->socket = t->target = -1;
}

bool attempt_has_path(struct attempt *t)
{
	size_t from = offsetof(struct sockaddr_un, sun_path);

	if (t->domain != AF_UNIX || t->size <= from || t->size > sizeof(t->address.path) ||
	    t->address.path.sun_family != AF_UNIX || t->address.path.sun_path[0] == '\0')
		return false;
	/* As the kernel has it: a path may fill the address without a NUL. */
	((char *)&t->address)[t->size] = '\0';
	return true;
}

/*
 * SECURITY: this process owns the sandbox's user namespace and so may do there what
 * the command may not. Of a connect that matters for netlink alone: with a
 * destination other than the kernel it takes CAP_NET_ADMIN.
 */
static int check_netlink(const struct attempt *t)
{
	struct sockaddr_nl to;

	if (t->domain != AF_NETLINK || t->size < sizeof(to))
		return 0;
	memcpy(&to, &t->address, sizeof(to));
	return to.nl_family == AF_NETLINK && (to.nl_pid || to.nl_groups) ? -EPERM : 0;
}

static int connect_here(const struct attempt *t)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	struct rights rights;
	int r = rights_put_down(&rights);

	if (r < 0)
		return r;
	/* By descriptor: what was judged is what is connected, however long its path. */
	if (t->target >= 0) {
		(void)snprintf(path.sun_path, sizeof(path.sun_path), "/proc/thread-self/fd/%d",
			       t->target);
		r = connect(t->socket, (struct sockaddr *)&path, sizeof(path));
	} else {
		r = connect(t->socket, &t->address.any, t->size);
	}
	r = r < 0 ? -errno : 0;
	rights_take_up(&rights);
	return r;
}

int attempt_connect(struct attempt *t)
{
	int on = 1, off = 0;
	int r = check_netlink(t);

	if (r < 0)
		return r;
	if (!t->is_blocking)
		return connect_here(t);
	/* The flag alone, not all flags: another thread may be changing those. */
	if (ioctl(t->socket, FIONBIO, &on) < 0)
		return -errno;
	r = connect_here(t);
	(void)ioctl(t->socket, FIONBIO, &off);
	if (t->domain == AF_UNIX ? r == -EAGAIN : r == -EINPROGRESS || r == -EALREADY)
		return ATTEMPT_WAITS;
	return r;
}

int attempt_timed_out(const struct attempt *t)
{
	return t->domain == AF_UNIX ? -EAGAIN : -EINPROGRESS;
}

int attempt_interrupted(const struct attempt *t)
{
	return t->deadline_ms ? -EINTR : -RESTART;
}
