/* SPDX-License-Identifier: MIT */
/* Clears and restores the effective capabilities of this thread. */
#include "linux/notify/rights.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static long set(const struct __user_cap_data_struct *data)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, data);
}

int rights_drop(struct rights *r)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2];

	*r = (struct rights){ .are_dropped = false };
	if (syscall(SYS_capget, &header, r->saved) < 0)
		return -errno;
	if (r->saved[0].effective == 0 && r->saved[1].effective == 0)
		return 0;
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		none[i] = r->saved[i];
		none[i].effective = 0;
	}
	if (set(none) < 0)
		return -errno;
	r->are_dropped = true;
	return 0;
}

void rights_restore(struct rights *r)
{
	/* What is permitted can always be made effective again. */
	if (r->are_dropped)
		(void)set(r->saved);
	r->are_dropped = false;
}
