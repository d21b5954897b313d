/* SPDX-License-Identifier: MIT */
/*
 * Connections that break off at every stage, from either side and in every way: nothing is
 * left of them. The proxy has few descriptors here, so that a leak of one each stops it;
 * where they may be counted (root: the process can't be looked into otherwise) they are.
 */
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "proxy_fixture.h"

enum { DESCRIPTORS = 400, TIMES = 60 };

/* What the client has said when it ends; "@" is the server's port. */
static const struct stage {
	const char *text;
	bool reaches_server;
} stages[] = {
	{ "", false },
	{ "G", false },
	{ "GET http://127.0.0.1:@/ HT", false },
	{ "GET http://127.0.0.1:@/ HTTP/1.1\r\nHost: 127.0.0.1:@\r\n", false },
	{ "GET http://127.0.0.1:@/ HTTP/1.1\r\nHost: 127.0.0.1:@\r\n\r\n", true },
	{ "POST http://127.0.0.1:@/ HTTP/1.1\r\nHost: 127.0.0.1:@\r\nContent-Length: "
	  "9\r\n\r\nhalf",
	  true },
	{ "POST http://127.0.0.1:@/ HTTP/1.1\r\nHost: 127.0.0.1:@\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n5\r\nha",
	  true },
	{ "CONNECT 127.0.0.1:@ HTTP/1.1\r\n", false },
	{ "CONNECT 127.0.0.1:@ HTTP/1.1\r\nHost: 127.0.0.1:@\r\n\r\n", true },
	{ "CONNECT 127.0.0.1:@ HTTP/1.1\r\nHost: 127.0.0.1:@\r\n\r\n\26\3\1", true },
	{ "GET http://8.8.8.8/ HTTP/1.1\r\nHost: 8.8.8.8\r\n\r\n", false },
};

/* What the server has said when it ends; NULL: it does not even accept. */
static const char *const answers[] = {
	"",
	"HTTP/1.1 200 O",
	"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole",
	"no HTTP at all\r\n\r\n",
};

enum ending { CLOSES, RESETS, SHUTS, ENDINGS };

/* -1: it may not be looked at. */
static int count_descriptors(void)
{
	char path[64];
	DIR *dir;
	int count = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)proxy.pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

static void drain_records(void)
{
	struct proxy_message m;

	while (proxy_receive(&proxy, &m) > 0)
		;
}

/* What is idle may be kept for a while: pipes, and what waits for a last byte. */
static bool comes_down_to(int count)
{
	uint64_t until = loop_now() + PATIENCE_MS;
	int now;

	do {
		drain_records();
		now = count_descriptors();
		if (now <= count)
			return true;
		(void)poll(NULL, 0, 20);
	} while (loop_now() < until);
	printf("# %d descriptors, %d expected\n", now, count);
	return false;
}

static void end_by(int fd, enum ending how)
{
	const struct linger at_once = { .l_onoff = 1 };

	if (how == RESETS)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	if (how == SHUTS)
		(void)shutdown(fd, SHUT_WR);
	else
		(void)close(fd);
}

static int begin(const struct stage *s)
{
	char bytes[256];
	struct buf text = BUF_OVER(bytes);
	int fd = connect_to(proxy_port);

	for (const char *c = s->text; *c; c++)
		if (*c == '@')
			buf_printf(&text, "%d", server_port);
		else
			buf_add_char(&text, *c);
	if (fd >= 0 && text.len > 0 && !send_all(fd, text.p, text.len))
		printf("# can't send\n");
	return fd;
}

static bool start_with_few(void)
{
	const struct rlimit few = { .rlim_cur = DESCRIPTORS, .rlim_max = DESCRIPTORS };

	return setrlimit(RLIMIT_NOFILE, &few) == 0 && start(LOCAL);
}

static bool still_works(void)
{
	int client, behind;
	bool works = open_tunnel(&client, &behind) && SENDS(client, "still there") &&
		     RECEIVES(behind, "still there");

	fd_close(&client);
	fd_close(&behind);
	return works;
}

static void close_rest(int fd, enum ending how)
{
	if (how == SHUTS)
		(void)close(fd);
}

/* More heads that do not end than there is memory for: whoever comes next waits, and is served. */
TEST(slow_heads_keep_nobody_out_for_long)
{
	enum { CLIENTS = 2300 };
	static int clients[CLIENTS];
	const struct rlimit many = { .rlim_cur = 8192, .rlim_max = 8192 };
	int opened = 0;

	if (setrlimit(RLIMIT_NOFILE, &many) < 0)
		SKIP("needs 8192 descriptors");
	limits.header_ms = 1500;
	REQUIRE(start(LOCAL));
	limits = (struct proxy_limits)PROXY_LIMITS_DEFAULT;
	for (; opened < CLIENTS; opened++) {
		clients[opened] = connect_to(proxy_port);
		if (clients[opened] < 0 || !SENDS(clients[opened], "GET "))
			break;
	}
	CHECK_INT(opened, CLIENTS);
	CHECK(still_works());
	for (int i = 0; i < opened; i++)
		(void)close(clients[i]);
	stop();
}

TEST(a_client_ends_at_every_stage)
{
	int before;

	REQUIRE(start_with_few());
	REQUIRE(still_works());
	before = count_descriptors();
	for (size_t i = 0; i < COUNT_OF(stages) * ENDINGS * TIMES / 10; i++) {
		const struct stage *s = &stages[i % COUNT_OF(stages)];
		enum ending how = (enum ending)(i / COUNT_OF(stages) % ENDINGS);
		int client = begin(s), behind = -1;

		REQUIRE(client >= 0);
		/* Sometimes before the dial is done, sometimes after. */
		if (s->reaches_server && i % 2) {
			behind = accept_one();
			CHECK(behind >= 0);
		}
		end_by(client, how);
		(void)poll(NULL, 0, how == SHUTS ? 1 : 0);
		close_rest(client, how);
		fd_close(&behind);
		drain_records();
	}
	fd_close(&server);
	CHECK(comes_down_to(before));
	stop();
}

TEST(a_server_ends_at_every_stage)
{
	int before;

	REQUIRE(start_with_few());
	REQUIRE(still_works());
	before = count_descriptors();
	for (size_t i = 0; i < COUNT_OF(stages) * COUNT_OF(answers) * ENDINGS; i++) {
		const struct stage *s = &stages[i % COUNT_OF(stages)];
		const char *answer = answers[i / COUNT_OF(stages) % COUNT_OF(answers)];
		enum ending how = (enum ending)(i / COUNT_OF(stages) / COUNT_OF(answers));
		char bytes[4096];
		int client, behind;

		if (!s->reaches_server)
			continue;
		client = begin(s);
		behind = accept_one();
		REQUIRE(client >= 0 && behind >= 0);
		CHECK(send_all(behind, answer, strlen(answer)));
		end_by(behind, how);
		if (i % 2) /* whatever it is told, it is told something */
			CHECK(recv(client, bytes, sizeof(bytes), 0) >= 0 || errno == ECONNRESET);
		(void)close(client);
		close_rest(behind, how);
		drain_records();
	}
	CHECK(comes_down_to(before));
	CHECK(still_works());
	stop();
}

/* One that is full of work when it is killed: everybody is told, nobody waits. */
TEST(the_proxy_is_killed_at_every_stage)
{
	int clients[COUNT_OF(stages)], behind[COUNT_OF(stages)];
	struct pollfd gone;
	struct proxy_message m;
	char bytes[4096];
	int r;

	REQUIRE(start_with_few());
	for (size_t i = 0; i < COUNT_OF(stages); i++) {
		clients[i] = begin(&stages[i]);
		behind[i] = stages[i].reaches_server ? accept_one() : -1;
	}
	gone = (struct pollfd){ .fd = proxy.pidfd, .events = POLLIN };
	os_kill(proxy.pidfd, SIGKILL);
	CHECK_INT(poll(&gone, 1, PATIENCE_MS), 1);
	for (size_t i = 0; i < COUNT_OF(stages); i++) {
		ssize_t n;

		do /* an answer that was under way comes first */
			n = recv(clients[i], bytes, sizeof(bytes), 0);
		while (n > 0);
		CHECK(n == 0 || errno == ECONNRESET);
		do
			n = behind[i] >= 0 ? recv(behind[i], bytes, sizeof(bytes), 0) : 0;
		while (n > 0);
		CHECK(n == 0 || errno == ECONNRESET);
		fd_close(&clients[i]);
		fd_close(&behind[i]);
	}
	while ((r = proxy_receive(&proxy, &m)) > 0)
		;
	CHECK(r < 0);
	stop();
	CHECK(!has_told_all);
	CHECK_INT(proxy.pid, 0);
}

/* In the place of the proxy, by one that does not end with its channel. */
static void stay(void *ends)
{
	(void)close(((int *)ends)[0]);
	(void)close(((int *)ends)[1]);
	for (;;)
		(void)pause();
}

TEST(one_that_hangs_up_and_stays_is_not_waited_for)
{
	int ends[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	proxy.pid = os_fork(0, stay, ends, &proxy.pidfd);
	REQUIRE(proxy.pid > 0);
	(void)close(ends[1]);
	proxy.channel = ends[0];
	stop();
	CHECK(!has_told_all);
	CHECK_INT(proxy.pid, 0);
}

TEST(texts_of_a_proxy_that_was_taken_over_end)
{
	struct proxy_message m;
	int ends[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	proxy.channel = ends[0];
	memset(&m, 'x', sizeof(m));
	m.kind = PROXY_RECORD;
	CHECK(send_all(ends[1], &m, sizeof(m)));
	m.kind = PROXY_FAILED;
	CHECK(send_all(ends[1], &m, sizeof(m)));
	REQUIRE(proxy_receive(&proxy, &m) == 1);
	CHECK_INT(strnlen(m.record.program, PROXY_PROGRAM_BYTES), PROXY_PROGRAM_BYTES - 1);
	CHECK_INT(strnlen(m.record.host, PROXY_HOST_BYTES), PROXY_HOST_BYTES - 1);
	CHECK_INT(strnlen(m.record.method, PROXY_METHOD_BYTES), PROXY_METHOD_BYTES - 1);
	CHECK_INT(strnlen(m.record.rule, PROXY_RULE_BYTES), PROXY_RULE_BYTES - 1);
	CHECK_INT(strnlen(m.record.rule_file, PROXY_FILE_BYTES), PROXY_FILE_BYTES - 1);
	REQUIRE(proxy_receive(&proxy, &m) == 1);
	CHECK_INT(strnlen(m.text, PROXY_RULE_BYTES), PROXY_RULE_BYTES - 1);
	fd_close(&ends[1]);
	fd_close(&proxy.channel);
}

/* One byte now and then is not enough to stay. */
TEST(slow_heads_are_ended)
{
	enum { CLIENTS = 50 };
	static const char head[] = "GET http://127.0.0.1/ HTTP/1.1\r\n";
	int clients[CLIENTS], before;
	size_t ended = 0;

	limits.header_ms = 1000;
	REQUIRE(start_with_few());
	limits = (struct proxy_limits)PROXY_LIMITS_DEFAULT;
	REQUIRE(still_works());
	before = count_descriptors();
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = connect_to(proxy_port);
	for (size_t at = 0; at < 12; at++) {
		for (int i = 0; i < CLIENTS; i++)
			(void)send(clients[i], head + at, 1, MSG_NOSIGNAL);
		(void)poll(NULL, 0, 250);
	}
	for (int i = 0; i < CLIENTS; i++) {
		char bytes[4096];
		ssize_t n;

		do
			n = recv(clients[i], bytes, sizeof(bytes), MSG_DONTWAIT);
		while (n > 0);
		ended += n == 0 || errno == ECONNRESET;
		(void)close(clients[i]);
	}
	CHECK_INT(ended, CLIENTS);
	CHECK(comes_down_to(before));
	CHECK(still_works());
	stop();
}
