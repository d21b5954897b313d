/* SPDX-License-Identifier: MIT */
/*
 * Tests of proxy/lock.c: each thing is tried in a child before it locks itself, where it
 * works, and after, where it fails or ends the child.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proxy/server.h"
#include "test.h"

enum { WORKS = 0, FAILS = 1, NO_LOCK = 2 };

/* Not _exit(), before which the address sanitizer makes a call that the lock does not allow. */
static void leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

/* How the child ended: its status, or 128 and the signal. */
static int after(bool is_locked, bool (*attempt)(void))
{
	const char *at = "";
	int channel[2], status = 0;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		if (is_locked && (lock_begin(&channel[1], &at) < 0 || lock_finish(&at) < 0))
			leave(NO_LOCK);
		leave(attempt() ? WORKS : FAILS);
	}
	(void)close(channel[0]);
	(void)close(channel[1]);
	if (waitpid(child, &status, 0) != child)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* A bare system may lack one of them. */
static bool reads_names(void)
{
	char byte;
	int fd = open("/etc/hosts", O_RDONLY);

	if (fd < 0 && errno == ENOENT)
		fd = open("/etc/resolv.conf", O_RDONLY);
	return fd >= 0 && read(fd, &byte, 1) >= 0;
}

static bool reads_proc(void)
{
	return open("/proc/self/maps", O_RDONLY) >= 0;
}

static bool writes_file(void)
{
	return open("/dev/null", O_WRONLY) >= 0;
}

static bool executes(void)
{
	char name[] = "true";
	char *const argv[] = { name, NULL };

	return execve("/bin/true", argv, argv + 1) == 0;
}

static bool forks(void)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (child == 0)
		_exit(0);
	return child > 0;
}

static bool signals(void)
{
	return kill(getppid(), 0) == 0;
}

static bool makes_inet(void)
{
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 && socket(AF_INET6, SOCK_DGRAM, 0) >= 0;
}

static bool makes_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool makes_packet(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0) >= 0;
}

static bool maps_code(void)
{
	return syscall(SYS_mmap, 0, 4096, 7, 0x22, -1, 0) != -1;
}

static bool makes_pipe(void)
{
	int ends[2];

	return pipe2(ends, O_NONBLOCK) == 0 && fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) > 0;
}

TEST(what_it_needs_goes_on_working)
{
	CHECK_INT(after(true, reads_names), WORKS);
	CHECK_INT(after(true, makes_inet), WORKS);
	CHECK_INT(after(true, makes_pipe), WORKS);
}

TEST(files_are_out_of_reach)
{
	CHECK_INT(after(false, reads_proc), WORKS);
	CHECK_INT(after(true, reads_proc), FAILS); /* Landlock */
	CHECK_INT(after(false, writes_file), WORKS);
	CHECK_INT(after(true, writes_file), 128 + SIGSYS);
}

TEST(processes_are_out_of_reach)
{
	CHECK_INT(after(false, executes), WORKS);
	CHECK_INT(after(true, executes), 128 + SIGSYS);
	CHECK_INT(after(false, forks), WORKS);
	CHECK_INT(after(true, forks), 128 + SIGSYS);
	CHECK_INT(after(false, signals), WORKS);
	CHECK_INT(after(true, signals), 128 + SIGSYS);
	CHECK_INT(after(false, maps_code), WORKS);
	CHECK_INT(after(true, maps_code), 128 + SIGSYS);
}

TEST(other_families_are_out_of_reach)
{
	CHECK_INT(after(false, makes_unix), WORKS);
	CHECK_INT(after(true, makes_unix), 128 + SIGSYS);
	CHECK_INT(after(false, makes_packet), WORKS);
	CHECK_INT(after(true, makes_packet), 128 + SIGSYS);
}

/* ---- The first half alone, so that it can be looked at ------------------------------------ */

static int kept;

static bool has_only_channel(void)
{
	return fcntl(LOCK_CHANNEL, F_GETFD) >= 0 && fcntl(kept, F_GETFD) < 0 && errno == EBADF;
}

static bool has_no_rights(void)
{
	char text[4096] = "";
	int fd = open("/proc/self/status", O_RDONLY);
	bool is_read = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0;

	return is_read && strstr(text, "CapEff:\t0000000000000000") &&
	       strstr(text, "CapPrm:\t0000000000000000") && strstr(text, "NoNewPrivs:\t1") &&
	       prctl(PR_GET_DUMPABLE) == 0;
}

static bool has_no_words(void)
{
	return environ[0][0] == '\0';
}

static int after_begin(bool (*look)(void))
{
	const char *at = "";
	int channel[2], status = 0;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel) < 0)
		return -1;
	kept = open("/dev/null", O_RDONLY);
	child = fork();
	if (child == 0)
		_exit(lock_begin(&channel[1], &at) < 0 ? NO_LOCK : look() ? WORKS : FAILS);
	(void)close(channel[0]);
	(void)close(channel[1]);
	(void)close(kept);
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : -1;
}

TEST(descriptors_and_rights_are_gone)
{
	CHECK_INT(after_begin(has_only_channel), WORKS);
	CHECK_INT(after_begin(has_no_rights), WORKS);
}

/* The environment that the kernel laid out, as any program's is. */
TEST(the_environment_is_wiped)
{
	const char *first = environ[0];

	REQUIRE(first != NULL && first[0] != '\0');
	CHECK_INT(after_begin(has_no_words), WORKS);
	CHECK(first[0] != '\0'); /* the parent keeps its own */
}
