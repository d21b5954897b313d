/* SPDX-License-Identifier: MIT */
/* See syscalls.h. */
#include "filter/syscalls.h"

#define ENTRY(call, x86_64, aarch64) \
	[SYSCALL_##call] = {         \
		#call,               \
		{ x86_64, aarch64 }, \
	},
const struct syscall_entry syscalls[SYSCALL_COUNT] = { SYSCALLS(ENTRY) };

/* From 424 on all architectures count alike. The gaps are other architectures' own calls. */
const struct syscall_range syscall_ranges[2][SYSCALL_RANGES] = {
	[FILTER_X86_64] = { { 0, 336 }, { 424, SYSCALL_LAST } },
	[FILTER_AARCH64] = { { 0, 243 }, { 260, 294 }, { 424, SYSCALL_LAST } },
};
