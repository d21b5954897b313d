/* SPDX-License-Identifier: MIT */
/* See kernel_file.h. */
#include "os/kernel_file.h"

#include <string.h>
#include <sys/mount.h>
#include <sys/param.h>

bool os_is_of_kernel(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || strcmp(fs.f_fstypename, "devfs") == 0 ||
	       strcmp(fs.f_fstypename, "fdesc") == 0;
}
