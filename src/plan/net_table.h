/* SPDX-License-Identifier: MIT */
/*
 * Rules of `network.domains`, sorted so that the most specific one that covers
 * a host is found by binary search: time is the labels of the name (or the
 * distinct prefix lengths of the blocks) times the logarithm of the rules. No
 * hashing, as in index.h.
 */
#pragma once

#include "base/arena.h"
#include "policy/policy.h"

struct net_table {
	const struct net_rule **names;	/* EXACT, SUBDOMAINS, BOTH: by name, then as specific */
	const struct net_rule **blocks; /* BLOCK: longest prefix first, then by address */
	const struct net_rule **any;	/* ANY: fewest ports first */
	size_t name_count, block_count, any_count;
	bool is_allow;
};

/* Those of `rules` that allow (or deny). They are referred to, not copied. */
int net_table_build(struct arena *a, const struct net_rule *rules, size_t count, bool is_allow,
		    struct net_table *out, struct err *e) MUST_CHECK;

/*
 * The most specific rule that applies to `what`, or NULL: an exact name
 * before a longer suffix before a shorter one before "*", and a longer prefix
 * before a shorter one; then the one for fewer ports. All hosts of `what` have to be
 * the rule's; an allow applies when all its ports are too, a deny when any is.
 */
const struct net_rule *net_table_find(const struct net_table *t, const struct domain *what) NONNULL;
