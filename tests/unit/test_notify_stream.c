/* SPDX-License-Identifier: MIT */
/* Tests of linux/notify/stream.c: real calls of a real process, on descriptors that it has inherited. */
#include "linux/notify/stream.h"

#include <sys/stat.h>

#include "cage.h"
#include "linux/notify/unix_lookup.h"
#include "scratch.h"
#include "test.h"

/* Three descriptors of the test's own, which the process inside has too. */
static int log_fd, file_fd, read_fd;
static struct streams streams;

static void make_streams(void)
{
	scratch_put("log", "a line\n");
	scratch_put("file", "text\n");
	log_fd = open("log", O_WRONLY | O_APPEND);
	file_fd = open("file", O_RDWR);
	read_fd = open("file", O_RDONLY);
	streams = (struct streams){ .items = { { .kind = STREAM_APPENDED },
					       { .kind = STREAM_KEPT } } };
	REQUIRE(stream_look(log_fd, &streams.items[0].file) == 0);
	REQUIRE(stream_look(read_fd, &streams.items[1].file) == 0);
}

static void close_streams(void)
{
	(void)close(log_fd);
	(void)close(file_fd);
	(void)close(read_fd);
}

TEST(a_file_is_known_by_any_descriptor_of_it)
{
	struct stream_file it;
	int other, ends[2];

	make_streams();
	CHECK_INT(streams_most(&streams), STREAM_APPENDED);
	other = dup(log_fd);
	CHECK(stream_look(other, &it) == 0);
	CHECK_INT(streams_find(&streams, &it), STREAM_APPENDED);
	(void)close(other);
	other = open("log", O_RDONLY);
	CHECK(stream_look(other, &it) == 0);
	CHECK_INT(streams_find(&streams, &it), STREAM_APPENDED);
	it.mount++;
	CHECK_INT(streams_find(&streams, &it), STREAM_FREE);
	(void)close(other);
	CHECK(stream_look(file_fd, &it) == 0);
	CHECK_INT(streams_find(&streams, &it), STREAM_KEPT);
	/* The most counts, in whatever order. */
	streams.items[2].kind = STREAM_APPENDED;
	streams.items[2].file = it;
	CHECK_INT(streams_find(&streams, &it), STREAM_APPENDED);
	REQUIRE(pipe(ends) == 0);
	CHECK(stream_look(ends[0], &it) == 0);
	CHECK_INT(streams_find(&streams, &it), STREAM_FREE);
	(void)close(ends[0]);
	(void)close(ends[1]);
	CHECK_INT(stream_look(-1, &it), -EBADF);
	streams = (struct streams){ .items = { { .kind = STREAM_FREE } } };
	CHECK_INT(streams_most(&streams), STREAM_FREE);
	close_streams();
}

TEST(names_of_descriptors_are_known)
{
	static const struct {
		const char *path;
		int fd;
	} cases[] = {
		{ "/dev/stdin", 0 },
		{ "/dev/stdout", 1 },
		{ "/dev/stderr", 2 },
		{ "/dev/fd/7", 7 },
		{ "/proc/self/fd/123456789", 123456789 },
		{ "/proc/thread-self/fd/0", 0 },
		{ "/proc/self/fd/1234567890", -1 },
		{ "/proc/self/fd/1/x", -1 },
		{ "/proc/self/fd/", -1 },
		{ "/proc/self/fd/-1", -1 },
		{ "/proc/self/fd/+1", -1 },
		{ "/proc/self/fd/1x", -1 },
		{ "/dev/stdoutx", -1 },
		{ "/dev/stdout/", -1 },
		{ "dev/stdout", -1 },
		{ "/proc/self/cwd", -1 },
		{ "/proc/self/root", -1 },
		{ "/", -1 },
		{ "", -1 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (!CHECK_INT(lookup_own_descriptor(cases[i].path), cases[i].fd))
			printf("#   %s\n", cases[i].path);
}

/* ---- What is asked for ------------------------------------------------------------------ */

static void run_cage(int (*inside)(void), int asks)
{
	struct cage cage;
	struct loop loop;
	struct engine engine;
	struct err e = ERR_INIT;

	REQUIRE(cage_start(&cage, &(struct cage_options){ .inside = inside, .asks = asks }));
	REQUIRE(loop_init(&loop, &e) == 0);
	REQUIRE(engine_start(&engine, &loop, cage.listener, &e) == 0);
	cage.listener = -1;
	streams_start(&engine, &streams);
	cage_go(&cage);
	CHECK_INT(cage_wait(&cage, &loop), 0);
	engine_stop(&engine);
	loop_done(&loop);
	cage_done(&cage);
}

static void check_log(const char *text)
{
	char found[64] = "";
	int fd = open("log", O_RDONLY);

	CHECK(fd >= 0 && read(fd, found, sizeof(found) - 1) >= 0);
	CHECK_STR(found, text);
	(void)close(fd);
}

static int truncates(void)
{
	int ends[2], other = fcntl(log_fd, F_DUPFD, 200);

	INSIDE(ftruncate(log_fd, 0) < 0 && errno == EPERM);
	INSIDE(ftruncate(other, 0) < 0 && errno == EPERM);
	/* What is not for appending may be cut by who has it open for writing. */
	INSIDE(ftruncate(file_fd, 2) == 0);
	INSIDE(ftruncate(file_fd, -1) < 0 && errno == EINVAL);
	INSIDE(ftruncate(read_fd, 0) < 0 && errno == EINVAL);
	INSIDE(pipe(ends) == 0);
	INSIDE(ftruncate(ends[1], 0) < 0 && errno == EINVAL);
	INSIDE(ftruncate(-1, 0) < 0 && errno == EBADF);
	INSIDE(ftruncate(999, 0) < 0 && errno == EBADF);
	return 0;
}

TEST(a_stream_for_appending_is_not_cut)
{
	struct stat st;

	make_streams();
	run_cage(truncates, SYS_ftruncate);
	check_log("a line\n");
	CHECK(stat("file", &st) == 0 && st.st_size == 2);
	close_streams();
}

static int sets_flags(void)
{
	int ends[2], sockets[2];
	char byte;

	INSIDE(fcntl(log_fd, F_SETFL, 0) < 0 && errno == EPERM);
	INSIDE(fcntl(log_fd, F_SETFL, O_NONBLOCK) < 0 && errno == EPERM);
	INSIDE(fcntl(file_fd, F_SETFL, O_NONBLOCK) == 0);
	INSIDE(pipe(ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	INSIDE(read(ends[0], &byte, 1) < 0 && errno == EAGAIN);
	INSIDE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	INSIDE(fcntl(sockets[0], F_SETFL, O_NONBLOCK) == 0);
	INSIDE(read(sockets[0], &byte, 1) < 0 && errno == EAGAIN);
	INSIDE(fcntl(999, F_SETFL, 0) < 0 && errno == EBADF);
	return 0;
}

TEST(a_stream_for_appending_keeps_its_flag)
{
	make_streams();
	run_cage(sets_flags, SYS_fcntl);
	CHECK_INT(fcntl(log_fd, F_GETFL) & (O_APPEND | O_NONBLOCK), O_APPEND);
	CHECK_INT(fcntl(file_fd, F_GETFL) & (O_APPEND | O_NONBLOCK), O_NONBLOCK);
	close_streams();
}

static int open_name(int number, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", number);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0644);
}

static int opens_again(void)
{
	int fd = open_name(log_fd, O_WRONLY | O_CREAT | O_TRUNC);

	INSIDE(fd >= 0 && pwrite(fd, "more\n", 5, 0) == 5);
	INSIDE((fcntl(fd, F_GETFL) & O_APPEND) && fcntl(fd, F_GETFD) == 0);
	fd = open_name(log_fd, O_WRONLY | O_CLOEXEC);
	INSIDE(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	/* Another's is opened by the kernel. */
	fd = open_name(file_fd, O_WRONLY | O_TRUNC);
	INSIDE(fd >= 0 && !(fcntl(fd, F_GETFL) & O_APPEND));
	INSIDE(open_name(999, O_WRONLY) < 0 && errno == ENOENT);
	INSIDE(open_name(log_fd, O_WRONLY | O_DIRECTORY) < 0 && errno == ENOTDIR);
	INSIDE(syscall(SYS_openat, AT_FDCWD, NULL, O_WRONLY, 0) < 0 && errno == EFAULT);
	return 0;
}

TEST(a_stream_for_appending_that_is_opened_is_the_same)
{
	struct stat st;

	make_streams();
	run_cage(opens_again, SYS_openat);
	check_log("a line\nmore\n");
	CHECK(stat("file", &st) == 0 && st.st_size == 0);
	close_streams();
}
