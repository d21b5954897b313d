/* SPDX-License-Identifier: MIT */
/* Tests of base/sort.c. */
#include "base/sort.h"

#include "test.h"

enum { MOST = 40 };

static size_t calls;

static int by_key(const void *context, uint32_t a, uint32_t b)
{
	const uint8_t *keys = context;

	calls++;
	return keys[a] - keys[b];
}

/* Sorted by key, and equals by number: then nothing was lost either. */
static bool is_sorted(const uint8_t *keys, const uint32_t *items, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (keys[items[i - 1]] > keys[items[i]] ||
		    (keys[items[i - 1]] == keys[items[i]] && items[i - 1] >= items[i]))
			return false;
	return true;
}

TEST(every_length_is_sorted_and_equals_stay_in_order)
{
	uint64_t seed = test_seed();
	size_t cases = test_cases(2000);

	for (size_t n = 0; n < cases; n++) {
		uint8_t keys[MOST] = { 0 };
		uint32_t items[MOST], spare[MOST];
		size_t count = n % (MOST + 1);
		unsigned kinds = 1 + (unsigned)(test_random(&seed) % 20);

		for (uint32_t i = 0; i < count; i++) {
			keys[i] = (uint8_t)(test_random(&seed) % kinds);
			items[i] = i;
		}
		sort_numbers(items, spare, count, by_key, keys);
		if (!CHECK(is_sorted(keys, items, count)))
			return;
	}
}

TEST(a_sorted_list_costs_one_pass)
{
	uint8_t keys[MOST];
	uint32_t items[MOST], spare[MOST];

	for (uint32_t i = 0; i < MOST; i++) {
		keys[i] = (uint8_t)i;
		items[i] = i;
	}
	calls = 0;
	sort_numbers(items, spare, MOST, by_key, keys);
	CHECK(is_sorted(keys, items, MOST));
	CHECK(calls < MOST);
}
