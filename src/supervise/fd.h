/* SPDX-License-Identifier: MIT */
/* A descriptor that is closed when the block that declares it is left. */
#pragma once

#include <errno.h>
#include <unistd.h>

#include "base/macros.h"

static inline void scoped_fd_done(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

#define scoped_fd SCOPED(scoped_fd_done) int
