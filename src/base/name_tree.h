/* SPDX-License-Identifier: MIT */
/*
 * A set of names, balanced whatever the order they come in: whoever writes a
 * policy file chooses its keys, so a hash that can be flooded or a plain tree
 * would let a small file cost quadratic time.
 *
 * The nodes are embedded in what the caller keeps; nothing is allocated here.
 */
#pragma once

#include "base/str.h"

struct name_node {
	struct name_node *left, *right;
	uint32_t level;
	struct str name; /* set by the caller, and left alone while in the tree */
};

/* The node called `name`, or NULL. `root` is NULL for an empty tree. */
struct name_node *name_tree_find(struct name_node *root, struct str name);

/* Adds `node`, whose name is not in the tree yet. */
void name_tree_add(struct name_node **root, struct name_node *node) NONNULL;
