/* SPDX-License-Identifier: MIT */
/* Placeholders (P11), as a walk meets them inside and outside of a sandbox. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/linux/mark.h"
#include "tools/posix/native.h"

/*
 * Whether it is the directory that the sandbox puts over a placeholder: nothing but an ignore file, and it
 * can't be written.
 */
static bool is_cover(int fd)
{
	_Alignas(struct entry) char block[1024];
	struct statvfs fs;
	bool has_rules = false;
	long got = 0;

	if (fstatvfs(fd, &fs) < 0 || !(fs.f_flag & ST_RDONLY))
		return false;
	while ((got = syscall(SYS_getdents64, fd, block, sizeof(block))) > 0)
		for (long at = 0; at < got;) {
			const struct entry *entry = (const void *)(block + at);
			struct str name = str_of(entry->name);
			bool is_rules = str_is(name, ".gitignore");

			if (!is_rules && !str_is(name, ".") && !str_is(name, ".."))
				return false;
			has_rules |= is_rules;
			at += entry->len;
		}
	return got == 0 && has_rules;
}

/* With or without that over it; `device` is that of the directory above. */
bool tools_is_placeholder_directory(int fd, uint64_t device)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	return st.st_dev != device ? is_cover(fd)
				   : mark_of(&st) != MARK_NONE && mark_is_empty(fd) > 0;
}

bool tools_is_placeholder_socket(int directory, const char *name)
{
	struct stat st;

	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode) &&
	       mark_of(&st) != MARK_NONE;
}
