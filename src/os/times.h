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

/* Does not follow a link at the end of `path`. False: it does not exist, or can't be examined. */
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
 * The stamp of `path` below `directory`, not following a link at its end; of `directory` itself if
 * `path` is "". False: it does not exist.
 */
bool os_look_stamp(int directory, const char *path, struct stamp *out) NONNULL;

/*
 * The stamp of an open directory, to be taken before its names are read. `*kind` caches facts about
 * the file system; {0} at first. The inode is 0 if the stamp could stay the same after a change:
 * the file system's times are too coarse, or the directory changed just now.
 */
struct os_stamp_kind {
	uint64_t device;
	bool is_exact;
};
void os_take_stamp(int directory, struct os_stamp_kind *kind, struct stamp *out) NONNULL;
