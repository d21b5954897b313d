/* SPDX-License-Identifier: MIT */
/* See fd.h. */
#include "os/fd.h"

#include <errno.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

/* close() that no thread can be cancelled in, which <unistd.h> does not declare. */
int close_without_cancel(int fd) __asm__("_close$NOCANCEL");

void fd_done(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close_without_cancel(*fd);
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

	/* The kernel refuses more than OPEN_MAX, whatever the hard limit says. */
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return 0;
	return files.rlim_max < OPEN_MAX ? files.rlim_max : OPEN_MAX;
}
