/* SPDX-License-Identifier: MIT */
/* See os/random.h. */
#include "os/random.h"

#include <errno.h>

#include "os/windows/api.h"

int os_random(void *out, size_t bytes)
{
	return BCryptGenRandom(NULL, out, (ULONG)bytes, BCRYPT_USE_SYSTEM_PREFERRED_RNG) >= 0
		       ? 0
		       : -EIO;
}
