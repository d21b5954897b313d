/* SPDX-License-Identifier: MIT */
/*
 * Which path a call leads to; see naming.h. This runs for every file that a command creates or
 * removes, so the usual case takes two system calls: one reads the path, one the directory that it
 * is relative to. The directory part of a longer path is looked up once and remembered for a
 * moment. If it is replaced by a link meanwhile, a refusal may get no name.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux/notify/caller.h"
#include "linux/notify/naming.h"
#include "os/fd.h"

enum { KNOWN_MS = 50, TRIES = 1000 };

static int open_inside(const struct sandbox *sandbox, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long fd;
	int tries = 0;

	/* EAGAIN: a "..", and somebody on this machine has renamed or mounted something meanwhile. */
	do
		fd = syscall(SYS_openat2, sandbox->root, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < TRIES);
	return fd < 0 ? -errno : (int)fd;
}

int naming_open_inside(const struct sandbox *sandbox, const char *path)
{
	return open_inside(sandbox, path, O_NOFOLLOW);
}

/* The path that a link in /proc shows; its length, 0 when it shows none from the root. */
static size_t read_link(int dir, const char *link, char out[PATH_MAX_BYTES])
{
	ssize_t n = readlinkat(dir, link, out, PATH_MAX_BYTES - 1);

	if (n <= 0 || n >= PATH_MAX_BYTES - 1 || out[0] != '/')
		return 0;
	out[n] = '\0';
	return (size_t)n;
}

static size_t read_place(int fd, char out[PATH_MAX_BYTES])
{
	char link[CALLER_PATH_BYTES];

	(void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	return read_link(AT_FDCWD, link, out);
}

/* Opens the directory with the caller's descriptors, whose links take half as long to read from it. */
static bool open_descriptors(struct naming_paths *n, int32_t pid)
{
	char link[CALLER_PATH_BYTES];

	(void)snprintf(link, sizeof(link), "/proc/%d/fd", pid);
	fd_close(&n->descriptors);
	n->descriptors = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	n->descriptors_of = pid;
	return n->descriptors >= 0;
}

static size_t read_descriptor(struct naming_paths *n, int32_t pid, int fd, char out[PATH_MAX_BYTES])
{
	bool is_old = n->descriptors >= 0 && n->descriptors_of == pid;
	char name[16];
	size_t len;

	(void)snprintf(name, sizeof(name), "%d", fd);
	if (!is_old && !open_descriptors(n, pid))
		return 0;
	len = read_link(n->descriptors, name, out);
	/* Of a process that has ended it shows nothing, and another one may have its pid. */
	if (len == 0 && is_old && open_descriptors(n, pid))
		len = read_link(n->descriptors, name, out);
	return len;
}

/* Where a relative path starts. */
static size_t read_start(struct naming_paths *n, int32_t pid, int dir, char out[PATH_MAX_BYTES])
{
	char link[CALLER_PATH_BYTES];

	if (dir != AT_FDCWD)
		return read_descriptor(n, pid, dir, out);
	(void)snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	return read_link(AT_FDCWD, link, out);
}

/* ---- As text --------------------------------------------------------------------------- */

struct joined {
	char text[2 * PATH_MAX_BYTES]; /* absolute, without empty and "." components */
	size_t len;
	size_t dir_len; /* of what comes before the last component; 0: it is "/" */
	bool has_up;	/* a ".." in it, which only a look-up resolves */
};

static void add_components(struct joined *j, struct str path)
{
	size_t at = 0;
	struct str name;

	while (path_next(path, &at, &name)) {
		if (!name.len || str_is(name, "."))
			continue;
		if (str_is(name, ".."))
			j->has_up = true;
		j->dir_len = j->len;
		j->text[j->len++] = '/';
		memcpy(j->text + j->len, name.p, name.len);
		j->len += name.len;
	}
	j->text[j->len] = '\0';
}

static bool join(struct naming_paths *n, const struct engine_call *call,
		 const struct naming_target *target, const char *named, struct joined *out)
{
	UNINITIALIZED char start[PATH_MAX_BYTES];
	size_t len = 0;

	out->len = out->dir_len = 0;
	out->has_up = false;
	if (named[0] != '/') {
		len = read_start(n, call->pid, target->dir, start);
		if (len == 0)
			return false;
		add_components(out, (struct str){ start, len });
	}
	add_components(out, str_of(named));
	return out->len > 0;
}

/* ---- Its directory --------------------------------------------------------------------- */

static struct naming_known *find_slot(struct naming_paths *n, struct str key)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < key.len; i++)
		hash = (hash ^ (uint8_t)key.p[i]) * 16777619u;
	return &n->known[hash % NAMING_KNOWN];
}

static void remember(struct naming_known *slot, struct str key, struct str path, uint64_t now)
{
	if (key.len > sizeof(slot->key) || path.len > sizeof(slot->path))
		return;
	memcpy(slot->key, key.p, key.len);
	memcpy(slot->path, path.p, path.len);
	slot->key_len = key.len;
	slot->path_len = path.len;
	slot->until_ms = now + KNOWN_MS;
}

static bool is_denied(const struct naming_paths *n, struct str path)
{
	return plan_resolve(n->plan, path).access == ACCESS_DENY;
}

/*
 * A denied directory is covered, and nothing below it can be looked up inside. Where a link or ".."
 * leads to one, the host shows it.
 */
static ssize_t find_denied(const struct naming_paths *n, const struct joined *j, const char *dir,
			   char *out)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_MAGICLINKS };
	scoped_fd fd = (int)syscall(SYS_openat2, AT_FDCWD, dir, &how, sizeof(how));
	struct str text = { dir, j->dir_len };

	if (fd >= 0) {
		size_t len = read_place(fd, out);

		return len && is_denied(n, (struct str){ out, len }) ? (ssize_t)len : -1;
	}
	if (j->has_up || text.len >= PATH_MAX_BYTES || !is_denied(n, text))
		return -1;
	memcpy(out, dir, text.len + 1);
	return (ssize_t)text.len;
}

/* Stores the canonical directory in `out` and returns its length; -1: there is none. */
static ssize_t look_up_directory(const struct naming_paths *n, const struct joined *j, char *out)
{
	UNINITIALIZED char dir[2 * PATH_MAX_BYTES];
	scoped_fd fd = -1;
	struct str text = { j->text, j->dir_len };

	memcpy(dir, text.p, text.len);
	dir[text.len] = '\0';
	fd = open_inside(n->sandbox, text.len ? dir : "/", O_DIRECTORY);
	if (fd >= 0) {
		size_t len = read_place(fd, out);

		return len ? (ssize_t)len : -1;
	}
	return find_denied(n, j, dir, out);
}

static ssize_t find_directory(struct naming_paths *n, const struct joined *j, char *out)
{
	struct str key = { j->text, j->dir_len };
	uint64_t now = loop_now();
	struct naming_known *slot;
	ssize_t len;

	if (j->has_up || n->looks_anew)
		return look_up_directory(n, j, out);
	slot = find_slot(n, key);
	if (slot->until_ms > now && str_eq(key, (struct str){ slot->key, slot->key_len })) {
		memcpy(out, slot->path, slot->path_len);
		out[slot->path_len] = '\0';
		return (ssize_t)slot->path_len;
	}
	len = look_up_directory(n, j, out);
	if (len > 0)
		remember(slot, key, (struct str){ out, (size_t)len }, now);
	return len;
}

/* ---- All of it -------------------------------------------------------------------------- */

/* If the path is a link, replaces it by what the link leads to. False: that is missing. */
static bool follow(const struct naming_paths *n, struct naming_path *out)
{
	char ignored[1];
	scoped_fd fd = -1;

	/* A path without a link, the usual case, takes one call. */
	if (readlinkat(n->sandbox->root, out->path + 1, ignored, sizeof(ignored)) < 0)
		return true;
	fd = open_inside(n->sandbox, out->path, 0);
	if (fd < 0)
		return false;
	out->len = read_place(fd, out->path);
	return out->len > 0;
}

static bool add_name(struct naming_path *out, struct str name)
{
	if (out->len + name.len + 2 > sizeof(out->path))
		return false;
	if (out->len > 1) /* the root ends with a slash already */
		out->path[out->len++] = '/';
	memcpy(out->path + out->len, name.p, name.len);
	out->len += name.len;
	out->path[out->len] = '\0';
	return true;
}

/* A path whose last component is "..", "/" itself, or a directory that is meant as such. */
static bool find_whole(const struct naming_paths *n, const struct joined *j,
		       struct naming_path *out)
{
	scoped_fd fd = open_inside(n->sandbox, j->text, 0);

	if (fd < 0)
		return false;
	out->len = read_place(fd, out->path);
	return out->len > 0;
}

static bool is_elsewhere(const struct joined *j)
{
	const struct str path = { j->text, j->len };

	return path_is_under(path, STR("/proc")) || path_is_under(path, STR("/dev"));
}

bool naming_find_path(struct naming_paths *n, const struct engine_call *call,
		      const struct naming_target *target, struct naming_path *out)
{
	UNINITIALIZED struct joined j;
	struct str name;
	ssize_t dir;

	if (engine_peek_text(call, target->address, out->named, sizeof(out->named)) < 0 ||
	    !out->named[0] || !join(n, call, target, out->named, &j) || is_elsewhere(&j))
		return false;
	name = (struct str){ j.text + j.dir_len + 1, j.len - j.dir_len - 1 };
	if (str_is(name, ".."))
		return find_whole(n, &j, out);
	dir = find_directory(n, &j, out->path);
	if (dir < 0)
		return false;
	out->len = (size_t)dir;
	return add_name(out, name) && (!target->follows || follow(n, out));
}
