/* SPDX-License-Identifier: MIT */
/*
 * Whoever closes a file last does what is left to do, and waits for it. A process that does so in
 * our place would have to be reaped by somebody: after `cordon` has ended that is the init of the host
 * or of a container, or a host program that calls itself a subreaper, and not all of them do.
 *
 * The kernel's own collector does it without a process (os/shed.h; before 6.9 in the caller).
 *
 * The kernel does that in turn, so a flood of short runs could be faster, and each instance counts for its user
 * (fs.inotify.max_user_instances) until it is freed. So each one takes a place, a name that is free
 * again when the socket is: without a place this process waits itself. Who takes the places away
 * makes others wait, and no more.
 */
#include "os/fd_leave.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/shed.h"

enum { PLACES = 8 };

/* Abstract names: nothing is left in a directory, whatever happens. */
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
	struct shed shed = SHED_NONE;
	bool is_put = shed_open(&shed) && take_place(shed.ends[1]) && shed_put(&shed, fd, 1);

	fd_close(fd);
	return shed_leave(&shed) && is_put;
}
