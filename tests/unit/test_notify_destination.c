/* SPDX-License-Identifier: MIT */
/*
 * Tests of linux/notify/destination.c, and of what unix_connect.c does about it: who is
 * asked, who is told, and what the caller sees, with a stand-in for the proxy.
 */
#include "linux/notify/destination.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "backend/inner/inner.h"
#include "judged.h"

#define ANY_4 "203.0.113.7"
#define ANY_6 "2001:db8::7"

/* ---- Addresses ------------------------------------------------------------------ */

union any_address {
	struct sockaddr any;
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;
	struct sockaddr_storage storage;
};

static socklen_t fill(union any_address *out, const char *host, uint16_t port)
{
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, host, &out->in4.sin_addr) == 1) {
		out->in4.sin_family = AF_INET;
		out->in4.sin_port = htons(port);
		return sizeof(out->in4);
	}
	out->in6.sin6_family = AF_INET6;
	out->in6.sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &out->in6.sin6_addr) == 1 ? sizeof(out->in6) : 0;
}

static enum destination_way way_of(const char *host, uint16_t port, int type, struct destination *d)
{
	union any_address a;
	struct attempt t = ATTEMPT_NONE;
	enum destination_way way;

	t.size = fill(&a, host, port);
	t.domain = a.any.sa_family;
	t.type = type;
	t.socket = socket(t.domain, type | SOCK_CLOEXEC, 0);
	memcpy(&t.address, &a, sizeof(a));
	way = destination_find(&t, d);
	close(t.socket);
	return way;
}

TEST(loopback_is_the_sandboxs_own_in_all_its_spellings)
{
	static const char *const own[] = {
		"127.0.0.1", "127.255.0.9",	 "0.0.0.0",	   "::1",
		"::",	     "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::ffff:127.9.9.9"
	};
	static const char *const others[] = { ANY_4,
					      "10.0.0.1",
					      "128.0.0.1",
					      "126.255.255.255",
					      "198.18.0.1",
					      "255.255.255.255",
					      ANY_6,
					      "fd00::1",
					      "::2",
					      "::7f00:1",
					      "fe80::1",
					      "::ffff:203.0.113.7",
					      "64:ff9b::7f00:1" };
	struct destination d;

	for (size_t i = 0; i < COUNT_OF(own); i++) {
		CHECK_INT(way_of(own[i], 443, SOCK_STREAM, &d), DESTINATION_FREE);
		CHECK(!destination_is_outside(&d));
		CHECK_INT(way_of(own[i], 443, SOCK_DGRAM, &d), DESTINATION_FREE);
	}
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		CHECK_INT(way_of(others[i], 443, SOCK_STREAM, &d), DESTINATION_ASKED);
		CHECK_INT(d.port, 443);
		CHECK(destination_is_outside(&d));
		CHECK_INT(way_of(others[i], 443, SOCK_DGRAM, &d), DESTINATION_UNREACHABLE);
		CHECK_INT(way_of(others[i], 53, SOCK_STREAM, &d), DESTINATION_FREE);
		CHECK_INT(way_of(others[i], 53, SOCK_DGRAM, &d), DESTINATION_FREE);
		CHECK_INT(way_of(others[i], 3128, SOCK_STREAM, &d), DESTINATION_ASKED);
	}
	CHECK_INT(way_of("127.0.0.1", 3128, SOCK_STREAM, &d), DESTINATION_PROXY);
	CHECK_INT(way_of("::1", 3128, SOCK_STREAM, &d), DESTINATION_PROXY);
	CHECK_INT(way_of("::ffff:127.0.0.1", 3128, SOCK_STREAM, &d), DESTINATION_PROXY);
	CHECK_INT(way_of("127.0.0.2", 3128, SOCK_STREAM, &d), DESTINATION_FREE);
	CHECK_INT(way_of("127.0.0.1", 3128, SOCK_DGRAM, &d), DESTINATION_FREE);
}

TEST(an_address_is_read_as_the_kernel_reads_it)
{
	struct destination d, mapped;
	union any_address a;

	(void)fill(&a, ANY_4, 80);
	CHECK(destination_parse(&a.storage, 16, &d) && destination_parse(&a.storage, 128, &d));
	CHECK(!destination_parse(&a.storage, 15, &mapped) &&
	      !destination_parse(&a.storage, 0, &mapped));
	(void)fill(&a, "::ffff:203.0.113.7", 80);
	CHECK(destination_parse(&a.storage, 28, &mapped));
	CHECK(memcmp(&d, &mapped, sizeof(d)) == 0);
	CHECK(destination_parse(&a.storage, 24, &d) && !destination_parse(&a.storage, 23, &d));
	a.any.sa_family = AF_UNSPEC;
	CHECK(!destination_parse(&a.storage, 28, &d));
	a.any.sa_family = AF_UNIX;
	CHECK(!destination_parse(&a.storage, 28, &d));
}

/* ---- A stand-in for the proxy ------------------------------------------------------ */

enum { ASKED = 2 }; /* which number those inside see it by */

/* It has a listener for each port that it lets through; all of them are inside already. */
struct stand_in {
	struct connect_proxy proxy;
	struct judged j;
	struct timer later;
	struct proxy_order asked, told;
	int asked_count, told_count;
	int answer;	     /* what it says: an errno */
	int delay_ms;	     /* before it does; < 0: never */
	bool waits_for_step; /* longer, until those inside have gone on */
	bool is_away;
};

static struct inner_job job;
static const uint16_t host_ports[] = { 5431, 5432 };

static int make_managed(void)
{
	job = (struct inner_job){ .channel = -1, .network.is_managed = true };
	inner_make_network(&job);
	return 0;
}

static int answer_later(void *user, struct err *e)
{
	struct stand_in *s = user;

	(void)e;
	if (s->waits_for_step && shared->step == 0)
		loop_set_timer(&s->j.loop, &s->later, loop_now() + (uint64_t)s->delay_ms);
	else
		unix_connect_answer(s->j.connects, s->asked.id, s->answer);
	return 0;
}

static bool hear(void *user, const struct proxy_order *order)
{
	struct stand_in *s = user;

	if (s->is_away)
		return false;
	if (order->kind == PROXY_HAS_CONNECTED) {
		s->told = *order;
		s->told_count++;
		return true;
	}
	s->asked = *order;
	shared->numbers[ASKED] = ++s->asked_count;
	if (s->delay_ms >= 0)
		loop_set_timer(&s->j.loop, &s->later, loop_now() + (uint64_t)s->delay_ms);
	return true;
}

static bool stand_in_start(struct stand_in *s, int (*inside)(void))
{
	const struct cage_options o = { .inside = inside, .with_capabilities = make_managed };
	struct err e = ERR_INIT;

	s->proxy = (struct connect_proxy){
		.send = hear, .user = s, .host_ports = host_ports, .host_port_count = 2
	};
	s->later = (struct timer){ .due = answer_later, .user = s };
	return judged_start_managed(&s->j, NETWORK_MANAGED, &o, &s->proxy) &&
	       loop_prepare_timers(&s->j.loop, &e) == 0;
}

static void stand_in_done(struct stand_in *s)
{
	loop_drop_timer(&s->j.loop, &s->later);
	judged_done(&s->j);
}

/* ---- Inside ---------------------------------------------------------------------- */

static int socket_for(const char *host, int type)
{
	union any_address a;

	(void)fill(&a, host, 0);
	return socket(a.any.sa_family, type | SOCK_CLOEXEC, 0);
}

static int connect_host(int fd, const char *host, uint16_t port)
{
	union any_address a;
	socklen_t size = fill(&a, host, port);

	return connect(fd, &a.any, size) < 0 ? -errno : 0;
}

static int try_host(const char *host, uint16_t port, int type)
{
	int fd = socket_for(host, type);
	int r = connect_host(fd, host, port);

	close(fd);
	return r;
}

/* As the proxy would: at that very address. */
static int listen_host(const char *host, uint16_t port)
{
	union any_address a;
	socklen_t size = fill(&a, host, port);
	int fd = socket_for(host, SOCK_STREAM), on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_IPV6, 78 /* IPV6_FREEBIND */, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on));
	return bind(fd, &a.any, size) == 0 && listen(fd, 16) == 0 ? fd : -1;
}

static bool is_peer(int fd, const char *host, uint16_t port)
{
	union any_address want, got;
	socklen_t size = sizeof(got), wanted = fill(&want, host, port);

	return getpeername(fd, &got.any, &size) == 0 && size == wanted &&
	       memcmp(&want, &got, wanted) == 0;
}

/* ---- Asked ------------------------------------------------------------------------- */

static int asked_then_connected(void)
{
	int listener = listen_host(ANY_4, 8443), fd = socket_for(ANY_4, SOCK_STREAM);

	INSIDE(listener >= 0);
	INSIDE(connect_host(fd, ANY_4, 8443) == 0);
	INSIDE(is_peer(fd, ANY_4, 8443));
	INSIDE(count_waiting(listener) == 1);
	/* One that is connected is not asked about again. */
	INSIDE(connect_host(fd, ANY_4, 8443) == -EISCONN);
	return 0;
}

TEST(the_proxy_is_asked_and_then_the_very_socket_is_connected)
{
	static struct stand_in s;

	s = (struct stand_in){ .delay_ms = 5 };
	REQUIRE(stand_in_start(&s, asked_then_connected));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.asked_count, 1);
	CHECK_INT(s.asked.kind, PROXY_WILL_CONNECT);
	CHECK_INT(s.asked.port, 8443);
	CHECK(ip_is_v4(&s.asked.address) && s.asked.address.bytes[12] == 203);
	CHECK_INT(s.asked.pid, 1);
	CHECK_STR(s.asked.program, "test_notify_des");
	CHECK_INT(s.told_count, 0);
	CHECK_INT(s.j.denials.total, 0);
	stand_in_done(&s);
}

static int asked_of_both_kinds(void)
{
	int listener = listen_host(ANY_6, 8443);
	struct pollfd wait = { .fd = socket_for(ANY_6, SOCK_STREAM | SOCK_NONBLOCK),
			       .events = POLLOUT };
	int r;

	INSIDE(listener >= 0);
	r = connect_host(wait.fd, ANY_6, 8443);
	INSIDE(r == -EINPROGRESS || r == 0);
	INSIDE(poll(&wait, 1, 5000) == 1 && wait.revents == POLLOUT);
	INSIDE(is_peer(wait.fd, ANY_6, 8443));
	/* The asked one makes no difference to who nobody listens for. */
	INSIDE(try_host(ANY_4, 8444, SOCK_STREAM) == -ECONNREFUSED);
	/* IPv4 by way of an IPv6 socket. */
	INSIDE(try_host("::ffff:203.0.113.7", 8444, SOCK_STREAM) == -ECONNREFUSED);
	return 0;
}

TEST(a_socket_that_does_not_block_gets_what_the_kernel_says)
{
	static struct stand_in s;

	s = (struct stand_in){ .delay_ms = 1 };
	REQUIRE(stand_in_start(&s, asked_of_both_kinds));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.asked_count, 3);
	CHECK(ip_is_v4(&s.asked.address));
	stand_in_done(&s);
}

static int refused_as_told(void)
{
	int listener = listen_host(ANY_4, 8443);
	int fd = socket_for(ANY_4, SOCK_STREAM);

	INSIDE(try_host(ANY_4, 8443, SOCK_STREAM) == -EACCES);
	INSIDE(try_host(ANY_6, 25, SOCK_STREAM | SOCK_NONBLOCK) == -EACCES);
	INSIDE(connect_host(fd, ANY_4, 8443) == -EACCES);
	/* And may be used for something else then. */
	INSIDE(connect_host(fd, "127.0.0.1", 3128) == 0);
	INSIDE(count_waiting(listener) == 0);
	return 0;
}

TEST(what_the_proxy_refuses_fails_as_it_says)
{
	static struct stand_in s;

	s = (struct stand_in){ .answer = EACCES };
	REQUIRE(stand_in_start(&s, refused_as_told));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.asked_count, 3);
	/* It is the proxy that counts it. */
	CHECK_INT(s.j.denials.total, 0);
	stand_in_done(&s);
}

static int refused_by_nonsense(void)
{
	int listener = listen_host(ANY_4, 8443);

	INSIDE(try_host(ANY_4, 8443, SOCK_STREAM) == -EACCES);
	INSIDE(count_waiting(listener) == 0);
	return 0;
}

TEST(an_answer_that_is_no_errno_lets_nothing_through)
{
	static const int answers[] = { -1, 512, INT32_MIN, INT32_MAX };
	static struct stand_in s;

	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		s = (struct stand_in){ .answer = answers[i] };
		REQUIRE(stand_in_start(&s, refused_by_nonsense));
		CHECK_INT(judged_run(&s.j), 0);
		stand_in_done(&s);
	}
}

static int unreachable(void)
{
	INSIDE(try_host(ANY_4, 8443, SOCK_STREAM) == -ENETUNREACH);
	INSIDE(try_host("127.0.0.1", 3128, SOCK_STREAM) == 0);
	return 0;
}

TEST(without_a_proxy_nothing_is_reached)
{
	static struct stand_in s;

	s = (struct stand_in){ .is_away = true };
	REQUIRE(stand_in_start(&s, unreachable));
	CHECK_INT(judged_run(&s.j), 0);
	stand_in_done(&s);
}

/* ---- Not asked --------------------------------------------------------------------- */

static int own_servers(void)
{
	uint16_t port;
	int listener = listen_tcp(&port, 8), fd;
	union any_address none = { .any.sa_family = AF_UNSPEC };

	INSIDE(listener >= 0);
	INSIDE(try_host("127.0.0.1", ntohs(port), SOCK_STREAM) == 0);
	INSIDE(try_host("::ffff:127.0.0.1", ntohs(port), SOCK_STREAM) == 0);
	INSIDE(try_host("0.0.0.0", ntohs(port), SOCK_STREAM) == 0);
	INSIDE(try_host("127.0.0.2", ntohs(port), SOCK_STREAM) == -ECONNREFUSED);
	INSIDE(try_host("127.0.0.2", 3128, SOCK_STREAM) == -ECONNREFUSED);
	/* The resolver. */
	INSIDE(try_host(ANY_4, 53, SOCK_STREAM) == 0);
	INSIDE(try_host(ANY_6, 53, SOCK_DGRAM) == 0);
	/* Disconnected and used again. */
	fd = socket_for(ANY_4, SOCK_STREAM);
	INSIDE(connect_host(fd, "127.0.0.1", ntohs(port)) == 0);
	INSIDE(connect(fd, &none.any, sizeof(none.any)) == 0);
	INSIDE(connect_host(fd, "127.0.0.1", ntohs(port)) == 0);
	close(fd);
	/* Addresses that are none get the kernel's answer. */
	fd = socket_for(ANY_4, SOCK_STREAM);
	(void)fill(&none, ANY_4, 443);
	INSIDE(connect(fd, &none.any, 8) < 0 && errno == EINVAL);
	(void)fill(&none, ANY_6, 443);
	INSIDE(connect(fd, &none.any, sizeof(none.in6)) < 0 && errno == EACCES);
	/* Datagrams. */
	INSIDE(try_host(ANY_4, 443, SOCK_DGRAM) == -ENETUNREACH);
	INSIDE(try_host(ANY_6, 123, SOCK_DGRAM) == -ENETUNREACH);
	INSIDE(try_host("127.0.0.1", 443, SOCK_DGRAM) == 0);
	return 0;
}

TEST(the_sandboxs_own_is_not_asked_about)
{
	static struct stand_in s;

	s = (struct stand_in){ .answer = EACCES };
	REQUIRE(stand_in_start(&s, own_servers));
	CHECK_INT(judged_run(&s.j), 0);
	/* The one with an address of the wrong family. */
	CHECK_INT(s.asked_count, 1);
	CHECK_INT(s.told_count, 0);
	stand_in_done(&s);
}

/* ---- Told --------------------------------------------------------------------------- */

static int told_of_each(void)
{
	union any_address a = { .in4 = { .sin_port = 0 } };
	socklen_t size = sizeof(a);
	int fd = socket_for("127.0.0.1", SOCK_STREAM | SOCK_NONBLOCK);
	int r = connect_host(fd, "127.0.0.1", 3128);

	INSIDE(r == 0 || r == -EINPROGRESS);
	INSIDE(getsockname(fd, &a.any, &size) == 0);
	shared->numbers[0] = ntohs(a.in4.sin_port);
	return 0;
}

TEST(the_proxy_is_told_whose_a_connection_to_it_is)
{
	static struct stand_in s;

	s = (struct stand_in){ .answer = EACCES };
	REQUIRE(stand_in_start(&s, told_of_each));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.asked_count, 0);
	REQUIRE(s.told_count == 1);
	CHECK_INT(s.told.port, shared->numbers[0]);
	CHECK(memcmp(s.told.address.bytes + 12, "\x7f\0\0\1", 4) == 0);
	CHECK_INT(s.told.pid, 1);
	CHECK_INT(s.told.host_port, 0);
	CHECK_STR(s.told.program, "test_notify_des");
	stand_in_done(&s);
}

static int told_of_host_ports(void)
{
	union any_address a = { .in4 = { .sin_port = 0 } };
	socklen_t size = sizeof(a);
	int fd = socket_for("127.0.0.1", SOCK_STREAM);

	INSIDE(listen_host("127.0.0.1", 5432) >= 0 && listen_host("127.0.0.1", 5433) >= 0);
	INSIDE(try_host("127.0.0.1", 5433, SOCK_STREAM) == 0); /* its own */
	INSIDE(try_host("127.0.0.1", 5432, SOCK_DGRAM) == 0);
	INSIDE(connect_host(fd, "127.0.0.1", 5432) == 0);
	INSIDE(getsockname(fd, &a.any, &size) == 0);
	shared->numbers[0] = ntohs(a.in4.sin_port);
	return 0;
}

TEST(the_proxy_is_told_whose_a_connection_to_a_port_of_the_hosts_is)
{
	static struct stand_in s;

	s = (struct stand_in){ .answer = EACCES };
	REQUIRE(stand_in_start(&s, told_of_host_ports));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.asked_count, 0);
	REQUIRE(s.told_count == 1);
	CHECK_INT(s.told.port, shared->numbers[0]);
	CHECK_INT(s.told.host_port, 5432);
	CHECK_STR(s.told.program, "test_notify_des");
	stand_in_done(&s);
}

/* ---- While it is asked --------------------------------------------------------------- */

static void on_alarm(int number)
{
	(void)number;
	shared->numbers[1]++;
}

static void await_asked(int count)
{
	while (shared->numbers[ASKED] < count)
		(void)usleep(1000);
}

static int interrupted(void)
{
	const struct sigaction action = { .sa_handler = on_alarm };

	INSIDE(sigaction(SIGALRM, &action, NULL) == 0);
	if (fork() == 0) {
		await_asked(1);
		_exit(kill(getppid(), SIGALRM));
	}
	INSIDE(try_host(ANY_4, 8443, SOCK_STREAM) == -EINTR);
	INSIDE(shared->numbers[1] == 1);
	/* Killed while it waits. */
	if (fork() == 0)
		_exit(try_host(ANY_4, 8444, SOCK_STREAM) == 0);
	await_asked(2);
	INSIDE(kill(-1, SIGKILL) == 0);
	INSIDE(try_host("127.0.0.1", 3128, SOCK_STREAM) == 0);
	return 0;
}

TEST(a_signal_or_the_end_of_the_caller_ends_the_wait)
{
	static struct stand_in s;
	int status;

	s = (struct stand_in){ .delay_ms = -1 };
	REQUIRE(stand_in_start(&s, interrupted));
	status = judged_run(&s.j);
	CHECK_INT(status, 0);
	CHECK_INT(s.asked_count, 2);
	/* Too late, and nobody is harmed. */
	unix_connect_answer(s.j.connects, s.asked.id, 0);
	stand_in_done(&s);
}

static int others_go_on(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(try_host(ANY_4, 8443, SOCK_STREAM) == -EACCES ? 0 : 1);
	await_asked(1);
	for (int i = 0; i < 50; i++)
		INSIDE(try_host("127.0.0.1", 3128, SOCK_STREAM) == 0);
	INSIDE(waitpid(pid, &(int){ 0 }, WNOHANG) == 0);
	shared->step = 1;
	INSIDE(waitpid(pid, &pid, 0) > 0 && pid == 0);
	return 0;
}

TEST(one_that_is_held_keeps_nobody_else_waiting)
{
	static struct stand_in s;

	s = (struct stand_in){ .delay_ms = 5, .waits_for_step = true, .answer = EACCES };
	REQUIRE(stand_in_start(&s, others_go_on));
	CHECK_INT(judged_run(&s.j), 0);
	CHECK_INT(s.told_count, 50);
	stand_in_done(&s);
}
