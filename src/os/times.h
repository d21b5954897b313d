/* SPDX-License-Identifier: MIT */
/* When a file was made and last changed. */
#pragma once

#include <stdbool.h>
#include <time.h>

#include "base/macros.h"
#include "base/stamp.h"

struct os_times {
	struct timespec change; /* of the inode, in any way */
	struct timespec birth;
	bool has_birth; /* not every file system knows it */
};

/* A link at the end of `path` is not followed. False: not there, or not to be looked at. */
bool os_look_times(const char *path, struct os_times *out) NONNULL;

static inline bool os_is_since(struct timespec t, struct timespec start)
{
	return t.tv_sec > start.tv_sec || (t.tv_sec == start.tv_sec && t.tv_nsec >= start.tv_nsec);
}

/* The time by which os_is_since() tells what was changed from now on. */
void os_take_start(struct timespec *out) NONNULL;

/* os_look_stamp() of an absolute path. */
bool os_look_stamp_of(const char *path, struct stamp *out) NONNULL;

/*
 * What lies at `path` below `directory`, links at its end not followed, or `directory` itself when that
 * is "". False: not there.
 */
bool os_look_stamp(int directory, const char *path, struct stamp *out) NONNULL;

/*
 * The stamp of an open directory whose names are read afterwards. `*kind` remembers what file system
 * it lies on; {0} at first. The inode is 0 when the same stamp could be seen again after its names were changed: where
 * times are too coarse, and when it was changed just now.
 */
struct os_stamp_kind {
	uint64_t device;
	bool is_exact;
};
void os_take_stamp(int directory, struct os_stamp_kind *kind, struct stamp *out) NONNULL;
