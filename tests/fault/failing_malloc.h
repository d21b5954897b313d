/* SPDX-License-Identifier: MIT */
/*
 * Makes one allocation fail. The linker sends malloc, calloc and realloc of the library through here
 * (--wrap).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The names are those that the linker gives with --wrap. NOLINTBEGIN(cert-dcl51-cpp) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
/* NOLINTEND(cert-dcl51-cpp) */

static size_t allocations; /* since counting began */
static size_t failing;	   /* the one that fails, from 1; 0: none */

static bool fails_now(void)
{
	return ++allocations == failing;
}

void *__wrap_malloc(size_t size)
{
	return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
	return fails_now() ? NULL : __real_realloc(block, size);
}
