/* SPDX-License-Identifier: MIT */
/* See spellings.h. */
#include "linux/placeholder/spellings.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/path.h"
#include "base/utf8.h"

/*
 * File systems whose other spellings of a name are one name to the kernel, so that a mount on it
 * is met by all of them.
 */
static bool has_one_name_for_all(int dir)
{
	static const uint32_t known[] = { 0x4d44 /* vfat */,	 0x2011bab0 /* exfat */,
					  0xef53 /* ext4 */,	 0xf2f52010 /* f2fs */,
					  0x1021994 /* tmpfs */, 0x7366746e /* ntfs3 */,
					  0xff534d42 /* cifs */, 0xfe534d42 /* smb2 */ };
	struct statfs fs;

	if (fstatfs(dir, &fs) < 0)
		return false;
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if ((uint32_t)fs.f_type == known[i])
			return true;
	return false;
}

int spellings_check(int dir, const struct held *h, struct err *e)
{
	const char *name = path_name(str_of(h->path)).p;
	char other[NAME_MAX + 1];
	char shown[512];
	struct stat st;
	size_t len = strlen(name);

	if (len >= sizeof(other))
		return 0;
	for (size_t i = 0; i <= len; i++)
		other[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
	if (strcmp(name, other) == 0 || fstatat(dir, other, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_dev != h->device || st.st_ino != h->inode || has_one_name_for_all(dir))
		return 0;
	return FAIL_CAUSE(
		e, CAUSE_PLACEHOLDER,
		"'%s' can also be opened by other spellings of its name, and on this file "
		"system a mount covers only one of them; Cordon can't protect it",
		utf8_show(str_of(h->path), shown, sizeof(shown)));
}
