/* SPDX-License-Identifier: MIT */
/*
 * The process of quick_connect.h. It is forked without exec from what may be a threaded
 * program: async-signal-safe calls only, and the raw ones where the C library's could
 * cancel a thread.
 */
#include "supervise/quick_process.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "os/fd.h"
#include "proxy/channel.h"
#include "supervise/destination.h"

/* Newer than some C libraries; the number is that of all the architectures here. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum {
	CHANNEL = CONNECTOR_CHANNEL, /* its descriptors */
	LISTENER,
	PROXY,
	PIDFD_OF_THREAD = O_EXCL, /* PIDFD_THREAD, Linux 6.9 */
};

static uint64_t now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static const struct quick_known *find_known(const struct quick_job *j, int32_t pid)
{
	const struct quick_known *k = &j->shared->known[(uint32_t)pid % QUICK_KNOWN];

	return k->pid == pid && now_ms() < k->until_ms ? k : NULL;
}

static int take_by(int thread, const struct engine_call *call)
{
	return thread < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, thread, (int)call->args[0], 0);
}

/* The caller's socket, or -1. */
static int take_socket(struct quick_job *j, const struct engine_call *call)
{
	int socket = j->pid == call->pid ? take_by(j->thread, call) : -1;

	if (socket >= 0)
		return socket;
	fd_done(&j->thread);
	j->pid = call->pid;
	j->thread = (int)syscall(SYS_pidfd_open, call->pid, PIDFD_OF_THREAD);
	return take_by(j->thread, call);
}

static bool read_address(const struct engine_call *call, struct attempt *t)
{
	struct iovec here = { .iov_base = &t->address };
	struct iovec there = { .iov_base = NULL };

	t->size = (socklen_t)call->args[2];
	if ((int)call->args[2] <= 0 || t->size > sizeof(t->address.storage))
		return false;
	memcpy(&there.iov_base, &call->args[1], sizeof(there.iov_base));
	here.iov_len = there.iov_len = t->size;
	return syscall(SYS_process_vm_readv, call->pid, &here, 1, &there, 1, 0) == (long)t->size;
}

static bool read_socket(const struct quick_job *j, struct attempt *t)
{
	socklen_t size = sizeof(t->domain), bytes = sizeof(uint64_t);
	uint64_t network = 0;
	int flags = fcntl(t->socket, F_GETFL);

	if (flags < 0 || flags & O_PATH || !(flags & O_NONBLOCK))
		return false;
	return getsockopt(t->socket, SOL_SOCKET, SO_DOMAIN, &t->domain, &size) == 0 &&
	       getsockopt(t->socket, SOL_SOCKET, SO_TYPE, &t->type, &size) == 0 &&
	       getsockopt(t->socket, SOL_SOCKET, SO_NETNS_COOKIE, &network, &bytes) == 0 &&
	       /* SECURITY: of this family nothing leads out of that network. */
	       (t->domain == AF_INET || t->domain == AF_INET6) && network == j->network;
}

static void tell_proxy(const struct attempt *t, const struct quick_known *k,
		       const struct destination *source)
{
	struct proxy_order order = { .kind = PROXY_HAS_CONNECTED,
				     .id = t->call.id,
				     .address = source->ip,
				     .port = source->port,
				     .pid = k->inner };

	_Static_assert(sizeof(order.program) == sizeof(k->program), "a name fits");
	memcpy(order.program, k->program, sizeof(order.program));
	order.program[sizeof(order.program) - 1] = '\0';
	/* That it could not be told costs a name in the audit. */
	(void)syscall(SYS_sendto, PROXY, &order, sizeof(order), MSG_DONTWAIT | MSG_NOSIGNAL, NULL,
		      0);
}

static bool find_source(int socket, struct destination *out)
{
	struct sockaddr_storage source;
	socklen_t size = sizeof(source);

	return syscall(SYS_getsockname, socket, &source, &size) == 0 &&
	       destination_parse(&source, size, out);
}

static void make(struct quick_job *j, struct attempt *t, const struct quick_known *k, bool is_told)
{
	long result = connector_connect(t->socket, &t->address, t->size);
	struct destination source;

	is_told = is_told && (result == 0 || result == -EINPROGRESS) &&
		  find_source(t->socket, &source);
	/* Before the answer: the last close of a socket may wait, as the call would. */
	fd_done(&t->socket);
	notification_reply(LISTENER, t->call.id, result);
	j->shared->made++;
	if (is_told)
		tell_proxy(t, k, &source);
}

/* False: it was not answered. */
static bool answer(struct quick_job *j, const struct engine_call *call)
{
	struct attempt t = ATTEMPT_NONE;
	const struct quick_known *k = call->number == SYS_connect ? find_known(j, call->pid) : NULL;
	struct destination d;
	enum destination_way way;

	t.call = *call;
	t.socket = k ? take_socket(j, call) : -1;
	if (t.socket < 0)
		return false;
	/* SECURITY: that pid was the caller's then only if it is still waiting. */
	if (read_address(call, &t) && read_socket(j, &t) &&
	    notification_is_waiting(LISTENER, call->id)) {
		way = destination_find(&t, &d);
		if (way == DESTINATION_PROXY || way == DESTINATION_FREE) {
			make(j, &t, k, way == DESTINATION_PROXY);
			return true;
		}
	}
	fd_done(&t.socket);
	return false;
}

static void hand_on(const struct engine_call *call)
{
	long n;

	do
		n = syscall(SYS_sendto, CHANNEL, call, sizeof(*call), MSG_NOSIGNAL, NULL, 0);
	while (n < 0 && errno == EINTR);
	if (n != (long)sizeof(*call))
		connector_end(1);
}

/* When all who have the filter are dead there is nothing to receive; the end comes soon. */
static void rest_if_over(void)
{
	struct pollfd listener = { .fd = LISTENER };
	struct timespec now = { .tv_sec = 0 };

	while (syscall(SYS_ppoll, &listener, 1, &now, NULL, 0) > 0 && listener.revents & POLLHUP)
		(void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

static bool may_receive(struct quick_shared *shared)
{
	int busy = QUICK_BUSY;

	return atomic_compare_exchange_strong(&shared->state, &busy, QUICK_RECEIVES);
}

void quick_run(void *arg)
{
	struct quick_job *j = arg;

	if (!connector_settle(j->fds, COUNT_OF(j->fds)))
		connector_end(1);
	while (may_receive(j->shared)) {
		struct engine_call call;
		int r = notification_receive(LISTENER, &call);

		j->shared->state = QUICK_BUSY;
		j->shared->turns++;
		if (r == 0 && !answer(j, &call))
			hand_on(&call);
		else if (r == -ENOENT)
			rest_if_over();
		else if (r < 0 && r != -EINTR && r != -EAGAIN)
			connector_end(1);
	}
	connector_end(0);
}
