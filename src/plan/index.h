/* SPDX-License-Identifier: MIT */
/*
 * The rules, indexed by path, and the one function that resolves (plan.h says what it computes).
 * The index is a trie over components, in which a chain of single children is one node. An answer
 * takes the depth of the path times the logarithm of the widest directory, plus the globs that
 * start on the way. There is no hashing: whoever wrote the policy chose the names, and a bad choice
 * must not make it slow.
 *
 * The answer without globs is computed for every node when the index is built, so resolving means
 * finding the deepest node on the path.
 */
#pragma once

#include "plan/plan.h"

struct index;

enum { INDEX_MAX_LAYERS = 64 };

/*
 * n log n in the number of rules. Refers to the rules and does not copy them. ERR_LIMIT for more
 * than INDEX_MAX_LAYERS layers.
 */
const struct index *index_build(struct arena *a, const struct policy *p, const struct rule *rules,
				size_t count, struct err *e) MUST_CHECK;
/*
 * The same for a host whose names fold: paths are compared by their folded forms. With a table, each answer is
 * the lesser of two: that by the folded forms, and that by the table. So what denies counts for every
 * spelling, and what allows for those alone that are one name on the disk; the places are those of the table.
 */
const struct index *index_build_for(struct arena *a, const struct host *host,
				    const struct policy *p, const struct rule *rules, size_t count,
				    struct err *e) MUST_CHECK;

/* The answer. Never fails, allocates nothing. */
struct verdict index_answer(const struct index *x, struct str path) NONNULL;

/* The same. `trace` may be NULL; if not, it is allocated from `a`, and a failure is returned. */
int index_resolve(const struct index *x, struct str path, struct verdict *out, struct arena *a,
		  rule_trace *trace, struct err *e);

/* The answer of layers 0 to `layer` - 1 alone, caps included. Never fails. */
struct verdict index_resolve_below(const struct index *x, struct str path, uint32_t layer) NONNULL;

/*
 * The answer of the profile's layer at the path of one of its entries, caps included, as if that
 * entry did not exist. `rule` is one of those that the index was built from. Never fails.
 */
struct verdict index_resolve_without(const struct index *x, const struct rule *rule) NONNULL;

/*
 * The places where the answer may change: one rule for each distinct path (of a glob: the directory
 * where it starts), in path_cmp() order, as positions in the rules that the index was built from.
 */
const uint32_t *index_places(const struct index *x, size_t *count) NONNULL;

/* The rules at the path of the i-th place, in no particular order. */
const uint32_t *index_rules_at(const struct index *x, size_t i, size_t *count) NONNULL;

/* Whether the index was built from these rules. */
bool index_is_of(const struct index *x, const struct rule *rules, size_t count) NONNULL;
