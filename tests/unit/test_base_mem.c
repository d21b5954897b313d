/* SPDX-License-Identifier: MIT */
/* The pool of the program, built here with POOL_BYTES; all else is malloc's. */
#include <stdalign.h>

#include "base/mem.h"
#include "test.h"

enum { POOL_BYTES = MEM_POOL_BYTES };

/* Of every block: where it was when the test began tells what is in the pool. */
static unsigned char *begin;

static unsigned char *grow(unsigned char *block, size_t size)
{
	struct err e = ERR_INIT;
	void *moved = block;

	return mem_resize(&moved, size, &e) == 0 ? moved : NULL;
}

static bool is_pooled(const unsigned char *block)
{
	return block >= begin && block < begin + POOL_BYTES;
}

static bool holds(const unsigned char *block, size_t size, unsigned char byte)
{
	for (size_t i = 0; i < size; i++)
		if (block[i] != byte)
			return false;
	return true;
}

/* In this order, because there is one pool for the whole program. */
TEST(a_block_is_aligned_and_the_newest_gives_its_room_back)
{
	unsigned char *first, *second;

	begin = grow(NULL, 1);
	REQUIRE(begin != NULL);
	first = grow(NULL, 100);
	REQUIRE(first != NULL);
	CHECK(is_pooled(first) && first > begin);
	CHECK_INT((uintptr_t)first % alignof(max_align_t), 0);
	mem_free(first);
	second = grow(NULL, 8);
	CHECK(second == first);
	mem_free(second);
}

TEST(memory_that_was_used_before_is_zeroed)
{
	struct err e = ERR_INIT;
	unsigned char *block = grow(NULL, 64);

	REQUIRE(block != NULL);
	memset(block, 0xAA, 64);
	mem_free(block);
	block = mem_new(64, &e);
	REQUIRE(block != NULL);
	CHECK(is_pooled(block) && holds(block, 64, 0));
	mem_free(block);
}

TEST(the_newest_block_grows_in_place_and_any_other_moves_with_what_it_holds)
{
	unsigned char *older = grow(NULL, 40);
	unsigned char *newest = grow(NULL, 40);
	unsigned char *moved;

	REQUIRE(older && newest);
	memset(older, 1, 40);
	memset(newest, 2, 40);
	CHECK(grow(newest, 80) == newest);
	CHECK(holds(newest, 40, 2));
	moved = grow(older, 60);
	REQUIRE(moved != NULL);
	CHECK(moved != older && is_pooled(moved));
	CHECK(holds(moved, 40, 1));
	CHECK(grow(newest, 10) != newest); /* no longer the newest */
	mem_free(older);
}

TEST(a_block_that_outgrows_the_pool_moves_to_malloc_with_its_bytes)
{
	unsigned char *block = grow(NULL, 200);
	unsigned char *large;

	REQUIRE(block != NULL);
	CHECK(is_pooled(block));
	memset(block, 3, 200);
	large = grow(block, POOL_BYTES);
	REQUIRE(large != NULL);
	CHECK(!is_pooled(large) && holds(large, 200, 3));
	large = grow(large, (size_t)2 * POOL_BYTES);
	REQUIRE(large != NULL);
	CHECK(!is_pooled(large) && holds(large, 200, 3));
	mem_free(large);
}

TEST(a_full_pool_leaves_the_rest_to_malloc)
{
	unsigned char *block = grow(NULL, 64);
	size_t in_pool = 0;

	while (block && is_pooled(block) && in_pool < POOL_BYTES) {
		memset(block, 4, 64);
		in_pool += 64;
		block = grow(NULL, 64);
	}
	CHECK(block && !is_pooled(block));
	CHECK(in_pool > 0 && in_pool < POOL_BYTES);
	mem_free(block);
	block = grow(NULL, 1);
	CHECK(block != NULL);
	mem_free(block);
}

/* From here on the pool is full. */
TEST(a_block_that_was_freed_is_given_again_zeroed_if_it_is_not_far_too_large)
{
	struct err e = ERR_INIT;
	unsigned char *freed = grow(NULL, 4000), *small, *again;

	REQUIRE(freed != NULL);
	memset(freed, 5, 4000);
	mem_free(freed);
	small = mem_new(300, &e);
	again = mem_new(3000, &e);
	REQUIRE(small && again);
	CHECK(small != freed && again == freed);
	CHECK(holds(again, 3000, 0) && holds(small, 300, 0));
	mem_free(again);
	mem_free(small);
}

TEST(a_block_that_grows_into_a_freed_one_keeps_its_bytes)
{
	unsigned char *block = grow(NULL, 1000), *larger = grow(NULL, 3000), *moved;

	REQUIRE(block && larger);
	memset(block, 6, 1000);
	memset(larger, 7, 3000);
	mem_free(larger);
	moved = grow(block, 2500);
	REQUIRE(moved != NULL);
	CHECK(moved != block && holds(moved, 1000, 6));
	memset(moved, 8, 2500);
	moved = grow(moved, 100);
	REQUIRE(moved != NULL);
	CHECK(holds(moved, 100, 8));
	mem_free(moved);
}

TEST(blocks_of_any_size_and_order_hold_what_was_written_to_them)
{
	unsigned char *blocks[100] = { NULL };
	size_t sizes[100] = { 0 };
	uint32_t random = 1;

	for (size_t round = 0; round < 20000; round++) {
		size_t at, size;

		random = random * 1664525 + 1013904223;
		at = random >> 8 & 63;
		size = (random >> 16) % 40000 + 1;
		if (random >> 30 == 0) {
			mem_free(blocks[at]);
			blocks[at] = NULL;
			sizes[at] = 0;
			continue;
		}
		blocks[at] = grow(blocks[at], size);
		REQUIRE(blocks[at] != NULL);
		CHECK(holds(blocks[at], sizes[at] < size ? sizes[at] : size, (unsigned char)at));
		memset(blocks[at], (int)at, size);
		sizes[at] = size;
	}
	for (size_t i = 0; i < COUNT_OF(blocks); i++)
		mem_free(blocks[i]);
}
