/* SPDX-License-Identifier: MIT */
/* See program.h: who can change a program. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "os/program.h"

/*
 * Of one component of the path, which is not a link. `below` is the component below it, NULL for the last.
 *
 * SECURITY: in a directory with the sticky bit, such as /tmp, others can neither rename nor remove what
 * this user and root own. A file there could be another name (a hard link) that somebody else has
 * chosen; a directory can't.
 */
static const char *distrust_owner(const struct stat *st, const struct stat *below)
{
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user";
	if (!(st->st_mode & (S_IWGRP | S_IWOTH)))
		return NULL;
	if (below && S_ISDIR(below->st_mode) && S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX))
		return NULL;
	return "can be written by others";
}

const char *os_distrust_path(const char *path, char *where, size_t room)
{
	char part[PATH_MAX_BYTES];
	size_t len = strlen(path);
	struct stat below, *child = NULL;
	const char *why = NULL;

	if (len >= sizeof(part) || path[0] != '/')
		return "has no usable path";
	memcpy(part, path, len + 1);
	while (!why) {
		struct stat st;

		if (lstat(part, &st) < 0)
			why = "can't be looked at";
		else
			why = distrust_owner(&st, child);
		below = st;
		child = &below;
		if (why)
			(void)utf8_show(str_of(part), where, room);
		if (why || strcmp(part, "/") == 0)
			break;
		while (len > 1 && part[len - 1] != '/')
			len--;
		len = len > 1 ? len - 1 : len;
		part[len] = '\0';
	}
	return why;
}

bool os_may_write(const char *path)
{
	struct stat st;

	/* SECURITY: who owns it can give itself that permission at any time. */
	return access(path, W_OK) == 0 ||
	       (errno == EACCES && lstat(path, &st) == 0 && st.st_uid == geteuid());
}
