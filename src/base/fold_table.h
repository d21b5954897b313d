/* SPDX-License-Identifier: MIT */
/* What characters fold to, in tables that scripts/gen_fold_table.py makes. Both are sorted. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* `c` becomes the UTF-8 at fold_bytes + `at`. */
struct fold_row {
	uint32_t c;
	uint16_t at;
	uint8_t len;
};

/* Characters with a canonical combining class. */
struct fold_marks {
	uint32_t first, last;
	uint8_t combining;
};

extern const struct fold_row fold_rows[];
extern const struct fold_marks fold_marks[];
extern const size_t fold_row_count, fold_marks_count;
extern const char fold_bytes[];
