/* SPDX-License-Identifier: MIT */
/*
 * Runs inside and tries what it is told to on each path; see agreement_probe.h.
 * It undoes what it could do. Statically linked: it starts where nothing but
 * itself may be read.
 */
#include "agreement_probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 4200 };

static bool read_dir(int fd)
{
	char names[4096];

	return syscall(SYS_getdents64, fd, names, sizeof(names)) >= 0;
}

/* Of a file that holds its path the right content, so that no empty stand-in passes for it. */
static bool read_file(int fd, char kind, const char *path)
{
	char content[PATH_BYTES];
	ssize_t n = read(fd, content, sizeof(content));

	if (kind != KIND_FILE)
		return n >= 0;
	return n == (ssize_t)strlen(path) && memcmp(content, path, (size_t)n) == 0;
}

static bool try_read(char kind, const char *path)
{
	int follow = kind == KIND_LINK ? 0 : O_NOFOLLOW;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | follow);
	struct stat st;
	bool ok;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	ok = S_ISDIR(st.st_mode) ? read_dir(fd) : read_file(fd, kind, path);
	close(fd);
	return ok;
}

static bool join(char out[PATH_BYTES], const char *dir, const char *name)
{
	int n = snprintf(out, PATH_BYTES, "%s/%s", dir, name);

	return n > 0 && n < PATH_BYTES;
}

static bool make_and_remove(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (fd < 0)
		return false;
	close(fd);
	return unlink(path) == 0;
}

static bool try_write(char kind, const char *path)
{
	int follow = kind == KIND_LINK ? 0 : O_NOFOLLOW;
	char name[PATH_BYTES];
	struct stat st;
	int fd;

	if ((follow ? lstat(path, &st) : stat(path, &st)) == 0 && S_ISDIR(st.st_mode))
		return join(name, path, PROBE_MADE) && make_and_remove(name);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | follow);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool move(const char *from, const char *to)
{
	return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0;
}

static bool try_move(const char *path)
{
	char other[PATH_BYTES];
	const char *slash = strrchr(path, '/');
	int n = snprintf(other, sizeof(other), "%.*s/%s", slash ? (int)(slash - path) : 0, path,
			 PROBE_MOVED);

	return n > 0 && n < (int)sizeof(other) && move(path, other) && move(other, path);
}

static bool try_create(const char *path)
{
	return make_and_remove(path) || (mkdir(path, 0777) == 0 && rmdir(path) == 0);
}

static int attempt(char kind, int tries, const char *path)
{
	int worked = 0;

	if ((tries & TRY_READ) && try_read(kind, path))
		worked |= TRY_READ;
	if ((tries & TRY_WRITE) && try_write(kind, path))
		worked |= TRY_WRITE;
	if ((tries & TRY_MOVE) && try_move(path))
		worked |= TRY_MOVE;
	if ((tries & TRY_CREATE) && try_create(path))
		worked |= TRY_CREATE;
	if ((tries & TRY_TEXT) && readlink(path, (char[1]){ 0 }, 1) >= 0)
		worked |= TRY_TEXT;
	return worked;
}

int main(void)
{
	char path[PATH_BYTES];
	int kind;

	umask(0);
	while ((kind = getchar()) != EOF) {
		int tries = getchar(), c;
		size_t len = 0;

		while ((c = getchar()) != EOF && c != '\0' && len < sizeof(path) - 1)
			path[len++] = (char)c;
		path[len] = '\0';
		if (c != '\0' || putchar(attempt((char)kind, tries, path)) == EOF)
			return 1;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
