/* SPDX-License-Identifier: MIT */
/*
 * Sockets and pipes of macOS. It makes none close-on-exec from birth, so a program that another thread
 * of a host program starts at the same moment could inherit one; Cordon's own commands never do
 * (POSIX_SPAWN_CLOEXEC_DEFAULT).
 */
#include "os/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/posix/native.h"

const int native_no_signal = 0; /* each socket has SO_NOSIGPIPE instead */

static bool prepare(int fd, bool waits)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
	       (waits || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

static int prepare_socket(int fd, bool waits)
{
	const int on = 1;

	if (fd < 0 ||
	    (prepare(fd, waits) && setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof(on)) == 0))
		return fd;
	fd_done(&fd);
	return -1;
}

int native_pipe(int ends[2], bool waits)
{
	if (pipe(ends) < 0)
		return -1;
	if (prepare(ends[0], waits) && prepare(ends[1], waits))
		return 0;
	fd_done(&ends[0]);
	fd_done(&ends[1]);
	return -1;
}

int native_socket(int family, int type, bool waits)
{
	return prepare_socket(socket(family, type, 0), waits);
}

int native_accept(int listener, struct sockaddr *from, socklen_t *size)
{
	return prepare_socket(accept(listener, from, size), false);
}

bool native_peer_user(int fd, uint64_t *uid)
{
	uid_t user;
	gid_t group;

	if (getpeereid(fd, &user, &group) < 0)
		return false;
	*uid = user;
	return true;
}

/* MSG_TRUNC does not discard here: the bytes are copied. */
ssize_t socket_discard(int fd, void *scratch, size_t bytes)
{
	return recv(fd, scratch, bytes, MSG_DONTWAIT);
}

void socket_prepare_local(int fd)
{
	socket_prepare(fd);
}

/* macOS has no such option: binding then says why not. */
void socket_allow_any_address(int fd, bool is_v4)
{
	(void)fd;
	(void)is_v4;
}

/* There is one network. */
bool socket_is_of_host(int fd)
{
	(void)fd;
	return true;
}
