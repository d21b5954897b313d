/* SPDX-License-Identifier: MIT */
/* Which file a path means that a process inside has sent as text. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "linux/notify/caller.h"
#include "linux/notify/inside_client.h"
#include "linux/notify/rights.h"
#include "os/fd.h"

enum { MAX_TRIES = 32 };

static int open_inside(const struct sandbox *sandbox, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long fd = -1;

	/* EAGAIN: a rename ran at the same time, so the kernel could not check ".."; try again. */
	for (int tries = 0; tries < MAX_TRIES; tries++) {
		fd = syscall(SYS_openat2, sandbox->root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

static int read_place(int fd, char *out, size_t room)
{
	char link[CALLER_PATH_BYTES];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	n = readlink(link, out, room - 1);
	if (n <= 0 || (size_t)n >= room - 1 || out[0] != '/')
		return -ENOENT;
	out[n] = '\0';
	return (int)n;
}

/* Cuts the last component off `path`. False: there is none, or it is no name. */
static bool cut_name(char *path, size_t *len)
{
	size_t end = *len, from;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (from = end; from > 0 && path[from - 1] != '/'; from--)
		;
	if (from == end || str_is((struct str){ path + from, end - from }, ".") ||
	    str_is((struct str){ path + from, end - from }, ".."))
		return false;
	while (from > 1 && path[from - 1] == '/')
		from--;
	*len = from;
	path[from] = '\0';
	return true;
}

/* What is missing, behind the place of the directory that is there. */
static int append(char *out, size_t len, size_t room, struct str missing)
{
	size_t at = 0;
	struct str name;

	while (path_next(missing, &at, &name)) {
		if (!name.len)
			continue;
		if (len + name.len + 2 > room)
			return -ENAMETOOLONG;
		if (len > 1)
			out[len++] = '/';
		memcpy(out + len, name.p, name.len);
		len += name.len;
		out[len] = '\0';
	}
	return (int)len;
}

static int find(const struct sandbox *sandbox, struct str path, char *out, size_t room)
{
	UNINITIALIZED char there[PATH_MAX_BYTES];
	size_t len = path.len;
	scoped_fd fd = -1;
	int n;

	memcpy(there, path.p, len);
	there[len] = '\0';
	while ((fd = open_inside(sandbox, there)) < 0) {
		/* What is denied is covered, and can't be looked into. */
		if ((fd != -ENOENT && fd != -EACCES) || !cut_name(there, &len))
			return fd;
	}
	n = read_place(fd, out, room);
	return n < 0 ? n : append(out, (size_t)n, room, str_from(path, len));
}

int inside_find_path(const struct sandbox *sandbox, struct str path, char *out, size_t room)
{
	struct rights rights;
	int r;

	if (!path.len || path.p[0] != '/' || str_has_nul(path))
		return -EINVAL;
	if (path.len >= PATH_MAX_BYTES)
		return -ENAMETOOLONG;
	/* SECURITY: nothing is told of directories that the command can't look into. */
	r = rights_drop(&rights);
	if (r < 0)
		return r;
	r = find(sandbox, path, out, room);
	rights_restore(&rights);
	return r;
}
