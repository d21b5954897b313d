/* SPDX-License-Identifier: MIT */
/* See os/memory.h. */
#include "os/memory.h"

#include "os/windows/api.h"

void *os_map(size_t bytes)
{
	return VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void os_unmap(void *memory, size_t bytes)
{
	(void)bytes;
	(void)VirtualFree(memory, 0, MEM_RELEASE);
}

void os_wipe(void *memory, size_t bytes)
{
	(void)SecureZeroMemory(memory, bytes);
}
