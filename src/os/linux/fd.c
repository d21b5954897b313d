/* SPDX-License-Identifier: MIT */
/* See fd.h. */
#include "os/fd.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void fd_done(const int *fd)
{
	int saved = errno;

	/* The raw call, because the C library's close() is a cancellation point. */
	if (*fd >= 0)
		(void)syscall(SYS_close, *fd);
	errno = saved;
}

uint64_t fd_room(void)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) < 0 ? 0 : files.rlim_cur;
}

uint64_t fd_limit(void)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) < 0 ? 0 : files.rlim_max;
}
