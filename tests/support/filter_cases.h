/* SPDX-License-Identifier: MIT */
/* Every combination of the options of the system-call filter. */
#pragma once

#include "base/macros.h"
#include "bpf_eval.h"
#include "filter/filter.h"

enum { FILTER_OPTION_SETS = 2 * 16 };

/* The combination with this number. */
static inline struct filter_options filter_option_set(unsigned n)
{
	return (struct filter_options){
		.arch = n & 1 ? FILTER_AARCH64 : FILTER_X86_64,
		.reaches_host = n & 2,
		.asks_connect = n & 4,
		.allows_userns = n & 8,
		.is_root = n & 16,
	};
}

static inline uint32_t filter_audit_arch(enum filter_arch arch)
{
	return arch == FILTER_X86_64 ? (uint32_t)AUDIT_X86_64 : (uint32_t)AUDIT_AARCH64;
}
