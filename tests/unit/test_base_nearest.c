/* SPDX-License-Identifier: MIT */
#include "base/nearest.h"
#include "test.h"

static const char *const known[] = { "filesystem",  "network", "extends",
				     "description", "deny",    "read" };

static const char *nearest(const char *typed)
{
	return nearest_name(str_of(typed), known, COUNT_OF(known));
}

TEST(a_slip_of_the_finger_finds_the_name)
{
	CHECK_STR(nearest("filesytem"), "filesystem");
	CHECK_STR(nearest("netwrok"), "network");
	CHECK_STR(nearest("extend"), "extends");
	CHECK_STR(nearest("Deny"), "deny");
	CHECK_STR(nearest("file_system"), "filesystem");
	CHECK_STR(nearest("raed"), "read");
}

TEST(an_exact_name_is_its_own_nearest)
{
	for (size_t i = 0; i < COUNT_OF(known); i++)
		CHECK_STR(nearest(known[i]), known[i]);
}

TEST(a_name_far_from_all_others_has_no_nearest)
{
	CHECK(nearest("zzz") == NULL);
	CHECK(nearest("x") == NULL);
	CHECK(nearest("") == NULL);
	CHECK(nearest("something_else_entirely") == NULL);
}

TEST(one_letter_is_not_a_typo_of_another)
{
	static const char *const letters[] = { "a" };

	CHECK(nearest_name(STR("b"), letters, 1) == NULL);
	CHECK_STR(nearest_name(STR("A"), letters, 1), "a");
}

TEST(the_closest_of_several_wins_and_the_first_of_equals)
{
	static const char *const names[] = { "allow_write", "allow_read", "allow_reads" };

	CHECK_STR(nearest_name(STR("allow_red"), names, 3), "allow_read");
	CHECK_STR(nearest_name(STR("allow_wread"), names, 3), "allow_read");
}

TEST(a_huge_word_is_close_to_nothing)
{
	static char huge[10000];

	memset(huge, 'a', sizeof(huge));
	CHECK(nearest_name((struct str){ huge, sizeof(huge) }, known, COUNT_OF(known)) == NULL);
	CHECK(nearest_name((struct str){ huge, 65 }, known, COUNT_OF(known)) == NULL);
	CHECK(nearest_name((struct str){ huge, 64 }, known, COUNT_OF(known)) == NULL);
}
