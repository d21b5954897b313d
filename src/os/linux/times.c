/* SPDX-License-Identifier: MIT */
/*
 * Times of files, by the raw call: not every C library has statx(), and the
 * kernel's header for it can't stand beside theirs.
 */
#include "os/times.h"

#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CURRENT_DIRECTORY = -100, NO_FOLLOW = 0x100 };

static struct timespec time_of(struct statx_timestamp t)
{
	return (struct timespec){ .tv_sec = t.tv_sec, .tv_nsec = (long)t.tv_nsec };
}

bool os_look_times(const char *path, struct os_times *out)
{
	struct statx st;

	if (syscall(SYS_statx, CURRENT_DIRECTORY, path, NO_FOLLOW, STATX_CTIME | STATX_BTIME, &st) <
	    0)
		return false;
	*out = (struct os_times){ .change = time_of(st.stx_ctime),
				  .birth = time_of(st.stx_btime),
				  .has_birth = (st.stx_mask & STATX_BTIME) != 0 };
	return true;
}
