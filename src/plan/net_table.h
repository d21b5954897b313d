/* SPDX-License-Identifier: MIT */
/*
 * Rules of `network.domains`, sorted so that binary search finds the most specific one that covers
 * a host. Time is the labels of the name (or the distinct prefix lengths of the blocks) times the
 * logarithm of the number of rules. No hashing, for the reason in index.h.
 */
#pragma once

#include "base/arena.h"
#include "policy/policy.h"

struct net_table {
	/* EXACT, SUBDOMAINS, BOTH: by name, then most specific first */
	const struct net_rule **names;
	const struct net_rule **blocks; /* BLOCK: longest prefix first, then by address */
	const struct net_rule **any;	/* ANY: fewest ports first */
	size_t name_count, block_count, any_count;
	bool is_allow;
};

/* Takes those of `rules` that allow (or deny). Refers to them and does not copy them. */
int net_table_build(struct arena *a, const struct net_rule *rules, size_t count, bool is_allow,
		    struct net_table *out, struct err *e) MUST_CHECK;

/*
 * The most specific rule that applies to `what`, or NULL: an exact name before a longer suffix
 * before a shorter one before "*", and a longer prefix before a shorter one; then the one for fewer
 * ports. The rule must cover all hosts of `what`. An allow applies if it covers all of its ports, a
 * deny if it covers any.
 */
const struct net_rule *net_table_find(const struct net_table *t, const struct domain *what) NONNULL;
