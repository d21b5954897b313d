/* SPDX-License-Identifier: MIT */
/*
 * Tests of the proxy's process as its parent sees it: started, given a listener, spoken to
 * over SOCKS, ended.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/socket.h"
#include "proxy_fixture.h"

/* ---- Tests ------------------------------------------------------------------------------------ */

TEST(a_tunnel_carries_both_ways_and_is_recorded)
{
	int client, behind;

	REQUIRE(start(LOCAL));
	REQUIRE(open_tunnel(&client, &behind));
	CHECK(SENDS(behind, "220 first\r\n")); /* the server may begin */
	CHECK(RECEIVES(client, "220 first\r\n"));
	CHECK(SENDS(client, "EHLO\r\n"));
	CHECK(RECEIVES(behind, "EHLO\r\n"));
	/* Each side may end what it says, and still hear. */
	CHECK_INT(shutdown(client, SHUT_WR), 0);
	CHECK(is_at_end(behind));
	CHECK(SENDS(behind, "bye"));
	CHECK(RECEIVES(client, "bye"));
	(void)close(behind);
	CHECK(is_at_end(client));
	(void)close(client);
	stop();
	CHECK_INT(record_count, 1);
	CHECK_INT(last_record.reason, PROXY_ALLOWED);
	CHECK_INT(last_record.protocol, PROXY_BY_SOCKS);
	CHECK_INT(last_record.bytes_up, 6);
	CHECK_INT(last_record.bytes_down, 14);
	CHECK_INT(last_record.port, server_port);
	CHECK_STR(last_record.host, "127.0.0.1");
	CHECK_STR(last_record.rule, "127.0.0.1");
}

TEST(what_no_rule_allows_is_refused_and_counted)
{
	struct proxy_message m;

	REQUIRE(start(LOCAL));
	for (int i = 0; i < 50; i++) {
		int client = connect_to(proxy_port);

		CHECK_INT(ask_socks(client, 0x08080808, 443), 2);
		CHECK(is_at_end(client));
		(void)close(client);
	}
	REQUIRE(receive_kind(PROXY_RECORD, &m)); /* the first at once */
	CHECK_STR(m.record.host, "8.8.8.8");
	CHECK_INT(m.record.reason, PROXY_DENIED_UNLISTED);
	refusal_count = m.record.count;
	while (refusal_count < 50 && receive_kind(PROXY_RECORD, &m))
		refusal_count += m.record.count;
	CHECK_INT(refusal_count, 50);
	stop();
	CHECK_INT(record_count, 0);
}

TEST(a_refused_connection_is_another_answer)
{
	uint16_t nobody;
	int fd = listen_on(&nobody);

	(void)close(fd);
	REQUIRE(start(LOCAL));
	fd = connect_to(proxy_port);
	CHECK_INT(ask_socks(fd, INADDR_LOOPBACK, nobody), 5);
	(void)close(fd);
	stop();
	CHECK_INT(last_record.reason, PROXY_FAILED_REFUSED);
}

TEST(much_arrives_whole_and_in_order)
{
	enum { SIZE = 64 << 20, STEP = 1 << 20 };
	static uint8_t bytes[STEP];
	int client, behind;
	size_t got = 0;
	bool is_right = true;

	REQUIRE(start(LOCAL));
	REQUIRE(open_tunnel(&client, &behind));
	if (fork() == 0) {
		for (size_t i = 0; i < SIZE / STEP; i++) {
			memset(bytes, (int)i + 1, STEP);
			if (send(behind, bytes, STEP, MSG_NOSIGNAL) != STEP)
				_exit(1);
		}
		_exit(0);
	}
	(void)close(behind);
	for (;;) {
		ssize_t n = recv(client, bytes, sizeof(bytes), 0);

		/* With a time limit on it the end of the child may interrupt it. */
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++, got++)
			is_right &= bytes[i] == (uint8_t)(got / STEP + 1);
	}
	CHECK(is_right);
	CHECK_INT(got, SIZE);
	while (wait(NULL) > 0)
		;
	(void)close(client);
	stop();
	CHECK_INT(last_record.bytes_down, SIZE);
}

TEST(a_reader_that_stops_holds_up_only_itself)
{
	static char bytes[256 << 10];
	int slow, behind_slow, client, behind;

	REQUIRE(start(LOCAL));
	REQUIRE(open_tunnel(&slow, &behind_slow));
	REQUIRE(open_tunnel(&client, &behind));
	fcntl(behind_slow, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 100; i++)
		if (send(behind_slow, bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
			(void)poll(NULL, 0, 5);
	CHECK(SENDS(client, "ping"));
	CHECK(RECEIVES(behind, "ping"));
	/* Its reset while it is blocked is noticed at both ends. */
	setsockopt(slow, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 },
		   sizeof(struct linger));
	(void)close(slow);
	fcntl(behind_slow, F_SETFL, 0);
	CHECK(is_reset(behind_slow));
	(void)close(behind_slow);
	(void)close(client);
	(void)close(behind);
	stop();
}

TEST(the_name_in_a_hello_is_judged)
{
	static const uint8_t alert[] = { 21, 3, 3, 0, 2, 2, 49 };
	uint8_t hello[600];
	size_t size;
	int client, behind;

	REQUIRE(start(LOCAL));
	REQUIRE(open_tunnel(&client, &behind));
	size = make_hello(hello, "good.test");
	for (size_t i = 0; i < size; i++) /* in the smallest pieces */
		CHECK(send_all(client, hello + i, 1));
	CHECK(receives(behind, hello, size));
	CHECK(SENDS(client, "more"));
	CHECK(RECEIVES(behind, "more"));
	(void)close(client);
	(void)close(behind);

	REQUIRE(open_tunnel(&client, &behind));
	size = make_hello(hello, "evil.test");
	CHECK(send_all(client, hello, size - 4));
	CHECK(send_all(client, hello + size - 4, 4));
	CHECK(receives(client, alert, sizeof(alert)));
	CHECK(is_at_end(client));
	CHECK(is_at_end(behind)); /* and not one byte before */
	(void)close(client);
	(void)close(behind);
	stop();
	CHECK_INT(last_record.reason, PROXY_DENIED_HELLO);
	CHECK_STR(last_record.host, "evil.test");
}

TEST(a_hello_that_never_ends_is_refused)
{
	uint8_t hello[600];
	size_t size = make_hello(hello, "good.test");
	int client, behind;

	limits.header_ms = 300;
	REQUIRE(start(LOCAL));
	REQUIRE(open_tunnel(&client, &behind));
	CHECK(send_all(client, hello, size - 1));
	CHECK(RECEIVES(client, "\25\3\3"));
	CHECK(is_at_end(behind));
	(void)close(client);
	(void)close(behind);
	/* Nor does one go on that ends in its middle. */
	REQUIRE(open_tunnel(&client, &behind));
	CHECK(send_all(client, hello, size - 1));
	CHECK_INT(shutdown(client, SHUT_WR), 0);
	CHECK(is_at_end(behind));
	(void)close(client);
	(void)close(behind);
	stop();
	limits = (struct proxy_limits)PROXY_LIMITS_DEFAULT;
	CHECK_INT(refusal_count, 2);
}

TEST(limited_mode_has_no_tunnels)
{
	int fd;

	REQUIRE(start(LOCAL "mode = 'limited'\n"));
	fd = connect_to(proxy_port);
	CHECK_INT(ask_socks(fd, INADDR_LOOPBACK, server_port), 2);
	(void)close(fd);
	stop();
	CHECK_INT(last_record.reason, PROXY_DENIED_TUNNEL);
}

TEST(a_token_is_asked_for)
{
	int fd;

	token = "secret";
	REQUIRE(start(LOCAL));
	fd = connect_to(proxy_port);
	CHECK(SENDS(fd, "\5\1\0"));
	CHECK(RECEIVES(fd, "\5\377"));
	(void)close(fd);
	fd = connect_to(proxy_port);
	CHECK(SENDS(fd, "\5\2\0\2"));
	CHECK(RECEIVES(fd, "\5\2"));
	CHECK(SENDS(fd, "\1\1u\6secreT"));
	CHECK(RECEIVES(fd, "\1\1"));
	CHECK(is_at_end(fd));
	(void)close(fd);
	fd = connect_to(proxy_port);
	CHECK(SENDS(fd, "\5\1\2"));
	CHECK(RECEIVES(fd, "\5\2"));
	CHECK(SENDS(fd, "\1\1u\6secret"));
	CHECK(RECEIVES(fd, "\1\0"));
	/* BIND is no command here. */
	CHECK(SENDS(fd, "\5\2\0\1\177\0\0\1\0\120"));
	CHECK(RECEIVES(fd, "\5\7"));
	(void)close(fd);
	token = NULL;
	stop();
	CHECK_INT(refusal_count, 3);
}

TEST(nonsense_is_not_answered)
{
	int fd;

	REQUIRE(start(LOCAL));
	fd = connect_to(proxy_port);
	CHECK(SENDS(fd, "\4\1"));
	CHECK(is_at_end(fd));
	(void)close(fd);
	stop();
	CHECK_INT(last_record.reason, PROXY_BAD_REQUEST);
}

TEST(who_is_asked_decides)
{
	struct proxy_order answer = { .kind = PROXY_DECIDE };
	uint8_t request[] = { 5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 0 };
	struct proxy_message m;
	int fd;

	has_decider = true;
	REQUIRE(start(PROFILE "domains = { '127.0.0.2' = 'allow' }\n"));
	has_decider = false;
	/* Loopback is the private guard's; a public address can be asked about. */
	memcpy(request + 7, (uint8_t[]){ 203, 0, 114, 9 }, 4);
	request[12] = 9;
	fd = connect_to(proxy_port);
	CHECK(send_all(fd, request, sizeof(request)));
	REQUIRE(receive_kind(PROXY_ASKS, &m));
	CHECK_STR(m.record.host, "203.0.114.9");
	answer.id = m.id;
	CHECK_INT(proxy_send(&proxy, &answer, NULL, 0), 0);
	CHECK(RECEIVES(fd, "\5\0\5\2"));
	(void)close(fd);
	/* One who goes away is not waited for. */
	fd = connect_to(proxy_port);
	CHECK(send_all(fd, request, sizeof(request)));
	REQUIRE(receive_kind(PROXY_ASKS, &m));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 },
		   sizeof(struct linger));
	(void)close(fd);
	answer.id = m.id;
	CHECK_INT(proxy_send(&proxy, &answer, NULL, 0), 0);
	stop();
}

/* Connects as that program. */
static int connect_as(int32_t pid, const char *program)
{
	struct proxy_order who = { .kind = PROXY_HAS_CONNECTED,
				   .pid = pid,
				   .address = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } } };
	struct sockaddr_in own = { .sin_port = 0 };
	socklen_t size = sizeof(own);
	int fd = connect_to(proxy_port);

	CHECK(fd >= 0 && getsockname(fd, (struct sockaddr *)&own, &size) == 0);
	who.port = ntohs(own.sin_port);
	memcpy(who.program, program, strlen(program));
	CHECK_INT(proxy_send(&proxy, &who, NULL, 0), 0);
	(void)poll(NULL, 0, 20);
	return fd;
}

/* And asks by SOCKS for what somebody has to be asked about. */
static int ask_as(int32_t pid, const char *program)
{
	static const uint8_t greeting[] = { 5, 1, 0 };
	static const uint8_t request[] = { 5, 1, 0, 1, 203, 0, 114, 9, 0, 9 };
	int fd = connect_as(pid, program);

	CHECK(send_all(fd, greeting, sizeof(greeting)));
	CHECK(RECEIVES(fd, "\5\0"));
	CHECK(send_all(fd, request, sizeof(request)));
	return fd;
}

TEST(ten_connections_of_a_program_are_one_question)
{
	struct proxy_order answer = { .kind = PROXY_DECIDE };
	struct proxy_message m, other;
	int fds[10], stranger;

	has_decider = true;
	REQUIRE(start(PROFILE "domains = { '127.0.0.2' = 'allow' }\n"));
	has_decider = false;
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		fds[i] = ask_as(42, "git");
	REQUIRE(receive_kind(PROXY_ASKS, &m));
	/* Nobody else rides on the answer. */
	stranger = ask_as(43, "evil");
	REQUIRE(receive_kind(PROXY_ASKS, &other));
	CHECK_STR(m.record.program, "git");
	CHECK_STR(other.record.program, "evil");
	CHECK_INT(proxy_receive(&proxy, &other), 0);
	answer.id = m.id;
	CHECK_INT(proxy_send(&proxy, &answer, NULL, 0), 0);
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		CHECK(RECEIVES(fds[i], "\5\2"));
		(void)close(fds[i]);
	}
	CHECK_INT(recv(stranger, &m, 1, MSG_DONTWAIT), -1);
	(void)close(stranger);
	stop();
	CHECK_INT(refusal_count, 11);
}

/* Two clients, each with another request behind the one that is asked about. */
TEST(an_answer_is_not_for_what_is_asked_after_it)
{
	struct proxy_order answer = { .kind = PROXY_DECIDE };
	struct proxy_message m;
	int fds[2];

	has_decider = true;
	REQUIRE(start(PROFILE "domains = { '127.0.0.2' = 'allow' }\n"));
	has_decider = false;
	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = connect_as(42, "git");
		for (size_t k = 0; k < 2; k++)
			CHECK(SENDS(fds[i], "GET http://203.0.114.9/ HTTP/1.1\r\n"
					    "Host: 203.0.114.9\r\n\r\n"));
	}
	REQUIRE(receive_kind(PROXY_ASKS, &m));
	(void)poll(NULL, 0, 20);
	answer.id = m.id;
	CHECK_INT(proxy_send(&proxy, &answer, NULL, 0), 0);
	CHECK(receive_kind(PROXY_ASKS, &m));
	CHECK(m.id > answer.id);
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		(void)close(fds[i]);
	stop();
}

TEST(a_rule_counts_from_the_next_request_on)
{
	struct proxy_order add = { .kind = PROXY_ADD_RULE, .is_allow = true, .id = 7 };
	struct proxy_message m;
	int fd;

	REQUIRE(start(PROFILE "domains = { '127.0.0.2' = 'allow' }\n"));
	fd = connect_to(proxy_port);
	CHECK_INT(ask_socks(fd, INADDR_LOOPBACK, server_port), 2);
	(void)close(fd);
	(void)snprintf(add.text, sizeof(add.text), "127.0.0.1");
	CHECK_INT(proxy_send(&proxy, &add, NULL, 0), 0);
	REQUIRE(receive_kind(PROXY_RULE_ADDED, &m));
	CHECK_INT(m.id, 7);
	CHECK_INT(m.os_error, 0);
	fd = connect_to(proxy_port);
	CHECK_INT(ask_socks(fd, INADDR_LOOPBACK, server_port), 0);
	(void)close(fd);
	(void)snprintf(add.text, sizeof(add.text), "no pattern at all");
	CHECK_INT(proxy_send(&proxy, &add, NULL, 0), 0);
	REQUIRE(receive_kind(PROXY_RULE_ADDED, &m));
	CHECK_INT(m.os_error, EINVAL);
	CHECK(m.text[0] != '\0');
	stop();
}

/* The address was judged before that: it is dialled, and judged, anew. */
TEST(a_rule_counts_for_connections_that_are_open)
{
	static const char answer[] = "HTTP/1.1 204 No Content\r\n\r\n";
	struct proxy_order add = { .kind = PROXY_ADD_RULE, .id = 1, .text = "127.0.0.3" };
	struct proxy_message m;
	char request[128], got[256];
	int client, behind, again;

	REQUIRE(start(LOCAL));
	(void)snprintf(request, sizeof(request),
		       "GET http://127.0.0.1:%u/ HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
		       (unsigned)server_port, (unsigned)server_port);
	client = connect_to(proxy_port);
	CHECK(send_all(client, request, strlen(request)));
	behind = accept_one();
	for (int i = 0; i < 2; i++) {
		/* What comes before the request answers nothing. */
		CHECK(recv(behind, got, sizeof(got), 0) > 0);
		CHECK(SENDS(behind, answer));
		CHECK(RECEIVES(client, answer));
		/* Without a rule that connection serves again. */
		if (i == 0)
			CHECK(send_all(client, request, strlen(request)));
	}
	CHECK_INT(proxy_send(&proxy, &add, NULL, 0), 0);
	REQUIRE(receive_kind(PROXY_RULE_ADDED, &m));
	CHECK_INT(m.os_error, 0);
	CHECK(send_all(client, request, strlen(request)));
	again = accept_one();
	CHECK(recv(again, got, sizeof(got), 0) > 0);
	CHECK(SENDS(again, answer));
	CHECK(RECEIVES(client, answer));
	(void)close(client);
	(void)close(behind);
	(void)close(again);
	stop();
}

/* Sockets of the sandbox: here there is none, so they are the test's own. */
static bool give_sockets(void)
{
	int fds[4];
	const struct proxy_order o = { .kind = PROXY_TAKE, .role = PROXY_SOCKETS_4 };
	bool is_given;

	for (size_t i = 0; i < COUNT_OF(fds); i++)
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	is_given = proxy_send(&proxy, &o, fds, COUNT_OF(fds)) == 0;
	for (size_t i = 0; i < COUNT_OF(fds); i++)
		(void)close(fds[i]);
	return is_given;
}

static int will_connect(uint8_t last, uint16_t port)
{
	const struct proxy_order o = { .kind = PROXY_WILL_CONNECT,
				       .id = 5,
				       .pid = 9,
				       .program = "ssh",
				       .address = { { [10] = 0xff, 0xff, 127, 0, 0, last } },
				       .port = port };
	struct proxy_message m;

	if (proxy_send(&proxy, &o, NULL, 0) != 0)
		return -1;
	while (receive(&m)) {
		if (m.kind == PROXY_WANTS_SOCKETS && !give_sockets())
			return -1;
		if (m.kind == PROXY_MAY_CONNECT)
			return m.id == 5 ? m.os_error : -1;
	}
	return -1;
}

static int connect_address(uint32_t address, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr = { htonl(address) },
				 .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/*
 * The address that is connected to and the one that is dialled are the same here, where
 * there is but one network; so the dial reaches the listener of the proxy itself, once,
 * or whoever listens there by then: this test.
 */
TEST(an_address_is_listened_at_on_demand)
{
	struct proxy_message m;
	int client;

	REQUIRE(start(LOCAL));
	/* What is denied is said before the connect. */
	CHECK_INT(will_connect(7, 80), EACCES);
	REQUIRE(receive_kind(PROXY_RECORD, &m));
	CHECK_INT(m.record.pid, 9);
	CHECK_STR(m.record.program, "ssh");
	CHECK_INT(m.record.protocol, PROXY_BY_ADDRESS);
	/* The command's own server has the port: it is not reached by mistake. */
	CHECK_INT(will_connect(1, server_port), ECONNREFUSED);
	fd_close(&server);
	CHECK_INT(will_connect(1, server_port), 0);
	client = connect_address(INADDR_LOOPBACK, server_port);
	CHECK(client >= 0);
	/* The listener is gone once it has accepted: the port is free, the dial refused. */
	CHECK(is_reset(client));
	(void)close(client);
	CHECK_INT(connect_address(INADDR_LOOPBACK, server_port), -1);
	stop();
	CHECK_INT(last_record.reason, PROXY_FAILED_REFUSED);
	CHECK_INT(last_record.pid, 9);
}

/* What waits is told, and what comes later is served again. */
TEST(sockets_that_are_not_to_be_had_are_asked_for_again)
{
	const struct proxy_order none = { .kind = PROXY_TAKE, .role = PROXY_SOCKETS_4 };
	const struct proxy_order o = { .kind = PROXY_WILL_CONNECT,
				       .id = 6,
				       .address = { { [10] = 0xff, 0xff, 127, 0, 0, 1 } },
				       .port = 9 };
	struct proxy_message m;

	REQUIRE(start(LOCAL));
	CHECK_INT(proxy_send(&proxy, &o, NULL, 0), 0);
	REQUIRE(receive_kind(PROXY_WANTS_SOCKETS, &m));
	CHECK_INT(proxy_send(&proxy, &none, NULL, 0), 0);
	REQUIRE(receive_kind(PROXY_MAY_CONNECT, &m));
	CHECK_INT(m.id, 6);
	CHECK_INT(m.os_error, ENOBUFS);
	(void)poll(NULL, 0, 1100);
	fd_close(&server);
	CHECK_INT(will_connect(1, server_port), 0);
	stop();
}

/* Once there are sockets of the sandbox; closes it. */
static void published_port_serves(int client)
{
	int behind;

	CHECK(give_sockets());
	behind = accept_one();
	CHECK(SENDS(client, "hello"));
	CHECK(RECEIVES(behind, "hello"));
	(void)close(client);
	(void)close(behind);
}

TEST(single_ports_are_forwarded)
{
	uint16_t host_port, published_port;
	int inside = listen_on(&host_port), outside = listen_on(&published_port);
	struct proxy_message m;
	int client, behind;

	REQUIRE(start(PROFILE "domains = { 'a.test' = 'allow' }\n"));
	fcntl(inside, F_SETFL, O_NONBLOCK);
	fcntl(outside, F_SETFL, O_NONBLOCK);
	REQUIRE(hand_over(PROXY_HOST_PORT, server_port, inside));
	REQUIRE(hand_over(PROXY_PUBLISHED, server_port, outside));
	client = connect_to(host_port);
	behind = accept_one();
	CHECK(SENDS(client, "\26\3\1 is no hello here"));
	CHECK(RECEIVES(behind, "\26\3\1 is no hello here"));
	(void)close(client);
	CHECK(is_at_end(behind));
	(void)close(behind);
	REQUIRE(receive_kind(PROXY_RECORD, &m));
	CHECK_INT(m.record.protocol, PROXY_BY_HOST_PORT);
	client = connect_to(published_port);
	REQUIRE(receive_kind(PROXY_WANTS_SOCKETS, &m));
	CHECK_INT(m.role, PROXY_SOCKETS_4);
	published_port_serves(client);
	(void)close(inside);
	(void)close(outside);
	stop();
	CHECK_INT(last_record.protocol, PROXY_BY_PUBLISHED);
}

enum { CONGESTION_BYTES = 16 };

static const char *congestion_of(int fd, char name[CONGESTION_BYTES])
{
	socklen_t size = CONGESTION_BYTES;

	return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) < 0 ? "unknown" : name;
}

/* The host's own way may be one that does, which halves the throughput. */
TEST(no_pace_is_kept_where_no_network_is)
{
	int any = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char before[CONGESTION_BYTES], after[CONGESTION_BYTES];
	struct proxy_message m;
	uint16_t port;
	int local = listen_on(&port), client;

	REQUIRE(start(PROFILE "domains = { 'a.test' = 'allow' }\n"));
	fcntl(local, F_SETFL, O_NONBLOCK);
	REQUIRE(hand_over(PROXY_PUBLISHED, server_port, local));
	client = connect_to(port);
	REQUIRE(receive_kind(PROXY_WANTS_SOCKETS, &m)); /* by now it listens */
	CHECK_STR(congestion_of(local, after), "reno");
	CHECK(congestion_of(any, before) == before);
	socket_prepare(any);
	CHECK_STR(congestion_of(any, after), before);
	(void)close(client);
	(void)close(local);
	(void)close(any);
	stop();
}

/* A client of a published port waits for a socket of the sandbox, which is asked for again. */
TEST(a_published_port_waits_for_sockets)
{
	const struct proxy_order none = { .kind = PROXY_TAKE, .role = PROXY_SOCKETS_4 };
	uint16_t published_port;
	int outside = listen_on(&published_port), client;
	struct proxy_message m;

	REQUIRE(start(PROFILE "domains = { 'a.test' = 'allow' }\n"));
	fcntl(outside, F_SETFL, O_NONBLOCK);
	REQUIRE(hand_over(PROXY_PUBLISHED, server_port, outside));
	client = connect_to(published_port);
	REQUIRE(receive_kind(PROXY_WANTS_SOCKETS, &m));
	CHECK_INT(proxy_send(&proxy, &none, NULL, 0), 0);
	/* Nothing else happens meanwhile. */
	REQUIRE(receive_kind(PROXY_WANTS_SOCKETS, &m));
	published_port_serves(client);
	(void)close(outside);
	stop();
}

/* ---- Its end, and that of others ---------------------------------------------------------------- */

TEST(it_ends_with_its_parent)
{
	int pair[2];
	pid_t parent, pids[2] = { 0, 0 };
	struct pollfd gone = { .events = POLLIN };

	REQUIRE(pipe(pair) == 0);
	parent = fork();
	if (parent == 0) {
		if (!start(LOCAL))
			_exit(1);
		pids[0] = proxy.pid;
		/* A copy of the channel in a child does not keep it alive. */
		pids[1] = fork();
		if (pids[1] == 0) {
			(void)close(pair[0]);
			(void)close(pair[1]);
			(void)poll(NULL, 0, 3 * PATIENCE_MS);
			_exit(0);
		}
		(void)!write(pair[1], pids, sizeof(pids));
		(void)pause();
	}
	(void)close(pair[1]);
	REQUIRE(read(pair[0], pids, sizeof(pids)) == (ssize_t)sizeof(pids) && pids[1] > 0);
	gone.fd = (int)syscall(SYS_pidfd_open, pids[0], 0);
	CHECK_INT(poll(&gone, 1, 0), 0);
	(void)kill(parent, SIGKILL);
	CHECK_INT(poll(&gone, 1, PATIENCE_MS), 1);
	CHECK(kill(pids[1], SIGKILL) == 0);
	(void)close(gone.fd);
	(void)close(pair[0]);
	while (wait(NULL) > 0)
		;
}

TEST(a_slow_reader_of_records_loses_none)
{
	enum { CLIENTS = 3000 };
	int done = 0;

	REQUIRE(start(LOCAL));
	/* Each refusal of another kind, and nobody reads: it has to stop answering. */
	for (int i = 0; i < CLIENTS; i++) {
		uint8_t request[] = {
			5, 1, 0, 5, 1, 0, 1, 8, 8, (uint8_t)(i >> 8), (uint8_t)i, 1, 1
		};
		uint8_t reply[4];
		int fd = connect_to(proxy_port);
		struct pollfd more = { .fd = fd, .events = POLLIN };

		CHECK(send_all(fd, request, sizeof(request)));
		if (poll(&more, 1, 1000) != 1 || recv(fd, reply, 4, MSG_WAITALL) < 4) {
			(void)close(fd);
			break;
		}
		done++;
		(void)close(fd);
	}
	CHECK(done > 100 && done < CLIENTS);
	stop();
	CHECK(has_told_all);
	CHECK(refusal_count >= (uint64_t)done);
	CHECK(refusal_count <= (uint64_t)done + 1);
}

/* Each way to break off, many more times than there are descriptors. */
TEST(nothing_is_left_of_connections_that_break_off)
{
	const struct rlimit few = { .rlim_cur = 400, .rlim_max = 400 };
	const struct linger at_once = { .l_onoff = 1 };
	static const uint8_t stages[][13] = {
		{ 5 },
		{ 5, 1, 0 },
		{ 5, 1, 0, 5, 1, 0, 1 },
		{ 5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 0 },
	};
	static const size_t sizes[] = { 1, 3, 7, 13 };
	struct rlimit before;
	int client, behind;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
	REQUIRE(start(LOCAL));
	for (int i = 0; i < 800; i++) {
		size_t stage = (size_t)i % COUNT_OF(stages);
		uint16_t port = htons(server_port);
		uint8_t bytes[13];
		int fd = connect_to(proxy_port);

		memcpy(bytes, stages[stage], sizeof(bytes));
		memcpy(bytes + 11, &port, 2);
		if (i % 5 > 0)
			CHECK(send_all(fd, bytes, sizes[stage]));
		if (i % 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		(void)close(fd);
	}
	/* A server of its own for what follows: the proxy may still be about to dial the first one. */
	fd_close(&server);
	server = listen_on(&server_port);
	REQUIRE(server >= 0);
	/* In a tunnel: either end, either way. */
	for (int i = 0; i < 400; i++) {
		int first;

		REQUIRE(open_tunnel(&client, &behind));
		first = i % 2 ? client : behind;
		if (i % 4 > 1)
			setsockopt(first, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		(void)close(first);
		CHECK(i % 4 > 1 ? is_reset(i % 2 ? behind : client)
				: is_at_end(i % 2 ? behind : client));
		(void)close(i % 2 ? behind : client);
	}
	REQUIRE(open_tunnel(&client, &behind));
	CHECK(SENDS(client, "still there"));
	CHECK(RECEIVES(behind, "still there"));
	(void)close(client);
	(void)close(behind);
	stop();
	(void)setrlimit(RLIMIT_NOFILE, &before);
}

/* More clients than it can take: they wait, and it does not spin. */
TEST(a_flood_waits_its_turn)
{
	enum { CLIENTS = 60 };
	int fds[CLIENTS], client, behind;
	struct timespec before, after;
	clockid_t used;

	limits.connections = 20;
	REQUIRE(start(LOCAL));
	limits = (struct proxy_limits)PROXY_LIMITS_DEFAULT;
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = connect_to(proxy_port);
	REQUIRE(clock_getcpuclockid(proxy.pid, &used) == 0);
	(void)poll(NULL, 0, 50);
	REQUIRE(clock_gettime(used, &before) == 0);
	(void)poll(NULL, 0, 400);
	REQUIRE(clock_gettime(used, &after) == 0);
	for (int i = 0; i < CLIENTS; i++)
		(void)close(fds[i]);
	REQUIRE(open_tunnel(&client, &behind));
	(void)close(client);
	(void)close(behind);
	stop();
	CHECK((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 <
	      50);
}
