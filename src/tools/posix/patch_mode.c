/* SPDX-License-Identifier: MIT */
/* See patch_mode.h. */
#include "tools/patch_mode.h"

#include <sys/stat.h>

void patch_take_mode(const struct edit *edit, uint32_t mode)
{
	/* Where it can't be had the file is there all the same, with the mode of a new one. */
	if (edit->at.fd >= 0 && fchmod(edit->at.fd, (mode_t)(mode & 0777u)) < 0)
		return;
}
