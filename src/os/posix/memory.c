/* SPDX-License-Identifier: MIT */
/* See memory.h. */
#include "os/memory.h"

#include <sys/mman.h>

void *os_map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void os_unmap(void *memory, size_t bytes)
{
	(void)munmap(memory, bytes);
}
