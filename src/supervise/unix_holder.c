/* SPDX-License-Identifier: MIT */
/* Finds who has a socket, takes it for a moment, and asks it for its file. */
#include "supervise/unix_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "os/fd.h"
#include "supervise/caller.h"

enum { SIOC_UNIX_FILE = SIOCPROTOPRIVATE }; /* SIOCUNIXFILE of linux/un.h, which libc's hides */

static void dir_done(DIR *const *dir)
{
	if (*dir)
		(void)closedir(*dir);
}

#define scoped_dir SCOPED(dir_done) DIR *

/* The next name that is a number; -1 at the end. */
static int next_number(DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			return (int)strtol(entry->d_name, NULL, 10);
	return -1;
}

static bool stat_pid_namespace(pid_t pid, struct stat *out)
{
	scoped_fd ns = caller_open(pid, "ns/pid", O_PATH);

	return ns >= 0 && fstat(ns, out) == 0;
}

static bool stat_file_of(int socket, struct stat *out)
{
	scoped_fd file = ioctl(socket, SIOC_UNIX_FILE);

	return file >= 0 && fstat(file, out) == 0;
}

static bool take_and_stat(pid_t pid, int fd, uint64_t cookie, struct stat *out)
{
	scoped_fd process = (int)syscall(SYS_pidfd_open, pid, 0);
	scoped_fd taken = -1;
	uint64_t its_cookie = 0;
	socklen_t size = sizeof(its_cookie);

	if (process >= 0)
		taken = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	return taken >= 0 && getsockopt(taken, SOL_SOCKET, SO_COOKIE, &its_cookie, &size) == 0 &&
	       its_cookie == cookie && stat_file_of(taken, out);
}

/* The descriptor of that process for the socket, -1 when it has none. */
static int find_socket(pid_t pid, const char *wanted)
{
	char link[64];
	int fd = caller_open(pid, "fd", O_RDONLY | O_DIRECTORY);
	scoped_dir dir = fd < 0 ? NULL : fdopendir(fd);
	int number;

	if (!dir) {
		fd_done(&fd);
		return -1;
	}
	while ((number = next_number(dir)) >= 0) {
		char name[16];
		ssize_t n;

		(void)snprintf(name, sizeof(name), "%d", number);
		n = readlinkat(dirfd(dir), name, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = '\0';
		if (strcmp(link, wanted) == 0)
			return number;
	}
	return -1;
}

bool unix_holder_stat(pid_t inside, uint32_t socket_inode, uint64_t cookie, struct stat *out)
{
	char wanted[32];
	struct stat ours, theirs;
	scoped_dir proc = opendir("/proc");
	pid_t pid;

	if (!proc || !stat_pid_namespace(inside, &ours))
		return false;
	(void)snprintf(wanted, sizeof(wanted), "socket:[%u]", socket_inode);
	while ((pid = next_number(proc)) > 0) {
		int fd;

		if (!stat_pid_namespace(pid, &theirs) || theirs.st_dev != ours.st_dev ||
		    theirs.st_ino != ours.st_ino)
			continue;
		fd = find_socket(pid, wanted);
		if (fd >= 0 && take_and_stat(pid, fd, cookie, out))
			return true;
	}
	return false;
}
