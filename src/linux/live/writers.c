/* SPDX-License-Identifier: MIT */
/* See writers.h. */
#include "linux/live/writers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/utf8.h"
#include "linux/notify/caller.h"
#include "os/fd.h"

enum { TEXT_BYTES = 256, MAPS_BYTES = 1 << 20, MAX_WRITERS = 16 };

static bool is_inside(int32_t pid, const struct stat *ns)
{
	char path[CALLER_PATH_BYTES];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	return stat(path, &st) == 0 && st.st_ino == ns->st_ino && st.st_dev == ns->st_dev;
}

static bool leads_below(const char *link, struct str path)
{
	char target[PATH_MAX_BYTES];
	ssize_t n = readlink(link, target, sizeof(target));

	return n > 0 && (size_t)n < sizeof(target) &&
	       path_is_under((struct str){ target, (size_t)n }, path);
}

/* "flags:	0100001" */
static bool is_for_writing(int32_t pid, const char *fd)
{
	char name[CALLER_PATH_BYTES], text[TEXT_BYTES];
	scoped_fd info = -1;
	struct str rest;
	ssize_t n;

	(void)snprintf(name, sizeof(name), "fdinfo/%.12s", fd);
	info = caller_open(pid, name, O_RDONLY);
	n = info < 0 ? -1 : read(info, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	rest = str_of(text);
	while (rest.len) {
		struct str line = str_first(rest, str_find(rest, '\n'));

		if (str_is(str_first(line, 6), "flags:"))
			return strtoul(line.p + 6, NULL, 8) & O_ACCMODE;
		rest = str_from(rest, line.len + 1);
	}
	return false;
}

static bool has_file(int32_t pid, struct str path)
{
	char name[CALLER_PATH_BYTES];
	DIR *dir;
	const struct dirent *entry;
	bool is_found = false;

	(void)snprintf(name, sizeof(name), "/proc/%d/fd", pid);
	dir = opendir(name);
	while (dir && !is_found && (entry = readdir(dir))) {
		(void)snprintf(name, sizeof(name), "/proc/%d/fd/%.12s", pid, entry->d_name);
		is_found = leads_below(name, path) && is_for_writing(pid, entry->d_name);
	}
	if (dir)
		(void)closedir(dir);
	return is_found;
}

/* "7f0000000000-7f0000001000 rw-s 00000000 08:01 12	/opt/x/file" */
static bool has_map(int32_t pid, struct str path, struct buf *room)
{
	char chunk[4096];
	scoped_fd maps = caller_open(pid, "maps", O_RDONLY);
	struct str rest;
	ssize_t n;

	buf_clear(room);
	while (maps >= 0 && room->len + sizeof(chunk) < MAPS_BYTES &&
	       (n = read(maps, chunk, sizeof(chunk))) > 0)
		buf_add(room, (struct str){ chunk, (size_t)n });
	rest = buf_str(room);
	while (rest.len) {
		struct str line = str_first(rest, str_find(rest, '\n'));
		struct str rights = str_from(line, str_find(line, ' ') + 1);
		struct str file = str_from(line, str_find(line, '/'));

		if (rights.len > 4 && rights.p[1] == 'w' && rights.p[3] == 's' && file.len &&
		    path_is_under(file, path))
			return true;
		rest = str_from(rest, line.len + 1);
	}
	return false;
}

void writers_find(int mount_ns, struct str path, struct buf *out)
{
	scoped_buf room = BUF_INIT(MAPS_BYTES);
	const struct dirent *entry;
	struct stat ns;
	int found = 0;
	DIR *dir = fstat(mount_ns, &ns) < 0 ? NULL : opendir("/proc");

	while (dir && found < MAX_WRITERS && (entry = readdir(dir))) {
		int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
		char name[CALLER_NAME_BYTES];

		if (pid <= 0 || !is_inside(pid, &ns) ||
		    (!has_file(pid, path) && !has_map(pid, path, &room)))
			continue;
		caller_read_name(pid, name);
		if (found++)
			buf_add_text(out, ", ");
		utf8_add_shown(out, str_of(name));
		buf_printf(out, " (%d)", pid);
	}
	if (dir)
		(void)closedir(dir);
}
