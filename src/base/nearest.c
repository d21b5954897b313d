/* SPDX-License-Identifier: MIT */
/* See nearest.h. Edits are insert, delete, replace, and swap of two neighbours. */
#include "base/nearest.h"

#include <stdint.h>

enum { LONGEST = 64 };

/* A difference in case is not an edit: "Deny" for "deny" is the likeliest typo. */
static bool is_same(char a, char b)
{
	return ascii_lower(a) == ascii_lower(b);
}

/* The restricted Damerau-Levenshtein distance, with three rows of its matrix. */
static size_t count_edits(struct str a, struct str b)
{
	uint8_t rows[3][LONGEST + 1] = { { 0 } };

	for (size_t j = 0; j <= b.len; j++)
		rows[0][j] = (uint8_t)j;
	for (size_t i = 1; i <= a.len; i++) {
		uint8_t *now = rows[i % 3];
		const uint8_t *last = rows[(i + 2) % 3];
		const uint8_t *before = rows[(i + 1) % 3];

		now[0] = (uint8_t)i;
		for (size_t j = 1; j <= b.len; j++) {
			int best = last[j - 1] + !is_same(a.p[i - 1], b.p[j - 1]);

			best = MIN_OF(best, last[j] + 1);
			best = MIN_OF(best, now[j - 1] + 1);
			if (i > 1 && j > 1 && is_same(a.p[i - 1], b.p[j - 2]) &&
			    is_same(a.p[i - 2], b.p[j - 1]))
				best = MIN_OF(best, before[j - 2] + 1);
			now[j] = (uint8_t)best;
		}
	}
	return rows[a.len % 3][b.len];
}

const char *nearest_name(struct str typed, const char *const *known, size_t count)
{
	const char *nearest = NULL;
	size_t fewest = SIZE_MAX;

	if (typed.len == 0 || typed.len > LONGEST)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		struct str name = str_of(known[i]);
		size_t edits;

		if (name.len == 0 || name.len > LONGEST)
			continue;
		edits = count_edits(typed, name);
		/*
		 * At most a third of the letters may be wrong, and never all: "a" is not a typo of
		 * "b".
		 */
		if (edits > MAX_OF((size_t)1, name.len / 3) || edits >= MIN_OF(typed.len, name.len))
			continue;
		if (edits < fewest) {
			fewest = edits;
			nearest = known[i];
		}
	}
	return nearest;
}
