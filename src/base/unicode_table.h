/* SPDX-License-Identifier: MIT */
/*
 * What is known of the characters of texts, in tables that scripts/gen_unicode_table.py makes. Each
 * is sorted, so that it can be searched.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Each is FIRST << 8 | CATEGORY: so until the next begins. The numbers are those of unicode.h. */
extern const uint32_t unicode_categories[];

/* Behind every `step`th character c from `first` to `last` comes c + delta, and so on in a circle. */
struct unicode_fold {
	uint32_t first, last;
	int32_t step, delta;
};
extern const struct unicode_fold unicode_folds[];
extern const size_t unicode_categories_count, unicode_folds_count;
