/* SPDX-License-Identifier: MIT */
/* See posix/path.h. */
#include "os/posix/path.h"

#include <sys/stat.h>

#include "base/utf8.h"

const char *show_path(struct shown *out, struct str path)
{
	return utf8_show(path, out->text, sizeof(out->text));
}

int c_path_init(struct c_path *out, struct str path, struct err *e)
{
	UNINITIALIZED struct shown shown;

	if (str_has_nul(path))
		return FAIL(e, ERR_SYNTAX, "the path '%s' holds a NUL byte",
			    show_path(&shown, path));
	if (path.len >= sizeof(out->text))
		return FAIL(e, ERR_LIMIT, "a path of %zu bytes is too long, %zu is the most: '%s'",
			    path.len, sizeof(out->text) - 1, show_path(&shown, path));
	if (path.len)
		memcpy(out->text, path.p, path.len);
	out->text[path.len] = '\0';
	return 0;
}

enum os_type type_of_mode(uint32_t mode)
{
	if (S_ISREG(mode))
		return OS_FILE;
	if (S_ISDIR(mode))
		return OS_DIR;
	return S_ISLNK(mode) ? OS_LINK : OS_OTHER;
}
