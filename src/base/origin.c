/* SPDX-License-Identifier: MIT */
/* See origin.h. */
#include "base/origin.h"

struct origin origin_find(const char *file, struct str text, size_t at)
{
	struct origin origin = { .file = file, .line = 1 };
	size_t line_start = 0;

	for (size_t i = 0; i < at && i < text.len; i++) {
		if (text.p[i] == '\n') {
			origin.line++;
			line_start = i + 1;
		}
	}
	origin.column = (uint32_t)(at - line_start + 1);
	return origin;
}
