/* SPDX-License-Identifier: MIT */
/*
 * See fd_pass.h. macOS has no SOCK_SEQPACKET between processes, so a message is a datagram of a pair; the
 * end of the other side is ECONNRESET, which counts as the end.
 */
#include "os/fd_pass.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/fd.h"

enum { OWN_NO_WAIT = 0x80, BUFFER_BYTES = 256 << 10 };
_Static_assert(OWN_NO_WAIT == MSG_DONTWAIT, "flags are translated");

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(FD_PASS_MAX * sizeof(int))];
};

static int own_flags(int flags)
{
	return flags & FD_PASS_NO_WAIT ? MSG_DONTWAIT : 0;
}

static bool prepare(int fd, int flags)
{
	const int on = 1, room = BUFFER_BYTES;

	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) == 0 &&
	       (!(flags & FD_PASS_NO_WAIT) || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
}

int fd_pass_open(int ends[2], int flags)
{
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
		return -errno;
	if (!prepare(ends[0], flags) || !prepare(ends[1], flags)) {
		int error = errno;

		fd_done(&ends[0]);
		fd_done(&ends[1]);
		return -error;
	}
	return 0;
}

static ssize_t send_message(int channel, const struct msghdr *message, int flags)
{
	ssize_t n;

	do
		n = sendmsg(channel, message, own_flags(flags));
	while (n < 0 && errno == EINTR);
	/* A full queue is told so here. */
	if (n < 0 && errno == ENOBUFS)
		errno = EAGAIN;
	return n;
}

ssize_t fd_pass_tell(int channel, const void *data, size_t bytes, int flags)
{
	/* The kernel only reads it. */
	struct iovec part = { (void *)(uintptr_t)data, bytes };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	return send_message(channel, &message, flags);
}

ssize_t fd_pass_hear(int channel, void *data, size_t room)
{
	struct iovec part = { data, room };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n = recvmsg(channel, &message, MSG_DONTWAIT);

	if (n < 0)
		return errno == ECONNRESET ? 0 : -1;
	return message.msg_flags & MSG_TRUNC ? (ssize_t)room + 1 : n;
}

int fd_pass_send(int channel, void *data, size_t bytes, const int *fds, size_t count, int flags)
{
	size_t size = count * sizeof(*fds);
	struct iovec part = { data, bytes };
	union control control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = (socklen_t)CMSG_SPACE(size) };

	if (count == 0 || count > FD_PASS_MAX)
		return -EINVAL;
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = (socklen_t)CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.header), fds, size);
	return send_message(channel, &message, flags) < 0 ? -errno : 0;
}

static void close_each(int *fds, size_t *count)
{
	while (*count > 0)
		fd_done(&fds[--*count]);
}

ssize_t fd_pass_receive(int channel, void *data, size_t room, int *fds, size_t *count)
{
	size_t size = MIN_OF(*count, (size_t)FD_PASS_MAX) * sizeof(*fds);
	struct iovec part = { data, room };
	union control control = { .space = { 0 } };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.space,
				  .msg_controllen = (socklen_t)CMSG_SPACE(size) };
	struct cmsghdr *header;
	ssize_t n;

	*count = 0;
	do
		n = recvmsg(channel, &message, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		size = MIN_OF(header->cmsg_len - CMSG_LEN(0), size);
		memcpy(fds, CMSG_DATA(header), size);
		*count = size / sizeof(*fds);
	}
	for (size_t i = 0; i < *count; i++)
		(void)fcntl(fds[i], F_SETFD, FD_CLOEXEC);
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		close_each(fds, count);
	return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}
