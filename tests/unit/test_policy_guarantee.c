/* SPDX-License-Identifier: MIT */
/* Tests of policy/guarantee.c. */
#include "policy/guarantee.h"

#include "test.h"

TEST(every_guarantee_has_a_name_and_a_meaning)
{
	for (unsigned i = 0; i < GUARANTEE_COUNT; i++) {
		CHECK(strlen(guarantee_names[i]) > 0);
		CHECK_STR(guarantee_name((enum guarantee)i), guarantee_names[i]);
		CHECK(strlen(guarantee_meaning((enum guarantee)i)) > 0);
	}
	CHECK(!guarantee_names[GUARANTEE_COUNT]);
}

TEST(names_are_those_of_the_policy)
{
	CHECK_STR(guarantee_name(G_FS_WRITE), "fs_write");
	CHECK_STR(guarantee_name(G_PROTECT_MISSING), "protect_missing");
	CHECK_STR(guarantee_name(G_TREE_DEATH), "tree_death");
}

TEST(every_guarantee_has_a_bit_of_its_own)
{
	guarantee_set all = 0;

	for (unsigned i = 0; i < GUARANTEE_COUNT; i++) {
		CHECK((all & GUARANTEE_BIT(i)) == 0);
		all |= GUARANTEE_BIT(i);
	}
	CHECK(all != 0);
}
