/* SPDX-License-Identifier: MIT */
/* Tests of os/local_socket.h, with real sockets. */
#include "os/local_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "os/fd.h"
#include "scratch.h"
#include "test.h"

/* A listener at `name`, in the working directory; -1: there is none. */
static int serve(const char *name, int type, int backlog)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", name);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    (type == SOCK_DGRAM || listen(fd, backlog) == 0))
		return fd;
	fd_done(&fd);
	return -1;
}

TEST(a_connection_is_made_whatever_the_length_of_the_path)
{
	char dir[64], path[4096] = "";
	int server, fd, peer;
	char byte = 'x';

	memset(dir, 'd', sizeof(dir) - 1);
	dir[sizeof(dir) - 1] = '\0';
	for (int i = 0; i < 4; i++)
		(void)snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s%s",
			       i ? "/" : "", dir);
	for (char *at = path; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0755);
		*at = '/';
	}
	REQUIRE(mkdir(path, 0755) == 0);
	server = serve("s", SOCK_STREAM, 1);
	REQUIRE(server >= 0);
	(void)strcat(path, "/s");
	REQUIRE(rename("s", path) == 0);
	fd = local_socket_connect(path, 1000);
	REQUIRE(fd >= 0);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	peer = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	CHECK_INT(write(fd, "a", 1), 1);
	CHECK_INT(read(peer, &byte, 1), 1);
	CHECK_INT(byte, 'a');
	fd_done(&peer);
	fd_done(&fd);
	fd_done(&server);
}

TEST(what_can_t_be_connected_to_is_named)
{
	int server = serve("packets", SOCK_DGRAM, 0), gone = serve("gone", SOCK_STREAM, 1);

	REQUIRE(server >= 0 && gone >= 0);
	fd_done(&gone);
	scratch_put("file", "");
	REQUIRE(symlink("gone", "link") == 0);
	CHECK_INT(local_socket_connect("packets", 100), -EPROTOTYPE);
	CHECK_INT(local_socket_connect("gone", 100), -ECONNREFUSED);
	CHECK_INT(local_socket_connect("file", 100), -ENOTSOCK);
	CHECK_INT(local_socket_connect("link", 100), -ENOTSOCK);
	CHECK_INT(local_socket_connect("missing", 100), -ENOENT);
	fd_done(&server);
}

TEST(a_server_that_does_not_accept_is_not_waited_for)
{
	int server = serve("full", SOCK_STREAM, 0), fds[8], last = 0;

	REQUIRE(server >= 0);
	for (size_t i = 0; i < 8; i++) {
		fds[i] = last < 0 ? -1 : local_socket_connect("full", 50);
		last = fds[i];
	}
	CHECK_INT(last, -1);
	CHECK(fds[0] >= 0);
	for (size_t i = 0; i < 8; i++)
		CHECK(fds[i] >= 0 || fds[i] == -ETIMEDOUT || fds[i] == -1);
	for (size_t i = 0; i < 8; i++)
		fd_done(&fds[i]);
	fd_done(&server);
}

TEST(the_user_of_a_server_is_told)
{
	int server = serve("own", SOCK_STREAM, 1), fd;
	uint64_t uid = 0;

	REQUIRE(server >= 0);
	fd = local_socket_connect("own", 100);
	REQUIRE(fd >= 0);
	CHECK(local_socket_is_trusted(fd, &uid));
	CHECK_INT(uid, geteuid());
	fd_done(&fd);
	fd_done(&server);
}

/* A server that listened as another user, beside the one above. */
TEST(the_server_of_another_user_is_not_trusted)
{
	uint64_t uid = 0;
	int ready[2], fd;
	pid_t server;
	char byte;

	if (geteuid() != 0)
		SKIP("only root can be another user");
	REQUIRE(pipe2(ready, O_CLOEXEC) == 0 && mkdir("theirs", 0777) == 0 &&
		chmod("theirs", 0777) == 0 && chmod(".", 0755) == 0);
	server = fork();
	if (server == 0) {
		bool ok = setgroups(0, NULL) == 0 && setgid(65533) == 0 && setuid(65533) == 0 &&
			  serve("theirs/s", SOCK_STREAM, 4) >= 0;

		(void)!write(ready[1], ok ? "y" : "n", 1);
		(void)pause();
		_exit(0);
	}
	CHECK_INT(read(ready[0], &byte, 1), 1);
	CHECK_INT(byte, 'y');
	fd = local_socket_connect("theirs/s", 1000);
	CHECK(fd >= 0);
	CHECK(fd < 0 || !local_socket_is_trusted(fd, &uid));
	CHECK_INT(uid, 65533);
	fd_done(&fd);
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

TEST(only_a_connected_stream_socket_is_taken)
{
	int pair[2], packets[2], ends[2], lone = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
					  copy;

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 &&
		socketpair(AF_UNIX, SOCK_SEQPACKET, 0, packets) == 0 && pipe(ends) == 0);
	copy = local_socket_take(pair[0]);
	REQUIRE(copy >= 0 && copy != pair[0]);
	CHECK(fcntl(copy, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(pair[0], F_GETFD) & FD_CLOEXEC);
	CHECK(!(fcntl(copy, F_GETFL) & O_NONBLOCK));
	CHECK_INT(local_socket_take(packets[0]), -EPROTOTYPE);
	CHECK_INT(local_socket_take(ends[0]), -ENOTSOCK);
	CHECK_INT(local_socket_take(lone), -ENOTCONN);
	fd_done(&lone);
	CHECK_INT(local_socket_take(lone), -EBADF);
	fd_done(&copy);
	for (int i = 0; i < 2; i++) {
		fd_done(&pair[i]);
		fd_done(&packets[i]);
		fd_done(&ends[i]);
	}
}
