/* SPDX-License-Identifier: MIT */
/* Tests of plan/guarantee.c. */
#include "plan/guarantee.h"

#include "test.h"

TEST(every_name_is_found_again)
{
	for (unsigned i = 0; i < GUARANTEE_COUNT; i++) {
		enum guarantee found = GUARANTEE_COUNT;

		CHECK(guarantee_find(str_of(guarantee_name((enum guarantee)i)), &found));
		CHECK_INT(found, i);
		CHECK(strlen(guarantee_meaning((enum guarantee)i)) > 0);
	}
}

TEST(names_are_those_of_the_policy)
{
	CHECK_STR(guarantee_name(G_FS_WRITE), "fs_write");
	CHECK_STR(guarantee_name(G_PROTECT_MISSING), "protect_missing");
	CHECK_STR(guarantee_name(G_TREE_DEATH), "tree_death");
}

TEST(other_names_are_not_found)
{
	static const char *const names[] = { "", "fs", "FS_WRITE", "fs_write ", "none", "G_IPC" };
	enum guarantee found = G_IPC;

	for (size_t i = 0; i < COUNT_OF(names); i++)
		CHECK(!guarantee_find(str_of(names[i]), &found));
	CHECK_INT(found, G_IPC);
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
