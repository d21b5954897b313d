/* SPDX-License-Identifier: MIT */
/* See random.h and memory.h. */
#include "os/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "os/memory.h"

int os_random(void *out, size_t bytes)
{
	ssize_t got = getrandom(out, bytes, 0);

	if (got == (ssize_t)bytes)
		return 0;
	return got < 0 ? -errno : -EIO;
}

void os_wipe(void *memory, size_t bytes)
{
	explicit_bzero(memory, bytes);
}
