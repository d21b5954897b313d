/* SPDX-License-Identifier: MIT */
/*
 * Tests of linux/notify/inside.c and its parts: how a process inside connects to the socket that no
 * file stands for, and what becomes of clients that mean harm.
 */
#include "linux/notify/inside.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include "judged.h"
#include "linux/notify/connector.h"
#include "linux/notify/inside_client.h"

enum { REPLY_MAX = INSIDE_MESSAGE_MAX + 4, KEPT = 16 };

/* ---- Outside --------------------------------------------------------------------------------- */

struct server {
	struct judged j;
	struct inside *inside;
	struct inside_events events;
	struct timer pair;
	size_t pairs;
	bool never_answers;
	size_t answer_bytes; /* of padding */
	/* Of the last request. */
	size_t requests, unrequested;
	enum inside_kind kind;
	uint64_t id;
	char subject[512], named[512], reason[256], program[256], cwd[256], argv0[256];
	int32_t pid;
	size_t argv_count;
	uint64_t longest_ms, last_ms;
	struct timer tick;
};

static void keep(char *out, size_t room, struct str text)
{
	(void)snprintf(out, room, "%.*s", STR_ARG(text));
}

static void on_request(void *user, const struct inside_request *r)
{
	static char padding[REPLY_MAX];
	struct server *s = user;
	char text[REPLY_MAX + 64];
	int n;

	s->requests++;
	s->kind = r->kind;
	s->id = r->id;
	s->pid = r->pid;
	s->argv_count = r->argv_count;
	keep(s->subject, sizeof(s->subject), r->subject);
	keep(s->named, sizeof(s->named), r->named);
	keep(s->reason, sizeof(s->reason), r->reason);
	keep(s->program, sizeof(s->program), r->program);
	keep(s->cwd, sizeof(s->cwd), r->cwd);
	keep(s->argv0, sizeof(s->argv0), r->argv_count ? r->argv[0] : STR_EMPTY);
	if (s->never_answers) {
		shared->step = (int)s->requests;
		return;
	}
	memset(padding, 'x', sizeof(padding) - 1);
	n = snprintf(text, sizeof(text), "{\"n\": %zu, \"pad\": \"%.*s\"}", s->requests,
		     (int)s->answer_bytes, padding);
	inside_answer(s->inside, r->id, (struct str){ text, (size_t)n }, false);
}

static void on_unrequest(void *user, uint64_t id)
{
	struct server *s = user;

	(void)id;
	s->unrequested++;
}

static int give_pairs(void *user, struct err *e)
{
	struct server *s = user;

	(void)e;
	for (; s->pairs; s->pairs--) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
			inside_take_pair(s->inside, NULL);
		else
			inside_take_pair(s->inside, ends);
	}
	return 0;
}

static bool order_pair(void *user)
{
	struct server *s = user;

	s->pairs++;
	loop_set_next_step(&s->j.loop, &s->pair);
	return true;
}

/* Measures for how long the loop is kept from going on. */
static int on_tick(void *user, struct err *e)
{
	struct server *s = user;
	uint64_t now = loop_now();

	(void)e;
	if (s->last_ms && now - s->last_ms > s->longest_ms)
		s->longest_ms = now - s->last_ms;
	s->last_ms = now;
	loop_set_timer(&s->j.loop, &s->tick, now + 5);
	return 0;
}

static bool start(struct server *s, int (*inside)(void))
{
	char path[64];
	struct err e = ERR_INIT;

	if (!judged_start(&s->j, NETWORK_OFF, &(struct cage_options){ .inside = inside }))
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/root", (int)shared->pid);
	s->j.sandbox.root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	s->events = (struct inside_events){ .user = s,
					    .request = on_request,
					    .unrequest = on_unrequest,
					    .order_pair = order_pair };
	s->pair = (struct timer){ .due = give_pairs, .user = s };
	s->tick = (struct timer){ .due = on_tick, .user = s };
	if (inside_start(&s->j.a, &s->j.engine, &s->j.sandbox, &s->events, &s->inside, &e) < 0)
		return false;
	unix_connect_serve(s->j.connects, s->inside);
	loop_set_timer(&s->j.loop, &s->tick, loop_now() + 5);
	return true;
}

static void stop(struct server *s)
{
	loop_drop_timer(&s->j.loop, &s->tick);
	loop_drop_timer(&s->j.loop, &s->pair);
	inside_stop(s->inside);
	close(s->j.sandbox.root);
	judged_done(&s->j);
}

/* ---- Inside ----------------------------------------------------------------------------------- */

static int connect_inside(int flags)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | flags, 0);
	int r = connect_fd(fd, INSIDE_SOCKET);

	if (r == 0)
		return fd;
	close(fd);
	return r;
}

static bool send_bytes(int fd, const void *data, size_t size)
{
	return send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool send_frame(int fd, const char *text)
{
	unsigned char head[INSIDE_LENGTH_BYTES];

	inside_write_length(head, strlen(text));
	return send_bytes(fd, head, sizeof(head)) && send_bytes(fd, text, strlen(text));
}

static bool read_all(int fd, void *out, size_t size)
{
	char *at = out;

	while (size) {
		ssize_t n = read(fd, at, size);

		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

/* False: the connection has ended. */
static bool read_frame(int fd)
{
	static char text[REPLY_MAX];
	unsigned char head[INSIDE_LENGTH_BYTES];
	size_t size;

	if (!read_all(fd, head, sizeof(head)))
		return false;
	size = inside_read_length(head);
	return size > 0 && read_all(fd, text, size) && text[0] == '{';
}

/* The same with its text. */
static bool receive_frame(int fd, char *text, size_t room)
{
	unsigned char head[INSIDE_LENGTH_BYTES];
	size_t size = read_all(fd, head, sizeof(head)) ? inside_read_length(head) : 0;

	if (size == 0 || size >= room || !read_all(fd, text, size))
		return false;
	text[size] = '\0';
	return true;
}

/* Whether the other end is closed, and nothing was answered. */
static bool has_ended(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) <= 0;
}

static bool says_hello(void)
{
	int fd = connect_inside(SOCK_CLOEXEC);
	bool ok = fd >= 0 && send_frame(fd, "{\"type\": \"hello\"}") && read_frame(fd);

	close(fd);
	return ok;
}

static bool send_fds(int fd, const void *data, size_t size, const int *fds, size_t count)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(253 * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };

	control.align = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN(count * sizeof(int)) };
	memcpy(CMSG_DATA(&control.align), fds, count * sizeof(int));
	return sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)size;
}

static bool send_frame_fds(int fd, const char *text, const int *fds, size_t count)
{
	char frame[1024];
	size_t len = strlen(text);

	inside_write_length((unsigned char *)frame, len);
	memcpy(frame + INSIDE_LENGTH_BYTES, text, len);
	return send_fds(fd, frame, len + INSIDE_LENGTH_BYTES, fds, count);
}

/* ---- Connecting ------------------------------------------------------------------------------ */

static int connects_and_is_answered(void)
{
	static const int flags[] = { 0, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK };
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = INSIDE_SOCKET };
	struct stat st;
	int fd;

	INSIDE(lstat(INSIDE_SOCKET, &st) < 0 && errno == ENOENT);
	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		fd = connect_inside(flags[i]);
		INSIDE(fd >= 0);
		INSIDE(!(fcntl(fd, F_GETFD) & FD_CLOEXEC) == !(flags[i] & SOCK_CLOEXEC));
		INSIDE(!(fcntl(fd, F_GETFL) & O_NONBLOCK) == !(flags[i] & SOCK_NONBLOCK));
		INSIDE(connect_fd(fd, INSIDE_SOCKET) == 0); /* a new one takes its place */
		INSIDE(fcntl(fd, F_SETFL, O_RDWR) == 0);
		for (int k = 0; k < 3; k++)
			INSIDE(send_frame(fd, "{\"type\": \"hello\"}") && read_frame(fd));
		close(fd);
	}
	/* With all of the address, as some programs do. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	INSIDE(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	INSIDE(send_frame(fd, "{\"type\": \"hello\"}") && read_frame(fd));
	INSIDE(connect_fd(fd, INSIDE_SOCKET "x") == -EISCONN ||
	       connect_to(INSIDE_SOCKET "x") == -ENOENT);
	INSIDE(connect_fd(-1, INSIDE_SOCKET) == -EBADF);
	INSIDE(connect_fd(open("/", O_RDONLY | O_CLOEXEC), INSIDE_SOCKET) == -ENOTSOCK);
	return 0;
}

TEST(a_connection_to_no_file_is_answered)
{
	struct server s = { .pairs = 0 };

	REQUIRE(start(&s, connects_and_is_answered));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.requests, 13);
	CHECK_INT(s.kind, INSIDE_HELLO);
	CHECK_INT(inside_counts(s.inside)->broken, 0);
	stop(&s);
}

static int asks_for_a_path(void)
{
	char text[1024];
	int fd = connect_inside(SOCK_CLOEXEC);

	INSIDE(symlink(".", "w/here") == 0);
	(void)snprintf(text, sizeof(text),
		       "{\"type\": \"request\", \"kind\": \"write\", \"subject\": "
		       "\"%s/w/here/../w/here/new/file\", \"reason\": \"just \\u001b[31m so\"}",
		       scratch_top);
	INSIDE(fd >= 0 && send_frame(fd, text) && read_frame(fd));
	return 0;
}

TEST(a_path_is_resolved_as_the_command_sees_it)
{
	struct server s = { .pairs = 0 };
	char want[512];

	(void)mkdir("w", 0755);
	REQUIRE(start(&s, asks_for_a_path));
	CHECK_INT(judged_run(&s.j), 0);
	(void)snprintf(want, sizeof(want), "%s/w/new/file", scratch_top);
	CHECK_INT(s.kind, INSIDE_WRITE);
	CHECK_STR(s.subject, want);
	(void)snprintf(want, sizeof(want), "%s/w/here/../w/here/new/file", scratch_top);
	CHECK_STR(s.named, want);
	CHECK_STR(s.reason, "just \033[31m so");
	CHECK_STR(s.cwd, scratch_top);
	CHECK_INT(s.pid, 1);
	CHECK(strstr(s.program, "test_notify_inside") != NULL);
	CHECK(s.argv_count >= 1);
	stop(&s);
	(void)unlink("w/here");
}

/* ---- Those that mean harm ------------------------------------------------------------------------ */

static int forges_frames(void)
{
	static const char *const messages[] = {
		"x",
		"{}",
		"[]",
		"null",
		"{\"type\": \"hello\"",
		"{\"type\": \"hello\", \"type\": \"hello\"}",
		"{\"type\": \"hello\", \"more\": 1}",
		"{\"type\": \"hello\"} {\"type\": \"hello\"}",
		"{\"type\": \"answer\", \"granted\": true}",
		"{\"type\": 7}",
		"{\"type\": \"request\"}",
		"{\"type\": \"request\", \"kind\": \"write\"}",
		"{\"type\": \"request\", \"kind\": \"read\", \"subject\": \"/x\"}",
		"{\"type\": \"request\", \"kind\": \"write\", \"subject\": \"\"}",
		"{\"type\": \"request\", \"kind\": \"write\", \"subject\": [\"/x\"]}",
		"{\"type\": \"request\", \"kind\": \"write\", \"subject_base64\": \"L3gA\"}",
		"{\"type\": \"request\", \"kind\": \"write\", \"subject_base64\": \"!\"}",
		"{\"type\": \"request\", \"kind\": \"write\", \"subject\": \"/\xff\"}",
		"{\"type\": \"escalate\"}",
		"{\"type\": \"escalate\", \"argv\": []}",
		"{\"type\": \"escalate\", \"argv\": \"true\"}",
		"{\"type\": \"escalate\", \"argv\": [\"\"]}",
		"{\"type\": \"escalate\", \"argv\": [\"a\\u0000b\"]}",
		"{\"type\": \"escalate\", \"argv_base64\": [\"!\"]}",
		"{\"type\": \"escalate\", \"argv\": [\"a\"], \"argv_base64\": [\"YQ==\"]}",
		"{\"type\": \"escalate\", \"argv\": [\"a\"], \"env\": {}}",
		"{\"type\": \"escalate\", \"argv\": [\"a\"], \"optional\": 1}",
		"{\"type\": \"signal\", \"signal\": 15}",
		"{\"type\": \"signal\", \"signal\": 65}",
		"{\"type\": \"signal\"}",
		"{\"type\": \"hello\", \"reason\": \"x\"}",
	};
	static const unsigned char lengths[][INSIDE_LENGTH_BYTES] = {
		{ 0, 0, 0, 0 }, { 0xff, 0xff, 0xff, 0xff }, { 1, 0, 1, 0 }, { 0, 0, 0, 0x80 }
	};

	for (size_t i = 0; i < COUNT_OF(messages); i++) {
		int fd = connect_inside(SOCK_CLOEXEC);

		INSIDE(fd >= 0 && send_frame(fd, messages[i]));
		INSIDE(has_ended(fd));
		close(fd);
	}
	for (size_t i = 0; i < COUNT_OF(lengths); i++) {
		int fd = connect_inside(SOCK_CLOEXEC);

		INSIDE(fd >= 0 && send_bytes(fd, lengths[i], INSIDE_LENGTH_BYTES));
		INSIDE(has_ended(fd));
		close(fd);
	}
	INSIDE(says_hello());
	return 0;
}

/* ---- A command that runs outside ---------------------------------------------------------------- */

struct outside {
	struct server server;
	size_t signals;
	int taken; /* streams that came, and the directory */
	bool is_same, is_refused;
	struct timer end;
};

static const char outside_question[] =
	"{\"type\": \"escalate\", \"argv\": [\"a\", \"b\"], \"file\": \"/x/a\", \"reason\": \"r\"}";

static void on_outside(void *user, const struct inside_request *r)
{
	struct outside *o = user;
	struct stat st;

	if (r->kind == INSIDE_SIGNAL) {
		o->signals += r->signal == SIGTERM;
		inside_answer(o->server.inside, r->id, STR("{\"type\": \"exit\"}"), false);
		return;
	}
	o->is_refused = !r->taken;
	if (!r->taken || r->kind != INSIDE_ESCALATE) {
		inside_answer(o->server.inside, r->id, STR("{}"), false);
		return;
	}
	for (int i = 0; i < 3; i++)
		o->taken += fstat(r->taken->stdio[i], &st) == 0;
	o->is_same = r->command_count == 2 && str_is(r->command[1], "b") &&
		     str_is(r->file, "/x/a") && str_eq(r->taken->path, r->cwd) &&
		     fstat(r->taken->cwd, &st) == 0 && st.st_ino == r->taken->inode;
	connector_close_all((int[]){ r->taken->stdio[0], r->taken->stdio[1], r->taken->stdio[2],
				     r->taken->cwd },
			    4);
	/* Two answers; the first is perhaps not read before the second is written. */
	inside_answer(o->server.inside, r->id, STR("{\"type\": \"action\"}"), true);
}

static int runs_outside(void)
{
	char text[256];
	int fd = connect_inside(SOCK_CLOEXEC);

	INSIDE(fd >= 0 && send_frame(fd, outside_question));
	INSIDE(receive_frame(fd, text, sizeof(text)) && strstr(text, "action"));
	INSIDE(send_frame(fd, "{\"type\": \"signal\", \"signal\": 15}"));
	INSIDE(receive_frame(fd, text, sizeof(text)) && strstr(text, "exit"));
	close(fd);
	return 0;
}

TEST(a_command_outside_gets_streams_and_directory_and_its_client_two_answers)
{
	struct outside o = { .taken = 0 };

	REQUIRE(start(&o.server, runs_outside));
	o.server.events.user = &o;
	o.server.events.request = on_outside;
	o.server.events.order_pair = order_pair;
	CHECK_INT(judged_run(&o.server.j), 0);
	CHECK_INT(o.taken, 3);
	CHECK(o.is_same);
	CHECK_INT(o.signals, 1);
	CHECK_INT(o.server.unrequested, 0);
	stop(&o.server);
}

static int replays(void)
{
	char text[256];
	int fd = connect_inside(SOCK_CLOEXEC);

	INSIDE(fd >= 0 && send_frame(fd, outside_question));
	INSIDE(receive_frame(fd, text, sizeof(text)) && strstr(text, "action"));
	INSIDE(send_frame(fd, outside_question));
	INSIDE(has_ended(fd));
	close(fd);
	return 0;
}

TEST(while_a_command_runs_outside_only_signals_may_come)
{
	struct outside o = { .taken = 0 };

	REQUIRE(start(&o.server, replays));
	o.server.events.user = &o;
	o.server.events.request = on_outside;
	CHECK_INT(judged_run(&o.server.j), 0);
	CHECK_INT(o.taken, 3);
	CHECK_INT(o.server.unrequested, 1);
	stop(&o.server);
}

static int passes_what_is_no_stream(void)
{
	const int kept = dup(0);
	const int others[] = { open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			       open("/etc/passwd", O_PATH | O_CLOEXEC),
			       open("/proc/self/mem", O_RDWR | O_CLOEXEC),
			       socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
			       (int)syscall(SYS_pidfd_open, getpid(), 0) };
	char text[256];

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		int fd = connect_inside(SOCK_CLOEXEC);

		INSIDE(others[i] >= 0 && dup2(others[i], 0) == 0);
		INSIDE(fd >= 0 && send_frame(fd, outside_question));
		INSIDE(receive_frame(fd, text, sizeof(text)) && !strstr(text, "action"));
		close(fd);
	}
	dup2(kept, 0);
	return 0;
}

TEST(what_is_no_stream_is_not_taken)
{
	struct outside o = { .taken = 0 };

	REQUIRE(start(&o.server, passes_what_is_no_stream));
	o.server.events.user = &o;
	o.server.events.request = on_outside;
	CHECK_INT(judged_run(&o.server.j), 0);
	CHECK_INT(o.taken, 0);
	CHECK(o.is_refused);
	stop(&o.server);
}

TEST(what_is_no_message_ends_its_connection_alone)
{
	struct server s = { .pairs = 0 };

	REQUIRE(start(&s, forges_frames));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.requests, 1);
	CHECK_INT(inside_counts(s.inside)->broken, 35);
	stop(&s);
}

static int sends_halves(void)
{
	unsigned char head[INSIDE_LENGTH_BYTES];
	int fds[8];

	inside_write_length(head, INSIDE_MESSAGE_MAX);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = connect_inside(SOCK_CLOEXEC);
		INSIDE(fds[i] >= 0 && send_bytes(fds[i], head, i % INSIDE_LENGTH_BYTES + 1));
	}
	INSIDE(says_hello());
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		close(fds[i]);
	INSIDE(says_hello());
	return 0;
}

TEST(half_a_message_keeps_nobody_waiting)
{
	struct server s = { .pairs = 0 };

	REQUIRE(start(&s, sends_halves));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.requests, 2);
	CHECK_INT(s.longest_ms < 500, 1);
	stop(&s);
}

static int connects_too_often(void)
{
	int fds[INSIDE_MAX_CLIENTS];

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < COUNT_OF(fds); i++)
			INSIDE((fds[i] = connect_inside(SOCK_CLOEXEC)) >= 0);
		for (int i = 0; i < 500; i++)
			INSIDE(connect_inside(SOCK_CLOEXEC) == -EAGAIN);
		for (size_t i = 0; i < COUNT_OF(fds); i++)
			close(fds[i]);
		while (!says_hello())
			(void)usleep(1000);
	}
	return 0;
}

TEST(there_is_a_bound_on_clients)
{
	struct server s = { .pairs = 0 };

	REQUIRE(start(&s, connects_too_often));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK(inside_counts(s.inside)->turned_away >= 1500);
	CHECK(s.requests >= 3);
	stop(&s);
}

static int connects_ten_thousand_times(void)
{
	for (int i = 0; i < 10000; i++) {
		int fd = connect_inside(SOCK_CLOEXEC);

		INSIDE(fd >= 0 || fd == -EAGAIN);
		close(fd);
	}
	while (!says_hello())
		(void)usleep(1000);
	return 0;
}

TEST(ten_thousand_connections_leave_nothing)
{
	struct server s = { .pairs = 0 };

	REQUIRE(start(&s, connects_ten_thousand_times));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK(s.requests >= 1);
	stop(&s);
}

static int never_reads(void)
{
	int fd = connect_inside(SOCK_NONBLOCK | SOCK_CLOEXEC);
	int sent = 0;

	INSIDE(fd >= 0);
	for (int i = 0; i < 20000; i++)
		sent += send_frame(fd, "{\"type\": \"hello\"}");
	INSIDE(sent > 10);
	INSIDE(says_hello());
	INSIDE(says_hello());
	return 0;
}

TEST(a_client_that_never_reads_keeps_nobody_waiting)
{
	struct server s = { .answer_bytes = 60000 };

	REQUIRE(start(&s, never_reads));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK(s.requests < 20); /* as many answers as the kernel keeps for it */
	CHECK_INT(s.longest_ms < 500, 1);
	stop(&s);
}

static int hands_it_on(void)
{
	int fd = connect_inside(SOCK_CLOEXEC), status;
	pid_t pid;

	INSIDE(send_frame(fd, "{\"type\": \"hello\"}") && read_frame(fd));
	pid = fork();
	if (pid == 0)
		_exit(send_frame(fd, "{\"type\": \"hello\"}") && read_frame(fd) ? 0 : 7);
	INSIDE(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
	INSIDE(has_ended(fd));
	/* And one whose process has ended. */
	if ((pid = fork()) == 0) {
		fd = connect_inside(SOCK_CLOEXEC);
		if (fork() == 0) {
			(void)usleep(100000);
			_exit(send_frame(fd, "{\"type\": \"hello\"}") && read_frame(fd) ? 1 : 0);
		}
		_exit(fd < 0);
	}
	INSIDE(waitpid(pid, &status, 0) == pid && status == 0);
	(void)usleep(200000);
	return 0;
}

TEST(a_connection_is_of_use_to_one_process_alone)
{
	struct server s = { .pairs = 0 };

	REQUIRE(start(&s, hands_it_on));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.requests, 1);
	stop(&s);
}

static int smuggles(void)
{
	static const size_t counts[] = { 1, 4, 253 };
	int fds[253], fd;

	for (size_t i = 0; i < COUNT_OF(fds); i++)
		fds[i] = 2;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		fd = connect_inside(SOCK_CLOEXEC);
		INSIDE(send_frame_fds(fd, "{\"type\": \"hello\"}", fds, counts[i]));
		INSIDE(has_ended(fd));
		close(fd);
	}
	/* With the rest of a frame. */
	fd = connect_inside(SOCK_CLOEXEC);
	INSIDE(send_bytes(fd, "\x20\0", 2));
	(void)usleep(20000);
	INSIDE(send_fds(fd, "\0\0", 2, fds, 4));
	INSIDE(has_ended(fd));
	return 0;
}

TEST(descriptors_that_nobody_asked_for_end_the_connection)
{
	struct server s = { .pairs = 0 };

	REQUIRE(start(&s, smuggles));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.requests, 0);
	CHECK_INT(inside_counts(s.inside)->broken, 4);
	stop(&s);
}

/* A socket whose last close waits for a peer that does not read. */
static int make_lingering(int *peer)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 30 };
	char bytes[4096] = { 0 };
	uint16_t port;
	int listener = listen_tcp(&port, 1), fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	(void)connect_port(fd, port);
	*peer = accept(listener, NULL, NULL);
	while (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
		;
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	(void)fcntl(fd, F_SETFL, O_RDWR);
	close(listener);
	return fd;
}

enum { LINGERING = 8 };

/* Holds the other ends, and no more. */
static void keep_peers(const int *fds, int ready)
{
	for (size_t i = 0; i < LINGERING; i++)
		close(fds[i]); /* not the last one */
	shared->step = getpid();
	(void)!write(ready, "r", 1);
	for (;;)
		(void)pause();
}

/* After its end only the message keeps the descriptors open: dying does not linger. */
static void send_and_die(const char *message, size_t count)
{
	int fds[LINGERING], peers[LINGERING], ready[2];
	int fd = connect_inside(SOCK_CLOEXEC);
	char byte;

	for (size_t i = 0; i < LINGERING; i++)
		fds[i] = make_lingering(&peers[i]);
	if (pipe(ready) < 0 || fd < 0)
		_exit(1);
	if (fork() == 0)
		keep_peers(fds, ready[1]);
	if (read(ready[0], &byte, 1) != 1 || !send_frame_fds(fd, message, fds, count))
		_exit(1);
	(void)usleep(10000);
	_exit(0);
}

static int sends_what_blocks(void)
{
	static const char *const messages[] = { "{\"type\": \"hello\"}",
						"{\"type\": \"escalate\", \"argv\": [\"x\"]}",
						"x" };

	for (size_t i = 0; i < COUNT_OF(messages); i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			send_and_die(messages[i], LINGERING);
		INSIDE(waitpid(pid, &status, 0) == pid && status == 0);
		INSIDE(says_hello());
		(void)usleep(100000);
		INSIDE(says_hello());
		INSIDE(kill(shared->step, SIGKILL) == 0);
	}
	return 0;
}

TEST(a_descriptor_that_blocks_when_it_is_closed_blocks_nobody)
{
	struct server s = { .pairs = 0 };

	REQUIRE(start(&s, sends_what_blocks));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.longest_ms < 1000, 1);
	stop(&s);
}

static int dies_while_it_waits(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		int fd = connect_inside(SOCK_CLOEXEC);

		(void)send_frame(fd, "{\"type\": \"hello\"}");
		(void)read_frame(fd);
		_exit(0);
	}
	while (shared->step == 0)
		(void)usleep(500);
	INSIDE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	(void)usleep(100000);
	return 0;
}

TEST(that_nobody_waits_any_more_is_told)
{
	struct server s = { .never_answers = true };

	REQUIRE(start(&s, dies_while_it_waits));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.requests, 1);
	CHECK_INT(s.unrequested, 1);
	inside_answer(s.inside, s.id, STR("{}"), false);
	stop(&s);
}

static int waits_and_sends_more(void)
{
	int fd = connect_inside(SOCK_NONBLOCK | SOCK_CLOEXEC);

	for (int i = 0; i < 1000; i++)
		(void)send_frame(fd, "{\"type\": \"hello\"}");
	(void)usleep(50000);
	return 0;
}

TEST(a_client_has_one_request_at_a_time)
{
	struct server s = { .never_answers = true };

	REQUIRE(start(&s, waits_and_sends_more));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.requests, 1);
	stop(&s);
}
