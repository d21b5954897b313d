/* SPDX-License-Identifier: MIT */
/* Looks up a path as another process sees it, through descriptors. */
#include "linux/notify/unix_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "linux/notify/caller.h"
#include "os/fd.h"

enum { MAX_TRIES = 32 };

static int open_below(int dir, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC,
				.resolve = resolve | RESOLVE_NO_MAGICLINKS };
	long fd = -1;

	/* EAGAIN: a rename ran at the same time, so the kernel could not check ".."; try again. */
	for (int tries = 0; tries < MAX_TRIES; tries++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

/* ---- Where it starts ---------------------------------------------------------- */

/* The rest after `prefix`: "" or something that begins with a slash. NULL: another path. */
static const char *after(const char *path, const char *prefix)
{
	size_t len = strlen(prefix);

	if (strncmp(path, prefix, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return path + len;
}

/* Of "/7/rest": stores "fd/7", the descriptor's name in /proc/PID, and returns "/rest". */
static const char *after_number(const char *path, char name[CALLER_PATH_BYTES])
{
	size_t digits = 0;

	if (path[0] != '/')
		return NULL;
	path++;
	while (ascii_is_digit(path[digits]))
		digits++;
	if (digits == 0 || digits > 9 || (path[digits] != '/' && path[digits] != '\0'))
		return NULL;
	(void)snprintf(name, CALLER_PATH_BYTES, "fd/%.*s", (int)digits, path);
	return path + digits;
}

/*
 * If the path begins with something that differs for each process (/proc/self/fd/7), stores its
 * name below the caller's /proc/PID, and returns the rest.
 */
static const char *split(const char *path, char name[CALLER_PATH_BYTES])
{
	static const char *const selves[] = { "/proc/self", "/proc/thread-self" };
	static const char *const streams[] = { "/dev/stdin", "/dev/stdout", "/dev/stderr" };
	const char *rest = NULL, *found;

	(void)snprintf(name, CALLER_PATH_BYTES, "%s", path[0] == '/' ? "root" : "cwd");
	if (path[0] != '/')
		return path;
	if ((found = after(path, "/dev/fd")) && (rest = after_number(found, name)))
		return rest;
	for (int i = 0; i < (int)COUNT_OF(streams); i++) {
		if (!(rest = after(path, streams[i])))
			continue;
		(void)snprintf(name, CALLER_PATH_BYTES, "fd/%d", i);
		return rest;
	}
	for (size_t i = 0; i < COUNT_OF(selves); i++) {
		const char *own = after(path, selves[i]);

		if (!own)
			continue;
		if ((found = after(own, "/fd")) && (rest = after_number(found, name)))
			return rest;
		if ((rest = after(own, "/root")))
			return rest;
		if ((rest = after(own, "/cwd"))) {
			(void)snprintf(name, CALLER_PATH_BYTES, "cwd");
			return rest;
		}
	}
	return path;
}

int lookup_own_descriptor(const char *path)
{
	char name[CALLER_PATH_BYTES];
	int fd = 0;

	if (*split(path, name) != '\0' || strncmp(name, "fd/", 3) != 0)
		return -1;
	for (const char *digit = name + 3; *digit; digit++)
		fd = fd * 10 + (*digit - '0');
	return fd;
}

int lookup_init(struct lookup *l, const struct engine *engine, const struct engine_call *call,
		const char *path)
{
	return lookup_init_at(l, engine, call, AT_FDCWD, path);
}

int lookup_init_at(struct lookup *l, const struct engine *engine, const struct engine_call *call,
		   int dir, const char *path)
{
	char name[CALLER_PATH_BYTES];

	*l = (struct lookup){ .root = -1, .start = -1, .rest = split(path, name) };
	if (path[0] != '/' && dir != AT_FDCWD)
		(void)snprintf(name, sizeof(name), "fd/%d", dir);
	while (*l->rest == '/')
		l->rest++;
	/* A trailing slash, as in "/proc/self/cwd/", asks for a directory, which is no socket. */
	l->root = caller_open(call->pid, "root", O_PATH | O_DIRECTORY);
	if (l->root < 0)
		return -errno;
	if (strcmp(name, "root") != 0) {
		l->start = caller_open(call->pid, name, O_PATH);
		if (l->start < 0)
			return errno == ENOENT && dir != AT_FDCWD ? -EBADF : -errno;
	}
	/* SECURITY: if the caller has ended, its pid, and so the directories, may be another's. */
	return engine_is_waiting(engine, call->id) ? 0 : -ESRCH;
}

void lookup_done(struct lookup *l)
{
	fd_done(&l->root);
	fd_done(&l->start);
	l->root = l->start = -1;
}

/* ---- The search --------------------------------------------------------------- */

static bool is_same(int a, int b)
{
	struct stat left, right;

	return fstat(a, &left) == 0 && fstat(b, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

/* The path of a descriptor's file; its length or -errno. */
static int read_place(int fd, char path[PATH_MAX_BYTES])
{
	char link[CALLER_PATH_BYTES];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	n = readlink(link, path, PATH_MAX_BYTES);
	if (n <= 0 || n >= PATH_MAX_BYTES || path[0] != '/')
		return -ENOENT;
	path[n] = '\0';
	return (int)n;
}

int lookup_again(const struct lookup *l, int file)
{
	UNINITIALIZED char path[PATH_MAX_BYTES];
	int n = read_place(file, path);

	return n < 0 ? n : open_below(l->root, path, O_NOFOLLOW, RESOLVE_IN_ROOT);
}

/*
 * Looks up a path that leaves its start directory by ".." or a link. No system call starts in one
 * directory and stays within another root, so this prepends the start directory's own path, and
 * checks that it leads to the same directory.
 */
static int find_around(const struct lookup *l)
{
	UNINITIALIZED char path[2 * PATH_MAX_BYTES];
	scoped_fd again = -1;
	size_t rest_len = strlen(l->rest);
	int n = read_place(l->start, path);

	if (n < 0)
		return n;
	again = open_below(l->root, path, O_DIRECTORY, RESOLVE_IN_ROOT);
	if (again < 0)
		return again;
	if (!is_same(again, l->start))
		return -ENOENT; /* the directory was removed, or another is mounted on it */
	path[n] = '/';
	memcpy(path + n + 1, l->rest, rest_len + 1);
	return open_below(l->root, path, l->nofollow ? O_NOFOLLOW : 0, RESOLVE_IN_ROOT);
}

int lookup_find(const struct lookup *l)
{
	uint64_t flags = l->nofollow ? O_NOFOLLOW : 0;
	int fd;

	if (l->start < 0)
		return open_below(l->root, *l->rest ? l->rest : ".", flags, RESOLVE_IN_ROOT);
	if (!*l->rest) {
		fd = fcntl(l->start, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	fd = open_below(l->start, l->rest, flags, RESOLVE_BENEATH);
	return fd == -EXDEV ? find_around(l) : fd;
}
