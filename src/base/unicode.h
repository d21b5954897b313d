/* SPDX-License-Identifier: MIT */
/* What regular expressions need to know of characters: general categories, and letter case. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { UNICODE_LAST = 0x10ffff };

/* X(category, its long name). The order is that of the table. */
#define UNICODE_CATEGORIES(X)         \
	X(Cc, "control")              \
	X(Cf, "format")               \
	X(Cn, "unassigned")           \
	X(Co, "privateuse")           \
	X(Cs, "surrogate")            \
	X(Ll, "lowercaseletter")      \
	X(Lm, "modifierletter")       \
	X(Lo, "otherletter")          \
	X(Lt, "titlecaseletter")      \
	X(Lu, "uppercaseletter")      \
	X(Mc, "spacingmark")          \
	X(Me, "enclosingmark")        \
	X(Mn, "nonspacingmark")       \
	X(Nd, "decimalnumber")        \
	X(Nl, "letternumber")         \
	X(No, "othernumber")          \
	X(Pc, "connectorpunctuation") \
	X(Pd, "dashpunctuation")      \
	X(Pe, "closepunctuation")     \
	X(Pf, "finalpunctuation")     \
	X(Pi, "initialpunctuation")   \
	X(Po, "otherpunctuation")     \
	X(Ps, "openpunctuation")      \
	X(Sc, "currencysymbol")       \
	X(Sk, "modifiersymbol")       \
	X(Sm, "mathsymbol")           \
	X(So, "othersymbol")          \
	X(Zl, "lineseparator")        \
	X(Zp, "paragraphseparator")   \
	X(Zs, "spaceseparator")

enum unicode_category {
#define UNICODE_NUMBER(name, text) UNICODE_##name,
	UNICODE_CATEGORIES(UNICODE_NUMBER)
#undef UNICODE_NUMBER
		UNICODE_CATEGORY_COUNT,
};

/*
 * A set of categories, a bit each. `name` is that of a category ("Lu") or of a group ("L"), short or
 * long; case, spaces, '-' and '_' don't matter. 0: there is none of that name.
 */
uint32_t unicode_find_categories(struct str name);

/*
 * Steps through the runs of characters that are of one of these categories; `*at` begins as 0.
 * False: there is no more.
 */
bool unicode_next_run(uint32_t categories, size_t *at, uint32_t *first, uint32_t *last) NONNULL;

/*
 * The next run, from `*at` (a number of the caller's that begins as 0) on, of characters within
 * `first` to `last` that have another case, and what to add for it. Asking again for what comes out leads around all
 * characters that are the same but for case.
 */
struct unicode_case_run {
	uint32_t first, last;
	int32_t step, delta;
};
bool unicode_next_case_run(uint32_t first, uint32_t last, size_t *at, struct unicode_case_run *out)
	NONNULL;

/* The next character that is `c` but for case; `c` itself when there is no other. */
uint32_t unicode_other_case(uint32_t c) PURE;
