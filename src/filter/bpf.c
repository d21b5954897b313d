/* SPDX-License-Identifier: MIT */
/* See bpf.h. */
#include "filter/bpf.h"

enum {
	LOAD = 0x20,   /* BPF_LD | BPF_W | BPF_ABS */
	MASK = 0x54,   /* BPF_ALU | BPF_AND | BPF_K */
	JUMP = 0x05,   /* BPF_JMP | BPF_JA */
	RETURN = 0x06, /* BPF_RET | BPF_K */
	/*
	 * If a test's target is farther away than this, a jump is inserted. A test has two targets,
	 * and a jump for one of them moves the other one instruction farther away.
	 */
	REACH = UINT8_MAX - 1,
};

static bpf_label add(struct bpf *b, struct bpf_insn insn)
{
	if (b->count < b->size)
		b->room[b->size - ++b->count] = insn;
	else
		b->is_full = true;
	return (bpf_label)b->count;
}

/* How far `target` is from an instruction that is added now. */
static uint32_t distance(const struct bpf *b, bpf_label target)
{
	return (uint32_t)b->count - target;
}

static bpf_label add_jump(struct bpf *b, bpf_label target)
{
	return add(b, (struct bpf_insn){ .code = JUMP, .k = distance(b, target) });
}

/* Makes `next` follow the instruction that is added next. */
static void continue_at(struct bpf *b, bpf_label next)
{
	if (distance(b, next) > 0)
		(void)add_jump(b, next);
}

/* `target`, or a nearer jump to it. */
static bpf_label bring_near(struct bpf *b, bpf_label target)
{
	const struct bpf_insn *there = &b->room[b->size - target];

	if (distance(b, target) <= REACH)
		return target;
	return there->code == RETURN ? add(b, *there) : add_jump(b, target);
}

bpf_label bpf_return(struct bpf *b, uint32_t value)
{
	return add(b, (struct bpf_insn){ .code = RETURN, .k = value });
}

bpf_label bpf_load(struct bpf *b, uint32_t offset, bpf_label next)
{
	continue_at(b, next);
	return add(b, (struct bpf_insn){ .code = LOAD, .k = offset });
}

bpf_label bpf_mask(struct bpf *b, uint32_t mask, bpf_label next)
{
	continue_at(b, next);
	return add(b, (struct bpf_insn){ .code = MASK, .k = mask });
}

bpf_label bpf_test(struct bpf *b, enum bpf_test test, uint32_t value, bpf_label yes, bpf_label no)
{
	if (yes == no)
		return yes;
	yes = bring_near(b, yes);
	no = bring_near(b, no);
	return add(b, (struct bpf_insn){
			      .code = (uint16_t)test,
			      .jump_true = (uint8_t)distance(b, yes),
			      .jump_false = (uint8_t)distance(b, no),
			      .k = value,
		      });
}
