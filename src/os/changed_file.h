/* SPDX-License-Identifier: MIT */
/* Rereads a file if it has changed, into the caller's memory. Allocates nothing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Which version of a file was read; {0}: none. */
struct os_version {
	uint64_t inode, bytes;
	int64_t seconds, nanoseconds; /* of its last change */
};

enum os_change {
	OS_SAME, /* or it can't be read now, or is not a regular file */
	OS_GONE, /* and `*seen` is {0} */
	OS_NEW,
};

/*
 * Reads `path` if it is another version than `*seen`, and updates `*seen`. Reads at most `room`
 * bytes; `*len` is how many.
 */
enum os_change os_read_changed(const char *path, struct os_version *seen, char *out, size_t room,
			       size_t *len) MUST_CHECK NONNULL;
