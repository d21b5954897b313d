/* SPDX-License-Identifier: MIT */
/* When a file was made and last changed. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/macros.h"

struct os_times {
	struct timespec change; /* of the inode, in any way */
	struct timespec birth;
	bool has_birth; /* not every file system knows it */
};

/* A link at the end of `path` is not followed. False: not there, or not to be looked at. */
bool os_look_times(const char *path, struct os_times *out) NONNULL;
