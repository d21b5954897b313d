/* SPDX-License-Identifier: MIT */
/*
 * Things of one size out of memory that was mapped at the start. Memory is touched
 * only as far as there ever were things at once: what was given back last is taken next.
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
	void *free;	/* what was given back; each begins with a pointer to the next */
};

/* ERR_NOMEM. `item_bytes` at least that of a pointer. */
int pool_make(struct pool *p, size_t item_bytes, uint32_t count, struct err *e) MUST_CHECK NONNULL;
void pool_done(struct pool *p) NONNULL;

/* NULL: none is left. What is in it is not defined. */
void *pool_take(struct pool *p) MUST_CHECK NONNULL;
void pool_give(struct pool *p, void *item) NONNULL;

/* Memory for one thing that is there from the start; zeroed. NULL with ERR_NOMEM. */
void *pool_map(size_t bytes, struct err *e) MUST_CHECK NONNULL;
void pool_unmap(void *memory, size_t bytes);
