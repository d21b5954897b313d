/* SPDX-License-Identifier: MIT */
/*
 * An assembler for classic BPF that builds a program from its end.
 *
 * Every jump of BPF goes forward. So when an instruction is put before those
 * that are there, the places it may jump to are known, and so is how far away
 * they are: one pass, no list of open jumps, nothing to patch. A test reaches
 * 255 instructions; beyond that it goes by way of one that reaches any number.
 *
 * A block of code is written by giving each instruction what comes after it:
 *
 *	allow = bpf_return(&b, ALLOW);
 *	refuse = bpf_return(&b, REFUSE);
 *	start = bpf_load(&b, 0, bpf_test(&b, BPF_EQUAL, 41, refuse, allow));
 *
 * The program begins with the instruction that was added last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "filter/filter.h"

/* A place in the program: how many instructions there are from it to the end. */
typedef uint32_t bpf_label;

struct bpf {
	struct bpf_insn *room;
	size_t size;  /* of the room */
	size_t count; /* of instructions; they are the last ones of the room */
	bool is_full; /* something did not fit: what is there is no program */
};

/* The tests of the accumulator against a constant, unsigned. */
enum bpf_test { BPF_EQUAL = 0x15, BPF_ABOVE = 0x25, BPF_AT_LEAST = 0x35, BPF_ANY_BIT = 0x45 };

bpf_label bpf_return(struct bpf *b, uint32_t value) NONNULL;

/* Loads the 32 bits at `offset` of what the program is asked about. */
bpf_label bpf_load(struct bpf *b, uint32_t offset, bpf_label next) NONNULL;

/* Keeps only the bits of `mask` of what was loaded. */
bpf_label bpf_mask(struct bpf *b, uint32_t mask, bpf_label next) NONNULL;

/* No instruction at all where both ways are the same. */
bpf_label bpf_test(struct bpf *b, enum bpf_test test, uint32_t value, bpf_label yes, bpf_label no)
	NONNULL;

/* The first instruction of what was built. */
static inline const struct bpf_insn *bpf_first(const struct bpf *b)
{
	return b->room + (b->size - b->count);
}
