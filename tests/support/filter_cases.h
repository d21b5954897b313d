/* SPDX-License-Identifier: MIT */
/*
 * Combinations of the options of the system-call filter: every one with namespaces
 * and mounts, then those that stand in for them.
 */
#pragma once

#include "base/macros.h"
#include "bpf_eval.h"
#include "filter/filter.h"

enum { FILTER_OPTION_SETS = 3 * 16 + 2 * 16 + 4 };

static inline struct filter_options filter_option_set_alone(unsigned n)
{
	return (struct filter_options){
		.arch = n & 1 ? FILTER_AARCH64 : FILTER_X86_64,
		.keeps_appending = n & 2,
		.metadata = n & 4 ? FILTER_METADATA_ASKED : FILTER_METADATA_REFUSED,
		.reaches_host = n & 8,
		.asks_connect = !(n & 8),
		.has_no_network = !(n & 8),
		.refuses_ipc = !(n & 4) != !(n & 8),
		.lacks_truncate = n & 16,
	};
}

/* The combination with this number. */
static inline struct filter_options filter_option_set(unsigned n)
{
	if (n >= 3 * 16 + 2 * 16)
		return (struct filter_options){
			.arch = n & 1 ? FILTER_AARCH64 : FILTER_X86_64,
			.asks_connect = true,
			.allows_userns = true,
			.keeps_mounts = true,
			.keeps_appending = n & 2,
			.metadata = n & 2 ? FILTER_METADATA_STREAMS : FILTER_METADATA_FREE,
		};
	if (n >= 3 * 16)
		return filter_option_set_alone(n - 3 * 16);
	return (struct filter_options){
		.arch = n & 1 ? FILTER_AARCH64 : FILTER_X86_64,
		.reaches_host = n & 2,
		.asks_connect = n & 4,
		.allows_userns = n & 8,
		.metadata = n < 16 ? FILTER_METADATA_FREE : FILTER_METADATA_STREAMS,
		.keeps_appending = n >= 32,
		.lacks_truncate = n >= 32 && n & 8,
	};
}

static inline uint32_t filter_audit_arch(enum filter_arch arch)
{
	return arch == FILTER_X86_64 ? (uint32_t)AUDIT_X86_64 : (uint32_t)AUDIT_AARCH64;
}
