/* SPDX-License-Identifier: MIT */
#include <stdalign.h>

#include "base/arena.h"
#include "test.h"

TEST(memory_is_zeroed_and_aligned_for_anything)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;

	for (size_t size = 1; size < 3000; size += 37) {
		unsigned char *p = arena_alloc(&a, size, &e);

		REQUIRE(p != NULL);
		CHECK_INT((uintptr_t)p % alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			REQUIRE(p[i] == 0);
		memset(p, 0xAA, size);
	}
}

TEST(the_limit_holds_and_the_error_names_it)
{
	scoped_arena a = ARENA_INIT(10000);
	struct err e = ERR_INIT;
	size_t got = 0;

	while (arena_alloc(&a, 100, &e))
		got += 100;
	CHECK_INT(e.code, ERR_LIMIT);
	CHECK(strstr(e.text, "10000 bytes") != NULL);
	CHECK(got <= 10000);
	CHECK(got >= 5000);
	CHECK(a.used_bytes <= 10000);
}

TEST(one_object_over_the_limit_is_refused_and_smaller_ones_still_fit)
{
	scoped_arena a = ARENA_INIT(8192);
	struct err e = ERR_INIT;

	CHECK(arena_alloc(&a, 8193, &e) == NULL);
	CHECK_INT(e.code, ERR_LIMIT);
	CHECK(arena_alloc(&a, 100, &e) != NULL);
}

TEST(sizes_that_overflow_are_refused)
{
	scoped_arena a = ARENA_INIT(SIZE_MAX);
	struct err e = ERR_INIT;

	CHECK(arena_alloc(&a, SIZE_MAX, &e) == NULL);
	CHECK_INT(e.code, ERR_LIMIT);
	err_clear(&e);
	CHECK(arena_array(&a, SIZE_MAX / 2, 3, &e) == NULL);
	CHECK_INT(e.code, ERR_LIMIT);
	err_clear(&e);
	CHECK(arena_alloc(&a, SIZE_MAX - 20, &e) == NULL);
	CHECK_INT(e.code, ERR_LIMIT);
}

TEST(an_empty_array_is_no_failure)
{
	scoped_arena a = ARENA_INIT(8192);
	struct err e = ERR_INIT;

	CHECK(arena_array(&a, 0, 16, &e) != NULL);
	CHECK(arena_array(&a, 16, 0, &e) != NULL);
}

TEST(a_copy_has_a_nul_behind_it)
{
	scoped_arena a = ARENA_INIT(8192);
	struct err e = ERR_INIT;
	struct str out = STR_EMPTY;

	CHECK_INT(arena_copy(&a, (struct str){ "abcdef", 3 }, &out, &e), 0);
	CHECK_STR(out.p, "abc");
	CHECK_INT(out.len, 3);
	CHECK_INT(arena_copy(&a, (struct str){ NULL, 0 }, &out, &e), 0);
	CHECK_STR(out.p, "");
}

TEST(a_failed_copy_leaves_the_result_alone)
{
	scoped_arena a = ARENA_INIT(16);
	struct err e = ERR_INIT;
	struct str out = STR("before");

	CHECK_INT(arena_copy(&a, STR("longer than sixteen bytes"), &out, &e), -ERR_LIMIT);
	CHECK(str_is(out, "before"));
	CHECK_INT(arena_printf(&a, &out, &e, "%030d", 1), -ERR_LIMIT);
	CHECK(str_is(out, "before"));
}

TEST(formatting_gives_the_whole_text)
{
	scoped_arena a = ARENA_INIT(1 << 16);
	struct err e = ERR_INIT;
	struct str out = STR_EMPTY;

	CHECK_INT(arena_printf(&a, &out, &e, "%s-%05d", "a", 42), 0);
	CHECK_STR(out.p, "a-00042");
	CHECK_INT(out.len, 7);
}

TEST(a_vector_keeps_its_items_as_it_grows)
{
	scoped_arena a = ARENA_INIT(1 << 20);
	struct err e = ERR_INIT;
	VEC(int) numbers = { .items = NULL };

	for (int i = 0; i < 1000; i++) {
		int *last = VEC_PUSH(&a, &numbers, &e);

		REQUIRE(last != NULL);
		CHECK_INT(*last, 0);
		*last = i;
	}
	CHECK_INT(numbers.count, 1000);
	for (int i = 0; i < 1000; i++)
		CHECK_INT(numbers.items[i], i);
}

TEST(a_vector_that_can_not_grow_keeps_what_it_has)
{
	scoped_arena a = ARENA_INIT(4096);
	struct err e = ERR_INIT;
	VEC(uint64_t) numbers = { .items = NULL };
	uint64_t *last;

	while ((last = VEC_PUSH(&a, &numbers, &e)))
		*last = numbers.count;
	CHECK_INT(e.code, ERR_LIMIT);
	REQUIRE(numbers.items && numbers.count > 0);
	for (size_t i = 0; i < numbers.count; i++)
		CHECK_INT(numbers.items[i], i + 1);
}

TEST(an_emptied_arena_can_be_used_again)
{
	scoped_arena a = ARENA_INIT(8192);
	struct err e = ERR_INIT;

	CHECK(arena_alloc(&a, 8000, &e) != NULL);
	CHECK(arena_alloc(&a, 8000, &e) == NULL);
	arena_done(&a);
	CHECK_INT(a.used_bytes, 0);
	CHECK(arena_alloc(&a, 8000, &e) != NULL);
	arena_done(&a);
	arena_done(&a);
}
