/* SPDX-License-Identifier: MIT */
/*
 * A merge sort: never quadratic, whoever chose the keys, and stable, so that equal items keep their
 * order. qsort() promises neither.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Below 0, 0 or above 0, for the items with these numbers. */
typedef int (*sort_order)(const void *context, uint32_t a, uint32_t b);

/* `spare` has room for as many items. If the items are sorted already, one pass is enough. */
void sort_numbers(uint32_t *items, uint32_t *spare, size_t count, sort_order order,
		  const void *context);
