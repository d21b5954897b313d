/* SPDX-License-Identifier: MIT */
/*
 * File systems that are windows into the kernel, mounted where nobody expects
 * them: the /proc of a chroot below the workspace shows the host's processes, and
 * root could change the host through it.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"

typedef VEC(struct str) kernel_mounts;

/*
 * The paths of those that are not below /proc, /sys or /dev, from the text of
 * /proc/self/mountinfo. Pure.
 */
int kernel_mounts_parse(struct arena *a, struct str mountinfo, kernel_mounts *out, struct err *e)
	MUST_CHECK NONNULL;

/* The same for this process. ERR_SYS, ERR_LIMIT. */
int kernel_mounts_find(struct arena *a, kernel_mounts *out, struct err *e) MUST_CHECK NONNULL;
