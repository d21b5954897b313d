/* SPDX-License-Identifier: MIT */
/* This process: its environment, its places, its user. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/posix/native.h"
#include "os/posix/path.h"

enum { USERS_MAX_BYTES = 16 << 20 };

const char *os_environment_find(const char *const *environment, const char *name)
{
	for (size_t i = 0; environment && environment[i]; i++) {
		const char *entry = environment[i];
		size_t same = 0;

		while (name[same] != '\0' && entry[same] == name[same])
			same++;
		if (name[same] == '\0' && entry[same] == '=')
			return entry + same + 1;
	}
	return NULL;
}

uint64_t os_user(void)
{
	return getuid();
}

bool os_is_root(void)
{
	return getuid() == 0 || geteuid() == 0;
}

const char os_path_separator = ':';
const bool os_variables_fold = false;
const char *const os_program_suffixes[] = { "", NULL };

int os_working_directory(struct arena *a, struct str *out, struct err *e)
{
	char path[PATH_MAX_BYTES];

	if (!getcwd(path, sizeof(path)))
		return FAIL_SYS(e, errno, "can't tell the working directory");
	/* The kernel returns "(unreachable)/x" for a directory outside of the process's root. */
	if (path[0] != '/')
		return FAIL_SYS(e, ENOENT, "the working directory can't be reached by any path");
	return arena_copy(a, str_of(path), out, e);
}

int os_canonical_directory(struct arena *a, struct str path, struct str *out, struct err *e)
{
	char resolved[PATH_MAX_BYTES];
	struct c_path name;
	struct shown shown;
	struct stat st;

	if (c_path_init(&name, path, e) < 0)
		return err_result(e);
	if (!realpath(name.text, resolved) || stat(resolved, &st) < 0)
		return FAIL_SYS(e, errno, "can't use the directory '%s'", show_path(&shown, path));
	if (!S_ISDIR(st.st_mode))
		return FAIL_SYS(e, ENOTDIR, "can't use the directory '%s'",
				show_path(&shown, path));
	return arena_copy(a, str_of(resolved), out, e);
}

ssize_t os_read_small(const char *path, char *out, size_t room)
{
	int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	out[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, out, room - 1);
	if (n < 0)
		n = -errno;
	else
		out[n] = '\0';
	close(fd);
	return n;
}

static bool starts_others(const char *name)
{
	static const char *const names[] = { "sh",  "bash", "dash",   "ash",	  "ksh",
					     "zsh", "fish", "cordon", "cordon-sh" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

bool os_find_starter(char out[OS_STARTER_BYTES])
{
	enum { MOST = 16 };
	unsigned long long start;
	pid_t pid = getppid(), parent;
	char name[NATIVE_NAME_BYTES];

	for (int i = 0; i < MOST && pid > 0; i++, pid = parent) {
		if (!native_read_start(pid, name, &parent, &start))
			return false;
		if (starts_others(name))
			continue;
		(void)snprintf(out, OS_STARTER_BYTES, "%d-%llu", (int)pid, start);
		return true;
	}
	return false;
}

bool os_starter_is_there(struct str starter)
{
	char text[OS_STARTER_BYTES], name[NATIVE_NAME_BYTES], *end;
	unsigned long long start, is;
	pid_t pid, parent;

	if (starter.len >= sizeof(text))
		return false;
	memcpy(text, starter.p, starter.len);
	text[starter.len] = '\0';
	pid = (pid_t)strtol(text, &end, 10);
	if (pid <= 0 || *end != '-')
		return false;
	start = strtoull(end + 1, &end, 10);
	return *end == '\0' && native_read_start(pid, name, &parent, &is) && is == start;
}

/* Cuts off the first of the fields of a line, which ':' separates. */
static struct str cut_field(struct str *line)
{
	struct str field = str_first(*line, str_find(*line, ':'));

	*line = str_from(*line, field.len + 1);
	return field;
}

static bool read_number(struct str text, uint64_t *out)
{
	*out = 0;
	if (text.len == 0 || text.len > 10)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if (!ascii_is_digit(text.p[i]))
			return false;
		*out = *out * 10 + (uint64_t)(text.p[i] - '0');
	}
	return true;
}

int os_list_users(struct str users_file,
		  int (*each)(void *arg, uint64_t uid, struct str home, struct err *e), void *arg,
		  struct err *e)
{
	scoped_arena work = ARENA_INIT(USERS_MAX_BYTES + 4096);
	struct str rest = STR_EMPTY;
	struct os_seen seen = { .is_there = false };
	int status = 0;

	if (os_read_file(&work, users_file, USERS_MAX_BYTES, &rest, &seen, e) < 0)
		return err_result(e);
	/* name:password:uid:gid:comment:home:shell */
	while (rest.len && status == 0) {
		struct str line = str_first(rest, str_find(rest, '\n'));
		uint64_t uid;

		rest = str_from(rest, line.len + 1);
		(void)cut_field(&line);
		(void)cut_field(&line);
		if (!read_number(cut_field(&line), &uid))
			continue;
		(void)cut_field(&line);
		(void)cut_field(&line);
		status = each(arg, uid, cut_field(&line), e);
	}
	return status;
}

bool os_real_path(const char *path, char out[PATH_MAX_BYTES])
{
	return realpath(path, out) != NULL;
}

bool os_is_allowed(const char *path, bool writes)
{
	return faccessat(AT_FDCWD, path, writes ? W_OK : R_OK, AT_EACCESS) == 0;
}

bool os_is_executable(const char *path)
{
	struct stat st;

	return access(path, X_OK) == 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}
