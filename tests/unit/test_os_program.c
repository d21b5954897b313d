/* SPDX-License-Identifier: MIT */
/* Tests of os/program.h: what a program that Cordon starts outside gets, and what is left of it. */
#include "os/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/macros.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/streams.h"
#include "scratch.h"
#include "test.h"

enum { SOON_MS = 20000 };

static const char *const environment[] = { "PATH=/usr/bin:/bin", "SEEN=yes", NULL };
static char said[65536];

static bool write_script(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	return f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(name, 0755) == 0;
}

/* Starts it with `input`; its output is read from `*output`. A pidfd, or -1. */
static int start(const char *path, const char *const *argv, const char *input, int *output)
{
	char first[256], real[4096];
	int file = os_program_open(realpath(path, real) ? real : path, first, sizeof(first));
	int helper = -1, in, out = -1;
	struct os_program program = { .file = file,
				      .is_script = first[0] == '#' && first[1] == '!',
				      .argv = argv,
				      .environment = environment };

	in = os_open_text(input, strlen(input));
	if (file < 0 || in < 0 || os_open_output(output, &out) < 0)
		return -1;
	memcpy(program.stdio, (int[]){ in, out, 2 }, sizeof(program.stdio));
	if (os_program_start(&program, &helper) < 0)
		helper = -1;
	fd_done(&file);
	fd_done(&in);
	fd_done(&out);
	return helper;
}

static bool ends(int helper)
{
	struct pollfd end = { .fd = helper, .events = POLLIN };

	return poll(&end, 1, SOON_MS) == 1;
}

/* Its status; what it wrote is in `said`. */
static int run(const char *path, const char *const *argv, const char *input)
{
	int output = -1, helper = start(path, argv, input, &output), status;
	size_t len = 0;
	ssize_t n;

	if (helper < 0 || !ends(helper))
		return -1;
	while ((n = os_read_output(output, said + len, sizeof(said) - 1 - len)) > 0)
		len += (size_t)n;
	said[len] = '\0';
	status = os_reap(helper);
	fd_done(&helper);
	fd_done(&output);
	return status;
}

static int run_shell(const char *text, const char *input)
{
	return run("/bin/sh", (const char *const[]){ "sh", "-c", text, NULL }, input);
}

TEST(a_program_reads_its_input_and_mirrors_its_status)
{
	CHECK_INT(run_shell("cat; exit 3", "a line\n"), 3);
	CHECK_STR(said, "a line\n");
	CHECK_INT(run_shell("kill -9 $$", ""), 128 + SIGKILL);
	CHECK_INT(run_shell("exit 0", ""), 0);
}

TEST(a_program_gets_three_descriptors_and_a_session_of_its_own)
{
	int extra = fcntl(0, F_DUPFD, 50);

	REQUIRE(extra >= 50);
	CHECK_INT(run_shell("ls /proc/$$/fd; pwd; echo $SEEN; cut -d' ' -f5,6,7 /proc/$$/stat; "
			    "cat /proc/self/status",
			    ""),
		  0);
	CHECK(strncmp(said, "0\n1\n2\n/\nyes\n", 12) == 0);
	/* No terminal; nothing blocked. */
	CHECK(strstr(said, " 0\nName:\tcat\n"));
	CHECK(strstr(said, "SigBlk:\t0000000000000000\n"));
	CHECK(strstr(said, "SigCgt:\t0000000000000000\n"));
	if (test_failed)
		printf("# %s\n", said);
	fd_done(&extra);
}

TEST(a_script_gets_its_file_as_the_only_other_descriptor)
{
	REQUIRE(write_script("script", "#!/bin/sh -u\necho \"$0 $1\"\nls /proc/$$/fd\ncat\n"));
	CHECK_INT(run("script", (const char *const[]){ "script", "one", NULL }, "in\n"), 0);
	CHECK(strncmp(said, "/dev/fd/3 one\n0\n1\n", 18) == 0);
	CHECK(strstr(said, "\n3\n") && strstr(said, "\nin\n"));
	if (test_failed)
		printf("# %s\n", said);
}

TEST(the_streams_may_have_any_numbers)
{
	int before[3], status;

	for (int i = 0; i < 3; i++)
		before[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
	(void)fflush(stdout);
	(void)close(0);
	(void)close(1);
	status = run_shell("cat; ls /proc/$$/fd", "x\n");
	for (int i = 0; i < 2; i++)
		(void)dup2(before[i], i);
	for (int i = 0; i < 3; i++)
		fd_done(&before[i]);
	CHECK_INT(status, 0);
	CHECK_STR(said, "x\n0\n1\n2\n");
}

TEST(what_a_program_leaves_in_its_group_is_killed)
{
	int output = -1;
	int helper = start("/bin/sh",
			   (const char *const[]){ "sh", "-c", "sleep 1000 & echo $!", NULL }, "",
			   &output);
	char text[32] = "";

	REQUIRE(helper >= 0 && ends(helper));
	CHECK_INT(os_reap(helper), 0);
	REQUIRE(os_read_output(output, text, sizeof(text) - 1) > 1);
	/* Its parent has ended, so somebody else reaps it: it may be there as a zombie for a while. */
	for (int i = 0; i < 1000 && kill(atoi(text), 0) == 0; i++)
		(void)usleep(10000);
	CHECK_INT(kill(atoi(text), 0), -1);
	CHECK_INT(errno, ESRCH);
	fd_done(&helper);
	fd_done(&output);
}

/* The pid that a program has written, which is then sure to run. */
static pid_t read_pid(int output)
{
	struct pollfd ready = { .fd = output, .events = POLLIN };
	char text[32] = "";

	if (poll(&ready, 1, SOON_MS) != 1 || os_read_output(output, text, sizeof(text) - 1) <= 1)
		return -1;
	return (pid_t)atoi(text);
}

static const char *const stubborn[] = { "sh", "-c",
					"trap '' TERM HUP INT; sh -c 'echo $$; sleep 1000'; echo",
					NULL };

TEST(a_program_is_killed_with_its_group_when_it_is_wanted)
{
	int output = -1, helper = start("/bin/sh", stubborn, "", &output);
	pid_t pid;

	REQUIRE(helper >= 0);
	pid = read_pid(output);
	REQUIRE(pid > 0);
	CHECK_INT(kill(pid, 0), 0);
	os_program_kill(helper);
	REQUIRE(ends(helper));
	CHECK_INT(os_reap(helper), 128 + SIGKILL);
	for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++)
		(void)usleep(10000);
	CHECK_INT(kill(pid, 0), -1);
	fd_done(&helper);
	fd_done(&output);
}

/* The caller in a process of its own, which is killed. */
TEST(a_program_ends_with_who_started_it)
{
	int pids[2], output = -1;
	pid_t caller, program = -1;

	REQUIRE(pipe(pids) == 0);
	caller = fork();
	if (caller == 0) {
		int helper = start("/bin/sh", stubborn, "", &output);
		pid_t pid = helper < 0 ? -1 : read_pid(output);

		(void)!write(pids[1], &pid, sizeof(pid));
		(void)pause();
		_exit(0);
	}
	CHECK_INT(read(pids[0], &program, sizeof(program)), sizeof(program));
	REQUIRE(program > 0 && kill(program, 0) == 0);
	CHECK_INT(kill(caller, SIGKILL), 0);
	CHECK_INT(waitpid(caller, NULL, 0), caller);
	for (int i = 0; i < 1000 && kill(program, 0) == 0; i++)
		(void)usleep(10000);
	CHECK_INT(kill(program, 0), -1);
	(void)close(pids[0]);
	(void)close(pids[1]);
}

static volatile sig_atomic_t children;

static void count_child(int number)
{
	(void)number;
	children++;
}

TEST(a_host_program_does_not_notice_it)
{
	struct sigaction before, action = { .sa_handler = count_child };
	int output = -1, helper, status;

	REQUIRE(sigaction(SIGCHLD, &action, &before) == 0);
	helper = start("/bin/true", (const char *const[]){ "true", NULL }, "", &output);
	CHECK(helper >= 0 && ends(helper));
	CHECK_INT(waitpid(-1, &status, WNOHANG), -1);
	CHECK_INT(errno, ECHILD);
	CHECK_INT(children, 0);
	CHECK_INT(os_reap(helper), 0);
	/* And a caller that ignores its children still hears of the status. */
	action.sa_handler = SIG_IGN;
	CHECK_INT(sigaction(SIGCHLD, &action, NULL), 0);
	CHECK_INT(run_shell("exit 7", ""), 7);
	CHECK_INT(sigaction(SIGCHLD, &before, NULL), 0);
	fd_done(&helper);
	fd_done(&output);
}

TEST(what_is_no_program_is_not_started)
{
	char text[16];

	scratch_put("plain", "no program");
	REQUIRE(mkdir("dir", 0755) == 0 && symlink("/bin/sh", "link") == 0);
	CHECK_INT(os_program_open("plain", text, sizeof(text)), -EACCES);
	CHECK_INT(os_program_open("dir", text, sizeof(text)), -EACCES);
	CHECK_INT(os_program_open("link", text, sizeof(text)), -EACCES);
	CHECK_INT(os_program_open("missing", text, sizeof(text)), -ENOENT);
	/* It may be executed, and the kernel refuses it. */
	REQUIRE(write_script("bad", "\1\2\3\4"));
	CHECK_INT(run("bad", (const char *const[]){ "bad", NULL }, ""), OS_PROGRAM_NOT_EXECUTED);
}

TEST(what_others_may_write_is_not_trusted)
{
	char where[256] = "";

	CHECK_STR(os_distrust_path("/var/tmp", where, sizeof(where)), "can be written by others");
	CHECK_STR(where, "/var/tmp");
	CHECK(!os_distrust_path("/usr/bin/env", where, sizeof(where)));
	CHECK(os_distrust_path("usr/bin/env", where, sizeof(where)));
	CHECK(os_distrust_path("/usr/bin/there-is-no-such", where, sizeof(where)));
}

TEST(a_directory_of_ones_own_is_trusted_in_one_with_the_sticky_bit)
{
	char where[256] = "", top[4096], direct[4200], below[4200];

	REQUIRE(getcwd(top, sizeof(top)));
	if (os_distrust_path(top, where, sizeof(where)))
		SKIP("others may write to a directory above the working directory");
	REQUIRE(mkdir("shared", 0700) == 0 && mkdir("shared/own", 0755) == 0);
	REQUIRE(write_script("shared/program", "#!/bin/sh\n") &&
		write_script("shared/own/program", "#!/bin/sh\n"));
	REQUIRE(snprintf(direct, sizeof(direct), "%s/shared/program", top) > 0);
	REQUIRE(snprintf(below, sizeof(below), "%s/shared/own/program", top) > 0);
	REQUIRE(chmod("shared", 01777) == 0);
	CHECK(!os_distrust_path(below, where, sizeof(where)));
	/* Its name may be a hard link that another user has made. */
	CHECK_STR(os_distrust_path(direct, where, sizeof(where)), "can be written by others");
	REQUIRE(chmod("shared", 0777) == 0);
	CHECK_STR(os_distrust_path(below, where, sizeof(where)), "can be written by others");
	REQUIRE(chmod("shared", 01777) == 0 && chmod("shared/own", 01777) == 0);
	CHECK_STR(os_distrust_path(below, where, sizeof(where)), "can be written by others");
}

TEST(a_text_is_read_to_its_end_and_can_t_be_changed)
{
	static char big[300000], back[300001];
	int fd;

	memset(big, 'x', sizeof(big));
	fd = os_open_text(big, sizeof(big));
	REQUIRE(fd >= 0);
	CHECK_INT(read(fd, back, sizeof(back)), sizeof(big));
	CHECK(memcmp(big, back, sizeof(big)) == 0);
	CHECK_INT(read(fd, back, 1), 0);
	CHECK_INT(pwrite(fd, "y", 1, 0), -1);
	CHECK_INT(ftruncate(fd, 0), -1);
	fd_done(&fd);
}
