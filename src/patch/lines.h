/* SPDX-License-Identifier: MIT */
/*
 * The lines of a file that is updated, and finding blocks of them. Built once for each update; all
 * chunks look there.
 */
#pragma once

#include "base/arena.h"
#include "patch/patch.h"

/* How lines are compared, strictest first. */
enum line_match {
	MATCH_EXACT,
	MATCH_TRIMMED_END,
	MATCH_TRIMMED,
	MATCH_FOLDED, /* trimmed, and dashes, quotes and blanks are taken for the ASCII ones */
	MATCH_COUNT,
};

/*
 * Lines by the hash of what is compared: those of one bucket stand together in `positions`, in
 * order, from starts[bucket] to starts[bucket + 1].
 */
struct line_index {
	uint32_t *hashes; /* of each line; NULL: not built yet */
	uint32_t *positions;
	uint32_t *starts;
	uint32_t mask;
};

struct lines {
	struct arena *a;
	struct patch_allowance *allowance;
	struct str text;
	uint32_t *starts; /* of each line in `text`, and behind the last one */
	size_t count;
	struct str ending; /* of the first line that has one */
	size_t bom_bytes;  /* at the start, before the first line */
	struct line_index indexes[MATCH_COUNT];
};

/* Splits at LF, CRLF and CR. CAUSE_PATCH_LIMIT. */
int lines_init(struct lines *lines, struct arena *a, struct str text,
	       struct patch_allowance *allowance, struct err *e) MUST_CHECK NONNULL;

/* Uses up some of the allowance of a patch. CAUSE_PATCH_LIMIT. */
int patch_spend(struct patch_allowance *allowance, uint64_t units, struct err *e)
	MUST_CHECK NONNULL;

/* Without its end. */
struct str lines_get(const struct lines *lines, size_t number);

/* Whether the last line has no end. */
bool lines_is_cut(const struct lines *lines) NONNULL;

/* What is looked for: lines that follow each other. */
struct block {
	const struct str *lines;
	size_t count;
};

/*
 * The first place of `block` from the line `from` on, or, if `is_at_end`, only the one at the end;
 * lines->count + 1 if there is none. CAUSE_PATCH_LIMIT: comparing would take too long.
 */
int lines_find(struct lines *lines, struct block block, size_t from, bool is_at_end, size_t *out,
	       struct err *e) MUST_CHECK NONNULL;

static inline bool lines_is_found(const struct lines *lines, size_t place)
{
	return place <= lines->count;
}
