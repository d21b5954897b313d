/* SPDX-License-Identifier: MIT */
/*
 * What a command that is run outside gets of the process that asked for it: its standard streams and
 * its directory.
 *
 * SECURITY: they are taken (pidfd_getfd) and not sent, so nothing else ever arrives. A stream can do no
 * more in the hands of somebody else than its file allows: what has an effect when it is read or written
 * by another process (files of /proc, devices, terminals of others), what is no stream (directories, sockets that listen,
 * pidfds), and what only names a file (O_PATH) is refused. A file that was opened for reading can be opened
 * again for writing through /dev/stdin, unless its mount is read-only; whether that is more than the
 * caller may do has to be judged by its path.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "linux/notify/caller.h"
#include "linux/notify/connector.h"
#include "linux/notify/inside_client.h"
#include "os/fd.h"
#include "os/kernel_file.h"

enum { MEMORY_DEVICES = 1, TTYAUX_MAJOR = 5, CONSOLE_MINOR = 1, STREAMS = 3 };

static bool is_pipe(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
}

static bool is_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t peer_size = sizeof(peer), size = sizeof(int);
	int domain = 0, type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0;
}

/* Whether the user who started the run passed that file: then it may be what it is. */
static bool is_own_stream(const struct stat *st)
{
	for (int i = 0; i < STREAMS; i++) {
		struct stat own;

		if (fstat(i, &own) == 0 && own.st_dev == st->st_dev && own.st_ino == st->st_ino)
			return true;
	}
	return false;
}

/* Whether it can be opened again for more than it was opened for. */
static bool can_reopen(int fd, const struct stat *st)
{
	struct statvfs fs;

	if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY || is_own_stream(st))
		return false;
	/* A read-only mount does not keep anybody from writing to a FIFO. */
	if (S_ISFIFO(st->st_mode))
		return !is_pipe(fd);
	return fstatvfs(fd, &fs) < 0 || !(fs.f_flag & ST_RDONLY);
}

/* /dev/null, zero, full, random and urandom; not /dev/mem or kmsg. */
static bool is_harmless(dev_t device)
{
	static const unsigned int minors[] = { 3, 5, 7, 8, 9 };

	for (size_t i = 0; i < COUNT_OF(minors); i++)
		if (device == makedev(MEMORY_DEVICES, minors[i]))
			return true;
	return false;
}

/*
 * SECURITY: who holds the other end of a terminal types into it, and programs such as pagers obey what is
 * typed, whatever stream it is. So it has to be the run's own. Its inode belongs to it only until
 * it has hung up; and what /dev/tty and /dev/ptmx lead to is not told by their inode.
 */
static bool is_own_terminal(const struct sandbox *sandbox, const struct stat *st)
{
	if (major(st->st_rdev) == TTYAUX_MAJOR && minor(st->st_rdev) != CONSOLE_MINOR)
		return false;
	for (int i = 0; i < STREAMS; i++) {
		struct stat own;

		if (isatty(i) && fstat(i, &own) == 0 && own.st_dev == st->st_dev &&
		    own.st_ino == st->st_ino)
			return true;
	}
	return sandbox->terminal_inode != 0 && st->st_dev == sandbox->terminal_device &&
	       st->st_ino == sandbox->terminal_inode;
}

static const char *check_device(const struct sandbox *sandbox, int fd, const struct stat *st)
{
	if (is_harmless(st->st_rdev))
		return NULL;
	if (!isatty(fd))
		return "a standard stream is a device";
	return is_own_terminal(sandbox, st) ? NULL
					    : "a standard stream is a terminal that is not the "
					      "run's own: pass it through a pipe";
}

/* NULL: it may be passed on. */
static const char *check_stream(const struct sandbox *sandbox, int fd, const struct stat *st)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || flags & O_PATH)
		return "a standard stream is no open file";
	if (S_ISSOCK(st->st_mode))
		return is_connected(fd) ? NULL
					: "a standard stream is a socket that is not a connected "
					  "stream of this machine";
	if (S_ISCHR(st->st_mode))
		return check_device(sandbox, fd, st);
	if (!S_ISREG(st->st_mode) && !S_ISFIFO(st->st_mode))
		return "a standard stream is neither a file, a pipe, a terminal nor a socket";
	return os_is_of_kernel(fd) ? "a standard stream is a file of the kernel" : NULL;
}

/* Its path in `text`, of which `*used` bytes are used. */
static const char *find_path(int fd, char *text, size_t room, size_t *used, struct str *out)
{
	char link[CALLER_PATH_BYTES];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, text + *used, room - *used);
	if (n <= 0 || (size_t)n >= room - *used || text[*used] != '/')
		return "the path of a standard stream is not known";
	*out = (struct str){ text + *used, (size_t)n };
	*used += (size_t)n;
	return NULL;
}

static const char *take_stream(const struct sandbox *sandbox, int pidfd, int number, char *text,
			       size_t room, size_t *used, struct inside_taken *out)
{
	struct stat st;
	const char *why;

	out->stdio[number] = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	if (out->stdio[number] < 0)
		return errno == EBADF ? "a standard stream is closed"
				      : "its standard streams can't be taken";
	if (fstat(out->stdio[number], &st) < 0)
		return "a standard stream can't be looked at";
	why = check_stream(sandbox, out->stdio[number], &st);
	out->has_terminal |= S_ISCHR(st.st_mode) && !is_harmless(st.st_rdev);
	if (why || !can_reopen(out->stdio[number], &st))
		return why;
	return find_path(out->stdio[number], text, room, used, &out->reopens[number]);
}

/*
 * The directory has to be the host's at the path that it has inside. SECURITY: what runs outside finds
 * it by that path, perhaps as another directory by then, so whoever runs it has to compare again.
 */
static const char *take_directory(int32_t pid, char *text, size_t room, size_t *used,
				  struct inside_taken *out)
{
	struct stat inside, outside;
	scoped_fd its = caller_open(pid, "cwd", O_PATH | O_DIRECTORY);

	if (its < 0 || fstat(its, &inside) < 0)
		return "its directory can't be opened";
	if (find_path(its, text, room - 1, used, &out->path))
		return "its directory has no path";
	text[*used] = '\0';
	/* Its own would lead through the mounts of the sandbox. */
	out->cwd = open(out->path.p, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (out->cwd < 0 || fstat(out->cwd, &outside) < 0 || inside.st_dev != outside.st_dev ||
	    inside.st_ino != outside.st_ino)
		return "its directory is not the host's";
	out->device = inside.st_dev;
	out->inode = inside.st_ino;
	return NULL;
}

bool inside_take_streams(const struct sandbox *sandbox, int pidfd, int32_t pid, char *text,
			 size_t room, struct inside_taken *out, const char **why)
{
	size_t used = 0, count = 0;
	int taken[STREAMS + 1];

	*out = (struct inside_taken){ .stdio = { -1, -1, -1 }, .cwd = -1 };
	for (int i = 0; i < STREAMS; i++)
		out->reopens[i] = STR_EMPTY;
	*why = NULL;
	for (int i = 0; i < STREAMS && !*why; i++)
		*why = take_stream(sandbox, pidfd, i, text, room, &used, out);
	if (!*why)
		*why = take_directory(pid, text, room, &used, out);
	if (!*why)
		return true;
	for (int i = 0; i < STREAMS; i++)
		if (out->stdio[i] >= 0)
			taken[count++] = out->stdio[i];
	if (out->cwd >= 0)
		taken[count++] = out->cwd;
	connector_close_all(taken, count);
	return false;
}
