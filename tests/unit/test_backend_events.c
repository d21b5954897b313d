/* SPDX-License-Identifier: MIT */
/* Tests of src/backend/linux/events.c: what PID 1 may say, and what ends the run. */
#include <dirent.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/linux/supervisor.h"
#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "test.h"

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

struct world {
	struct supervisor s;
	struct loop loop;
	int first; /* the end of PID 1 */
	int ended, gone;
};

static void count_ended(void *user, const struct command_end *end)
{
	struct world *w = user;

	w->ended += end->status == 3;
}

static void count_gone(void *user)
{
	struct world *w = user;

	w->gone++;
}

static bool world_init(struct world *w, int pidfd)
{
	struct err e = ERR_INIT;
	int ends[2];

	*w = (struct world){ .loop = LOOP_NONE };
	w->s = (struct supervisor){ .sandbox = SANDBOX_NONE, .warden = WARDEN_NONE };
	if (loop_init(&w->loop, &e) < 0 || fd_pass_open(ends, 0) < 0)
		return false;
	w->s.in.loop = &w->loop;
	w->s.in.events.user = w;
	w->s.in.events.ended = count_ended;
	w->s.in.events.gone = count_gone;
	w->s.sandbox.channel = ends[0];
	w->s.sandbox.pidfd = pidfd;
	w->first = ends[1];
	events_init(&w->s);
	return events_attach(&w->s, &e) == 0;
}

static void world_done(struct world *w)
{
	events_detach(&w->s);
	loop_done(&w->loop);
	fd_close(&w->s.sandbox.channel);
	fd_close(&w->first);
}

TEST(a_message_of_a_wrong_size_ends_the_run_and_leaves_no_descriptor)
{
	static char bytes[2 * sizeof(struct init_message)];

	for (size_t size = sizeof(struct init_message) - 1; size <= sizeof(bytes);
	     size += sizeof(bytes) / 2 + 1) {
		struct err e = ERR_INIT;
		struct world w;
		int before;

		REQUIRE(world_init(&w, -1));
		before = count_open();
		REQUIRE(fd_pass_send(w.first, bytes, size, &w.first, 1, 0) == 0);
		CHECK(loop_step(&w.loop, 1000, &e) < 0);
		CHECK(e.code == ERR_INTERNAL || e.code == ERR_SYS);
		CHECK_INT(count_open(), before);
		world_done(&w);
	}
}

TEST(the_end_of_the_channel_is_no_failure)
{
	struct err e = ERR_INIT;
	struct world w;

	REQUIRE(world_init(&w, -1));
	fd_close(&w.first);
	CHECK_INT(loop_step(&w.loop, 1000, &e), 0);
	CHECK_INT(w.gone, 0);
	world_done(&w);
}

TEST(a_supervisor_that_can_t_be_made_leaves_nothing)
{
	struct err e = ERR_INIT;
	struct arena a = ARENA_INIT(1 << 20);
	struct loop loop = LOOP_NONE;
	struct supervisor *made = NULL;
	struct rlimit before, few;
	int is_open, next;

	REQUIRE(loop_init(&loop, &e) == 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
	is_open = count_open();
	next = dup(0);
	few = (struct rlimit){ (rlim_t)next + 2, before.rlim_max };
	fd_close(&next);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	CHECK(supervisor_new(&a, &(struct supervisor_request){ .loop = &loop }, &made, &e) < 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(!made);
	CHECK_INT(count_open(), is_open);
	loop_done(&loop);
	arena_done(&a);
}

static void leave(void *arg)
{
	(void)arg;
	_exit(0);
}

/* Also what it said last, when it left orders unread: the kernel tells of that first. */
TEST(that_all_is_gone_is_told_once_and_after_the_last_message)
{
	const struct init_message last = { .kind = INIT_ENDED, .value = 3 << 8, .is_alone = 1 };
	const struct init_order order = { .kind = INIT_SIGNAL };
	struct err e = ERR_INIT;
	struct world w;
	int pidfd = -1;

	REQUIRE(os_fork(0, leave, &pidfd, &pidfd) > 0);
	(void)os_reap(pidfd);
	for (int i = 0; i < 2; i++) {
		REQUIRE(world_init(&w, pidfd));
		REQUIRE(send(w.first, &last, sizeof(last), 0) > 0);
		REQUIRE(i == 0 || send(w.s.sandbox.channel, &order, sizeof(order), 0) > 0);
		if (i == 1)
			fd_close(&w.first);
		for (int k = 0; k < 3; k++)
			CHECK_INT(loop_step(&w.loop, 0, &e), 0);
		CHECK_INT(w.ended, 1);
		CHECK_INT(w.gone, 1);
		world_done(&w);
	}
	fd_close(&pidfd);
}
