/* SPDX-License-Identifier: MIT */
/* Attempts at other processes, and processes that try to live on. */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* As many processes at once, all of which wait to be told to end; says how many it got. */
static int try_forks(char **a)
{
	long wanted = number(a[0]), count = 0;
	int result = 0, ends[2];

	if (pipe(ends) < 0)
		return -errno;
	for (; count < wanted && result == 0; count += result == 0) {
		pid_t pid = fork();

		if (pid == 0) {
			close(ends[1]);
			(void)!read(ends[0], &(char){ 0 }, 1);
			_exit(0);
		}
		result = pid < 0 ? -errno : 0;
	}
	close(ends[1]);
	close(ends[0]);
	while (waitpid(-1, NULL, 0) > 0)
		;
	if (result == 0)
		say("%ld", count);
	return result;
}

static int try_pid(char **a)
{
	(void)a;
	say("%d %d", getpid(), getppid());
	return 0;
}

static int try_kill(char **a)
{
	return outcome(kill((pid_t)number(a[0]), (int)number(a[1])));
}

static int try_pidfd_open(char **a)
{
	return outcome(syscall(SYS_pidfd_open, (pid_t)number(a[0]), 0));
}

/* Takes descriptor a[1] of process a[0]. */
static int try_pidfd_getfd(char **a)
{
	long fd = syscall(SYS_pidfd_open, (pid_t)number(a[0]), 0);

	return fd < 0 ? -errno : outcome(syscall(SYS_pidfd_getfd, fd, number(a[1]), 0));
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* The kernel gives a handle on whoever is at the other end of a unix socket. */
static int try_peer_kill(char **a)
{
	int fd = -1;
	socklen_t size = sizeof(fd);

	if (getsockopt((int)number(a[0]), SOL_SOCKET, SO_PEERPIDFD, &fd, &size) < 0)
		return -errno;
	return outcome(syscall(SYS_pidfd_send_signal, fd, (int)number(a[1]), NULL, 0));
}

static int try_ptrace(char **a)
{
	return outcome(ptrace(PTRACE_SEIZE, (pid_t)number(a[0]), NULL, NULL));
}

/* What a debugger does: traces a child of its own. */
static int try_ptrace_child(char **a)
{
	int status = 0, result;
	pid_t child = fork();

	(void)a;
	if (child == 0) {
		pause();
		_exit(0);
	}
	result = outcome(ptrace(PTRACE_SEIZE, child, NULL, NULL));
	(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	return result;
}

static int try_mem(char **a)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/mem", a[0]);
	return outcome(open(path, O_RDWR | O_CLOEXEC));
}

/* Its own memory, as a debugger in the process would. */
static int try_mem_self(char **a)
{
	static volatile int value = 1;
	int next = 2;
	int fd = must_open("/proc/self/mem", O_RDWR);

	(void)a;
	if (pwrite(fd, &next, sizeof(next), (off_t)(size_t)&value) < 0)
		return -errno;
	return value == 2 ? 0 : -EIO;
}

/* No process starts with less, so that anybody may set it. */
enum { SLOWEST = 19 };

static int try_priority(char **a)
{
	return outcome(setpriority(PRIO_PROCESS, (id_t)number(a[0]), SLOWEST));
}

static int try_priority_group(char **a)
{
	(void)a;
	return outcome(setpriority(PRIO_PGRP, 0, SLOWEST));
}

/* All of this user's processes that can be seen. */
static int try_priority_user(char **a)
{
	(void)a;
	return outcome(setpriority(PRIO_USER, getuid(), SLOWEST));
}

enum { IO_PROCESS = 1, IO_GROUP, IO_USER };

static int set_io_priority(int kind, long who)
{
	return outcome(syscall(SYS_ioprio_set, kind, who, 3 << 13 /* idle */));
}

static int try_io_priority(char **a)
{
	return set_io_priority(IO_PROCESS, number(a[0]));
}

static int try_io_priority_group(char **a)
{
	(void)a;
	return set_io_priority(IO_GROUP, 0);
}

static int try_io_priority_user(char **a)
{
	(void)a;
	return set_io_priority(IO_USER, getuid());
}

/* Not through the C library: musl's answers ENOSYS by itself. */
static int try_scheduler(char **a)
{
	const int no_priority = 0;

	return outcome(syscall(SYS_sched_setscheduler, (pid_t)number(a[0]), 5 /* SCHED_IDLE */,
			       &no_priority));
}

static int try_scheduler_param(char **a)
{
	const int no_priority = 0;

	return outcome(syscall(SYS_sched_setparam, (pid_t)number(a[0]), &no_priority));
}

static int try_scheduler_attr(char **a)
{
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attr = { .size = sizeof(attr), .policy = 5 /* SCHED_IDLE */ };

	return outcome(syscall(SYS_sched_setattr, (pid_t)number(a[0]), &attr, 0));
}

/* One of the processors that this process may use. */
static int try_affinity(char **a)
{
	unsigned long mask[128] = { 0 };
	long size = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	bool has_one = false;

	if (size < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(mask) / sizeof(mask[0]); i++) {
		mask[i] = has_one ? 0 : mask[i] & -mask[i];
		has_one |= mask[i] != 0;
	}
	return outcome(syscall(SYS_sched_setaffinity, (pid_t)number(a[0]), size, mask));
}

static int try_prlimit_none(char **a)
{
	const struct rlimit none = { 0, 0 };

	return outcome(syscall(SYS_prlimit64, (pid_t)number(a[0]), RLIMIT_CORE, &none, NULL));
}

/* An attempt on a child: its number is the last argument. */
static int try_on_child(char **a)
{
	char child_number[16];
	char *attempt[] = { a[0], child_number, NULL };
	int status = 0, result;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	(void)snprintf(child_number, sizeof(child_number), "%d", child);
	result = child < 0 ? -errno : run_attempt_apart(attempt);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	return result;
}

static int try_prlimit(char **a)
{
	struct rlimit limit;

	return outcome(syscall(SYS_prlimit64, (pid_t)number(a[0]), RLIMIT_CORE, NULL, &limit));
}

/* Calls back for each process that /proc shows. */
static int each_process(void (*tell)(const char *pid, const char *text), const char *text)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (proc == NULL)
		return -errno;
	while ((entry = readdir(proc)) != NULL)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			tell(entry->d_name, text);
	return outcome(closedir(proc));
}

static void say_pid(const char *pid, const char *text)
{
	(void)text;
	say("%s ", pid);
}

static int try_processes(char **a)
{
	(void)a;
	return each_process(say_pid, NULL);
}

static int try_env(char **a)
{
	const char *value = getenv(a[0]);

	if (value == NULL)
		return -ENOENT;
	say("%s", value);
	return 0;
}

static bool file_has(const char *path, const char *text)
{
	static char bytes[1 << 18];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, bytes, sizeof(bytes));

	if (fd >= 0)
		(void)close(fd);
	return got > 0 && memmem(bytes, (size_t)got, text, strlen(text)) != NULL;
}

static void scan_process(const char *pid, const char *text)
{
	static const char *const files[] = { "environ", "cmdline", "status", "maps" };
	char path[300];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, files[i]);
		if (file_has(path, text))
			say("%s ", path);
	}
}

/*
 * Looks through what /proc tells of every process for a text, which is given
 * backwards so that the search does not find itself. Names the files that have it.
 */
static int try_scan(char **a)
{
	size_t length = strlen(a[0]);
	char text[256];

	if (length >= sizeof(text))
		return -ENAMETOOLONG;
	for (size_t i = 0; i < length; i++)
		text[i] = a[0][length - 1 - i];
	text[length] = '\0';
	return each_process(scan_process, text);
}

/* What it executes has to end with 0. */
static int try_exec(char **a)
{
	char *words[] = { a[0], NULL };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		(void)execv(a[0], words);
		_exit(errno);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static void touch(const char *path)
{
	(void)close(must_open(path, O_WRONLY | O_CREAT));
}

static _Noreturn void sleep_for_ever(void)
{
	for (;;)
		pause();
}

static void ignore_signals(void)
{
	for (int n = 1; n < 32; n++)
		(void)signal(n, SIG_IGN);
}

/* A daemon: a session of its own, no parent, deaf; says that it is there by a file. */
static int try_daemon(char **a)
{
	struct stat st;

	if (fork() == 0) {
		(void)setsid();
		ignore_signals();
		if (fork() != 0)
			_exit(0);
		if (fork() == 0)
			sleep_for_ever();
		touch(a[0]);
		sleep_for_ever();
	}
	for (int i = 0; i < 20000 && stat(a[0], &st) < 0; i++)
		(void)usleep(1000);
	return outcome(stat(a[0], &st));
}

/* A daemon, and its parent stays too: deaf as well. */
static int try_hold(char **a)
{
	int result = try_daemon(a);

	if (result < 0)
		return result;
	ignore_signals();
	sleep_for_ever();
}

static void on_wake(int number)
{
	(void)number;
}

/*
 * The command is stopped, and so is this process, but it is woken: by the kernel, again and
 * again, as long as the signal is not ignored.
 */
static int try_wake(char **a)
{
	struct sigevent wakes = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT };
	struct itimerspec often = { { .tv_nsec = 50000000 }, { .tv_nsec = 50000000 } };
	timer_t timer;
	/* Now: creating a file may have to wait for Cordon, which is about to be stopped. */
	int fd = must_open(a[0], O_WRONLY | O_CREAT);

	ignore_signals();
	(void)signal(SIGCONT, on_wake);
	if (timer_create(CLOCK_MONOTONIC, &wakes, &timer) < 0 ||
	    timer_settime(timer, 0, &often, NULL) < 0)
		return -errno;
	(void)kill(getppid(), SIGSTOP);
	(void)raise(SIGSTOP);
	if (write(fd, ".", 1) != 1)
		return -errno;
	/* As often as can be told, and more: nobody listens. */
	for (;;) {
		(void)usleep(100);
		(void)kill(getppid(), SIGCONT);
		(void)usleep(100);
		(void)kill(getppid(), SIGSTOP);
	}
}

/* The command is stopped, and this process goes on: a byte every 10 ms. */
static int try_tick(char **a)
{
	int fd = must_open(a[0], O_WRONLY | O_CREAT);

	(void)kill(getppid(), SIGSTOP);
	for (;;) {
		if (write(fd, ".", 1) != 1)
			return -errno;
		(void)usleep(10000);
	}
}

/* Whoever writes to the terminal from behind is to be stopped; and Cordon has something to say. */
static int try_stop_writers(char **a)
{
	struct termios terminal;

	ignore_signals();
	if (tcgetattr(0, &terminal) < 0)
		return -errno;
	terminal.c_lflag |= TOSTOP;
	if (tcsetattr(0, TCSANOW, &terminal) < 0)
		return -errno;
	touch(a[0]);
	(void)kill(getppid(), SIGTTIN);
	sleep_for_ever();
}

/* Keeps a file open as descriptor 9 and stays until killed. */
static int try_stay(char **a)
{
	if (dup2(must_open(a[1], O_RDONLY), 9) < 0)
		return -errno;
	touch(a[0]);
	sleep_for_ever();
}

/* Tries an attempt again and again, for a[0] ms or until it goes well. */
static int try_insist(char **a)
{
	struct timespec start, now;
	long limit_ms = number(a[0]);
	int result;

	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		result = run_attempt_apart(a + 1);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while (result < 0 &&
		 (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
			 limit_ms);
	return result;
}

static int try_sleep(char **a)
{
	(void)usleep((useconds_t)number(a[0]) * 1000);
	return 0;
}

/* Waits until a file is there, at most 20 s. */
static int try_await(char **a)
{
	struct stat st;

	for (int i = 0; i < 20000 && lstat(a[0], &st) < 0; i++)
		(void)usleep(1000);
	return outcome(lstat(a[0], &st));
}

/* Waits until a file can't be read any more, at most 20 s. */
static int try_await_closed(char **a)
{
	for (int i = 0; i < 20000; i++) {
		int fd = open(a[0], O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			return 0;
		(void)close(fd);
		(void)usleep(1000);
	}
	return -ETIMEDOUT;
}

const struct attempt process_attempts[] = {
	{ "exec", 1, try_exec },
	{ "forks", 1, try_forks },
	{ "pid", 0, try_pid },
	{ "kill", 2, try_kill },
	{ "pidfd-open", 1, try_pidfd_open },
	{ "pidfd-getfd", 2, try_pidfd_getfd },
	{ "peer-kill", 2, try_peer_kill },
	{ "ptrace", 1, try_ptrace },
	{ "ptrace-child", 0, try_ptrace_child },
	{ "mem", 1, try_mem },
	{ "mem-self", 0, try_mem_self },
	{ "priority", 1, try_priority },
	{ "priority-group", 0, try_priority_group },
	{ "priority-user", 0, try_priority_user },
	{ "io-priority", 1, try_io_priority },
	{ "io-priority-group", 0, try_io_priority_group },
	{ "io-priority-user", 0, try_io_priority_user },
	{ "scheduler", 1, try_scheduler },
	{ "scheduler-param", 1, try_scheduler_param },
	{ "scheduler-attr", 1, try_scheduler_attr },
	{ "affinity", 1, try_affinity },
	{ "prlimit-none", 1, try_prlimit_none },
	{ "on-child", 1, try_on_child },
	{ "prlimit", 1, try_prlimit },
	{ "processes", 0, try_processes },
	{ "env", 1, try_env },
	{ "scan", 1, try_scan },
	{ "daemon", 1, try_daemon },
	{ "hold", 1, try_hold },
	{ "wake", 1, try_wake },
	{ "tick", 1, try_tick },
	{ "stop-writers", 1, try_stop_writers },
	{ "stay", 2, try_stay },
	{ "insist", -1, try_insist },
	{ "sleep", 1, try_sleep },
	{ "await", 1, try_await },
	{ "await-closed", 1, try_await_closed },
	{ NULL, 0, NULL },
};
