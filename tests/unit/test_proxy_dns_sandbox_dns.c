/* SPDX-License-Identifier: MIT */
/* Tests of proxy/dns/sandbox_dns.c and proxy/dns/sandbox_dns_server.c: the resolver inside, by real sockets. */
#include "proxy/dns/sandbox_dns.h"

#include <errno.h>
#include <poll.h>

#include "proxy/dns/resolve.h"
#include "scratch.h"
#include "small_dns.h"
#include "test.h"
#include "world.h"

#define PROFILE                                                                              \
	"default_permissions = 'dev'\n[permissions.dev.network]\nenabled = true\n"           \
	"domains = { '**.open.test' = 'allow', 'db' = 'allow', 'mail.corp.test' = 'allow', " \
	"'no.open.test' = 'deny' }\n"

static struct world w;
static struct loop loop;
static struct small_dns server;
static struct rules *rules;
static struct dialer *dialer;
static struct sandbox_dns *sandbox_dns;
static struct err e = ERR_INIT;

static struct small_dns_entry entries[] = {
	{ .name = "open.test", .a = "93.184.216.34", .ttl = 30 },
	{ .name = "none.open.test" },
	{ .name = "fails.open.test", .manner = DNS_FAILS },
	{ .name = "six.open.test", .aaaa = "2606:2800::1", .ttl = 30 },
	{ .name = "silent.open.test", .manner = DNS_SILENT },
};

static uint16_t udp_port, tcp_port;

static int make_socket(int type, uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(at);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 16) < 0) ||
	    getsockname(fd, (struct sockaddr *)&at, &bytes) < 0)
		return -1;
	*port = ntohs(at.sin_port);
	return fd;
}

static bool start(void)
{
	const struct rule_place nowhere = { .prefix = "" };
	struct resolver_sources sources = { .resolv_conf = "resolv.conf", .hosts = "hosts" };

	scratch_put(
		"resolv.conf",
		"nameserver 127.0.0.1\nsearch x.test corp.test\noptions timeout:1 attempts:1\n");
	scratch_put("hosts", "");
	world_init(&w, "d /repo\nd /home/me\n", "/repo");
	w.user = PROFILE;
	if (!world_plan(&w) || rules_make(&rules, w.plan, &nowhere, false, &e) < 0 ||
	    loop_init(&loop, &e) < 0 ||
	    !small_dns_start(&server, &loop, entries, COUNT_OF(entries), &e))
		return false;
	sources.port = server.port;
	return dialer_make_from(&dialer, rules, false, NULL, 64, 3000, &sources, &e) == 0 &&
	       dialer_run(dialer, &loop, &e) == 0 &&
	       sandbox_dns_make(&sandbox_dns, rules, dialer, &e) == 0 &&
	       sandbox_dns_serve(sandbox_dns, &loop, make_socket(SOCK_DGRAM, &udp_port), false,
				 &e) == 0 &&
	       sandbox_dns_serve(sandbox_dns, &loop, make_socket(SOCK_STREAM, &tcp_port), true,
				 &e) == 0;
}

static void stop(void)
{
	dialer_done(dialer);
	sandbox_dns_done(sandbox_dns);
	rules_done(rules);
	small_dns_done(&server);
	loop_done(&loop);
	world_done(&w);
}

/* ---- A client -------------------------------------------------------------------------- */

static uint8_t got[2048];
static ssize_t got_bytes;

static int client(int type, uint32_t at, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr = { htonl(at) } };
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	/* Connected: an answer from another address than the one asked would not come. */
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		perror("connect");
	return fd;
}

/* Lets the loop run until something can be read. */
static bool wait_for(int fd, unsigned most_ms)
{
	uint64_t end = loop_now() + most_ms;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (loop_now() < end) {
		if (loop_step(&loop, 10, &e) < 0)
			return false;
		if (poll(&p, 1, 0) > 0)
			return true;
	}
	return false;
}

static bool ask_bytes(const void *bytes, size_t len)
{
	int fd = client(SOCK_DGRAM, 0x7f000035, udp_port); /* 127.0.0.53 */

	got_bytes = -1;
	(void)!send(fd, bytes, len, 0);
	if (wait_for(fd, 3000))
		got_bytes = recv(fd, got, sizeof(got), 0);
	(void)close(fd);
	return got_bytes >= 12;
}

static struct dns_answer answer;

/* The code; -1 when nothing came, or no answer. */
static int ask(const char *name, uint16_t type)
{
	uint8_t question[DNS_ASK_BYTES];
	size_t len = dns_write_question(question, 7, str_of(name), type);

	if (!ask_bytes(question, len))
		return -1;
	if (!dns_read_answer(got, (size_t)got_bytes, 7, str_of(name), type, &answer))
		return -1;
	return answer.code;
}

static const char *show(const struct ip *ip)
{
	static char shown[64];
	struct buf b = BUF_OVER(shown);

	ip_print(&b, ip);
	return shown;
}

static const char *name_of(const struct ip *ip)
{
	static struct target t;

	sandbox_dns_find(sandbox_dns, ip, 443, &t);
	CHECK_INT(t.port, 443);
	return t.is_ip ? "" : t.name;
}

TEST(an_allowed_name_that_exists_has_an_address_of_each_family)
{
	struct ip four;

	REQUIRE(start());
	CHECK_INT(ask("open.test", DNS_A), DNS_FINE);
	REQUIRE(answer.count == 1);
	four = answer.addresses[0];
	CHECK_STR(show(&four), "198.18.0.1");
	CHECK_STR(name_of(&four), "open.test");
	CHECK(answer.ttl <= 60);
	CHECK_INT(ask("open.test", DNS_AAAA), DNS_FINE);
	REQUIRE(answer.count == 1);
	CHECK_INT(answer.addresses[0].bytes[0], 0xfd);
	CHECK_STR(name_of(&answer.addresses[0]), "open.test");
	/* Also the family that the name does not have: it is dialled by name. */
	CHECK_INT(ask("six.open.test", DNS_A), DNS_FINE);
	CHECK_INT(answer.count, 1);
	CHECK_INT(ask("open.test", DNS_A), DNS_FINE);
	CHECK(memcmp(&answer.addresses[0], &four, sizeof(four)) == 0);
	CHECK_INT(entries[0].asked, 2);
	stop();
}

TEST(what_is_missing_outside_is_missing_inside)
{
	REQUIRE(start());
	CHECK_INT(ask("gone.open.test", DNS_A), DNS_NO_SUCH_NAME);
	CHECK_INT(ask("none.open.test", DNS_A), DNS_FINE);
	CHECK_INT(answer.count, 0);
	CHECK_INT(ask("fails.open.test", DNS_A), DNS_SERVER_FAILURE);
	CHECK_INT(ask("silent.open.test", DNS_A), DNS_SERVER_FAILURE);
	stop();
}

TEST(nothing_leaves_for_a_name_that_is_not_allowed)
{
	REQUIRE(start());
	CHECK_INT(ask("secret.evil.test", DNS_A), DNS_FINE);
	REQUIRE(answer.count == 1);
	CHECK_STR(name_of(&answer.addresses[0]), "secret.evil.test");
	CHECK_INT(ask("no.open.test", DNS_AAAA), DNS_FINE);
	CHECK_INT(answer.count, 1);
	/* Nor for other kinds of questions, whatever the name. */
	CHECK_INT(ask("x1.open.test", 16), DNS_FINE);  /* TXT */
	CHECK_INT(ask("x2.open.test", 65), DNS_FINE);  /* HTTPS */
	CHECK_INT(ask("x3.open.test", 15), DNS_FINE);  /* MX */
	CHECK_INT(ask("x4.open.test", 255), DNS_FINE); /* ANY */
	CHECK_INT(ask("4.3.2.1.in-addr.arpa", DNS_PTR), DNS_NO_SUCH_NAME);
	CHECK_INT(server.asked, 0);
	/* While this does: the counter counts. */
	CHECK_INT(ask("x5.open.test", DNS_A), DNS_NO_SUCH_NAME);
	CHECK(server.asked > 0);
	stop();
}

TEST(spellings_are_one_name_and_carry_nothing_out)
{
	struct ip first;

	REQUIRE(start());
	REQUIRE(ask_bytes("\0\7\1\0\0\1\0\0\0\0\0\0\4OpEn\4tEsT\0\0\1\0\1", 27));
	REQUIRE(dns_read_answer(got, (size_t)got_bytes, 7, STR("open.test"), DNS_A, &answer));
	REQUIRE(answer.count == 1);
	first = answer.addresses[0];
	CHECK_INT(ask("open.test", DNS_A), DNS_FINE);
	CHECK(memcmp(&first, &answer.addresses[0], sizeof(first)) == 0);
	CHECK_STR(name_of(&first), "open.test");
	stop();
}

TEST(localhost_is_inside)
{
	REQUIRE(start());
	CHECK_INT(ask("localhost", DNS_A), DNS_FINE);
	REQUIRE(answer.count == 1);
	CHECK_STR(show(&answer.addresses[0]), "127.0.0.1");
	CHECK_INT(ask("a.localhost", DNS_AAAA), DNS_FINE);
	REQUIRE(answer.count == 1);
	CHECK_STR(show(&answer.addresses[0]), "::1");
	CHECK_INT(server.asked, 0);
	stop();
}

TEST(the_search_list_of_a_c_library_ends_in_the_truth)
{
	REQUIRE(start());
	/* After "gone.open.test" was not found, a C library asks for this. */
	CHECK_INT(ask("gone.open.test.corp.test", DNS_A), DNS_NO_SUCH_NAME);
	CHECK_INT(ask("db.corp.test", DNS_A), DNS_NO_SUCH_NAME); /* "db" is allowed: it is next */
	CHECK_INT(ask("mail.x.test", DNS_A), DNS_NO_SUCH_NAME);	 /* "mail.corp.test" is next */
	CHECK_INT(ask("mail", DNS_A), DNS_NO_SUCH_NAME);
	CHECK_INT(ask("other.corp.test", DNS_A), DNS_FINE);
	CHECK_INT(answer.count, 1);
	CHECK_INT(ask("other", DNS_A), DNS_FINE);
	CHECK_INT(answer.count, 1);
	CHECK_INT(server.asked, 0);
	stop();
}

static const char *meaning(const char *text)
{
	static struct target t;
	struct ip ip = { { 0 } };

	CHECK(ip_parse(str_of(text), &ip));
	sandbox_dns_find(sandbox_dns, &ip, 443, &t);
	CHECK_INT(t.port, 443);
	CHECK_INT(t.is_ip, strcmp(t.name, text) == 0);
	return t.name;
}

TEST(an_address_that_stands_for_nothing_is_itself)
{
	static const char *const texts[] = { "198.18.0.2", "198.18.0.0", "198.19.255.255",
					     "1.2.3.4",	   "fd00::1",	 "::",
					     "93.18.0.1",  "198.17.0.1", "2606:4700::1" };
	struct ip ip;

	REQUIRE(start());
	CHECK_STR(meaning("198.18.0.1"), "198.18.0.1");
	CHECK_INT(ask("open.test", DNS_A), DNS_FINE);
	CHECK_STR(meaning("198.18.0.1"), "open.test");
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct target t;

		REQUIRE(ip_parse(str_of(texts[i]), &ip));
		sandbox_dns_find(sandbox_dns, &ip, 80, &t);
		CHECK(t.is_ip);
		CHECK_STR(t.name, texts[i]);
		CHECK(memcmp(&t.ip, &ip, sizeof(ip)) == 0);
	}
	stop();
}

TEST(an_address_of_the_hosts_file_means_an_allowed_name_there)
{
	REQUIRE(start());
	scratch_put("hosts", "93.184.216.34 open.test\n"
			     "93.184.216.35 evil.test other.evil.test a.open.test b.open.test\n"
			     "93.184.216.36 evil.test # open.test\n"
			     "93.184.216.37 no.open.test\n"
			     "93.184.216.36 other.test\n"
			     "93.184.216.38 evil.test\n93.184.216.38\tC.Open.Test.\n"
			     "10.0.0.5 db\n"
			     "93.184.216.40 1.2.3.4 1.2.3.5\n"
			     "2606:2800::1 six.open.test\n");
	CHECK_STR(meaning("93.184.216.34"), "open.test");
	CHECK_STR(meaning("93.184.216.35"), "a.open.test");
	CHECK_STR(meaning("93.184.216.36"), "93.184.216.36");
	CHECK_STR(meaning("93.184.216.37"), "93.184.216.37");
	CHECK_STR(meaning("93.184.216.38"), "c.open.test");
	CHECK_STR(meaning("93.184.216.39"), "93.184.216.39");
	CHECK_STR(meaning("10.0.0.5"), "10.0.0.5");	      /* the guard has spoken */
	CHECK_STR(meaning("93.184.216.40"), "93.184.216.40"); /* an address is no name */
	CHECK_STR(meaning("2606:2800::1"), "six.open.test");
	scratch_put("hosts", "");
	CHECK_STR(meaning("93.184.216.34"), "93.184.216.34");
	stop();
}

TEST(the_name_is_found_by_the_address)
{
	static const char want[] = "\4open\4test", own[] = "\11localhost";

	REQUIRE(start());
	CHECK_INT(ask("1.0.18.198.in-addr.arpa", DNS_PTR), DNS_NO_SUCH_NAME);
	CHECK_INT(ask("open.test", DNS_A), DNS_FINE);
	(void)ask("1.0.18.198.in-addr.arpa", DNS_PTR);
	REQUIRE(got_bytes > (ssize_t)sizeof(want));
	CHECK(memcmp(got + got_bytes - sizeof(want), want, sizeof(want)) == 0);
	(void)ask("1.0.0.127.in-addr.arpa", DNS_PTR);
	REQUIRE(got_bytes > (ssize_t)sizeof(own));
	CHECK(memcmp(got + got_bytes - sizeof(own), own, sizeof(own)) == 0);
	stop();
}

TEST(bad_questions_are_told_so_or_dropped)
{
	REQUIRE(start());
	REQUIRE(ask_bytes("\0\7\1\0\0\1\0\0\0\0\0\0\4open", 17));
	CHECK_INT(got[3] & 0xf, DNS_FORMAT_ERROR);
	REQUIRE(ask_bytes("\0\7\1\0\0\1\0\0\0\0\0\0\3a\0b\0\0\1\0\1", 21));
	CHECK_INT(got[3] & 0xf, DNS_NO_SUCH_NAME);
	REQUIRE(ask_bytes("\0\7\x28\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1", 19));
	CHECK_INT(got[3] & 0xf, DNS_NOT_IMPLEMENTED);
	/* No name of a host: an address, an odd spelling of one. */
	CHECK_INT(ask("1.2.3.4", DNS_A), DNS_NO_SUCH_NAME);
	CHECK_INT(ask("0x7f.1", DNS_A), DNS_NO_SUCH_NAME);
	stop();
}

/* ---- TCP ------------------------------------------------------------------------------- */

static bool ask_stream(int fd, const char *name, uint16_t type)
{
	uint8_t question[2 + DNS_ASK_BYTES];
	size_t len = dns_write_question(question + 2, 9, str_of(name), type), want = 2;

	question[0] = 0;
	question[1] = (uint8_t)len;
	/* In two pieces. */
	(void)!send(fd, question, 5, MSG_NOSIGNAL);
	for (unsigned i = 0; i < 3; i++)
		(void)!loop_step(&loop, 5, &e);
	(void)!send(fd, question + 5, len + 2 - 5, MSG_NOSIGNAL);
	got_bytes = 0;
	while ((size_t)got_bytes < want && wait_for(fd, 2000)) {
		ssize_t n = recv(fd, got + got_bytes, want - (size_t)got_bytes, 0);

		if (n <= 0)
			return false;
		got_bytes += n;
		if (got_bytes >= 2)
			want = 2u + (size_t)(got[0] << 8 | got[1]);
	}
	return dns_read_answer(got + 2, (size_t)got_bytes - 2, 9, str_of(name), type, &answer);
}

/* One that goes away while its name is looked up, and one that gets its place. */
TEST(an_answer_is_not_for_the_next_who_connects)
{
	uint8_t question[2 + DNS_ASK_BYTES];
	size_t len = dns_write_question(question + 2, 9, STR("silent.open.test"), DNS_A);
	int fd;

	REQUIRE(start());
	question[0] = 0;
	question[1] = (uint8_t)len;
	fd = client(SOCK_STREAM, 0x7f000001, tcp_port);
	(void)!send(fd, question, len + 2, MSG_NOSIGNAL);
	CHECK(!wait_for(fd, 50));
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 },
		   sizeof(struct linger));
	(void)close(fd);
	CHECK_INT(loop_step(&loop, 50, &e), 0);
	fd = client(SOCK_STREAM, 0x7f000001, tcp_port);
	CHECK(!wait_for(fd, 1300)); /* by then nobody has answered for the first one's */
	CHECK(ask_stream(fd, "evil.test", DNS_A));
	(void)close(fd);
	stop();
}

TEST(questions_come_by_tcp_too_one_after_the_other)
{
	int fd;

	REQUIRE(start());
	fd = client(SOCK_STREAM, 0x7f000035, tcp_port);
	REQUIRE(ask_stream(fd, "evil.test", DNS_A));
	CHECK_INT(answer.count, 1);
	REQUIRE(ask_stream(fd, "open.test", DNS_AAAA));
	CHECK_INT(answer.count, 1);
	REQUIRE(ask_stream(fd, "gone.open.test", DNS_A));
	CHECK_INT(answer.code, DNS_NO_SUCH_NAME);
	(void)close(fd);
	/* Nonsense. */
	fd = client(SOCK_STREAM, 0x7f000001, tcp_port);
	(void)!send(fd, "\xff\xff nonsense", 11, MSG_NOSIGNAL);
	CHECK(wait_for(fd, 2000) && recv(fd, got, sizeof(got), 0) <= 0);
	(void)close(fd);
	/* An answer, which has none. */
	fd = client(SOCK_STREAM, 0x7f000001, tcp_port);
	(void)!send(fd, "\0\x0c\0\1\x81\0\0\0\0\0\0\0\0\0", 14, MSG_NOSIGNAL);
	CHECK(wait_for(fd, 2000) && recv(fd, got, sizeof(got), 0) <= 0);
	(void)close(fd);
	stop();
}

/* ---- Limits ---------------------------------------------------------------------------- */

static unsigned full;

static void take_full(void *user, const struct target *name)
{
	(void)user;
	full += strcmp(name->name, "n65536.test") == 0;
}

TEST(names_are_bounded_and_the_end_is_told)
{
	uint8_t question[DNS_ASK_BYTES];
	int fd;
	unsigned answered = 0;

	REQUIRE(start());
	sandbox_dns_tell(sandbox_dns, take_full, &full);
	fd = client(SOCK_DGRAM, 0x7f000001, udp_port);
	for (unsigned i = 0; i < SANDBOX_DNS_MAX_NAMES; i++) {
		char name[32];
		size_t len;

		(void)snprintf(name, sizeof(name), "n%u.test", i);
		len = dns_write_question(question, 7, str_of(name), DNS_A);
		(void)!send(fd, question, len, 0);
		CHECK_INT(loop_step(&loop, 0, &e), 0);
		while (recv(fd, got, sizeof(got), MSG_DONTWAIT) > 0)
			answered++;
	}
	(void)close(fd);
	CHECK_INT(answered, SANDBOX_DNS_MAX_NAMES);
	CHECK_INT(full, 0);
	CHECK_INT(ask("n65536.test", DNS_A), DNS_SERVER_FAILURE);
	CHECK_INT(full, 1);
	/* Those that are there stay, the last one too. */
	CHECK_INT(ask("n65535.test", DNS_A), DNS_FINE);
	REQUIRE(answer.count == 1);
	CHECK_STR(show(&answer.addresses[0]), "198.19.0.0");
	CHECK_STR(name_of(&answer.addresses[0]), "n65535.test");
	CHECK_INT(ask("n0.test", DNS_AAAA), DNS_FINE);
	CHECK_STR(name_of(&answer.addresses[0]), "n0.test");
	stop();
}
