/* SPDX-License-Identifier: MIT */
/* The clock of a loop; see loop.h. */
#include <time.h>

#include "os/loop.h"

uint64_t loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
