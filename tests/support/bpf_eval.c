/* SPDX-License-Identifier: MIT */
/* See bpf_eval.h. */
#include "bpf_eval.h"

#include <string.h>

enum {
	LOAD = 0x20,
	AND = 0x54,
	JUMP = 0x05,
	JUMP_EQUAL = 0x15,
	JUMP_ABOVE = 0x25,
	JUMP_AT_LEAST = 0x35,
	JUMP_ANY_BIT = 0x45,
	RETURN = 0x06,
};

static const char *find_fault_at(const struct bpf_insn *insn, size_t behind)
{
	switch (insn->code) {
	case LOAD:
		return insn->k % 4 != 0 || insn->k >= sizeof(struct bpf_call)
			       ? "loads what is not there"
			       : NULL;
	case JUMP:
		return insn->k >= behind ? "jumps out of the program" : NULL;
	case JUMP_EQUAL:
	case JUMP_ABOVE:
	case JUMP_AT_LEAST:
	case JUMP_ANY_BIT:
		return insn->jump_true >= behind || insn->jump_false >= behind
			       ? "jumps out of the program"
			       : NULL;
	case AND:
	case RETURN:
		return NULL;
	default:
		return "has an instruction that is not known";
	}
}

const char *bpf_find_fault(const struct bpf_insn *insns, size_t count)
{
	if (count == 0 || count > FILTER_MAX_INSNS)
		return "is too short or too long";
	for (size_t i = 0; i < count; i++) {
		const char *fault = find_fault_at(&insns[i], count - i - 1);

		if (fault)
			return fault;
	}
	return insns[count - 1].code == RETURN ? NULL : "does not end with an answer";
}

static bool is_true(const struct bpf_insn *insn, uint32_t a)
{
	switch (insn->code) {
	case JUMP_EQUAL:
		return a == insn->k;
	case JUMP_ABOVE:
		return a > insn->k;
	case JUMP_AT_LEAST:
		return a >= insn->k;
	default:
		return (a & insn->k) != 0;
	}
}

struct bpf_answer bpf_eval(const struct bpf_insn *insns, const struct bpf_call *call)
{
	struct bpf_answer answer = { .steps = 0 };
	uint32_t a = 0;

	for (const struct bpf_insn *insn = insns;; insn++) {
		answer.steps++;
		switch (insn->code) {
		case LOAD:
			memcpy(&a, (const char *)call + insn->k, sizeof(a));
			answer.looked_at_address |= insn->k >= 8;
			break;
		case AND:
			a &= insn->k;
			break;
		case JUMP:
			insn += insn->k;
			break;
		case RETURN:
			answer.value = insn->k;
			return answer;
		default:
			insn += is_true(insn, a) ? insn->jump_true : insn->jump_false;
		}
	}
}
