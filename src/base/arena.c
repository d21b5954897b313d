/* SPDX-License-Identifier: MIT */
/* See arena.h. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct arena_chunk {
	struct arena_chunk *older;
	size_t size; /* of `bytes` */
	size_t used;
	alignas(max_align_t) unsigned char bytes[];
};

/* The fault tests set both to 0: then each object is an allocation that can fail. */
#ifndef ARENA_CHUNK_FIRST
#define ARENA_CHUNK_FIRST   4096
#define ARENA_CHUNK_LARGEST (1 << 20)
#endif

enum { ARENA_GROWTH = 2 };

void arena_done(struct arena *a)
{
	while (a->chunks) {
		struct arena_chunk *chunk = a->chunks;

		a->chunks = chunk->older;
		mem_free(chunk);
	}
	a->used_bytes = 0;
}

void arena_over(struct arena *a, void *block, size_t bytes)
{
	struct arena_chunk *chunk = block;
	size_t room = bytes < sizeof(*chunk) ? 0 : bytes - sizeof(*chunk);

	*a = (struct arena){ .used_bytes = room, .limit_bytes = room };
	if (room == 0)
		return;
	*chunk = (struct arena_chunk){ .size = room };
	a->chunks = chunk;
}

void arena_rewind(struct arena *a)
{
	if (a->chunks)
		a->chunks->used = 0;
}

/*
 * Small arenas fit a page. What grows beyond that gets twice as much each time: so there
 * are few chunks, each of which may be a system call, and what is used lies together.
 */
static struct arena_chunk *add_chunk(struct arena *a, size_t size, struct err *e)
{
	size_t step = ARENA_CHUNK_LARGEST / ARENA_GROWTH;
	size_t wanted = a->chunks ? MIN_OF(a->chunks->size, step) * ARENA_GROWTH
				  : (size_t)ARENA_CHUNK_FIRST;
	size_t left = a->limit_bytes - a->used_bytes;
	struct arena_chunk *chunk;
	void *block = NULL;

	if (size > left)
		return FAIL_NULL(e, ERR_LIMIT,
				 "the input needs more than the limit of %zu bytes of memory",
				 a->limit_bytes);
	wanted = MAX_OF(MIN_OF(wanted, left), size);
	if (wanted > SIZE_MAX - sizeof(*chunk))
		return FAIL_NULL(e, ERR_LIMIT, "an object of %zu bytes is too large", size);
	/* Not zeroed: clearing would touch pages that may never be used. */
	if (mem_resize(&block, sizeof(*chunk) + wanted, e) < 0)
		return NULL;
	chunk = block;
	chunk->older = a->chunks;
	chunk->size = wanted;
	chunk->used = 0;
	a->chunks = chunk;
	a->used_bytes += wanted;
	return chunk;
}

void *arena_alloc(struct arena *a, size_t size, struct err *e)
{
	size_t const align = alignof(max_align_t);
	struct arena_chunk *chunk = a->chunks;
	size_t rounded;
	void *object;

	if (size > SIZE_MAX - align)
		return FAIL_NULL(e, ERR_LIMIT, "an object of %zu bytes is too large", size);
	rounded = (size + align - 1) / align * align;
	if (!chunk || chunk->size - chunk->used < rounded)
		chunk = add_chunk(a, rounded, e);
	if (!chunk)
		return NULL;
	object = memset(chunk->bytes + chunk->used, 0, size);
	chunk->used += rounded;
	return object;
}

void *arena_array(struct arena *a, size_t count, size_t size, struct err *e)
{
	if (size && count > SIZE_MAX / size)
		return FAIL_NULL(e, ERR_LIMIT, "an array of %zu items is too large", count);
	return arena_alloc(a, count * size, e);
}

int arena_copy(struct arena *a, struct str s, struct str *out, struct err *e)
{
	char *copy;

	if (s.len == SIZE_MAX)
		return FAIL(e, ERR_LIMIT, "a string is too large");
	copy = arena_alloc(a, s.len + 1, e);
	if (!copy)
		return err_result(e);
	if (s.len)
		memcpy(copy, s.p, s.len);
	*out = (struct str){ copy, s.len };
	return 0;
}

int arena_printf(struct arena *a, struct str *out, struct err *e, const char *fmt, ...)
{
	UNINITIALIZED char first[512];
	va_list args;
	int n;
	char *text;

	va_start(args, fmt);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): clang 14 misses the va_start. */
	n = vsnprintf(first, sizeof(first), fmt, args);
	va_end(args);
	if (n < 0)
		return FAIL(e, ERR_INTERNAL, "a text could not be formatted");
	if ((size_t)n < sizeof(first))
		return arena_copy(a, (struct str){ first, (size_t)n }, out, e);
	text = arena_alloc(a, (size_t)n + 1, e);
	if (!text)
		return err_result(e);
	va_start(args, fmt);
	(void)vsnprintf(text, (size_t)n + 1, fmt, args);
	va_end(args);
	*out = (struct str){ text, (size_t)n };
	return 0;
}

int arena_vec_grow(struct arena *a, void **items, size_t *count, size_t *room, size_t size,
		   struct err *e)
{
	if (*count == *room) {
		size_t larger = *room ? *room * 2 : 4;
		void *moved = arena_array(a, larger, size, e);

		if (!moved)
			return err_result(e);
		if (*count)
			memcpy(moved, *items, *count * size);
		*items = moved;
		*room = larger;
	}
	(*count)++;
	return 0;
}
