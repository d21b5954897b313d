/* SPDX-License-Identifier: MIT */
/*
 * The rules, indexed by path, and the one function that resolves (see plan.h
 * for what it computes). A trie over components; time for an answer is the
 * depth of the path times the logarithm of the widest directory, plus the globs
 * that start on its way. No hashing: names are chosen by whoever wrote the
 * policy, and a bad choice must not make it slow.
 */
#pragma once

#include "plan/plan.h"

struct index;

/* n log n in the number of rules. The rules are referred to, not copied. */
const struct index *index_build(struct arena *a, const struct policy *p, const struct rule *rules,
				size_t count, struct err *e) MUST_CHECK;

/* `trace` may be NULL; when it is not, `a` and `e` serve it and a failure is returned. */
int index_resolve(const struct index *x, struct str path, struct verdict *out, struct arena *a,
		  rule_trace *trace, struct err *e);
