/* SPDX-License-Identifier: MIT */
/* See mem.h. */
#include "base/mem.h"

#include <stdlib.h>

void *mem_new(size_t size, struct err *e)
{
	void *block = calloc(1, size ? size : 1);

	if (!block)
		return FAIL_NULL(e, ERR_NOMEM, "out of memory: %zu bytes were needed", size);
	return block;
}

int mem_resize(void **block, size_t size, struct err *e)
{
	void *moved = realloc(*block, size ? size : 1);

	if (!moved)
		return FAIL(e, ERR_NOMEM, "out of memory: %zu bytes were needed", size);
	*block = moved;
	return 0;
}

void mem_free(void *block)
{
	free(block);
}
