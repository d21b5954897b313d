/* SPDX-License-Identifier: MIT */
/*
 * Objects of one size, in memory that is mapped at the start. A pool reuses first what was freed
 * last, so it touches only as much memory as it ever needed at once.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/macros.h"

struct pool {
	char *memory;
	size_t item_bytes;
	uint32_t count; /* there is room for */
	uint32_t fresh; /* from here on never taken */
	uint32_t used;	/* taken now */
	void *free;	/* freed objects; each begins with a pointer to the next */
};

/* ERR_NOMEM. `item_bytes` is at least the size of a pointer. */
int pool_make(struct pool *p, size_t item_bytes, uint32_t count, struct err *e) MUST_CHECK NONNULL;
void pool_done(struct pool *p) NONNULL;

/* NULL: none is left. The content is undefined. */
void *pool_take(struct pool *p) MUST_CHECK NONNULL;
void pool_give(struct pool *p, void *item) NONNULL;

/* Zeroed memory for one object that lives as long as the process. NULL with ERR_NOMEM. */
void *pool_map(size_t bytes, struct err *e) MUST_CHECK NONNULL;
void pool_unmap(void *memory, size_t bytes);
