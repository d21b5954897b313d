/* SPDX-License-Identifier: MIT */
/*
 * An arena: many small objects that are freed together. There is one for each policy and one for
 * each plan; nothing in it is freed alone. It can't be made without a limit, because the input
 * chooses the sizes.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* newest first */
	size_t used_bytes;	    /* of all chunks, as allocated */
	size_t limit_bytes;
};

#define ARENA_INIT(limit)                                               \
	{                                                               \
		.chunks = NULL, .used_bytes = 0, .limit_bytes = (limit) \
	}

/* An arena that is freed at the end of the block that declares it. */
#define scoped_arena SCOPED(arena_done) struct arena

/* Frees everything; the arena can be used again. */
void arena_done(struct arena *a) NONNULL;

/*
 * An arena in `bytes` of existing memory, aligned for any object. It never allocates (ERR_LIMIT).
 * For processes that were forked from a threaded program, which must not allocate. Don't pass it to
 * arena_done().
 */
void arena_over(struct arena *a, void *block, size_t bytes) NONNULL;

/* Empties such an arena. */
void arena_rewind(struct arena *a) NONNULL;

/* Zeroed, aligned for any object. NULL: ERR_NOMEM, or ERR_LIMIT past the limit. */
void *arena_alloc(struct arena *a, size_t size, struct err *e) MUST_CHECK NONNULL;

/* The same for `count` objects of `size` bytes; the product may not overflow. */
void *arena_array(struct arena *a, size_t count, size_t size, struct err *e) MUST_CHECK NONNULL;

/* A copy with a NUL behind it, so that it is a C string if `s` holds no NUL. */
int arena_copy(struct arena *a, struct str s, struct str *out, struct err *e) MUST_CHECK NONNULL;

/* A formatted string. */
int arena_printf(struct arena *a, struct str *out, struct err *e, const char *fmt, ...)
	MUST_CHECK PRINTF_LIKE(4, 5) NONNULL;

#define ARENA_NEW(a, type, e) ((type *)arena_alloc((a), sizeof(type), (e)))

/*
 * Growing arrays in an arena: `items` is a pointer member, with the size_t members `count` and
 * `room`. VEC_PUSH evaluates to a pointer to the new, zeroed last item, or NULL with `e` set. The
 * room doubles, so the arena wastes at most as much on old copies as the array holds.
 */
#define VEC(type)             \
	struct {              \
		type *items;  \
		size_t count; \
		size_t room;  \
	}
#define VEC_PUSH(a, vec, e)                                                       \
	(arena_vec_grow((a), (void **)&(vec)->items, &(vec)->count, &(vec)->room, \
			sizeof(*(vec)->items), (e)) < 0                           \
		 ? NULL                                                           \
		 : &(vec)->items[(vec)->count - 1])

int arena_vec_grow(struct arena *a, void **items, size_t *count, size_t *room, size_t size,
		   struct err *e) MUST_CHECK NONNULL;
