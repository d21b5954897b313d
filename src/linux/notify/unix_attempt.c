/* SPDX-License-Identifier: MIT */
/* Takes over a connect(): its socket, and a copy of its address. */
#include "linux/notify/unix_attempt.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/time.h>

static int get_option(int socket, int option, int *out)
{
	socklen_t size = sizeof(*out);

	return getsockopt(socket, SOL_SOCKET, option, out, &size) < 0 ? -errno : 0;
}

static bool has_time_limit(int socket)
{
	struct timeval limit = { .tv_sec = 0 };
	socklen_t size = sizeof(limit);

	return getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, &size) == 0 &&
	       (limit.tv_sec || limit.tv_usec);
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
	/* It is asked for only where the call may wait. */
	t->has_time_limit = !(flags & O_NONBLOCK) && has_time_limit(t->socket);
	return 0;
}

void attempt_done(struct attempt *t)
{
	fd_done(&t->socket);
	fd_done(&t->target);
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
 * SECURITY: this process owns the sandbox's user namespace, and so has capabilities there that the
 * command lacks. For connect() that matters only with netlink: a destination other than the kernel
 * needs CAP_NET_ADMIN, and the command must not get it this way.
 */
int attempt_check_netlink(const struct attempt *t)
{
	struct sockaddr_nl to;

	if (t->domain != AF_NETLINK || t->size < sizeof(to))
		return 0;
	memcpy(&to, &t->address, sizeof(to));
	return to.nl_family == AF_NETLINK && (to.nl_pid || to.nl_groups) ? -EPERM : 0;
}
