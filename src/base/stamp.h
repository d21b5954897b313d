/* SPDX-License-Identifier: MIT */
/* Which directory it was, and when its names were last changed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stamp {
	uint64_t device,
		inode; /* 0: it is not known, or was changed so lately that the time says nothing */
	int64_t seconds;
	uint32_t nanoseconds;
};

static inline bool stamp_is_known(const struct stamp *s)
{
	return s->inode != 0;
}

/* Whether it is known, and the same. */
static inline bool stamp_eq(const struct stamp *a, const struct stamp *b)
{
	return stamp_is_known(a) && a->inode == b->inode && a->device == b->device &&
	       a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}
