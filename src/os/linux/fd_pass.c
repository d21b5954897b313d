/* SPDX-License-Identifier: MIT */
/* See fd_pass.h. */
#include "os/fd_pass.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)FD_PASS_NO_WAIT == (int)MSG_DONTWAIT, "flags are handed on as they are");

enum { IN_FLIGHT_WAIT_MS = 2000 };

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
};

int fd_pass_open(int ends[2], int flags)
{
	int type = SOCK_SEQPACKET | SOCK_CLOEXEC | (flags & FD_PASS_NO_WAIT ? SOCK_NONBLOCK : 0);

	return socketpair(AF_UNIX, type, 0, ends) < 0 ? -errno : 0;
}

ssize_t fd_pass_hear(int channel, void *data, size_t room)
{
	return recv(channel, data, room, MSG_DONTWAIT | MSG_TRUNC);
}

ssize_t fd_pass_tell(int channel, const void *data, size_t bytes, int flags)
{
	/* The kernel only reads it. */
	struct iovec part = { (void *)(uintptr_t)data, bytes };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return syscall(SYS_sendmsg, channel, &message, MSG_NOSIGNAL | flags);
}

/*
 * Descriptors in flight count against their user, across all processes, and may be no more than the
 * sender's limit of open files (ETOOMANYREFS). If that limit is low, other processes can use it up.
 * It passes when they receive theirs, so try again.
 */
static bool waits_for_others(int flags, int *waited_ms)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	if (errno != ETOOMANYREFS || (flags & MSG_DONTWAIT) || ++*waited_ms > IN_FLIGHT_WAIT_MS)
		return false;
	(void)syscall(SYS_nanosleep, &moment, NULL);
	return true;
}

int fd_pass_send(int channel, void *data, size_t bytes, const int *fds, size_t count, int flags)
{
	size_t size = count * sizeof(*fds);
	struct iovec part = { data, bytes };
	/* The kernel's lengths are wider than those of some C libraries; the rest is 0. */
	union control control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = (socklen_t)CMSG_SPACE(size) };
	int waited_ms = 0;
	long n;

	if (count == 0 || count > FD_PASS_MAX)
		return -EINVAL;
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = (socklen_t)CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.header), fds, size);
	do
		n = syscall(SYS_sendmsg, channel, &message, MSG_NOSIGNAL | flags);
	while (n < 0 && (errno == EINTR || waits_for_others(flags, &waited_ms)));
	return n < 0 ? -errno : 0;
}

static void close_each(int *fds, size_t *count)
{
	while (*count > 0)
		(void)syscall(SYS_close, fds[--*count]);
}

ssize_t fd_pass_receive(int channel, void *data, size_t room, int *fds, size_t *count)
{
	size_t size = MIN_OF(*count, (size_t)FD_PASS_MAX) * sizeof(*fds);
	struct iovec part = { data, room };
	union control control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = (socklen_t)CMSG_LEN(size) };
	const struct cmsghdr *header;
	long n;

	*count = 0;
	do
		n = syscall(SYS_recvmsg, channel, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		size = MIN_OF(header->cmsg_len - CMSG_LEN(0), size);
		memcpy(fds, CMSG_DATA(header), size);
		*count = size / sizeof(*fds);
	}
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		close_each(fds, count);
	return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}

static int set_asking(int channel, int is_on)
{
	return setsockopt(channel, SOL_SOCKET, SO_PASSCRED, &is_on, sizeof(is_on)) < 0 ? -errno : 0;
}

int fd_pass_ask_sender(int channel)
{
	return set_asking(channel, 1);
}

ssize_t fd_pass_receive_from(int channel, void *data, size_t room, pid_t *sender)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control = { .space = { 0 } };
	struct iovec part = { data, room };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = sizeof(control.space) };
	const struct cmsghdr *header;
	struct ucred who;
	ssize_t n;

	do
		n = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS ||
	    header->cmsg_len != CMSG_LEN(sizeof(who)))
		return -EPROTO;
	memcpy(&who, CMSG_DATA(header), sizeof(who));
	*sender = who.pid;
	return set_asking(channel, 0) < 0 ? -EPROTO : n;
}
