/* SPDX-License-Identifier: MIT */
/*
 * The only callers of malloc and free. Everything else takes an arena or a
 * buf, both of which have a limit; the fault tests wrap malloc and so reach
 * every allocation there is.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* `size` zeroed bytes; NULL with ERR_NOMEM. */
void *mem_new(size_t size, struct err *e) MUST_CHECK NONNULL;

/* `*block` grown or shrunk to `size`; on failure it is left as it was. */
int mem_resize(void **block, size_t size, struct err *e) MUST_CHECK NONNULL;

void mem_free(void *block);
