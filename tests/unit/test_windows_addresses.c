/* SPDX-License-Identifier: MIT */
/* Lists of addresses of firewall rules, compared by what they cover. */
#include "backend/windows/windows.h"
#include "test.h"

static const char *merge(struct arena *a, const char *const *items)
{
	struct str list[160], out;
	struct err e = ERR_INIT;
	size_t count = 0;

	for (; items[count]; count++)
		list[count] = str_of(items[count]);
	return windows_merge_addresses(a, list, count, &out, &e) < 0 ? NULL : out.p;
}

#define MERGE(a, ...) merge((a), (const char *const[]){ __VA_ARGS__, NULL })

TEST(what_the_firewall_gives_back_is_what_was_written)
{
	scoped_arena a = ARENA_INIT(1 << 20);

	CHECK_STR(MERGE(&a, "127.0.0.0/8"), MERGE(&a, "127.0.0.0/255.0.0.0"));
	CHECK_STR(MERGE(&a, "127.0.0.0/8"), MERGE(&a, "127.0.0.0-127.255.255.255"));
	CHECK_STR(MERGE(&a, "10.0.0.1"), MERGE(&a, "10.0.0.1/255.255.255.255"));
	CHECK_STR(MERGE(&a, "fd00::/8"),
		  MERGE(&a, "fd00::-fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
	CHECK_STR(MERGE(&a, "10.0.0.0/9", "10.128.0.0/9"), MERGE(&a, "10.0.0.0/8"));
	CHECK_STR(MERGE(&a, "10.0.0.5", "::2", "10.0.0.4"), MERGE(&a, "::2", "10.0.0.4-10.0.0.5"));
}

TEST(what_covers_something_else_is_another_text)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	const char *one = MERGE(&a, "127.0.0.0/8");

	CHECK(one && strcmp(one, MERGE(&a, "127.0.0.0/9")) != 0);
	CHECK(one && strcmp(one, MERGE(&a, "127.0.0.0/8", "10.0.0.1")) != 0);
	CHECK(one && strcmp(one, MERGE(&a, "127.0.0.1-127.255.255.255")) != 0);
}

TEST(words_and_nonsense_are_refused)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	static const char *const wrong[] = { "LocalSubnet", "*",	   "",
					     "1.2.3",	    "1.2.3.4/33",  "1.2.3.4/255.0.255.0",
					     "::1/129",	    "1.2.3.4-::1", "2.0.0.0-1.0.0.0",
					     "1.2.3.4/",    "1.2.3.4/::",  "-" };

	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		CHECK(MERGE(&a, wrong[i]) == NULL);
	CHECK(MERGE(&a, "1.2.3.4/32") != NULL);
}

TEST(all_but_the_loopback_leaves_exactly_the_loopback)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct windows_lowering l = { .backend = "win_elevated" };
	struct err e = ERR_INIT;
	struct str merged;

	REQUIRE(windows_list_blocks(&a, 0, &l, &e) == 0);
	REQUIRE(windows_merge_addresses(&a, l.firewall.items[0].remote,
					l.firewall.items[0].remote_count, &merged, &e) == 0);
	CHECK_STR(merged.p, "0.0.0.0-126.255.255.255,128.0.0.0-255.255.255.255,"
			    "::2-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}
