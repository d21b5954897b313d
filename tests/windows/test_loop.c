/* SPDX-License-Identifier: MIT */
/* The loop over pipes, processes, sockets and timers. */
#include "child.h"

#include "os/fd.h"
#include "os/loop.h"
#include "os/socket.h"
#include "os/streams.h"

struct heard {
	int calls;
	uint32_t events;
	struct loop *loop;
	struct watcher *remove;
};

static int note(void *user, uint32_t events, struct err *e)
{
	struct heard *h = user;

	(void)e;
	h->calls++;
	h->events |= events;
	if (h->remove)
		loop_remove(h->loop, h->remove);
	return 0;
}

static int note_timer(void *user, struct err *e)
{
	return note(user, 0, e);
}

TEST(a_pipe_is_ready_when_something_was_written)
{
	struct loop l;
	struct err e = ERR_INIT;
	struct heard h = { .calls = 0 };
	int ours, theirs;
	char text[8];
	struct watcher w = { .ready = note, .user = &h };

	REQUIRE(loop_init(&l, &e) == 0 && os_open_output(&ours, &theirs) == 0);
	w.fd = ours;
	REQUIRE(loop_add(&l, &w, LOOP_IN, &e) == 0);
	CHECK_INT(loop_step(&l, 50, &e), 0);
	CHECK_INT(h.calls, 0);
	CHECK_INT(os_write_some(theirs, "abc", 3), 3);
	CHECK_INT(loop_step(&l, 5000, &e), 0);
	CHECK_INT(h.calls, 1);
	/* Level-triggered: until it was read. */
	CHECK_INT(loop_step(&l, 0, &e), 0);
	CHECK_INT(h.calls, 2);
	CHECK_INT(os_read_output(ours, text, sizeof(text)), 3);
	CHECK_INT(loop_step(&l, 20, &e), 0);
	CHECK_INT(h.calls, 2);
	fd_close(&theirs);
	CHECK_INT(loop_step(&l, 5000, &e), 0);
	CHECK_INT(h.calls, 3);
	CHECK_INT(os_read_output(ours, text, sizeof(text)), 0);
	loop_remove(&l, &w);
	fd_close(&ours);
	loop_done(&l);
}

TEST(the_end_of_a_process_is_noticed_at_once)
{
	static const char *const argv[] = { "probe", "sleep", "300", NULL };
	struct process_start how = { .program = program_of("PROBE"), .argv = argv };
	struct loop l;
	struct err e = ERR_INIT;
	struct heard h = { .calls = 0 };
	struct watcher w = { .ready = note, .user = &h };
	struct child c;
	HANDLE copy;
	uint64_t begun;
	char text[8];

	REQUIRE(loop_init(&l, &e) == 0 && child_start(&how, &c));
	REQUIRE(DuplicateHandle(GetCurrentProcess(), c.process.handle, GetCurrentProcess(), &copy,
				0, FALSE, DUPLICATE_SAME_ACCESS));
	w.fd = handle_add(HANDLE_PROCESS, copy);
	REQUIRE(loop_add(&l, &w, LOOP_IN, &e) == 0);
	begun = loop_now();
	while (h.calls == 0 && loop_now() < begun + 10000)
		CHECK_INT(loop_step(&l, 5000, &e), 0);
	CHECK_INT(h.calls, 1);
	CHECK(loop_now() < begun + 4000);
	loop_remove(&l, &w);
	handle_close(w.fd);
	(void)child_finish(&c, text, sizeof(text));
	loop_done(&l);
}

TEST(a_socket_and_a_pipe_are_waited_for_together)
{
	struct os_address at = {
		.ip = { .bytes = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } }
	};
	struct loop l;
	struct err e = ERR_INIT;
	struct heard from_socket = { .calls = 0 }, from_pipe = { .calls = 0 };
	struct watcher listener = { .ready = note, .user = &from_socket };
	struct watcher pipe = { .ready = note, .user = &from_pipe };
	int client, ours, theirs;

	REQUIRE(loop_init(&l, &e) == 0 && os_open_output(&ours, &theirs) == 0);
	listener.fd = socket_open_listener(&at, false, 4);
	pipe.fd = ours;
	REQUIRE(listener.fd >= 0 && socket_get_address(listener.fd, &at) == 0);
	REQUIRE(loop_add(&l, &listener, LOOP_IN, &e) == 0 && loop_add(&l, &pipe, LOOP_IN, &e) == 0);
	CHECK_INT(loop_step(&l, 30, &e), 0);
	CHECK_INT(from_socket.calls + from_pipe.calls, 0);
	client = socket_open(true, true);
	CHECK(socket_connect(client, &at) == 0 || errno == EINPROGRESS);
	CHECK_INT(loop_step(&l, 5000, &e), 0);
	CHECK_INT(from_socket.calls, 1);
	loop_remove(&l, &listener);
	/* Sockets alone would be waited for now, did the pipe not wake the loop. */
	listener.fd = client;
	REQUIRE(loop_add(&l, &listener, LOOP_IN, &e) == 0);
	CHECK_INT(os_write_some(theirs, "x", 1), 1);
	CHECK_INT(loop_step(&l, 5000, &e), 0);
	CHECK_INT(from_pipe.calls, 1);
	loop_remove(&l, &listener);
	loop_remove(&l, &pipe);
	fd_close(&client);
	fd_close(&ours);
	fd_close(&theirs);
	loop_done(&l);
}

TEST(a_timer_is_due_in_its_time_and_once)
{
	struct loop l;
	struct err e = ERR_INIT;
	struct heard h = { .calls = 0 };
	struct timer t = { .due = note_timer, .user = &h };
	uint64_t begun = loop_now();

	REQUIRE(loop_init(&l, &e) == 0 && loop_prepare_timers(&l, &e) == 0);
	loop_set_timer(&l, &t, begun + 100);
	while (h.calls == 0 && loop_now() < begun + 5000)
		CHECK_INT(loop_step(&l, -1, &e), 0);
	CHECK(loop_now() >= begun + 100);
	CHECK(loop_now() < begun + 2000);
	CHECK_INT(loop_step(&l, 50, &e), 0);
	CHECK_INT(h.calls, 1);
	loop_drop_timer(&l, &t);
	loop_done(&l);
}

TEST(a_watcher_that_another_one_removed_is_not_called)
{
	struct loop l;
	struct err e = ERR_INIT;
	struct watcher a, b;
	struct heard of_a = { .loop = &l, .remove = &b }, of_b = { .loop = &l, .remove = &a };
	int null = os_open_null();

	a = (struct watcher){ .fd = null, .ready = note, .user = &of_a };
	b = (struct watcher){ .fd = null, .ready = note, .user = &of_b };
	REQUIRE(null >= 0 && loop_init(&l, &e) == 0);
	REQUIRE(loop_add(&l, &a, LOOP_IN, &e) == 0 && loop_add(&l, &b, LOOP_IN, &e) == 0);
	CHECK_INT(loop_step(&l, 0, &e), 0);
	CHECK_INT(of_a.calls + of_b.calls, 1);
	loop_remove(&l, &a);
	loop_remove(&l, &b);
	fd_close(&null);
	loop_done(&l);
}

TEST(a_connection_that_is_refused_is_told_as_such)
{
	struct os_address at = {
		.ip = { .bytes = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } }
	};
	struct loop l;
	struct err e = ERR_INIT;
	struct heard h = { .calls = 0 };
	struct watcher w = { .ready = note, .user = &h };
	int closed = socket_open_listener(&at, false, 1);

	REQUIRE(loop_init(&l, &e) == 0 && closed >= 0 && socket_get_address(closed, &at) == 0);
	fd_close(&closed);
	w.fd = socket_open(true, true);
	if (socket_connect(w.fd, &at) == 0 || errno == ECONNREFUSED)
		SKIP("this host answers before the loop could");
	REQUIRE(loop_add(&l, &w, LOOP_OUT, &e) == 0);
	CHECK_INT(loop_step(&l, 10000, &e), 0);
	CHECK_INT(h.calls, 1);
	CHECK_INT(socket_take_error(w.fd), ECONNREFUSED);
	loop_remove(&l, &w);
	handle_close(w.fd);
	loop_done(&l);
}
