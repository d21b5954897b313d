/* SPDX-License-Identifier: MIT */
/*
 * Merging layers (P1) and parents (P4): trees of TOML values, the higher one
 * winning key by key. Internal to policy/. All of it is n log n: one table of a
 * policy may have 100,000 keys.
 */
#pragma once

#include "base/toml.h"

/* toml_find() for a name that is no C string. */
const struct toml *tree_find(const struct toml *table, struct str name) NONNULL;

/*
 * Puts `above` over `*into`: tables key by key, everything else replaced. What
 * either shares with other trees is left as it was.
 */
int tree_merge(struct arena *a, struct toml *into, const struct toml *above, struct err *e)
	MUST_CHECK NONNULL;

/* The members of `table` by name, those of one name in the order of the text. */
const struct toml_member **tree_sorted(struct arena *a, const struct toml *table, struct err *e)
	MUST_CHECK NONNULL;

/* In what tree_sorted() gave. */
const struct toml_member *tree_search(const struct toml_member *const *sorted, size_t count,
				      struct str name);

/* Keys that became the same by normalising are as wrong as a duplicate key (P3). */
int tree_check_unique(struct arena *a, const struct toml *table, const char *where, struct err *e)
	MUST_CHECK NONNULL;
