/* SPDX-License-Identifier: MIT */
/* Tests of proxy/dial/dial.c: what is judged is what is dialled, and how it fails. */
#include "proxy/dial/dial.h"

#include <errno.h>
#include <fcntl.h>

#include "proxy/dns/resolve.h"
#include "scratch.h"
#include "small_dns.h"
#include "test.h"
#include "world.h"

#define PROFILE "default_permissions = 'dev'\n[permissions.dev.network]\nenabled = true\n"
/* Loopback stands for a private network that was opened; 10.0.0.0/8 was not. */
#define OPEN PROFILE "domains = { '*' = 'allow', '127.0.0.0/8' = 'allow', '8.8.4.4' = 'deny' }\n"

static struct world w;
static struct loop loop;
static struct small_dns server;
static struct rules *rules;
static struct dialer *dialer;
static struct err e = ERR_INIT;

static struct small_dns_entry entries[] = {
	{ .name = "here.test", .a = "127.0.0.1", .ttl = 30 },
	{ .name = "six-first.test", .a = "127.0.0.1", .aaaa = "2001:4860::1", .ttl = 30 },
	{ .name = "private.test", .a = "10.0.0.1", .ttl = 30 },
	{ .name = "mixed.test", .a = "127.0.0.1", .aaaa = "fd00::1", .ttl = 30 },
	{ .name = "mapped.test", .aaaa = "::ffff:10.0.0.1", .ttl = 30 },
	{ .name = "nat64.test", .aaaa = "64:ff9b::a00:1", .ttl = 30 },
	{ .name = "alias-private.test", .alias = "private.test", .ttl = 30 },
	{ .name = "denied.test", .a = "127.0.0.1 8.8.4.4", .ttl = 30 },
	{ .name = "rebinding.test", .a = "127.0.0.1" },
	{ .name = "second.test", .a = "127.0.0.3 127.0.0.1", .ttl = 30 },
	{ .name = "none.test" },
	{ .name = "silent.test", .manner = DNS_SILENT },
	{ .name = "zero.test", .a = "0.0.0.0", .ttl = 30 },
	{ .name = "public.test", .a = "93.184.216.34 93.184.216.35", .ttl = 30 },
	{ .name = "excepted.test", .a = "127.0.0.1", .ttl = 30 },
	{ .name = "proxy.test", .a = "127.0.0.1", .ttl = 30 },
};

static struct dial_result result;
static unsigned told;

static void take(void *user, const struct dial_result *r)
{
	(void)user;
	result = *r;
	told++;
}

static bool start_with(const char *policy, uint32_t timeout_ms, const char *const *environment)
{
	const struct rule_place nowhere = { .prefix = "" };
	struct resolver_sources sources = { .resolv_conf = "resolv.conf", .hosts = "hosts" };

	scratch_put("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
	scratch_put("hosts", "");
	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.user = policy;
	if (!world_plan(&w) || rules_make(&rules, w.plan, &nowhere, false, &e) < 0 ||
	    loop_init(&loop, &e) < 0 ||
	    !small_dns_start(&server, &loop, entries, COUNT_OF(entries), &e))
		return false;
	sources.port = server.port;
	return dialer_make_from(&dialer, rules, true, environment, 64, timeout_ms, &sources, &e) ==
		       0 &&
	       dialer_run(dialer, &loop, &e) == 0;
}

static bool start(uint32_t timeout_ms)
{
	return start_with(OPEN, timeout_ms, NULL);
}

static void stop(void)
{
	dialer_done(dialer);
	rules_done(rules);
	small_dns_done(&server);
	loop_done(&loop);
	world_done(&w);
}

static int listen_at(const char *address, uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(*port) };
	socklen_t bytes = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	(void)inet_pton(AF_INET, address, &at.sin_addr);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &bytes) < 0)
		return -1;
	*port = ntohs(at.sin_port);
	return fd;
}

static void run_until(unsigned count, unsigned most_ms)
{
	uint64_t end = loop_now() + most_ms;

	while (told < count && loop_now() < end)
		if (loop_step(&loop, 50, &e) < 0)
			break;
}

static enum proxy_reason dial(const char *host, uint16_t port)
{
	struct target t = { .port = 0 };
	char why[256];

	told = 0;
	result = (struct dial_result){ .fd = -1 };
	if (!target_parse(&t, str_of(host), port, why, sizeof(why)) ||
	    !dial_start(dialer, &t, take, &told)) {
		printf("# %s can't be dialled\n", host);
		return PROXY_BAD_REQUEST;
	}
	CHECK_INT(told, 0);
	run_until(1, 8000);
	CHECK_INT(told, 1);
	if (result.fd >= 0)
		(void)close(result.fd);
	return result.reason;
}

static const char *address(void)
{
	static char shown[64];
	struct buf b = BUF_OVER(shown);

	shown[0] = '\0';
	if (result.has_address)
		ip_print(&b, &result.address);
	return shown;
}

TEST(a_name_and_a_literal_are_connected)
{
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port);

	REQUIRE(fd >= 0 && start(5000));
	CHECK_INT(dial("here.test", port), PROXY_ALLOWED);
	CHECK(result.fd >= 0);
	CHECK_STR(address(), "127.0.0.1");
	CHECK_INT(dial("127.0.0.1", port), PROXY_ALLOWED);
	CHECK(result.fd >= 0);
	(void)close(fd);
	stop();
}

TEST(each_address_of_a_name_is_judged)
{
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port);

	REQUIRE(fd >= 0 && start(5000));
	CHECK_INT(dial("private.test", port), PROXY_DENIED_PRIVATE);
	CHECK_STR(address(), "10.0.0.1");
	CHECK_INT(result.fd, -1);
	CHECK_INT(dial("alias-private.test", port), PROXY_DENIED_PRIVATE);
	CHECK_INT(dial("mapped.test", port), PROXY_DENIED_PRIVATE);
	CHECK_INT(dial("nat64.test", port), PROXY_DENIED_PRIVATE);
	CHECK_INT(dial("zero.test", port), PROXY_DENIED_PRIVATE);
	CHECK_INT(dial("localhost", port), PROXY_DENIED_PRIVATE); /* ::1 is not open */
	/* One that is refused refuses the name (P13), also beside one that may be dialled. */
	CHECK_INT(dial("mixed.test", port), PROXY_DENIED_PRIVATE);
	CHECK_STR(address(), "fd00::1");
	CHECK_INT(dial("denied.test", port), PROXY_DENIED_RULE);
	CHECK_STR(address(), "8.8.4.4");
	CHECK_STR(result.judgement.rule, "8.8.4.4");
	CHECK_INT(dial("here.test", port), PROXY_ALLOWED);
	(void)close(fd);
	stop();
}

TEST(a_name_that_turns_private_is_refused_from_then_on)
{
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port);

	REQUIRE(fd >= 0 && start(5000));
	CHECK_INT(dial("rebinding.test", port), PROXY_ALLOWED);
	entries[8].a = "10.0.0.1";
	/* The first answer still serves: the address that was judged. */
	CHECK_INT(dial("rebinding.test", port), PROXY_ALLOWED);
	CHECK_STR(address(), "127.0.0.1");
	(void)usleep(1100 * 1000);
	CHECK_INT(dial("rebinding.test", port), PROXY_DENIED_PRIVATE);
	entries[8].a = "127.0.0.1";
	(void)close(fd);
	stop();
}

TEST(failures_are_told_apart)
{
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port);

	REQUIRE(fd >= 0 && start(5000));
	(void)close(fd);
	CHECK_INT(dial("here.test", port), PROXY_FAILED_REFUSED);
	CHECK_INT(result.os_error, ECONNREFUSED);
	CHECK_STR(address(), "127.0.0.1");
	CHECK_INT(dial("missing.test", port), PROXY_FAILED_LOOKUP);
	CHECK_INT(result.os_error, ENOENT);
	CHECK_INT(dial("none.test", port), PROXY_FAILED_LOOKUP);
	CHECK_INT(result.os_error, ENODATA);
	CHECK_INT(dial("silent.test", port), PROXY_FAILED_LOOKUP);
	CHECK_INT(result.os_error, EAGAIN);
	stop();
}

/* A listener whose queue is full: what is sent to it is lost. */
static int full_listener(uint16_t *port, int *fillers, size_t count)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = listen_at("127.0.0.1", port);

	if (fd < 0 || listen(fd, 0) < 0)
		return -1;
	at.sin_port = htons(*port);
	for (size_t i = 0; i < count; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)!connect(fillers[i], (struct sockaddr *)&at, sizeof(at));
	}
	return fd;
}

TEST(time_runs_out_for_a_connection_and_for_a_look_up)
{
	int fillers[4];
	uint16_t port = 0;
	int fd = full_listener(&port, fillers, COUNT_OF(fillers));

	REQUIRE(fd >= 0 && start(600));
	CHECK_INT(dial("here.test", port), PROXY_FAILED_TIMEOUT);
	CHECK_INT(result.os_error, ETIMEDOUT);
	CHECK_STR(address(), "127.0.0.1");
	CHECK_INT(dial("silent.test", port), PROXY_FAILED_LOOKUP);
	CHECK_INT(result.os_error, ETIMEDOUT);
	for (size_t i = 0; i < COUNT_OF(fillers); i++)
		(void)close(fillers[i]);
	(void)close(fd);
	stop();
}

TEST(the_next_address_is_tried_at_once_after_a_refusal)
{
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port);
	uint64_t began;

	REQUIRE(fd >= 0 && start(5000));
	began = loop_now();
	CHECK_INT(dial("second.test", port), PROXY_ALLOWED);
	CHECK_STR(address(), "127.0.0.1");
	CHECK(loop_now() - began < 200);
	(void)close(fd);
	stop();
}

TEST(a_silent_address_gets_a_quarter_of_a_second)
{
	int fillers[4];
	uint16_t port = 0;
	int full = full_listener(&port, fillers, COUNT_OF(fillers));
	int fd = full >= 0 ? listen_at("127.0.0.3", &port) : -1;
	uint64_t began;

	REQUIRE(fd >= 0 && start(5000));
	entries[9].a = "127.0.0.1 127.0.0.3";
	began = loop_now();
	CHECK_INT(dial("second.test", port), PROXY_ALLOWED);
	CHECK_STR(address(), "127.0.0.3");
	CHECK(loop_now() - began >= 240 && loop_now() - began < 900);
	entries[9].a = "127.0.0.3 127.0.0.1";
	for (size_t i = 0; i < COUNT_OF(fillers); i++)
		(void)close(fillers[i]);
	(void)close(full);
	(void)close(fd);
	stop();
}

TEST(it_never_dials_itself)
{
	struct ip any = { { 0 } };
	uint16_t port = 0, other = 0;
	int own = listen_at("127.0.0.1", &port), fd = listen_at("127.0.0.1", &other);

	REQUIRE(own >= 0 && fd >= 0 && start(5000));
	REQUIRE(ip_parse(STR("0.0.0.0"), &any));
	REQUIRE(dialer_add_own(dialer, &any, port, &e) == 0);
	CHECK_INT(dial("here.test", port), PROXY_FAILED_REFUSED);
	CHECK_INT(result.os_error, ELOOP);
	CHECK_INT(dial("127.0.0.1", port), PROXY_FAILED_REFUSED);
	CHECK_INT(dial("127.0.0.1", other), PROXY_ALLOWED);
	(void)close(own);
	(void)close(fd);
	stop();
}

TEST(an_address_is_dialled_with_the_socket_that_was_given)
{
	struct ip ip = { { 0 } };
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port);
	int given = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* A policy that allows nothing: it is not asked. */
	REQUIRE(fd >= 0 && start_with(PROFILE "domains = {}\n", 2000, NULL));
	REQUIRE(ip_parse(STR("127.0.0.1"), &ip));
	told = 0;
	REQUIRE(dial_address(dialer, given, &ip, port, take, &told));
	run_until(1, 2000);
	CHECK_INT(result.reason, PROXY_ALLOWED);
	CHECK_INT(result.fd, given);
	CHECK(fcntl(given, F_GETFL) & O_NONBLOCK);
	(void)close(given);
	told = 0;
	REQUIRE(dial_address(dialer, -1, &ip, port, take, &told));
	run_until(1, 2000);
	CHECK(result.fd >= 0);
	(void)close(result.fd);
	(void)close(fd);
	told = 0;
	REQUIRE(dial_address(dialer, -1, &ip, port, take, &told));
	run_until(1, 2000);
	CHECK_INT(result.reason, PROXY_FAILED_REFUSED);
	stop();
}

TEST(a_dial_can_be_cancelled_at_any_time)
{
	static const char *const hosts[] = { "silent.test", "here.test", "private.test",
					     "127.0.0.1" };
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port), before, after;

	REQUIRE(fd >= 0 && start(5000));
	before = dup(0);
	(void)close(before);
	told = 0;
	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		for (unsigned steps = 0; steps < 4; steps++) {
			struct target t;
			char why[64];
			struct dial *d;

			REQUIRE(target_parse(&t, str_of(hosts[i]), port, why, sizeof(why)));
			d = dial_start(dialer, &t, take, &told);
			REQUIRE(d);
			told = 0;
			for (unsigned k = 0; k < steps && !told; k++)
				CHECK_INT(loop_step(&loop, 5, &e), 0);
			if (!told)
				dial_cancel(d);
			else if (result.fd >= 0)
				(void)close(result.fd);
		}
	}
	dialer_done(dialer);
	after = dup(0);
	(void)close(after);
	/* Only the search for the silent name was still open, and is closed with the dialer. */
	CHECK_INT(after, before);
	rules_done(rules);
	small_dns_done(&server);
	loop_done(&loop);
	world_done(&w);
	(void)close(fd);
}

static struct dial *victim;

static void take_and_cancel(void *user, const struct dial_result *r)
{
	(void)user;
	(void)r;
	told++;
	if (victim)
		dial_cancel(victim);
	victim = NULL;
}

TEST(who_is_told_may_cancel_others)
{
	struct target t;
	char why[64];

	REQUIRE(start(5000));
	REQUIRE(target_parse(&t, STR("missing.test"), 80, why, sizeof(why)));
	told = 0;
	for (unsigned i = 0; i < 6; i++) {
		struct dial *d = dial_start(dialer, &t, take_and_cancel, &told);

		REQUIRE(d);
		if (i == 2)
			victim = d;
	}
	run_until(6, 1500);
	CHECK_INT(told, 5);
	stop();
}

TEST(too_many_dials_are_refused_and_places_come_back)
{
	struct dial *all[65];
	struct target t;
	size_t count = 0;
	char why[64];

	REQUIRE(start(5000));
	REQUIRE(target_parse(&t, STR("silent.test"), 80, why, sizeof(why)));
	while (count < COUNT_OF(all) && (all[count] = dial_start(dialer, &t, take, &told)))
		count++;
	CHECK_INT(count, 64);
	while (count > 0)
		dial_cancel(all[--count]);
	CHECK_INT(dial("missing.test", 80), PROXY_FAILED_LOOKUP);
	stop();
}

static enum lookup_result looked_up;

static void take_lookup(void *user, enum lookup_result r)
{
	(void)user;
	looked_up = r;
	told++;
}

TEST(a_look_up_serves_the_dial_that_follows)
{
	struct target t;
	char why[64];
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port);

	REQUIRE(fd >= 0 && start(5000));
	REQUIRE(target_parse(&t, STR("here.test"), 0, why, sizeof(why)));
	entries[0].asked = told = 0;
	REQUIRE(dialer_look_up(dialer, &t, take_lookup, &told));
	run_until(1, 2000);
	CHECK_INT(looked_up, LOOKUP_FOUND);
	told = 0;
	REQUIRE(dialer_look_up(dialer, &t, take_lookup, &told));
	CHECK_INT(told, 0);
	run_until(1, 2000);
	CHECK_INT(told, 1);
	CHECK_INT(dial("here.test", port), PROXY_ALLOWED);
	CHECK_INT(entries[0].asked, 2);
	(void)close(fd);
	stop();
}

/* ---- By way of an upstream proxy ------------------------------------------------------- */

/* What a proxy at `fd` hears from each connection, and says to it. */
struct small_proxy {
	struct watcher listener, connection;
	const char *answers[3];
	unsigned count;
	char heard[3][512];
};

static int small_proxy_hear(void *user, uint32_t events, struct err *err)
{
	struct small_proxy *p = user;
	char *text = p->heard[p->count];
	ssize_t n = recv(p->connection.fd, text, sizeof(p->heard[0]) - 1, 0);

	(void)events;
	(void)err;
	text[n > 0 ? n : 0] = '\0';
	if (n > 0)
		(void)!send(p->connection.fd, p->answers[p->count], strlen(p->answers[p->count]),
			    MSG_NOSIGNAL);
	loop_remove(&loop, &p->connection);
	(void)close(p->connection.fd);
	p->count++;
	return 0;
}

static int small_proxy_accept(void *user, uint32_t events, struct err *err)
{
	struct small_proxy *p = user;

	(void)events;
	p->connection = (struct watcher){ .fd = accept(p->listener.fd, NULL, NULL),
					  .ready = small_proxy_hear,
					  .user = p };
	return loop_add(&loop, &p->connection, LOOP_IN, err);
}

static bool start_proxy(struct small_proxy *p, const char *scheme, const char *no_proxy)
{
	static char https[64], none[64];
	static const char *const environment[] = { https, none, NULL };
	uint16_t port = 0;

	p->listener = (struct watcher){ .fd = listen_at("127.0.0.1", &port),
					.ready = small_proxy_accept,
					.user = p };
	(void)snprintf(https, sizeof(https), "HTTPS_PROXY=%sproxy.test:%u", scheme, port);
	(void)snprintf(none, sizeof(none), "NO_PROXY=%s", no_proxy);
	return p->listener.fd >= 0 && start_with(OPEN, 3000, environment) &&
	       loop_add(&loop, &p->listener, LOOP_IN, &e) == 0;
}

static void stop_proxy(struct small_proxy *p)
{
	loop_remove(&loop, &p->listener);
	(void)close(p->listener.fd);
	stop();
}

TEST(an_upstream_proxy_is_given_the_address_that_was_judged)
{
	struct small_proxy p = { .answers = { "HTTP/1.1 200 OK\r\n\r\n" } };

	REQUIRE(start_proxy(&p, "http://", ""));
	CHECK_INT(dial("public.test", 443), PROXY_ALLOWED);
	CHECK(result.fd >= 0);
	CHECK_STR(address(), "93.184.216.34");
	CHECK_STR(p.heard[0],
		  "CONNECT 93.184.216.34:443 HTTP/1.1\r\nHost: 93.184.216.34:443\r\n\r\n");
	stop_proxy(&p);
}

TEST(the_guard_and_no_proxy_hold_with_an_upstream_proxy)
{
	struct small_proxy p = { .count = 0 };
	uint16_t port = 0;
	int fd = listen_at("127.0.0.1", &port);

	REQUIRE(fd >= 0 && start_proxy(&p, "http://", "excepted.test"));
	CHECK_INT(dial("private.test", 443), PROXY_DENIED_PRIVATE);
	CHECK_INT(dial("missing.test", 443), PROXY_FAILED_LOOKUP);
	CHECK_INT(dial("here.test", port), PROXY_ALLOWED); /* private, and open: directly */
	CHECK_INT(dial("excepted.test", port), PROXY_ALLOWED);
	CHECK_INT(p.count, 0);
	(void)close(fd);
	stop_proxy(&p);
}

TEST(a_refusal_of_the_upstream_proxy_is_its_own_and_other_addresses_are_tried)
{
	struct small_proxy p = { .answers = { "HTTP/1.1 403 No\r\n\r\n" } };
	struct small_proxy q = { .answers = { "HTTP/1.1 502 Bad\r\n\r\n",
					      "HTTP/1.1 200 OK\r\n\r\n" } };

	REQUIRE(start_proxy(&p, "http://", ""));
	CHECK_INT(dial("public.test", 443), PROXY_FAILED_UPSTREAM);
	CHECK_INT(result.os_error, 403);
	CHECK_INT(p.count, 1);
	stop_proxy(&p);
	REQUIRE(start_proxy(&q, "http://", ""));
	CHECK_INT(dial("public.test", 443), PROXY_ALLOWED);
	CHECK_INT(q.count, 2);
	CHECK(strstr(q.heard[1], "CONNECT 93.184.216.35:443 ") == q.heard[1]);
	stop_proxy(&q);
}

TEST(an_upstream_proxy_that_is_not_there_is_said_so)
{
	struct small_proxy p = { .count = 0 };

	REQUIRE(start_proxy(&p, "socks5://", ""));
	loop_remove(&loop, &p.listener);
	(void)close(p.listener.fd);
	p.listener.fd = -1;
	CHECK_INT(dial("public.test", 443), PROXY_FAILED_UPSTREAM);
	CHECK_INT(result.os_error, ECONNREFUSED);
	stop();
}
