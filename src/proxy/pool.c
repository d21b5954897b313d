/* SPDX-License-Identifier: MIT */
/* Pools in anonymous mappings. */
#include "proxy/pool.h"

#include <string.h>

#include "os/memory.h"

void *pool_map(size_t bytes, struct err *e)
{
	void *memory = os_map(bytes);

	if (!memory)
		return FAIL_NULL(e, ERR_NOMEM, "can't map %zu bytes", bytes);
	return memory;
}

void pool_unmap(void *memory, size_t bytes)
{
	if (memory)
		os_unmap(memory, bytes);
}

int pool_make(struct pool *p, size_t item_bytes, uint32_t count, struct err *e)
{
	size_t bytes;

	/* Aligned for any object, and no two share a cache line. */
	item_bytes = (item_bytes + 63) & ~(size_t)63;
	if (__builtin_mul_overflow(item_bytes, (size_t)count, &bytes))
		return FAIL(e, ERR_LIMIT, "a pool of %u things is too large", count);
	*p = (struct pool){ .item_bytes = item_bytes, .count = count };
	p->memory = pool_map(bytes, e);
	return p->memory ? 0 : err_result(e);
}

void pool_done(struct pool *p)
{
	pool_unmap(p->memory, p->item_bytes * p->count);
	*p = (struct pool){ .memory = NULL };
}

void *pool_take(struct pool *p)
{
	void *item = p->free;

	if (item)
		memcpy(&p->free, item, sizeof(p->free));
	else if (p->fresh < p->count)
		item = p->memory + p->item_bytes * p->fresh++;
	if (item)
		p->used++;
	return item;
}

void pool_give(struct pool *p, void *item)
{
	memcpy(item, &p->free, sizeof(p->free));
	p->free = item;
	p->used--;
}
