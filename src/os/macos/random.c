/* SPDX-License-Identifier: MIT */
/* See random.h and memory.h. */
#include "os/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "os/memory.h"

/* <string.h> declares it only before it is included for the first time. */
int memset_s(void *memory, size_t room, int byte, size_t bytes);

int os_random(void *out, size_t bytes)
{
	return getentropy(out, bytes) < 0 ? -errno : 0;
}

void os_wipe(void *memory, size_t bytes)
{
	(void)memset_s(memory, bytes, 0, bytes);
}
