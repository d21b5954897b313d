/* SPDX-License-Identifier: MIT */
/*
 * Whoever closes a file last does the remaining work, and waits for it. If a child process did it
 * for us, somebody would have to reap that child: after `cordon` has ended, the init of the host or
 * container, or a host program that is a subreaper. Not all of them do.
 *
 * The kernel's garbage collector of sockets does it without a process (os/deferred_close.h; before 6.9 in the
 * caller).
 *
 * The collector is sequential, so a flood of short runs could outrun it, and each inotify instance
 * counts against its user (fs.inotify.max_user_instances) until it is freed. So each pending close
 * holds one of a few abstract socket names, which becomes free together with the socket. If none is
 * free, this process does the work itself. A program that takes all the names makes others wait,
 * and no more.
 */
#include "os/fd_leave.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/deferred_close.h"
#include "os/fd.h"

enum { PLACES = 8 };

/* Abstract names leave nothing behind in a directory. */
static bool take_place(int fd)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	for (int i = 0; i < PLACES; i++) {
		int n = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
				 "cordon-closes-%u-%d", (unsigned)geteuid(), i);

		if (bind(fd, (const struct sockaddr *)&name,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) == 0)
			return true;
	}
	return false;
}

bool fd_leave(int *fd)
{
	struct deferred_close deferred = DEFERRED_CLOSE_NONE;
	bool is_put = deferred_close_open(&deferred) && take_place(deferred.ends[1]) &&
		      deferred_close_add(&deferred, fd, 1);

	fd_close(fd);
	return deferred_close_finish(&deferred) && is_put;
}
