/* SPDX-License-Identifier: MIT */
/* See doctor/native.h. */
#include "doctor/native.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "backend/bwrap/bwrap.h"
#include "backend/bwrap/probe.h"
#include "base/path.h"
#include "os/fd.h"

const char native_probe_config[] = "";

int native_find_probe(struct arena *a, const char **out, struct err *e)
{
	struct str program;
	bool is_this;

	if (bwrap_find_cordon(a, &program, &is_this, e) < 0)
		return err_result(e);
	*out = program.p;
	return 0;
}

bool native_needs_policy(const struct backend *backend)
{
	return backend == &backend_bwrap;
}

int native_open_directory_below(int top, const char *name)
{
	int dir = fcntl(top, F_DUPFD_CLOEXEC, 3);

	while (dir >= 0 && *name) {
		size_t length = strcspn(name, "/");
		int above = dir;
		char part[32];

		(void)snprintf(part, sizeof(part), "%.*s", (int)length, name);
		dir = openat(above, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_done(&above);
		name += length + (name[length] == '/');
	}
	return dir;
}

int native_open_below(int top, const char *name, int flags)
{
	const char *last;
	scoped_fd above = room_open_above(top, name, &last);

	return above < 0 ? -1 : openat(above, last, flags | O_NOFOLLOW, 0600);
}

/* An abstract one: its name is the directory's, which is unique. */
int native_listen_local(const struct doctor_room *room, char *name, size_t room_bytes)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t len;
	int fd;

	(void)snprintf(name, room_bytes, "%s", strrchr(room->directory, '/') + 1);
	len = strlen(name);
	memcpy(at.sun_path + 1, name, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&at,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) == 0)
		(void)listen(fd, 8);
	return fd;
}

int native_make_memory(void)
{
	return shmget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
}

void native_free_memory(int memory)
{
	if (memory >= 0)
		(void)shmctl(memory, IPC_RMID, NULL);
}

/* ---- What is known about a bwrap --------------------------------------------------------------- */

/* The third line is the program that it is about. */
static bool is_stale(struct str text)
{
	struct bwrap_identity identity;
	uint32_t features;
	char path[PATH_MAX_BYTES];
	struct stat st;
	struct str rest = text;

	for (int i = 0; i < 2; i++)
		rest = str_from(rest, str_find(rest, '\n') + 1);
	rest = str_first(rest, str_find(rest, '\n'));
	if (rest.len >= sizeof(path) || str_has_nul(rest))
		return true;
	memcpy(path, rest.p, rest.len);
	path[rest.len] = '\0';
	if (stat(path, &st) < 0)
		return true;
	identity = bwrap_identity(&st);
	return !bwrap_cache_parse(text, rest, &identity, &features);
}

int native_clean_cache(struct arena *a, struct diagnosis *d, struct err *e)
{
	char room[PATH_MAX_BYTES + 512];
	struct str file, text;
	int directory;
	bool is_gone;

	if (bwrap_cache_open(a, &file, &directory, e) < 0)
		return err_result(e);
	if (directory < 0)
		return 0;
	is_gone = bwrap_cache_read(directory, room, sizeof(room), &text) && is_stale(text) &&
		  bwrap_cache_remove(directory);
	close(directory);
	return is_gone ? clean_add(a, &d->removed, file, e) : 0;
}
