/* SPDX-License-Identifier: MIT */
/* Finds the process that holds a socket, duplicates the socket, and asks it for its file. */
#include "linux/notify/unix_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "linux/notify/caller.h"
#include "os/fd.h"

enum { SIOC_UNIX_FILE = SIOCPROTOPRIVATE }; /* SIOCUNIXFILE of linux/un.h, which libc's hides */

enum {
	EFFORT_STEPS = 100000,
	EFFORT_CPU_US = 100000,
	EFFORT_US = 400000,
	STEPS_PER_CLOCK = 32,
};

/* ---- The limit on work ------------------------------------------------------------------ */

static int64_t read_clock(clockid_t clock)
{
	struct timespec now = { .tv_sec = 0 };

	(void)clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void unix_effort_start(struct unix_effort *effort)
{
	*effort = (struct unix_effort){
		.left = EFFORT_STEPS,
		.cpu_until_us = read_clock(CLOCK_THREAD_CPUTIME_ID) + EFFORT_CPU_US,
		.until_us = read_clock(CLOCK_MONOTONIC) + EFFORT_US,
	};
}

bool unix_effort_take(struct unix_effort *effort)
{
	if (effort->left == 0 || (--effort->left % STEPS_PER_CLOCK == 0 &&
				  (read_clock(CLOCK_THREAD_CPUTIME_ID) > effort->cpu_until_us ||
				   read_clock(CLOCK_MONOTONIC) > effort->until_us)))
		effort->is_spent = true;
	return !effort->is_spent;
}

/* ---- The search ------------------------------------------------------------------ */

static void dir_done(DIR *const *dir)
{
	if (*dir)
		(void)closedir(*dir);
}

#define scoped_dir SCOPED(dir_done) DIR *

/* The next entry whose name is a number; -1 at the end. */
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

static enum unix_holder take_and_stat(pid_t pid, int fd, uint64_t cookie, struct stat *out)
{
	scoped_fd process = (int)syscall(SYS_pidfd_open, pid, 0);
	scoped_fd taken = -1;
	uint64_t its_cookie = 0;
	socklen_t size = sizeof(its_cookie);

	if (process >= 0)
		taken = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	if (taken < 0 || getsockopt(taken, SOL_SOCKET, SO_COOKIE, &its_cookie, &size) < 0 ||
	    its_cookie != cookie)
		return HOLDER_NONE;
	return stat_file_of(taken, out) ? HOLDER_TOLD : HOLDER_FOUND;
}

struct wanted {
	char link[32]; /* in /proc/PID/fd */
	uint64_t cookie;
	struct unix_effort *effort;
};

/* The number of the socket's descriptor in that process; -1: it has none. */
static int find_socket(pid_t pid, const struct wanted *w)
{
	char link[64];
	int fd = caller_open(pid, "fd", O_RDONLY | O_DIRECTORY);
	scoped_dir dir = fd < 0 ? NULL : fdopendir(fd);
	int number;

	if (!dir) {
		fd_done(&fd);
		return -1;
	}
	while (unix_effort_take(w->effort) && (number = next_number(dir)) >= 0) {
		char name[16];
		ssize_t n;

		(void)snprintf(name, sizeof(name), "%d", number);
		n = readlinkat(dirfd(dir), name, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = '\0';
		if (strcmp(link, w->link) == 0)
			return number;
	}
	return -1;
}

static enum unix_holder ask(pid_t pid, const struct wanted *w, struct stat *out)
{
	int fd = find_socket(pid, w);

	if (fd >= 0)
		return take_and_stat(pid, fd, w->cookie, out);
	return w->effort->is_spent ? HOLDER_UNTOLD : HOLDER_NONE;
}

static enum unix_holder find_in_namespace(pid_t inside, const struct wanted *w, struct stat *out)
{
	struct stat ours, theirs;
	scoped_dir proc = opendir("/proc");
	enum unix_holder found = HOLDER_NONE;
	pid_t pid;

	if (!proc || !stat_pid_namespace(inside, &ours))
		return HOLDER_NONE;
	while (found == HOLDER_NONE && (pid = next_number(proc)) > 0)
		if (!unix_effort_take(w->effort))
			found = HOLDER_UNTOLD;
		else if (stat_pid_namespace(pid, &theirs) && theirs.st_dev == ours.st_dev &&
			 theirs.st_ino == ours.st_ino)
			found = ask(pid, w, out);
	return found;
}

enum { TREE_MAX_DEPTH = 200, CHILDREN_ROOM = 4096 };

static enum unix_holder find_below(pid_t pid, unsigned depth, const struct wanted *w,
				   struct stat *out);

/* Ignores children that do not fit into the buffer. */
static void read_children(pid_t pid, int thread, char out[CHILDREN_ROOM])
{
	char name[64];
	scoped_fd fd = -1;
	ssize_t n = 0;

	(void)snprintf(name, sizeof(name), "task/%d/children", thread);
	fd = caller_open(pid, name, O_RDONLY);
	if (fd >= 0)
		n = read(fd, out, CHILDREN_ROOM - 1);
	out[n < 0 ? 0 : n] = '\0';
}

static enum unix_holder find_below_thread(pid_t pid, int thread, unsigned depth,
					  const struct wanted *w, struct stat *out)
{
	char text[CHILDREN_ROOM];
	char *at = text;
	enum unix_holder found = HOLDER_NONE;
	pid_t child;

	read_children(pid, thread, text);
	while (found == HOLDER_NONE && (child = (pid_t)strtol(at, &at, 10)) > 0) {
		found = ask(child, w, out);
		if (found == HOLDER_NONE)
			found = find_below(child, depth + 1, w, out);
	}
	return found;
}

static enum unix_holder find_below(pid_t pid, unsigned depth, const struct wanted *w,
				   struct stat *out)
{
	int fd = depth < TREE_MAX_DEPTH ? caller_open(pid, "task", O_RDONLY | O_DIRECTORY) : -1;
	scoped_dir tasks = fd < 0 ? NULL : fdopendir(fd);
	enum unix_holder found = HOLDER_NONE;
	int thread;

	if (!tasks) {
		fd_done(&fd);
		return HOLDER_NONE;
	}
	while (found == HOLDER_NONE && (thread = next_number(tasks)) > 0)
		found = unix_effort_take(w->effort) ? find_below_thread(pid, thread, depth, w, out)
						    : HOLDER_UNTOLD;
	return found;
}

enum unix_holder unix_holder_find(struct unix_inside inside, uint32_t socket_inode, uint64_t cookie,
				  struct unix_effort *effort, struct stat *out)
{
	struct wanted w = { .cookie = cookie, .effort = effort };

	(void)snprintf(w.link, sizeof(w.link), "socket:[%u]", socket_inode);
	return inside.is_tree ? find_below(inside.pid, 0, &w, out)
			      : find_in_namespace(inside.pid, &w, out);
}
