/* SPDX-License-Identifier: MIT */
/*
 * A set of names that stays balanced whatever order they are added in. Whoever writes a policy file
 * chooses its keys, so with a hash that can be flooded, or a plain tree, a small file could cost
 * quadratic time.
 *
 * The nodes are embedded in the caller's objects; nothing is allocated here.
 */
#pragma once

#include "base/str.h"

struct name_node {
	struct name_node *left, *right;
	uint32_t level;
	struct str name; /* set by the caller; must not change while in the tree */
};

/* The node called `name`, or NULL. `root` is NULL for an empty tree. */
struct name_node *name_tree_find(struct name_node *root, struct str name);

/* Adds `node`, whose name is not in the tree yet. */
void name_tree_add(struct name_node **root, struct name_node *node) NONNULL;
