/* SPDX-License-Identifier: MIT */
/*
 * Tests of supervise/quick_connect.c: that it is used, that nobody can tell, and that
 * nothing gets by it that would not otherwise.
 */
#include "supervise/quick_connect.h"

#include <arpa/inet.h>
#include <pthread.h>

#include "backend/inner/inner.h"
#include "host_socket.h"
#include "os/child.h"
#include "supervise/quick_process.h"

enum { MANY = 120, RACE_MS = 1500 };

/* ---- A stand-in for the proxy ------------------------------------------------------ */

struct stand_in {
	struct connect_proxy proxy;
	struct judged j;
	int ends[2]; /* what the process itself says comes out of the second */
	int told_by_supervisor;
};

static struct inner_job job;

static int make_managed(void)
{
	job = (struct inner_job){ .channel = -1, .network.is_managed = true };
	inner_make_network(&job);
	return 0;
}

static bool hear(void *user, const struct proxy_order *order)
{
	struct stand_in *s = user;

	s->told_by_supervisor += order->kind == PROXY_HAS_CONNECTED;
	return order->kind == PROXY_HAS_CONNECTED;
}

static int channel_of(void *user)
{
	const struct stand_in *s = user;

	return s->ends[0];
}

static bool stand_in_start(struct stand_in *s, int (*inside)(void))
{
	const struct cage_options o = { .inside = inside, .with_capabilities = make_managed };

	*s = (struct stand_in){ .proxy = { .send = hear, .channel = channel_of, .user = s } };
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s->ends) ==
		       0 &&
	       judged_start_managed(&s->j, "enabled = true\ndomains = { 'a.test' = 'allow' }\n", &o,
				    &s->proxy);
}

/* How often the process has told, and whether each time it was true. */
static int count_told(struct stand_in *s)
{
	struct proxy_order o;
	int count = 0;

	while (recv(s->ends[1], &o, sizeof(o), MSG_DONTWAIT) == (ssize_t)sizeof(o)) {
		count++;
		CHECK_INT(o.kind, PROXY_HAS_CONNECTED);
		CHECK_INT(o.pid, 1);
		CHECK_STR(o.program, "test_supervise_");
		CHECK(o.port != 0 && ip_is_v4(&o.address) && o.address.bytes[12] == 127);
	}
	return count;
}

static void stand_in_done(struct stand_in *s)
{
	judged_done(&s->j);
	close(s->ends[0]);
	close(s->ends[1]);
}

/* ---- Inside ---------------------------------------------------------------------- */

static int connect_host_port(int fd, const char *host, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	(void)inet_pton(AF_INET, host, &a.sin_addr);
	return connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
}

static int try_port(const char *host, uint16_t port, int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	int r = connect_host_port(fd, host, port);

	close(fd);
	return r;
}

static bool is_under_way(int r)
{
	return r == 0 || r == -EINPROGRESS;
}

/* Between them, what is judged: the answers are those of the supervising process. */
static int connect_over_and_over(void)
{
	int first = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	for (int i = 0; i < MANY; i++) {
		INSIDE(is_under_way(try_port("127.0.0.1", 3128, SOCK_NONBLOCK)));
		if (i % 30 == 0) {
			INSIDE(try_port("127.0.0.1", 3128, 0) == 0);
			INSIDE(try_port("127.0.0.1", 9, 0) == -ECONNREFUSED);
			INSIDE(connect_to(host_path) == -EACCES);
			INSIDE(try_port("203.0.113.7", 80, SOCK_NONBLOCK) == -ENETUNREACH);
		}
	}
	INSIDE(is_under_way(connect_host_port(first, "127.0.0.1", 3128)));
	/* The first may still say how that went. */
	(void)connect_host_port(first, "127.0.0.1", 3128);
	INSIDE(connect_host_port(first, "127.0.0.1", 3128) == -EISCONN);
	INSIDE(connect_host_port(-1, "127.0.0.1", 3128) == -EBADF);
	INSIDE(connect_host_port(0, "127.0.0.1", 3128) == -ENOTSOCK);
	INSIDE(connect(first, (struct sockaddr *)8, 16) == -1 && errno == EFAULT);
	INSIDE(connect(first, (struct sockaddr *)&job, 1) == -1);
	return 0;
}

TEST(a_command_that_connects_over_and_over_is_served_by_a_process)
{
	static struct stand_in s;
	int by_process;

	REQUIRE(open_host("host.sock"));
	REQUIRE(stand_in_start(&s, connect_over_and_over));
	CHECK_INT(judged_run(&s.j), 0);
	by_process = count_told(&s);
	printf("# %d told by the process, %d by the supervisor\n", by_process,
	       s.told_by_supervisor);
	CHECK(by_process > MANY / 4);
	CHECK(by_process + s.told_by_supervisor >= MANY + MANY / 30 + 1);
	CHECK_INT(count_waiting(host_listener), 0);
	CHECK_INT(s.j.denials.total, MANY / 30);
	unix_connect_stop(s.j.connects);
	/* Each of them was counted, whoever has answered it. */
	CHECK(s.j.engine.handled >= MANY + 4 * MANY / 30);
	s.j.connects = NULL;
	stand_in_done(&s);
	close_host();
}

/* ---- Races ------------------------------------------------------------------------- */

static _Atomic bool is_over;
static union {
	struct sockaddr_un path;
	struct sockaddr_in in4;
	volatile char bytes[sizeof(struct sockaddr_un)];
} raced;

static void put_raced(const void *address, size_t size)
{
	for (size_t i = 0; i < size; i++)
		raced.bytes[i] = ((const char *)address)[i];
}

/* Descriptor 60 and the address are now of the one family, now of the other. */
static void *swap(void *arg)
{
	int inner = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int unix_one = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct sockaddr_in in4 = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct sockaddr_un path;

	(void)arg;
	in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fill_unix(&path, host_path);
	while (!is_over) {
		(void)dup2(inner, 60);
		put_raced(&in4, sizeof(in4));
		(void)dup2(unix_one, 60);
		put_raced(&path, sizeof(path));
	}
	return NULL;
}

static int race(void)
{
	uint64_t until = loop_now() + RACE_MS;
	pthread_t thread;

	fill_unix(&raced.path, host_path);
	INSIDE(pthread_create(&thread, NULL, swap, NULL) == 0);
	while (loop_now() < until) {
		for (int i = 0; i < 8; i++) {
			int r = connect(60, (struct sockaddr *)&raced, sizeof(raced.path)) < 0
					? -errno
					: 0;

			shared->numbers[r == 0 || r == -EISCONN]++;
			/* So that the process is there, and knows the caller. */
			(void)try_port("127.0.0.1", 3128, SOCK_NONBLOCK);
		}
	}
	is_over = true;
	(void)pthread_join(thread, NULL);
	return 0;
}

TEST(no_race_reaches_the_host_by_it)
{
	static struct stand_in s;
	int by_process;

	REQUIRE(open_host("host.sock"));
	CHECK_INT(run_free(&(struct cage_options){ .inside = race }), 0);
	CHECK(count_waiting(host_listener) > 0); /* free, it does */
	is_over = false;
	REQUIRE(stand_in_start(&s, race));
	shared->numbers[0] = shared->numbers[1] = 0;
	CHECK_INT(judged_run(&s.j), 0);
	by_process = count_told(&s);
	CHECK_INT(count_waiting(host_listener), 0);
	CHECK_INT(shared->numbers[1], 0);
	CHECK(shared->numbers[0] > 0 && by_process > 0);
	printf("# %d refused, 0 to the host; %d told by the process\n", shared->numbers[0],
	       by_process);
	stand_in_done(&s);
	close_host();
}

/* ---- Made to wait ------------------------------------------------------------------ */

static struct quick_connect own;
static struct timer stopper;

/* As when the lock of a socket is held by who shares it: in the middle of a call. */
static int stop_it(void *user, struct err *e)
{
	(void)user;
	(void)e;
	os_kill(own.process.pidfd, SIGSTOP);
	usleep(20000);
	own.shared->state = QUICK_BUSY;
	return 0;
}

static int connect_slowly(void)
{
	for (int i = 0; i < 60; i++) {
		INSIDE(try_port("127.0.0.1", 9, 0) == -ECONNREFUSED);
		usleep(5000);
	}
	return 0;
}

TEST(when_it_does_not_go_on_the_supervisor_receives_again)
{
	static struct stand_in s;
	struct err e = ERR_INIT;
	uint64_t before;

	make_path(host_path, "unused");
	REQUIRE(stand_in_start(&s, connect_slowly));
	quick_init(&own, &s.j.engine);
	quick_start(&own, 1, s.ends[0]);
	REQUIRE(own.is_on && !s.j.engine.watcher.is_added);
	stopper = (struct timer){ .due = stop_it };
	REQUIRE(loop_prepare_timers(&s.j.loop, &e) == 0);
	loop_set_timer(&s.j.loop, &stopper, loop_now() + 100);
	before = loop_now();
	CHECK_INT(judged_run(&s.j), 0);
	CHECK(!own.is_on && loop_now() - before < 5000);
	CHECK_INT(own.shared->state, QUICK_IS_RETIRED);
	/* Once is enough. */
	quick_start(&own, 1, s.ends[0]);
	CHECK(!own.is_on);
	loop_drop_timer(&s.j.loop, &stopper);
	quick_stop(&own);
	stand_in_done(&s);
}
