/* SPDX-License-Identifier: MIT */
/*
 * See name_tree.h. An AA tree: a red-black tree in which a red node is a right
 * child on its parent's level, so that two rotations keep all in balance.
 * Recursion goes as deep as the tree, twice log n.
 */
#include "base/name_tree.h"

struct name_node *name_tree_find(struct name_node *root, struct str name)
{
	while (root) {
		int c = str_cmp(name, root->name);

		if (c == 0)
			return root;
		root = c < 0 ? root->left : root->right;
	}
	return NULL;
}

/* A left child on its parent's level is turned to the right. */
static struct name_node *skew(struct name_node *top)
{
	struct name_node *left = top->left;

	if (!left || left->level != top->level)
		return top;
	top->left = left->right;
	left->right = top;
	return left;
}

/* Two right children in a row on one level: the middle one goes up. */
static struct name_node *split(struct name_node *top)
{
	struct name_node *right = top->right;

	if (!right || !right->right || right->right->level != top->level)
		return top;
	top->right = right->left;
	right->left = top;
	right->level++;
	return right;
}

void name_tree_add(struct name_node **root, struct name_node *node)
{
	struct name_node *top = *root;

	if (!top) {
		node->left = NULL;
		node->right = NULL;
		node->level = 1;
		*root = node;
		return;
	}
	name_tree_add(str_cmp(node->name, top->name) < 0 ? &top->left : &top->right, node);
	*root = split(skew(top));
}
