/* SPDX-License-Identifier: MIT */
/*
 * Closing descriptors. With the raw call: the C library's close() is where a
 * thread can be cancelled, and this is also used in processes that were forked
 * from a threaded program.
 */
#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"

/* Closes what is open, and keeps errno. */
static inline void fd_done(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)syscall(SYS_close, *fd);
	errno = saved;
}

/* The same, and then there is none: -1. */
static inline void fd_close(int *fd)
{
	fd_done(fd);
	*fd = -1;
}

/* A descriptor that is closed when the block that declares it is left. */
#define scoped_fd SCOPED(fd_done) int
