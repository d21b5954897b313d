/* SPDX-License-Identifier: MIT */
/* A directory, sockets and shared memory on which the probe tries what a sandbox forbids. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor/native.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/posix/native.h"

enum { PLACE_COUNT = 4 };

/* Created in this order, removed in the reverse order. */
static const struct {
	const char *name;
	bool is_dir;
} contents[] = {
	{ "work", true },
	{ "work/carved", false },
	{ "outside", false },
	{ "denied", true },
	{ "denied/file", false },
	{ "denied/open", true },
	{ "denied/open/file", false },
	{ "config.toml", false },
};

/* What a probe, or one that was interrupted, can have left behind. */
static const char *const remains[] = { ("work/" PROBE_LEFT_FILE), "work/made", "audit.jsonl",
				       "audit.jsonl.lock" };

/* Where the directory may be created, in order of preference; NULL where a variable is not set. */
static void list_places(const char *out[PLACE_COUNT])
{
	const char *tmpdir = os_environment_find(os_environment(), "TMPDIR");
	const char *runtime = os_environment_find(os_environment(), "XDG_RUNTIME_DIR");

	out[0] = tmpdir && tmpdir[0] == '/' ? tmpdir : NULL;
	out[1] = "/tmp";
	out[2] = "/var/tmp";
	out[3] = runtime && runtime[0] == '/' ? runtime : NULL;
}

/* ---- The directory ------------------------------------------------------------------------ */

/*
 * SECURITY: a command that may write to /tmp could put links there. Following one, the doctor would
 * create and remove files anywhere.
 */
int room_open_above(int top, const char *name, const char **last)
{
	const char *slash = strrchr(name, '/');
	char above[64] = ".";

	if (slash)
		(void)snprintf(above, sizeof(above), "%.*s", (int)(slash - name), name);
	*last = slash ? slash + 1 : name;
	return native_open_directory_below(top, above);
}

static bool make_below(int top, const char *name, bool is_dir)
{
	const char *last;
	scoped_fd dir = room_open_above(top, name, &last);
	scoped_fd made = -1;

	if (dir < 0)
		return false;
	if (is_dir)
		return mkdirat(dir, last, 0700) == 0;
	made = openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return made >= 0;
}

static bool write_config(int top)
{
	const ssize_t bytes = (ssize_t)strlen(native_probe_config);
	scoped_fd file = native_open_below(top, "config.toml", O_WRONLY | O_CLOEXEC);

	return file >= 0 && write(file, native_probe_config, (size_t)bytes) == bytes;
}

static void remove_below(int top, const char *name, bool is_dir)
{
	const char *last;
	scoped_fd dir = room_open_above(top, name, &last);

	if (dir >= 0)
		(void)unlinkat(dir, last, is_dir ? AT_REMOVEDIR : 0);
}

static bool fill(int dir)
{
	for (size_t i = 0; i < COUNT_OF(contents); i++)
		if (!make_below(dir, contents[i].name, contents[i].is_dir))
			return false;
	return write_config(dir);
}

/* Removes only what room_open() and the probe create. */
static void empty(int dir)
{
	for (size_t i = 0; i < COUNT_OF(remains); i++)
		remove_below(dir, remains[i], false);
	remove_below(dir, "work/missing", true);
	for (size_t i = COUNT_OF(contents); i > 0; i--)
		remove_below(dir, contents[i - 1].name, contents[i - 1].is_dir);
}

static int make_in(struct arena *a, const char *place, struct doctor_room *out, struct err *e)
{
	char resolved[PATH_MAX_BYTES];
	struct str path;
	char *name;

	/* The policy names the path without links. */
	if (!realpath(place, resolved))
		return FAIL_SYS(e, errno, "can't use %s", place);
	if (arena_printf(a, &path, e, "%s/" DOCTOR_ROOM_NAME "XXXXXX", resolved) < 0)
		return err_result(e);
	name = arena_alloc(a, path.len + 1, e);
	if (!name)
		return err_result(e);
	memcpy(name, path.p, path.len + 1);
	if (!mkdtemp(name))
		return FAIL_SYS(e, errno, "can't create a directory in %s", place);
	out->directory = name;
	out->lock = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->lock < 0 || flock(out->lock, LOCK_SH | LOCK_NB) < 0 || !fill(out->lock))
		return FAIL_SYS(e, errno, "can't create the files of the probe in %s", name);
	return 0;
}

static int make_somewhere(struct arena *a, struct doctor_room *out, struct err *e)
{
	const char *places[PLACE_COUNT];

	list_places(places);
	for (size_t i = 0; i < PLACE_COUNT; i++) {
		if (!places[i])
			continue;
		err_clear(e);
		if (make_in(a, places[i], out, e) == 0)
			return 0;
		room_close(out);
		if (e->code != ERR_SYS)
			return err_result(e);
	}
	return err_wrap(
		e, "the doctor needs a writable directory for its probe; set TMPDIR to one that "
		   "can be written");
}

/* ---- The rest ------------------------------------------------------------------------------- */

/* -1, or a port 0, if the system gives none. */
static int listen_tcp(int *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };
	socklen_t bytes = sizeof(at);
	int fd = native_socket(AF_INET, SOCK_STREAM, true);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 8) == 0 &&
	    getsockname(fd, (struct sockaddr *)&at, &bytes) == 0)
		*port = ntohs(at.sin_port);
	return fd;
}

int room_open(struct arena *a, const char *program, struct doctor_room *out, struct err *e)
{
	*out = (struct doctor_room)ROOM_NONE;
	if (make_somewhere(a, out, e) < 0)
		return err_result(e);
	out->program = program;
	/* Failures are ignored: the control run, without a sandbox, shows what is missing. */
	out->tcp = listen_tcp(&out->port);
	out->open_tcp = listen_tcp(&out->open_port);
	out->local = native_listen_local(out, out->socket, sizeof(out->socket));
	out->memory = native_make_memory();
	probe_born(getpid(), out->born, sizeof(out->born));
	return 0;
}

void room_close(struct doctor_room *room)
{
	if (room->lock >= 0) {
		empty(room->lock);
		close(room->lock);
	}
	if (room->directory)
		(void)rmdir(room->directory);
	if (room->tcp >= 0)
		close(room->tcp);
	if (room->open_tcp >= 0)
		close(room->open_tcp);
	if (room->local >= 0)
		close(room->local);
	native_free_memory(room->memory);
	*room = (struct doctor_room)ROOM_NONE;
}

bool room_has_life(const struct doctor_room *room)
{
	const char *last;
	scoped_fd dir = room_open_above(room->lock, "work/" PROBE_LEFT_FILE, &last);
	scoped_fd fd = -1;
	bool is_locked;

	if (dir >= 0)
		fd = openat(dir, last, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	is_locked = flock(fd, LOCK_EX | LOCK_NB) < 0;
	(void)unlinkat(dir, last, 0);
	return is_locked;
}

/* ---- Directories of earlier runs ------------------------------------------------------------------ */

static int clean_one(struct arena *a, int parent, const char *place, const char *name,
		     path_list *out, struct err *e)
{
	int dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct str *added;
	struct stat st;
	bool is_gone;

	if (dir < 0)
		return 0;
	if (fstat(dir, &st) < 0 || st.st_uid != geteuid() || flock(dir, LOCK_EX | LOCK_NB) < 0) {
		close(dir);
		return 0;
	}
	empty(dir);
	is_gone = unlinkat(parent, name, AT_REMOVEDIR) == 0;
	close(dir);
	if (!is_gone)
		return 0;
	added = VEC_PUSH(a, out, e);
	return added ? arena_printf(a, added, e, "%s/%s", place, name) : err_result(e);
}

static int clean_place(struct arena *a, const char *place, path_list *out, struct err *e)
{
	DIR *dir = opendir(place);
	const struct dirent *entry;
	int status = 0;

	while (dir && status == 0 && (entry = readdir(dir)) != NULL)
		if (str_has_prefix(str_of(entry->d_name), STR(DOCTOR_ROOM_NAME)))
			status = clean_one(a, dirfd(dir), place, entry->d_name, out, e);
	if (dir)
		(void)closedir(dir);
	return status;
}

int room_clean(struct arena *a, path_list *out, struct err *e)
{
	const char *places[PLACE_COUNT];

	list_places(places);
	for (size_t i = 0; i < PLACE_COUNT; i++)
		if (places[i] && clean_place(a, places[i], out, e) < 0)
			return err_result(e);
	return 0;
}
