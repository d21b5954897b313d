/* SPDX-License-Identifier: MIT */
/* Tests of os/fd_pass.h over a real channel. */
#include "os/fd_pass.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "test.h"

static int ends[2] = { -1, -1 };

static bool open_channel(void)
{
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
}

static int count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		(void)closedir(dir);
	return count;
}

static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The sender is the process that sends, whoever made the channel. */
TEST(who_sent_a_message_is_known_when_it_was_asked_for)
{
	char heard[8] = "";
	pid_t sender = 0, child;
	size_t none = 0;
	int fds[1];

	REQUIRE(open_channel());
	CHECK_INT(send(ends[0], "early", 6, 0), 6);
	CHECK_INT(fd_pass_receive_from(ends[1], heard, sizeof(heard), &sender), -EPROTO);
	CHECK_INT(fd_pass_ask_sender(ends[1]), 0);
	child = fork();
	if (child == 0)
		_exit(send(ends[0], "inner", 6, 0) != 6 || send(ends[0], "later", 6, 0) != 6);
	REQUIRE(child > 0 && waitpid(child, NULL, 0) == child);
	CHECK_INT(fd_pass_receive_from(ends[1], heard, sizeof(heard), &sender), 6);
	CHECK_STR(heard, "inner");
	CHECK_INT(sender, child);
	/* And of the next one no more, though it was sent meanwhile. */
	CHECK_INT(fd_pass_receive(ends[1], heard, sizeof(heard), fds, &none), 6);
	CHECK_STR(heard, "later");
	CHECK_INT(fd_pass_ask_sender(-1), -EBADF);
	CHECK_INT(fd_pass_ask_sender(ends[1]), 0);
	fd_close(&ends[0]);
	CHECK_INT(fd_pass_receive_from(ends[1], heard, sizeof(heard), &sender), 0);
}

TEST(descriptors_arrive_with_their_message_and_close_on_exec)
{
	int sent[FD_PASS_MAX], got[FD_PASS_MAX];
	char word[8] = "word", heard[8] = "";
	int files[2];

	REQUIRE(open_channel() && pipe2(files, O_CLOEXEC) == 0);
	for (size_t i = 0; i < COUNT_OF(sent); i++)
		sent[i] = files[i % 2];
	for (size_t n = 1; n <= FD_PASS_MAX; n += n == 1 ? 1 : 62) {
		size_t count = FD_PASS_MAX;

		CHECK_INT(fd_pass_send(ends[0], word, sizeof(word), sent, n, 0), 0);
		CHECK_INT(fd_pass_receive(ends[1], heard, sizeof(heard), got, &count),
			  (int)sizeof(heard));
		CHECK_INT(count, n);
		CHECK_STR(heard, "word");
		for (size_t i = 0; i < count; i++) {
			CHECK(is_same(got[i], sent[i]));
			CHECK_INT(fcntl(got[i], F_GETFD), FD_CLOEXEC);
			fd_close(&got[i]);
		}
	}
	fd_close(&files[0]);
	fd_close(&files[1]);
}

TEST(when_there_is_no_room_for_all_none_is_left_open)
{
	int sent[5] = { 0, 0, 0, 0, 0 }, got[2] = { -1, -1 };
	size_t count = COUNT_OF(got);
	char word[4] = "abc";
	int before;

	REQUIRE(open_channel());
	sent[0] = sent[1] = sent[2] = sent[3] = sent[4] = ends[0];
	before = count_open();
	CHECK_INT(fd_pass_send(ends[0], word, sizeof(word), sent, COUNT_OF(sent), 0), 0);
	CHECK_INT(fd_pass_receive(ends[1], word, sizeof(word), got, &count), 4);
	CHECK_INT(count, 0);
	CHECK_INT(count_open(), before);
}

TEST(a_message_that_is_too_long_is_no_message)
{
	char word[8] = "abcdefg", heard[4];
	size_t count = 1;
	int got[1], before;

	REQUIRE(open_channel());
	before = count_open();
	CHECK_INT(fd_pass_send(ends[0], word, sizeof(word), ends, 1, 0), 0);
	CHECK_INT(fd_pass_receive(ends[1], heard, sizeof(heard), got, &count), -EMSGSIZE);
	CHECK_INT(count, 0);
	CHECK_INT(count_open(), before);
}

TEST(a_message_without_any_and_the_end_are_told_apart)
{
	size_t count = 3;
	int got[3];
	char word[4] = "abc";

	REQUIRE(open_channel());
	REQUIRE(send(ends[0], word, sizeof(word), 0) == (ssize_t)sizeof(word));
	CHECK_INT(fd_pass_receive(ends[1], word, sizeof(word), got, &count), 4);
	CHECK_INT(count, 0);
	fd_close(&ends[0]);
	count = 3;
	CHECK_INT(fd_pass_receive(ends[1], word, sizeof(word), got, &count), 0);
	CHECK_INT(count, 0);
	/* Nobody listens: an error, and no signal. */
	CHECK_INT(fd_pass_send(ends[1], word, sizeof(word), ends + 1, 1, 0), -EPIPE);
}

TEST(none_and_too_many_are_refused)
{
	static int many[FD_PASS_MAX + 1];
	char word[4] = "abc";

	REQUIRE(open_channel());
	CHECK_INT(fd_pass_send(ends[0], word, sizeof(word), many, 0, 0), -EINVAL);
	CHECK_INT(fd_pass_send(ends[0], word, sizeof(word), many, COUNT_OF(many), 0), -EINVAL);
}

/* ---- Others that have descriptors on their way ---------------------------------------------- */

enum { FEW = 16, NOBODY_ELSE = 61234 };

/* In a process of its own: 0 when a send that had to wait came through. */
static int send_beside_others(void)
{
	const struct rlimit few = { FEW, FEW };
	int fds[FEW / 2], more[2], r = 0;
	char word = 'a';

	for (size_t i = 0; i < COUNT_OF(fds); i++)
		fds[i] = STDOUT_FILENO;
	/* Root is not limited; and this user's others are not to be in the way. */
	if ((geteuid() == 0 && setresuid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE) < 0) ||
	    setrlimit(RLIMIT_NOFILE, &few) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, more) < 0)
		return 10;
	for (int i = 0; i < FEW && r == 0; i++)
		r = fd_pass_send(ends[0], &word, 1, fds, COUNT_OF(fds), MSG_DONTWAIT);
	if (r != -ETOOMANYREFS)
		return 11;
	if (fork() == 0) {
		(void)usleep(50000);
		while (recv(ends[1], &word, 1, MSG_DONTWAIT) > 0)
			;
		_exit(0);
	}
	return fd_pass_send(more[0], &word, 1, fds, 1, 0) == 0 ? 0 : 12;
}

TEST(who_has_too_many_on_their_way_waits_for_others)
{
	pid_t child;
	int status = -1;

	REQUIRE(open_channel());
	child = fork();
	if (child == 0)
		_exit(send_beside_others());
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0);
}
