/* SPDX-License-Identifier: MIT */
/* Which Landlock the kernel has. */
#pragma once

/*
 * The ABI, at least 1, or -errno: -ENOSYS if the kernel has no Landlock or a container hides it,
 * -EOPNOTSUPP if it was turned off at boot.
 */
int os_landlock_abi(void);
