/* SPDX-License-Identifier: MIT */
/* See os/fd.h and os/fd_leave.h. */
#include "os/fd.h"

#include <errno.h>

#include "os/windows/handle.h"

void fd_done(const int *fd)
{
	int kept = errno;

	if (*fd >= 0)
		handle_close(*fd);
	errno = kept;
}

/* The table's size; Windows itself knows no such limit. */
uint64_t fd_limit(void)
{
	return 8192;
}

uint64_t fd_room(void)
{
	return 8192;
}
