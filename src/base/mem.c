/* SPDX-License-Identifier: MIT */
/* See mem.h. */
#include "base/mem.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * A pool for a program of one thread that runs one command and ends. Blocks are taken from it one
 * after the other. That avoids malloc's system calls and scattered pages, which would be a good
 * part of the time that a start takes. Larger blocks, and all blocks when the pool is used up, come
 * from malloc. The library has no pool.
 */
#ifndef MEM_POOL_BYTES
#define MEM_POOL_BYTES 0
#endif
#if MEM_POOL_BYTES
#include <malloc.h>
#endif

static struct {
	alignas(max_align_t) unsigned char bytes[MEM_POOL_BYTES + 1];
	size_t used;
	size_t last; /* where the newest block begins; `used` if that was freed */
} pool;
static const size_t pool_bytes = sizeof(pool.bytes) - 1;

/*
 * A program that serves calls frees with each one what it takes again for the next. musl gives freed memory back at
 * once, by system calls and page faults that take a part of a call that can be measured. So a few blocks are kept.
 */
#if MEM_POOL_BYTES
enum { KEPT_COUNT = 48, KEPT_LEAST = 256, KEPT_MOST = 32 << 10, KEPT_WASTE = 4 };

static struct {
	struct {
		void *block; /* NULL: none */
		size_t size;
	} blocks[KEPT_COUNT];
	size_t oldest;
} kept;

static bool keep(void *block)
{
	size_t size = block ? malloc_usable_size(block) : 0;
	size_t at = 0;

	if (size < KEPT_LEAST || size > KEPT_MOST)
		return false;
	while (at < KEPT_COUNT && kept.blocks[at].block)
		at++;
	if (at == KEPT_COUNT) {
		at = kept.oldest++ % KEPT_COUNT;
		free(kept.blocks[at].block);
	}
	kept.blocks[at].block = block;
	kept.blocks[at].size = size;
	return true;
}

/* Not zeroed. */
static void *take_kept(size_t size)
{
	for (size_t i = 0; i < KEPT_COUNT; i++) {
		void *block = kept.blocks[i].block;
		size_t room = kept.blocks[i].size;

		if (!block || room < size || room / KEPT_WASTE > size)
			continue;
		kept.blocks[i].block = NULL;
		return block;
	}
	return NULL;
}

/* For a block that grows; NULL: none is large enough. */
static void *move_to_kept(void *block, size_t size)
{
	size_t old = block ? malloc_usable_size(block) : 0;
	void *moved = old < size ? take_kept(size) : NULL;

	if (!moved || !old)
		return moved;
	memcpy(moved, block, old);
	if (!keep(block))
		free(block);
	return moved;
}
#else
static bool keep(const void *block)
{
	(void)block;
	return false;
}

static void *take_kept(size_t size)
{
	(void)size;
	return NULL;
}

static void *move_to_kept(const void *block, size_t size)
{
	(void)block;
	(void)size;
	return NULL;
}
#endif

static bool is_pooled(const void *block)
{
	return (uintptr_t)block - (uintptr_t)pool.bytes < pool_bytes;
}

/* Whether a block of `size` may begin at `at`. */
static bool has_room(size_t at, size_t size)
{
	return size <= pool_bytes && pool_bytes - size >= at;
}

/* Not zeroed; NULL if it must come from malloc. */
static void *take(size_t at, size_t size)
{
	size_t const align = alignof(max_align_t);

	if (!has_room(at, size))
		return NULL;
	pool.last = at;
	pool.used = MIN_OF((at + size + align - 1) / align * align, pool_bytes);
	return pool.bytes + at;
}

static void *resize_pooled(void *block, size_t size)
{
	size_t at = (size_t)((unsigned char *)block - pool.bytes);
	size_t most = pool.used - at; /* at least the block's size */
	void *moved;

	if (at == pool.last && has_room(at, size))
		return take(at, size);
	moved = take(pool.used, size);
	if (!moved)
		moved = malloc(size);
	if (moved)
		memcpy(moved, block, MIN_OF(most, size));
	return moved;
}

void *mem_new(size_t size, struct err *e)
{
	size_t wanted = size ? size : 1;
	void *block = take(pool.used, wanted);

	if (!block)
		block = take_kept(wanted);
	if (block)
		return memset(block, 0, wanted);
	block = calloc(1, wanted);
	if (!block)
		return FAIL_NULL(e, ERR_NOMEM, "out of memory: %zu bytes were needed", size);
	return block;
}

int mem_resize(void **block, size_t size, struct err *e)
{
	size_t wanted = size ? size : 1;
	void *moved = NULL;

	if (is_pooled(*block))
		moved = resize_pooled(*block, wanted);
	else if (!*block)
		moved = take(pool.used, wanted);
	if (!moved && !is_pooled(*block))
		moved = move_to_kept(*block, wanted);
	if (!moved && !is_pooled(*block))
		moved = realloc(*block, wanted);
	if (!moved)
		return FAIL(e, ERR_NOMEM, "out of memory: %zu bytes were needed", size);
	*block = moved;
	return 0;
}

void mem_free(void *block)
{
	if (!is_pooled(block)) {
		if (!keep(block))
			free(block);
	} else if ((unsigned char *)block == pool.bytes + pool.last) {
		pool.used = pool.last;
	}
}
