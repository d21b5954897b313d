/* SPDX-License-Identifier: MIT */
/* See kernel_file.h. */
#include "os/kernel_file.h"

#include <linux/magic.h>
#include <sys/statfs.h>

bool os_is_of_kernel(int fd)
{
	static const long kinds[] = { PROC_SUPER_MAGIC,	   SYSFS_MAGIC,	  CGROUP_SUPER_MAGIC,
				      CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
				      SECURITYFS_MAGIC,	   BPF_FS_MAGIC,  NSFS_MAGIC,
				      SELINUX_MAGIC,	   0x50494446 /* pidfs */ };
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if ((long)fs.f_type == kinds[i])
			return true;
	return false;
}
