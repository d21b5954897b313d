/* SPDX-License-Identifier: MIT */
/*
 * Kernel file systems (proc, sysfs and the like) mounted in unusual places. Through the /proc of a
 * chroot below the workspace, for example, a command could see the host's processes, and root could
 * change the host.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

typedef VEC(struct str) kernel_mounts;

/* Their paths, except below /proc, /sys and /dev, from the text of /proc/self/mountinfo. Pure. */
int kernel_mounts_parse(struct arena *a, struct str mountinfo, kernel_mounts *out, struct err *e)
	MUST_CHECK NONNULL;

/* The same for this process. ERR_SYS, ERR_LIMIT. */
int kernel_mounts_find(struct arena *a, kernel_mounts *out, struct err *e) MUST_CHECK NONNULL;
