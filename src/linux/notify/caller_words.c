/* SPDX-License-Identifier: MIT */
/* See caller_words.h. */
#include "linux/notify/caller_words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "linux/notify/caller.h"
#include "os/fd.h"

/* The target of a link below /proc/PID; "" when it is no path from the root. */
static struct str read_link(int32_t pid, const char *name, struct caller_words *out)
{
	char link[CALLER_PATH_BYTES];
	char *at = out->text + out->used;
	size_t room = sizeof(out->text) - out->used;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%d/%s", pid, name);
	n = readlink(link, at, room);
	if (n <= 0 || (size_t)n >= room || at[0] != '/')
		return STR_EMPTY;
	out->used += (size_t)n;
	return (struct str){ at, (size_t)n };
}

static size_t read_file(int32_t pid, const char *name, char *out, size_t room)
{
	scoped_fd fd = caller_open(pid, name, O_RDONLY);
	size_t got = 0;

	while (fd >= 0 && got < room) {
		ssize_t n = read(fd, out + got, room - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

void caller_read_words(int32_t pid, struct caller_words *out)
{
	struct str rest;

	out->used = out->count = 0;
	out->program = read_link(pid, "exe", out);
	out->cwd = read_link(pid, "cwd", out);
	rest = (struct str){ out->text + out->used, read_file(pid, "cmdline", out->text + out->used,
							      sizeof(out->text) - out->used) };
	out->used += rest.len;
	while (rest.len && out->count < CALLER_MAX_WORDS) {
		struct str word = str_first(rest, str_find(rest, '\0'));

		out->words[out->count++] = word;
		rest = str_from(rest, word.len + 1);
	}
}
