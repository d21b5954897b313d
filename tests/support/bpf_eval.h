/* SPDX-License-Identifier: MIT */
/*
 * Runs a seccomp program as the kernel would: over a call, without making it.
 * What the kernel would not take is not valid here either.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/filter.h"

/* Same layout as struct seccomp_data. */
struct bpf_call {
	uint32_t number, arch;
	uint64_t address;
	uint64_t args[6];
};

struct bpf_answer {
	uint32_t value;
	unsigned steps;		/* instructions until the answer */
	bool looked_at_address; /* or at an argument: the number alone did not decide */
};

/* NULL, or what is wrong with it. */
const char *bpf_find_fault(const struct bpf_insn *insns, size_t count);

/* The program must be without fault. */
struct bpf_answer bpf_eval(const struct bpf_insn *insns, const struct bpf_call *call);

/* The values of the kernel's interface. */
enum { AUDIT_X86_64 = (int)0xc000003e, AUDIT_AARCH64 = (int)0xc00000b7 };
#define ANSWER_ALLOW	0x7fff0000u
#define ANSWER_NOTIFY	0x7fc00000u
#define ANSWER_KILL	0x80000000u
#define ANSWER_ERRNO(n) (0x00050000u | (uint32_t)(n))
