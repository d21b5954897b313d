/* SPDX-License-Identifier: MIT */
/* Tests of filter/bpf.c. */
#include "filter/bpf.h"

#include "bpf_eval.h"
#include "test.h"

enum { ROOM = FILTER_MAX_INSNS };

static struct bpf_insn room[ROOM];

static struct bpf start(void)
{
	return (struct bpf){ .room = room, .size = ROOM };
}

static uint32_t answer(const struct bpf *b, uint32_t number, uint32_t arch)
{
	const struct bpf_call call = { .number = number, .arch = arch };

	if (b->is_full || bpf_find_fault(bpf_first(b), b->count))
		return UINT32_MAX;
	return bpf_eval(bpf_first(b), &call).value;
}

TEST(every_test_goes_both_ways)
{
	static const struct {
		enum bpf_test test;
		uint32_t yes, no;
	} cases[] = {
		{ BPF_EQUAL, 12, 13 },	      { BPF_EQUAL, 12, 11 }, { BPF_ABOVE, 13, 12 },
		{ BPF_AT_LEAST, 12, 11 },     { BPF_ANY_BIT, 4, 3 }, { BPF_ANY_BIT, 8, 0xfffffff3 },
		{ BPF_ABOVE, UINT32_MAX, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bpf b = start();
		bpf_label one = bpf_return(&b, 1), two = bpf_return(&b, 2);

		(void)bpf_load(&b, 0, bpf_test(&b, cases[i].test, 12, one, two));
		CHECK_INT(b.count, 4);
		CHECK_INT(answer(&b, cases[i].yes, 0), 1);
		CHECK_INT(answer(&b, cases[i].no, 0), 2);
	}
}

TEST(a_mask_keeps_its_bits)
{
	struct bpf b = start();
	bpf_label one = bpf_return(&b, 1), two = bpf_return(&b, 2);
	bpf_label test = bpf_test(&b, BPF_EQUAL, 5, one, two);

	(void)bpf_load(&b, 0, bpf_mask(&b, 0xf, test));
	CHECK_INT(answer(&b, 5, 0), 1);
	CHECK_INT(answer(&b, 0xfffffff5, 0), 1);
	CHECK_INT(answer(&b, 6, 0), 2);
}

TEST(a_test_with_one_outcome_is_none)
{
	struct bpf b = start();
	bpf_label one = bpf_return(&b, 1);

	CHECK_INT(bpf_test(&b, BPF_EQUAL, 5, one, one), one);
	CHECK_INT(b.count, 1);
}

TEST(what_follows_need_not_be_near)
{
	for (uint32_t between = 0; between < 1000; between++) {
		struct bpf b = start();
		bpf_label one = bpf_return(&b, 1);

		for (uint32_t i = 0; i < between; i++)
			(void)bpf_return(&b, 2);
		(void)bpf_mask(&b, 1, bpf_load(&b, 0, one));
		if (!CHECK_INT(answer(&b, 0, 0), 1) ||
		    !CHECK_INT(b.count, between + (between ? 4 : 3))) /* one jump */
			return;
	}
}

/* At each distance around what a test reaches; the way to one target moves the other away. */
TEST(a_jump_has_any_length)
{
	for (uint32_t n = 0; n < 600 * 4; n++) {
		struct bpf b = start();
		bpf_label one = bpf_return(&b, 1), two = bpf_return(&b, 2);
		bool is_turned = n & 1;

		if (n & 2) /* a target that is no return, so it can't be copied */
			two = bpf_load(&b, 4, bpf_test(&b, BPF_EQUAL, 7, two, one));
		for (uint32_t i = 0; i < n / 4; i++)
			(void)bpf_return(&b, 9);
		(void)bpf_load(
			&b, 0,
			bpf_test(&b, BPF_EQUAL, 4, is_turned ? one : two, is_turned ? two : one));
		if (!CHECK_INT(answer(&b, 4, 7), is_turned ? 1 : 2) ||
		    !CHECK_INT(answer(&b, 5, 7), is_turned ? 2 : 1))
			return;
	}
}

struct node {
	bpf_label label;
	enum bpf_test test;
	uint32_t value, result; /* the result when it is no test */
	uint32_t yes, no;	/* of the nodes before it */
	bool is_test;
};

static uint32_t walk(const struct node *nodes, uint32_t at, uint32_t a)
{
	while (nodes[at].is_test) {
		const struct node *n = &nodes[at];
		bool holds = n->test == BPF_EQUAL      ? a == n->value
			     : n->test == BPF_ABOVE    ? a > n->value
			     : n->test == BPF_AT_LEAST ? a >= n->value
						       : (a & n->value) != 0;

		at = holds ? n->yes : n->no;
	}
	return nodes[at].result;
}

TEST(random_programs_do_what_their_graph_does)
{
	static const enum bpf_test tests[] = { BPF_EQUAL, BPF_ABOVE, BPF_AT_LEAST, BPF_ANY_BIT };
	uint64_t seed = test_seed();
	size_t cases = test_cases(200);

	for (size_t n = 0; n < cases; n++) {
		struct node nodes[1000] = { 0 };
		struct bpf b = start();
		uint32_t count = 2 + (uint32_t)(test_random(&seed) % 998);

		for (uint32_t i = 0; i < count; i++) {
			struct node *node = &nodes[i];

			node->is_test = i > 0 && test_random(&seed) % 4 > 0;
			node->test = tests[test_random(&seed) % 4];
			node->value = (uint32_t)(test_random(&seed) % 64);
			node->yes = i ? (uint32_t)(test_random(&seed) % i) : 0;
			node->no = i ? (uint32_t)(test_random(&seed) % i) : 0;
			node->result = i;
			node->label = node->is_test ? bpf_test(&b, node->test, node->value,
							       nodes[node->yes].label,
							       nodes[node->no].label)
						    : bpf_return(&b, i);
		}
		(void)bpf_load(&b, 0, nodes[count - 1].label);
		for (uint32_t a = 0; a < 64; a++)
			if (!CHECK(answer(&b, a, 0) == walk(nodes, count - 1, a)))
				return;
	}
}

TEST(a_program_that_does_not_fit_is_told_and_stays_in_its_room)
{
	struct bpf_insn small[12];

	for (size_t size = 0; size <= 10; size++) {
		struct bpf b = { .room = small + 1, .size = size };
		bpf_label one, two;

		memset(small, 0x55, sizeof(small));
		one = bpf_return(&b, 1);
		two = bpf_return(&b, 2);
		for (uint32_t i = 0; i < 6; i++)
			two = bpf_test(&b, BPF_EQUAL, i, one, two);
		(void)bpf_load(&b, 0, bpf_mask(&b, 1, two));
		CHECK_INT(b.is_full, size < 10);
		CHECK_INT(small[0].code, 0x5555);
		CHECK_INT(small[1 + size].code, 0x5555);
	}
}
