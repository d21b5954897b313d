/* SPDX-License-Identifier: MIT */
/* What changes between two texts, line by line, for a person. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct diff_line {
	char mark; /* ' ', '-', '+', or '@': lines were left out here */
	struct str text;
};

struct diff {
	struct diff_line *items;
	size_t count, room;
};

/* With two lines of context. The lines are borrowed from the texts. ERR_NOMEM, ERR_LIMIT. */
int diff_find(struct arena *a, struct str old, struct str new, struct diff *out, struct err *e)
	MUST_CHECK NONNULL;
