/* SPDX-License-Identifier: MIT */
/* See sort.h. */
#include "base/sort.h"

#include <string.h>

struct sort {
	sort_order order;
	const void *context;
};

/* Merges the sorted runs [low, middle) and [middle, high) of `from` into `to`. */
static void merge(const struct sort *s, const uint32_t *from, uint32_t *to, size_t low,
		  size_t middle, size_t high)
{
	size_t left = low, right = middle;

	if (middle >= high || s->order(s->context, from[middle - 1], from[middle]) <= 0) {
		memcpy(to + low, from + low, (high - low) * sizeof(*to));
		return;
	}
	for (size_t i = low; i < high; i++) {
		if (left < middle &&
		    (right >= high || s->order(s->context, from[left], from[right]) <= 0))
			to[i] = from[left++];
		else
			to[i] = from[right++];
	}
}

void sort_numbers(uint32_t *items, uint32_t *spare, size_t count, sort_order order,
		  const void *context)
{
	const struct sort s = { .order = order, .context = context };
	uint32_t *from = items, *to = spare;

	for (size_t width = 1; width < count; width *= 2) {
		uint32_t *swap = from;

		for (size_t low = 0; low < count; low += 2 * width)
			merge(&s, from, to, low, MIN_OF(low + width, count),
			      MIN_OF(low + 2 * width, count));
		from = to;
		to = swap;
	}
	if (from != items)
		memcpy(items, from, count * sizeof(*items));
}
