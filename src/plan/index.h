/* SPDX-License-Identifier: MIT */
/*
 * The rules, indexed by path, and the one function that resolves (see plan.h
 * for what it computes). A trie over components, a chain of single children
 * drawn together into one node; time for an answer is the depth of the path
 * times the logarithm of the widest directory, plus the globs that start on its
 * way. No hashing: names are chosen by whoever wrote the policy, and a bad
 * choice must not make it slow.
 *
 * The answer where no glob matches is worked out for every node when the index
 * is built, so that resolving is finding the deepest node on the path.
 */
#pragma once

#include "plan/plan.h"

struct index;

enum { INDEX_MAX_LAYERS = 64 };

/*
 * n log n in the number of rules. The rules are referred to, not copied.
 * ERR_LIMIT for more than INDEX_MAX_LAYERS layers.
 */
const struct index *index_build(struct arena *a, const struct policy *p, const struct rule *rules,
				size_t count, struct err *e) MUST_CHECK;

/* The answer. Never fails, allocates nothing. */
struct verdict index_answer(const struct index *x, struct str path) NONNULL;

/* The same; `trace` may be NULL; when it is not, `a` and `e` serve it and a failure is returned. */
int index_resolve(const struct index *x, struct str path, struct verdict *out, struct arena *a,
		  rule_trace *trace, struct err *e);

/* The answer that layers 0 to `layer` - 1 give, caps included. Never fails. */
struct verdict index_resolve_below(const struct index *x, struct str path, uint32_t layer) NONNULL;

/*
 * What the profile's layer says at the path of one of its entries, caps included, as if that entry
 * were not there. `rule` is one of those that the index was built from. Never fails.
 */
struct verdict index_resolve_without(const struct index *x, const struct rule *rule) NONNULL;

/*
 * The places where the answer may change: a rule for each distinct path that
 * has any (of a glob: the directory it starts from), in path_cmp() order, as
 * positions in the rules that the index was built from.
 */
const uint32_t *index_places(const struct index *x, size_t *count) NONNULL;

/* The rules at the path of the i-th place, in no particular order. */
const uint32_t *index_rules_at(const struct index *x, size_t i, size_t *count) NONNULL;

/* The rules that the index was built from. */
bool index_is_of(const struct index *x, const struct rule *rules, size_t count) NONNULL;
