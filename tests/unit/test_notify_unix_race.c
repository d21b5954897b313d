/* SPDX-License-Identifier: MIT */
/* Commands that change what they hand over while it is judged (linux/notify/unix_connect.c). */
#include "linux/notify/unix_connect.h"

#include <pthread.h>

#include "host_socket.h"

enum { RACE_MS = 1500 };
static int from_outside; /* a socket of the host's */
static union {
	struct sockaddr_un address;
	volatile char bytes[sizeof(struct sockaddr_un)];
} raced;
static _Atomic bool is_over;

static void put_raced(const struct sockaddr_un *address)
{
	for (size_t i = 0; i < sizeof(*address); i++)
		raced.bytes[i] = ((const char *)address)[i];
}

static void *swap_address(void *arg)
{
	struct sockaddr_un host, own;

	(void)arg;
	fill_unix(&host, host_path);
	fill_unix(&own, inside_path);
	while (!is_over) {
		put_raced(&host);
		put_raced(&own);
	}
	return NULL;
}

/* Connects for a while; counts what came of it. */
static int race(void)
{
	uint64_t until = loop_now() + RACE_MS;
	int listener = listen_at(inside_path);

	INSIDE(listener >= 0);
	while (loop_now() < until) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		shared->numbers[connect(fd, (struct sockaddr *)&raced.address,
					sizeof(raced.address)) == 0]++;
		close(fd);
		(void)count_waiting(listener);
	}
	return 0;
}

static int race_with_the_address(void)
{
	pthread_t thread;
	int r;

	fill_unix(&raced.address, inside_path);
	INSIDE(pthread_create(&thread, NULL, swap_address, NULL) == 0);
	r = race();
	is_over = true;
	(void)pthread_join(thread, NULL);
	return r;
}

/* A link leads now to the one, now to the other. */
static int race_with_a_link(void)
{
	pid_t pid;
	int r;

	INSIDE(symlink(inside_path, "w/raced") == 0);
	pid = fork();
	if (pid == 0)
		for (;;) {
			(void)!symlink(host_path, "w/next");
			(void)rename("w/next", "w/raced");
			(void)!symlink(inside_path, "w/next");
			(void)rename("w/next", "w/raced");
		}
	fill_unix(&raced.address, "w/raced");
	r = race();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	(void)(unlink("w/raced") | unlink("w/next"));
	return r;
}

static void *swap_descriptor(void *arg)
{
	int *fds = arg;

	while (!is_over)
		(void)(dup2(fds[0], 60) + dup2(fds[1], 60));
	return NULL;
}

/* Descriptor 60 is now a socket of the cage, now one of the host's network. */
static int race_with_the_descriptor(void)
{
	uint64_t until = loop_now() + RACE_MS;
	int fds[2] = { socket(AF_UNIX, SOCK_STREAM, 0), from_outside };
	pthread_t thread;

	INSIDE(listen_at(abstract("race")) >= 0);
	INSIDE(pthread_create(&thread, NULL, swap_descriptor, fds) == 0);
	while (loop_now() < until) {
		int r = connect_fd(60, abstract("race"));

		shared->numbers[r == 0 || r == -EISCONN || r == -EAGAIN]++;
	}
	is_over = true;
	(void)pthread_join(thread, NULL);
	return 0;
}

static void check_race(int (*inside)(void), const char *what)
{
	struct judged j;

	(void)count_waiting(host_listener);
	REQUIRE(judged_start(&j, NETWORK_OFF, &(struct cage_options){ .inside = inside }));
	CHECK_INT(judged_run(&j), 0);
	CHECK_INT(count_waiting(host_listener), 0);
	CHECK(shared->numbers[0] > 0 && shared->numbers[1] > 0);
	printf("# %s: %d refused, %d connected, 0 to the host\n", what, shared->numbers[0],
	       shared->numbers[1]);
	judged_done(&j);
}

TEST(no_race_reaches_the_host)
{
	int control;

	REQUIRE(open_host("host.sock"));
	/* Free, the same race reaches both. */
	CHECK_INT(run_free(&(struct cage_options){ .inside = race_with_the_address }), 0);
	control = count_waiting(host_listener);
	CHECK(control > 0);
	check_race(race_with_the_address, "address");
	CHECK_INT(run_free(&(struct cage_options){ .inside = race_with_a_link }), 0);
	CHECK(count_waiting(host_listener) > 0);
	check_race(race_with_a_link, "link");
	close_host();
}

TEST(no_race_connects_a_socket_from_outside)
{
	make_path(host_path, "unused");
	host_listener = listen_at(abstract("race"));
	REQUIRE(host_listener >= 0);
	from_outside = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_INT(run_free(&(struct cage_options){ .inside = race_with_the_descriptor }), 0);
	CHECK(count_waiting(host_listener) > 0);
	close(from_outside);
	from_outside = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check_race(race_with_the_descriptor, "descriptor");
	close(from_outside);
	close(host_listener);
}
