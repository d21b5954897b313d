/* SPDX-License-Identifier: MIT */
/* Attempts at a file that is known by a descriptor alone: a standard stream of the caller's. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

enum { NO_APPEND = 0x20 /* RWF_NOAPPEND, Linux 6.9 */, MODE = 0751 };

static const struct timespec long_ago[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

/* ---- Metadata ------------------------------------------------------------------------- */

static int try_fd_chmod(char **a)
{
	return outcome(fchmod((int)number(a[0]), MODE));
}

static int try_fd_chmod_empty(char **a)
{
	return outcome(syscall(SYS_fchmodat2, (int)number(a[0]), "", MODE, AT_EMPTY_PATH));
}

static int try_fd_chown(char **a)
{
	return outcome(fchown((int)number(a[0]), geteuid(), getegid()));
}

static int try_fd_chown_empty(char **a)
{
	return outcome(fchownat((int)number(a[0]), "", geteuid(), getegid(), AT_EMPTY_PATH));
}

static int try_fd_times(char **a)
{
	return outcome(futimens((int)number(a[0]), long_ago));
}

static int try_fd_touch(char **a)
{
	return outcome(futimens((int)number(a[0]), NULL));
}

static int try_fd_times_empty(char **a)
{
	return outcome(utimensat((int)number(a[0]), "", long_ago, AT_EMPTY_PATH));
}

static int try_fd_setxattr(char **a)
{
	return outcome(fsetxattr((int)number(a[0]), "user.probe", "1", 1, 0));
}

static int try_fd_setflags(char **a)
{
	int flags = FS_NODUMP_FL;

	return outcome(ioctl((int)number(a[0]), FS_IOC_SETFLAGS, &flags));
}

/* By each name that the kernel gives a descriptor. */
static int chmod_below(const char *above, int process, const char *fd)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/%d/fd/%ld", above, process, number(fd));
	return outcome(chmod(path, MODE));
}

static int try_pid_chmod(char **a)
{
	return chmod_below("/proc", getpid(), a[0]);
}

static int try_task_chmod(char **a)
{
	return chmod_below("/proc/self/task", getpid(), a[0]);
}

static int try_parent_chmod(char **a)
{
	return chmod_below("/proc", getppid(), a[0]);
}

static int try_tty(char **a)
{
	return isatty((int)number(a[0])) ? 0 : -errno;
}

static int try_opath_chmod(char **a)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)number(a[0]));
	fd = must_open(path, O_PATH);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return outcome(chmod(path, MODE));
}

/* ---- Contents --------------------------------------------------------------------------- */

static int try_fd_truncate(char **a)
{
	return outcome(ftruncate((int)number(a[0]), 0));
}

static int try_fd_punch(char **a)
{
	return outcome(
		fallocate((int)number(a[0]), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4));
}

static int try_fd_allocate(char **a)
{
	return outcome(fallocate((int)number(a[0]), 0, 0, 4096));
}

static int try_fd_zero_request(char **a)
{
	struct space_resv {
		int16_t type, whence;
		int64_t start, length;
		int32_t system;
		uint32_t pid;
		int32_t pad[4];
	} range = { .length = 4 };

	return outcome(ioctl((int)number(a[0]), _IOW('X', 43, struct space_resv), &range));
}

static int overwrite(int fd)
{
	return outcome(pwrite(fd, "OVER", 4, 0));
}

static int try_fd_clear_append(char **a)
{
	int fd = (int)number(a[0]);

	return fcntl(fd, F_SETFL, 0) < 0 ? -errno : overwrite(fd);
}

/* What everybody does who wants to wait for nothing. */
static int try_fd_nonblock(char **a)
{
	int fd = (int)number(a[0]);
	int flags = fcntl(fd, F_GETFL);

	return outcome(fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

static int try_pipe_nonblock(char **a)
{
	char text;
	int ends[2];

	(void)a;
	if (pipe(ends) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return read(ends[0], &text, 1) < 0 && errno == EAGAIN ? 0 : -EIO;
}

static int try_socket_nonblock(char **a)
{
	char text;
	int ends[2];

	(void)a;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 ||
	    fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return read(ends[0], &text, 1) < 0 && errno == EAGAIN ? 0 : -EIO;
}

static int try_fd_no_append(char **a)
{
	char bytes[] = "OVER";
	struct iovec text = { bytes, 4 };

	return outcome(syscall(SYS_pwritev2, (int)number(a[0]), &text, 1L, 0L, 0L, NO_APPEND));
}

static int try_fd_aio(char **a)
{
	aio_context_t context = 0;
	struct iocb write = { .aio_lio_opcode = IOCB_CMD_PWRITE,
			      .aio_fildes = (uint32_t)number(a[0]),
			      .aio_buf = (uint64_t)(uintptr_t) "OVER",
			      .aio_nbytes = 4,
			      .aio_rw_flags = NO_APPEND };
	struct iocb *writes = &write;
	struct io_event event;

	if (syscall(SYS_io_setup, 1, &context) < 0 ||
	    syscall(SYS_io_submit, context, 1, &writes) < 0)
		return -errno;
	if (syscall(SYS_io_getevents, context, 1L, 1L, &event, NULL) != 1)
		return -EIO;
	return event.res < 0 ? (int)event.res : 0;
}

static int try_fd_map(char **a)
{
	char *text = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)number(a[0]), 0);

	if (text == MAP_FAILED)
		return -errno;
	memcpy(text, "OVER", 4);
	return 0;
}

static int open_over(const char *path, int flags)
{
	int fd = open(path, flags, 0644);
	int result;

	if (fd < 0)
		return -errno;
	result = overwrite(fd);
	(void)close(fd);
	return result;
}

static int try_open_over(char **a)
{
	return open_over(a[0], O_WRONLY);
}

static int try_open_new_over(char **a)
{
	return open_over(a[0], O_WRONLY | O_CREAT | O_TRUNC);
}

static int try_open_read_trunc(char **a)
{
	return outcome(open(a[0], O_RDONLY | O_TRUNC));
}

static int try_fd_copy_over(char **a)
{
	loff_t to = 0;
	int from = must_open(a[1], O_RDONLY);

	return outcome(copy_file_range(from, NULL, (int)number(a[0]), &to, 4, 0));
}

/* ---- By other numbers ---------------------------------------------------------------------- */

/* Prefix: the descriptor is given another number first. */
static int try_as_fd(char **a)
{
	if (dup2((int)number(a[0]), (int)number(a[1])) < 0)
		return -errno;
	return run_attempt(a + 2);
}

/* Prefix: it comes over a socket. */
static int try_passed_as_fd(char **a)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { { 0 } };
	char byte = 0;
	struct iovec text = { &byte, 1 };
	struct msghdr message = { .msg_iov = &text,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int pair[2], fd = (int)number(a[0]);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -errno;
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (sendmsg(pair[0], &message, 0) < 0 || close((int)number(a[0])) < 0 ||
	    recvmsg(pair[1], &message, 0) < 0)
		return -errno;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	if (dup2(fd, (int)number(a[1])) < 0)
		return -errno;
	return run_attempt(a + 2);
}

/* Prefix: one that somebody outside has sent, over the socket that the first is. */
static int try_received_as_fd(char **a)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = { { 0 } };
	char byte = 0;
	struct iovec text = { &byte, 1 };
	struct msghdr message = { .msg_iov = &text,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg((int)number(a[0]), &message, 0) < 0)
		return -errno;
	if (message.msg_controllen < CMSG_LEN(sizeof(int)))
		return -ENOMSG;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	if (dup2(fd, (int)number(a[1])) < 0)
		return -errno;
	return run_attempt(a + 2);
}

/* Prefix: with that directory as the working directory. */
static int try_in_fd(char **a)
{
	return fchdir((int)number(a[0])) < 0 ? -errno : run_attempt(a + 1);
}

/* ---- While another changes what is meant ---------------------------------------------------- */

enum { SWAPPED = 50, ROUNDS = 2000 };

/* A process that shares the descriptors, and the memory that is shared. */
static pid_t start_swapper(int one, int other, char *path)
{
	static const char names[2][32] = { "own", "/proc/self/fd/50" };
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);

	for (unsigned i = 0; child == 0; i++) {
		(void)dup2(i % 2 ? one : other, SWAPPED);
		memcpy(path, names[i / 3 % 2], sizeof(names[0]));
	}
	return child;
}

/* Any attempt that hits the stream has changed its file: that is seen from outside. */
static int try_swap(char **a)
{
	char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int own = open("own", O_RDWR | O_CREAT, 0644);
	unsigned done = 0;
	pid_t swapper;

	if (path == MAP_FAILED || own < 0 || dup2(own, SWAPPED) < 0)
		return -errno;
	memcpy(path, "own", 4);
	swapper = start_swapper((int)number(a[0]), own, path);
	if (swapper < 0)
		return -errno;
	for (unsigned i = 0; i < ROUNDS; i++) {
		int fd;

		done += fchmod(SWAPPED, MODE) == 0;
		done += chmod(path, MODE) == 0;
		done += futimens(SWAPPED, long_ago) == 0;
		done += ftruncate(SWAPPED, 0) == 0;
		if (fcntl(SWAPPED, F_SETFL, 0) == 0)
			done += pwrite(SWAPPED, "OVER", 4, 0) == 4;
		fd = open(path, O_WRONLY | O_TRUNC);
		if (fd >= 0)
			(void)close(fd);
	}
	(void)kill(swapper, SIGKILL);
	(void)waitpid(swapper, NULL, 0);
	/* The own file was hit at least. */
	return done > 0 ? 0 : -EIO;
}

const struct attempt stream_attempts[] = {
	{ "fd-chmod", 1, try_fd_chmod },
	{ "fd-chmod-empty", 1, try_fd_chmod_empty },
	{ "fd-chown", 1, try_fd_chown },
	{ "fd-chown-empty", 1, try_fd_chown_empty },
	{ "fd-times", 1, try_fd_times },
	{ "fd-touch", 1, try_fd_touch },
	{ "fd-times-empty", 1, try_fd_times_empty },
	{ "fd-setxattr", 1, try_fd_setxattr },
	{ "fd-setflags", 1, try_fd_setflags },
	{ "pid-chmod", 1, try_pid_chmod },
	{ "task-chmod", 1, try_task_chmod },
	{ "parent-chmod", 1, try_parent_chmod },
	{ "opath-chmod", 1, try_opath_chmod },
	{ "tty", 1, try_tty },
	{ "fd-truncate", 1, try_fd_truncate },
	{ "fd-punch", 1, try_fd_punch },
	{ "fd-allocate", 1, try_fd_allocate },
	{ "fd-zero-request", 1, try_fd_zero_request },
	{ "fd-clear-append", 1, try_fd_clear_append },
	{ "fd-nonblock", 1, try_fd_nonblock },
	{ "pipe-nonblock", 0, try_pipe_nonblock },
	{ "socket-nonblock", 0, try_socket_nonblock },
	{ "fd-no-append", 1, try_fd_no_append },
	{ "fd-aio", 1, try_fd_aio },
	{ "fd-map", 1, try_fd_map },
	{ "open-over", 1, try_open_over },
	{ "open-new-over", 1, try_open_new_over },
	{ "open-read-trunc", 1, try_open_read_trunc },
	{ "fd-copy-over", 2, try_fd_copy_over },
	{ "as-fd", -1, try_as_fd },
	{ "passed-as-fd", -1, try_passed_as_fd },
	{ "received-as-fd", -1, try_received_as_fd },
	{ "in-fd", -1, try_in_fd },
	{ "swap", 1, try_swap },
	{ NULL, 0, NULL },
};
