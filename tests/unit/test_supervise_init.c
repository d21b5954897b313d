/* SPDX-License-Identifier: MIT */
/* What PID 1 waits for before the command runs. */
#include "supervise/init.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

struct world {
	int channel[2]; /* both ends are held here, as by a process that the host has forked */
	pid_t host;
	int pidfd;
};

static void world_init(struct world *w)
{
	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, w->channel) == 0);
	w->host = fork();
	if (w->host == 0) {
		(void)pause();
		_exit(0);
	}
	REQUIRE(w->host > 0);
	w->pidfd = (int)syscall(SYS_pidfd_open, w->host, 0);
	REQUIRE(w->pidfd >= 0);
}

static void kill_host(struct world *w)
{
	REQUIRE(kill(w->host, SIGKILL) == 0);
	REQUIRE(waitpid(w->host, NULL, 0) == w->host);
	w->host = 0;
}

static void order(const struct world *w, enum init_order_kind kind)
{
	const struct init_order order = { .kind = kind, .value = 7 };

	REQUIRE(send(w->channel[0], &order, sizeof(order), 0) == (ssize_t)sizeof(order));
}

static void world_done(struct world *w)
{
	if (w->host)
		kill_host(w);
	(void)close(w->pidfd);
	(void)close(w->channel[0]);
	(void)close(w->channel[1]);
}

TEST(an_order_is_waited_for_and_another_is_none)
{
	struct init_order got;
	struct world w;

	world_init(&w);
	order(&w, INIT_GO);
	CHECK(init_wait(w.channel[1], w.pidfd, INIT_GO, &got) && got.value == 7);
	order(&w, INIT_KILL);
	CHECK(!init_wait(w.channel[1], w.pidfd, INIT_GO, &got));
	world_done(&w);
}

TEST(nothing_is_waited_for_from_a_host_that_is_dead)
{
	struct init_order got;
	struct world w;

	world_init(&w);
	kill_host(&w);
	CHECK(!init_wait(w.channel[1], w.pidfd, INIT_GO, &got));
	world_done(&w);
}

TEST(what_a_dead_host_has_said_before_counts)
{
	struct init_order got;
	struct world w;

	world_init(&w);
	order(&w, INIT_GO);
	kill_host(&w);
	CHECK(init_wait(w.channel[1], w.pidfd, INIT_GO, &got));
	CHECK(!init_wait(w.channel[1], w.pidfd, INIT_START, &got));
	world_done(&w);
}
