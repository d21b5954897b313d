/* SPDX-License-Identifier: MIT */
/*
 * Where --report goes. The file may lie where the command can write, so it is
 * made anew when the command and all that it started are gone: nothing of what
 * stands there then is followed or kept, and the directory is the one that was
 * there before the run. Pipes and devices are written to as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/posix/signal_fd.h"

static bool complain_path(const struct args *args, const struct report_file *file, const char *why)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "can't write the report to '%.700s': %s", file->path,
		       why);
	(void)finish_error(args, cordon_error_new(CORDON_E_SYS, text));
	return false;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* The descriptor that `path` stands for, or -1. Opened again, a file would lose its place. */
static int find_descriptor(const char *path)
{
	static const struct {
		const char *path;
		int fd;
	} named[] = { { "-", 1 }, { "/dev/stdout", 1 }, { "/dev/stderr", 2 } };
	const char *digits;
	char *end;
	long fd;

	for (size_t i = 0; i < COUNT_OF(named); i++)
		if (strcmp(path, named[i].path) == 0)
			return named[i].fd;
	if (begins_with(path, "/dev/fd/"))
		digits = path + strlen("/dev/fd/");
	else if (begins_with(path, "/proc/self/fd/"))
		digits = path + strlen("/proc/self/fd/");
	else
		return -1;
	fd = strtol(digits, &end, 10);
	return *digits >= '0' && *digits <= '9' && *end == '\0' && fd < INT_MAX ? (int)fd : -1;
}

/*
 * What is no plain file must not be replaced by one, nor a name that only leads to one: of /dev
 * (/dev/stdin) and of /proc. /dev/shm holds files like any other.
 */
static bool is_written_in_place(const char *path)
{
	struct stat st;

	if (begins_with(path, "/proc/") ||
	    (begins_with(path, "/dev/") && !begins_with(path, "/dev/shm/")))
		return true;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Opens the directory of `path`; -1 with errno. */
static int open_directory(const char *path, const char *name)
{
	char directory[4096];
	size_t length = (size_t)(name - path);

	if (length >= sizeof(directory)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (length == 0)
		return open(".", open_directory_flags);
	memcpy(directory, path, length);
	directory[length] = '\0';
	return open(directory, open_directory_flags);
}

static bool open_place(const struct args *args, struct report_file *file)
{
	const char *slash = strrchr(file->path, '/');
	struct stat st;

	file->name = slash ? slash + 1 : file->path;
	if (file->name[0] == '\0' || strcmp(file->name, ".") == 0 || strcmp(file->name, "..") == 0)
		return complain_path(args, file, "it is a directory");
	file->directory = open_directory(file->path, file->name);
	if (file->directory < 0)
		return complain_path(args, file, strerror(errno));
	if (fstatat(file->directory, file->name, &st, 0) == 0 && S_ISDIR(st.st_mode))
		return complain_path(args, file, "it is a directory");
	/* Asked with the rights that will count: the effective ones. */
	if (faccessat(file->directory, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return complain_path(args, file, strerror(errno));
	return true;
}

bool report_file_open(const struct args *args, struct report_file *file)
{
	int given;

	*file = (struct report_file){ .path = args_text(args, OPT_REPORT),
				      .directory = -1,
				      .fd = -1 };
	if (!file->path)
		return true;
	given = find_descriptor(file->path);
	if (given >= 0)
		file->fd = fcntl(given, F_DUPFD_CLOEXEC, 3);
	else if (is_written_in_place(file->path))
		file->fd = open(file->path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
	else
		return open_place(args, file);
	return file->fd >= 0 || complain_path(args, file, strerror(errno));
}

/* A pipe that can be written at all takes this much without waiting. */
enum { WRITE_BYTES = 4096 };

/*
 * SECURITY: the command may share the stream, have filled it, and have said that nobody waits
 * for it (O_NONBLOCK): that must not cost the report, nor must it be waited for deaf to signals.
 */
static bool write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t n;

		signals_await_room(fd);
		n = write(fd, text, left < WRITE_BYTES ? left : WRITE_BYTES);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return false;
		text += n;
		left -= (size_t)n;
	}
	return true;
}

/* Whether what was written is what `path` leads to: the command may have moved the directory. */
static bool is_found(const struct report_file *file)
{
	struct stat made;
	struct stat found;

	return fstatat(file->directory, file->name, &made, AT_SYMLINK_NOFOLLOW) == 0 &&
	       lstat(file->path, &found) == 0 && made.st_dev == found.st_dev &&
	       made.st_ino == found.st_ino;
}

static bool write_new(const struct args *args, const struct report_file *file, const char *text)
{
	char temporary[64];
	bool is_written;
	int fd;

	(void)snprintf(temporary, sizeof(temporary), ".cordon-report.%ld", (long)getpid());
	(void)unlinkat(file->directory, temporary, 0);
	fd = openat(file->directory, temporary,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return complain_path(args, file, strerror(errno));
	is_written = write_all(fd, text);
	is_written = close(fd) == 0 && is_written;
	is_written = is_written &&
		     renameat(file->directory, temporary, file->directory, file->name) == 0;
	if (!is_written) {
		int why = errno;

		(void)unlinkat(file->directory, temporary, 0);
		return complain_path(args, file, strerror(why));
	}
	if (!is_found(file))
		return complain_path(args, file,
				     "its directory was moved or replaced during the run");
	return true;
}

bool report_file_write(const struct args *args, struct report_file *file, const char *text)
{
	bool is_written = true;

	if (file->fd >= 0)
		is_written = write_all(file->fd, text) ||
			     complain_path(args, file, strerror(errno));
	else if (file->directory >= 0)
		is_written = write_new(args, file, text);
	if (file->fd >= 0)
		(void)close(file->fd);
	if (file->directory >= 0)
		(void)close(file->directory);
	file->fd = -1;
	file->directory = -1;
	return is_written;
}
