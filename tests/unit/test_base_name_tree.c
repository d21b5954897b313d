/* SPDX-License-Identifier: MIT */
#include "base/name_tree.h"
#include "test.h"

enum { COUNT = 4000 };

static struct name_node nodes[COUNT];
static char names[COUNT][8];

/* The longest way down, and whether the order holds. */
static size_t height(const struct name_node *top)
{
	size_t left, right;

	if (!top)
		return 0;
	CHECK(!top->left || str_cmp(top->left->name, top->name) < 0);
	CHECK(!top->right || str_cmp(top->right->name, top->name) > 0);
	left = height(top->left);
	right = height(top->right);
	return 1 + MAX_OF(left, right);
}

static struct name_node *build(size_t step)
{
	struct name_node *root = NULL;

	for (size_t i = 0; i < COUNT; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%06u", (unsigned)(i * step % COUNT));
		nodes[i] = (struct name_node){ .name = str_of(names[i]) };
		CHECK(name_tree_find(root, nodes[i].name) == NULL);
		name_tree_add(&root, &nodes[i]);
	}
	return root;
}

TEST(any_order_of_adding_gives_a_low_tree)
{
	static const size_t steps[] = { 1, COUNT - 1, 7, 1999, 3333 };

	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		struct name_node *root = build(steps[i]);

		CHECK(height(root) <= 24); /* twice the logarithm of 4000 */
		for (size_t k = 0; k < COUNT; k++)
			CHECK(name_tree_find(root, str_of(names[k])) == &nodes[k]);
		CHECK(name_tree_find(root, STR("absent")) == NULL);
	}
}

TEST(an_empty_tree_holds_nothing)
{
	CHECK(name_tree_find(NULL, STR("x")) == NULL);
}

TEST(names_that_differ_by_a_nul_are_different)
{
	struct name_node *root = NULL;
	struct name_node a = { .name = { "a", 1 } };
	struct name_node b = { .name = { "a\0", 2 } };

	name_tree_add(&root, &a);
	CHECK(name_tree_find(root, b.name) == NULL);
	name_tree_add(&root, &b);
	CHECK(name_tree_find(root, b.name) == &b);
	CHECK(name_tree_find(root, a.name) == &a);
}
