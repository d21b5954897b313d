/* SPDX-License-Identifier: MIT */
/* The capitals of NTFS; windows_path.h says which. Without ASCII. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct upcase_run {
	uint16_t first, last; /* both have a capital */
	uint8_t step;	      /* so has each step-th in between */
	int32_t add;	      /* to get it */
};
extern const struct upcase_run upcase_runs[];
extern const size_t upcase_run_count;
