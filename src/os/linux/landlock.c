/* SPDX-License-Identifier: MIT */
/* See landlock.h. */
#include "os/landlock.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int os_landlock_abi(void)
{
	const unsigned long version = 1; /* LANDLOCK_CREATE_RULESET_VERSION */
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, version);

	return abi < 0 ? -errno : (int)abi;
}
