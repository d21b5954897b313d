/* SPDX-License-Identifier: MIT */
/*
 * An assembler for classic BPF that builds a program from its end.
 *
 * Every BPF jump goes forward. When a new instruction is put before the existing ones, all its
 * targets and their distances are known. So one pass is enough, and no jump is patched later. A
 * test can jump over at most 255 instructions; for a farther target it jumps to an unconditional
 * jump, which has no such limit.
 *
 * Each call gets the label of the instruction that comes next:
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

/* A position in the program: the number of instructions from it to the end. */
typedef uint32_t bpf_label;

struct bpf {
	struct bpf_insn *room;
	size_t size;  /* of the buffer */
	size_t count; /* of instructions; they are at the end of the buffer */
	bool is_full; /* an instruction did not fit, so the program is unusable */
};

/* The tests of the accumulator against a constant, unsigned. */
enum bpf_test { BPF_EQUAL = 0x15, BPF_ABOVE = 0x25, BPF_AT_LEAST = 0x35, BPF_ANY_BIT = 0x45 };

bpf_label bpf_return(struct bpf *b, uint32_t value) NONNULL;

/* Loads 32 bits at `offset` of struct seccomp_data. */
bpf_label bpf_load(struct bpf *b, uint32_t offset, bpf_label next) NONNULL;

/* Clears all bits but `mask` in the loaded value. */
bpf_label bpf_mask(struct bpf *b, uint32_t mask, bpf_label next) NONNULL;

/* Adds no instruction if both targets are the same. */
bpf_label bpf_test(struct bpf *b, enum bpf_test test, uint32_t value, bpf_label yes, bpf_label no)
	NONNULL;

/* The program's first instruction. */
static inline const struct bpf_insn *bpf_first(const struct bpf *b)
{
	return b->room + (b->size - b->count);
}
