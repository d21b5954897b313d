/* SPDX-License-Identifier: MIT */
/* Identifies a directory and the time when its names last changed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stamp {
	uint64_t device, inode; /* 0: unknown, or changed so recently that the time says nothing */
	int64_t seconds;
	uint32_t nanoseconds;
};

static inline bool stamp_is_known(const struct stamp *s)
{
	return s->inode != 0;
}

/* Whether both are known and equal. */
static inline bool stamp_eq(const struct stamp *a, const struct stamp *b)
{
	return stamp_is_known(a) && a->inode == b->inode && a->device == b->device &&
	       a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}
