/* SPDX-License-Identifier: MIT */
/* Tests of proxy/dns/resolve.c, against a name server of the test's own. */
#include "proxy/dns/resolve.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "scratch.h"
#include "small_dns.h"
#include "test.h"

static struct loop loop;
static struct small_dns server;
static struct resolver *resolver;
static struct err e = ERR_INIT;

static struct small_dns_entry entries[] = {
	{ .name = "both.test", .a = "93.184.216.34 1.2.3.4", .aaaa = "2606:2800::1", .ttl = 30 },
	{ .name = "four.test", .a = "1.2.3.4", .ttl = 30 },
	{ .name = "none.test", .ttl = 30 },
	{ .name = "alias.test", .alias = "both.test", .ttl = 30 },
	{ .name = "turning.test", .alias = "turning.test" },
	{ .name = "zero.test", .a = "1.2.3.4" },
	{ .name = "long.test", .a = "1.2.3.4", .manner = DNS_LONG, .ttl = 30 },
	{ .name = "silent.test", .manner = DNS_SILENT },
	{ .name = "six-silent.test", .a = "1.2.3.4", .manner = DNS_SILENT_6, .ttl = 30 },
	{ .name = "failing.test", .manner = DNS_FAILS },
	{ .name = "wrong-id.test", .a = "6.6.6.6", .manner = DNS_WRONG_ID },
	{ .name = "wrong-name.test", .a = "6.6.6.6", .manner = DNS_WRONG_NAME },
	{ .name = "lies.test", .a = "1.2.3.4", .manner = DNS_LIES_FIRST, .ttl = 30 },
	{ .name = "loud.test", .a = "1.2.3.4", .manner = DNS_LIES_LOUDLY, .ttl = 30 },
	{ .name = "garbled.test", .a = "1.2.3.4", .manner = DNS_GARBLED },
	{ .name = "db.corp.test", .a = "10.0.0.5", .ttl = 30 },
	{ .name = "hosted.test", .a = "6.6.6.6", .ttl = 30 },
};

/* ---- One look-up ----------------------------------------------------------------------- */

static struct found_addresses found;
static unsigned told;

static void take(void *user, const struct found_addresses *f)
{
	(void)user;
	found = *f;
	told++;
}

static bool start(const char *conf)
{
	struct resolver_sources sources = { .resolv_conf = "resolv.conf", .hosts = "hosts" };

	scratch_put("resolv.conf", conf);
	scratch_put("hosts", "127.0.0.1 localhost\n10.1.1.1 hosted.test\n");
	for (size_t i = 0; i < COUNT_OF(entries); i++)
		entries[i].asked = 0;
	if (loop_init(&loop, &e) < 0 ||
	    !small_dns_start(&server, &loop, entries, COUNT_OF(entries), &e))
		return false;
	sources.port = server.port;
	return resolver_make(&resolver, &sources, 64, &e) == 0 &&
	       resolver_run(resolver, &loop, &e) == 0;
}

static void stop(void)
{
	resolver_done(resolver);
	small_dns_done(&server);
	loop_done(&loop);
}

static void run_until(unsigned count, unsigned most_ms)
{
	uint64_t end = loop_now() + most_ms;

	while (told < count && loop_now() < end)
		if (loop_step(&loop, 50, &e) < 0)
			break;
}

static enum lookup_result look_up(const char *name)
{
	told = 0;
	found = (struct found_addresses){ .result = LOOKUP_FAILED };
	if (resolver_knows(resolver, str_of(name), &found))
		return found.result;
	if (!resolver_look_up(resolver, str_of(name), take, &told)) {
		printf("# %s can't be looked up\n", name);
		return LOOKUP_FAILED;
	}
	CHECK_INT(told, 0); /* never from within */
	run_until(1, 12000);
	CHECK_INT(told, 1);
	return found.result;
}

static const char *text(size_t i)
{
	static char shown[64];
	struct buf b = BUF_OVER(shown);

	shown[0] = '\0';
	if (i < found.count)
		ip_print(&b, &found.addresses[i]);
	return shown;
}

#define ONCE "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
#define CONF "nameserver 127.0.0.1\noptions timeout:1 attempts:2\n"

TEST(both_families_are_found_and_ipv6_is_first)
{
	REQUIRE(start(CONF));
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	REQUIRE(found.count == 3);
	CHECK_STR(text(0), "2606:2800::1");
	CHECK_STR(text(1), "93.184.216.34");
	CHECK_INT(look_up("four.test"), LOOKUP_FOUND);
	CHECK_INT(found.count, 1);
	CHECK_STR(text(0), "1.2.3.4");
	CHECK_INT(look_up("alias.test"), LOOKUP_FOUND);
	CHECK_INT(found.count, 3);
	stop();
}

TEST(no_name_no_address_and_no_answer_are_three_things)
{
	REQUIRE(start(CONF));
	CHECK_INT(look_up("missing.test"), LOOKUP_NO_SUCH_NAME);
	CHECK_INT(look_up("none.test"), LOOKUP_NO_ADDRESS);
	CHECK_INT(look_up("failing.test"), LOOKUP_FAILED);
	CHECK_INT(entries[9].asked, 4); /* who can't say is asked again */
	CHECK_INT(look_up("turning.test"), LOOKUP_FAILED);
	CHECK_INT(look_up("garbled.test"), LOOKUP_FAILED);
	stop();
}

TEST(silence_ends_in_time)
{
	uint64_t began;

	REQUIRE(start(CONF));
	began = loop_now();
	CHECK_INT(look_up("silent.test"), LOOKUP_FAILED);
	CHECK(loop_now() - began >= 1900 && loop_now() - began < 4000);
	CHECK_INT(entries[7].asked, 4); /* two families, two attempts */
	stop();
}

TEST(one_silent_family_does_not_take_the_other_along)
{
	uint64_t began = loop_now();

	/* Two attempts of five seconds: it does not have to wait for their end. */
	REQUIRE(start("nameserver 127.0.0.1\n"));
	CHECK_INT(look_up("six-silent.test"), LOOKUP_FOUND);
	CHECK_INT(found.count, 1);
	CHECK(loop_now() - began < 4500);
	stop();
}

TEST(what_does_not_fit_comes_by_tcp)
{
	REQUIRE(start(CONF));
	CHECK_INT(look_up("long.test"), LOOKUP_FOUND);
	CHECK_INT(found.count, 1);
	CHECK_INT(server.asked_by_tcp, 2);
	stop();
	REQUIRE(start(CONF "options use-vc\n"));
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	CHECK_INT(server.asked_by_tcp, 2);
	CHECK_INT(server.asked, 2);
	/* More than there can be at once: each gives its place back. */
	for (unsigned i = 0; i < 40; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "missing-%u.test", i);
		CHECK_INT(look_up(name), LOOKUP_NO_SUCH_NAME);
	}
	stop();
}

TEST(only_the_right_answer_is_believed)
{
	REQUIRE(start(ONCE));
	CHECK_INT(look_up("lies.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "1.2.3.4");
	CHECK_INT(look_up("wrong-id.test"), LOOKUP_FAILED);
	CHECK_INT(look_up("wrong-name.test"), LOOKUP_FAILED);
	stop();
}

TEST(who_guesses_too_often_drives_us_to_tcp)
{
	REQUIRE(start(CONF));
	CHECK_INT(look_up("loud.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "1.2.3.4");
	CHECK_INT(server.asked_by_tcp, 2);
	stop();
}

TEST(ports_and_numbers_differ_from_question_to_question)
{
	/* Where the kernel takes ports from, unless it was told otherwise. */
	enum { KERNELS_FIRST = 32768, KERNELS_LAST = 60999 };
	uint16_t ports[24], ids[24];
	unsigned same = 0, same_ids = 0, others = 0;

	REQUIRE(start(CONF));
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "missing-%zu.test", i);
		CHECK_INT(look_up(name), LOOKUP_NO_SUCH_NAME);
		ports[i] = server.last_source;
		ids[i] = server.last_id;
		CHECK(ports[i] >= 1024);
		others += ports[i] < KERNELS_FIRST || ports[i] > KERNELS_LAST;
		for (size_t k = 0; k < i; k++) {
			same += ports[k] == ports[i];
			same_ids += ids[k] == ids[i];
		}
	}
	CHECK(same < 2);
	CHECK(same_ids < 2);
	CHECK(others > 0);
	stop();
}

/* The answer that there is no such name, to the very question and port, but sent by `fd`. */
static enum lookup_result hear_from(int fd)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	uint8_t lie[512];
	size_t len;

	told = 0;
	server.last_source = 0;
	if (!resolver_look_up(resolver, STR("silent.test"), take, &told))
		return LOOKUP_FOUND;
	for (unsigned i = 0; i < 20 && !server.last_source; i++)
		CHECK_INT(loop_step(&loop, 20, &e), 0);
	CHECK(server.last_source != 0);
	to.sin_port = htons(server.last_source);
	len = dns_write_question(lie, server.last_id, STR("silent.test"), server.last_type);
	lie[2] = 0x81;
	lie[3] = 0x83;
	CHECK(sendto(fd, lie, len, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)len);
	run_until(1, 5000);
	CHECK_INT(told, 1);
	return found.result;
}

TEST(a_stranger_to_the_server_is_not_heard)
{
	int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	REQUIRE(start(ONCE));
	CHECK_INT(hear_from(stranger), LOOKUP_FAILED);
	/* The same from the server itself is an answer. */
	CHECK_INT(hear_from(server.udp.fd), LOOKUP_NO_SUCH_NAME);
	(void)close(stranger);
	stop();
}

/* ---- Servers --------------------------------------------------------------------------- */

TEST(the_next_server_is_asked_when_one_does_not_answer)
{
	/* Nobody is at 127.0.0.2: an error comes back, or nothing does. */
	REQUIRE(start(
		"nameserver 127.0.0.2\nnameserver 127.0.0.1\noptions timeout:1 attempts:1\n"));
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	stop();
	/* By TCP as the one before. */
	REQUIRE(start("nameserver 127.0.0.2\nnameserver 127.0.0.1\n"
		      "options timeout:1 attempts:1 use-vc\n"));
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	CHECK_INT(server.asked, 2);
	CHECK_INT(server.asked_by_tcp, 2);
	stop();
	REQUIRE(start("nameserver 127.0.0.2\noptions timeout:1 attempts:1\n"));
	CHECK_INT(look_up("both.test"), LOOKUP_FAILED);
	stop();
}

TEST(other_servers_count_as_soon_as_the_file_says_so)
{
	REQUIRE(start("nameserver 127.0.0.2\noptions timeout:1 attempts:1\n"));
	CHECK_INT(look_up("both.test"), LOOKUP_FAILED);
	scratch_put("resolv.conf", CONF);
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	/* What was found is not what others would say. */
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	CHECK_INT(server.asked, 2);
	scratch_put("resolv.conf", "nameserver 127.0.0.2\noptions timeout:1 attempts:1 rotate\n");
	CHECK_INT(look_up("both.test"), LOOKUP_FAILED);
	stop();
}

TEST(what_other_servers_were_asked_for_is_not_kept)
{
	static const char gone[] = "nameserver 127.0.0.2\noptions timeout:1 attempts:1 rotate\n";
	struct lookup *before;

	REQUIRE(start(CONF));
	told = 0;
	REQUIRE(resolver_look_up(resolver, STR("both.test"), take, &told));
	/* The question is on its way; the next who asks does so under other servers. */
	scratch_put("resolv.conf", gone);
	CHECK(!resolver_knows(resolver, STR("both.test"), &found));
	run_until(1, 3000);
	CHECK_INT(told, 1);
	CHECK_INT(found.result, LOOKUP_FOUND);
	CHECK(!resolver_knows(resolver, STR("both.test"), &found));
	CHECK_INT(look_up("both.test"), LOOKUP_FAILED);
	stop();
	/* Nor does one who asks later wait for what was asked of them. */
	REQUIRE(start(CONF));
	told = 0;
	before = resolver_look_up(resolver, STR("both.test"), take, &told);
	REQUIRE(before);
	lookup_cancel(before);
	scratch_put("resolv.conf", gone);
	CHECK_INT(look_up("both.test"), LOOKUP_FAILED);
	stop();
}

/* ---- Names ----------------------------------------------------------------------------- */

static bool add_searched(void *user, struct str name)
{
	struct buf *b = user;

	if (b->len > 0)
		buf_add_char(b, ' ');
	buf_add(b, name);
	return false;
}

static const char *searched(const char *name)
{
	static char all[256];
	struct buf b = BUF_OVER(all);

	all[0] = '\0';
	CHECK(!resolver_each_searched(resolver, str_of(name), add_searched, &b));
	return all;
}

TEST(the_search_list_is_for_short_names_only)
{
	REQUIRE(start(CONF "search x.test corp.test\n"));
	CHECK_INT(look_up("db"), LOOKUP_FOUND);
	CHECK_STR(text(0), "10.0.0.5");
	CHECK_INT(look_up("nothing"), LOOKUP_NO_SUCH_NAME);
	/* "db.corp.test" would be found as "corp.test" + search; a dot is enough to prevent that. */
	CHECK_INT(look_up("db.corp"), LOOKUP_NO_SUCH_NAME);
	CHECK_STR(searched("a"), "a a.x.test a.corp.test");
	CHECK_STR(searched("a.x.test"), "a a.x.test a.corp.test");
	CHECK_STR(searched("a.b.corp.test"), "a.b a.b.x.test a.b.corp.test");
	CHECK_STR(searched("a.b"), "");
	CHECK_STR(searched("corp.test"), "");
	CHECK_STR(searched("acorp.test"), "");
	CHECK_STR(searched("a-corp.test"), "");
	stop();
	REQUIRE(start(CONF "search test\noptions ndots:2\n"));
	CHECK_INT(look_up("db.corp"), LOOKUP_FOUND);
	stop();
}

/* Nobody is asked for what is no name, or would be too long for one. */
TEST(domains_that_make_no_name_are_passed_over)
{
	char name[64], conf[512];

	REQUIRE(start(ONCE "search a..b corp.test\n"));
	CHECK_INT(look_up("db"), LOOKUP_FOUND);
	stop();
	memset(name, 'x', 63);
	name[63] = '\0';
	(void)snprintf(conf, sizeof(conf), ONCE "search %s.%s.%s.x\n", name, name, name);
	REQUIRE(start(conf));
	CHECK_INT(look_up(name), LOOKUP_NO_SUCH_NAME);
	CHECK_INT(server.asked, 2);
	/* Nor for more than any name has. */
	memset(conf, 'x', sizeof(conf));
	CHECK(!resolver_look_up(resolver, (struct str){ conf, 254 }, take, &told));
	stop();
}

TEST(localhost_is_loopback_whatever_anybody_says)
{
	REQUIRE(start(CONF));
	scratch_put("hosts", "6.6.6.6 localhost a.localhost\n");
	CHECK_INT(look_up("localhost"), LOOKUP_FOUND);
	CHECK_STR(text(0), "::1");
	CHECK_STR(text(1), "127.0.0.1");
	CHECK_INT(look_up("a.localhost"), LOOKUP_FOUND);
	CHECK_STR(text(1), "127.0.0.1");
	CHECK_INT(server.asked, 0);
	stop();
}

TEST(the_hosts_file_comes_first_and_counts_as_it_is)
{
	REQUIRE(start(CONF));
	CHECK_INT(look_up("hosted.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "10.1.1.1");
	CHECK_INT(server.asked, 0);
	scratch_put("hosts", "127.0.0.1 localhost\n");
	CHECK_INT(look_up("hosted.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "6.6.6.6");
	scratch_put("hosts", "127.0.0.1 localhost\n10.2.2.2 hosted.test\n");
	CHECK_INT(look_up("hosted.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "10.2.2.2");
	(void)remove("hosts");
	CHECK_INT(look_up("hosted.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "6.6.6.6");
	stop();
}

/* ---- Once ------------------------------------------------------------------------------ */

/* Long enough for names to be looked for by their hash, and `last` behind them. */
static void put_long_hosts(const char *last)
{
	static char text[128 << 10];
	size_t len = 0;

	for (unsigned i = 0; i < 2000; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"10.0.%u.%u a%u.test B%u.Test.\n", i / 256, i % 256, i, i);
	(void)snprintf(text + len, sizeof(text) - len, "%s", last);
	scratch_put("hosts", text);
}

TEST(of_a_long_hosts_file_every_name_is_found)
{
	REQUIRE(start(CONF));
	CHECK_INT(look_up("b1999.test"), LOOKUP_NO_SUCH_NAME);
	put_long_hosts("10.2.2.2 hosted.test\n");
	for (unsigned i = 0; i < 2000; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "%c%u.test", i % 2 ? 'a' : 'b', i);
		CHECK_INT(look_up(name), LOOKUP_FOUND);
	}
	CHECK_STR(text(0), "10.0.7.207");
	CHECK_INT(look_up("hosted.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "10.2.2.2");
	CHECK_INT(look_up("c1.test"), LOOKUP_NO_SUCH_NAME);
	/* What it had is forgotten with it, when it gets short, too. */
	put_long_hosts("");
	CHECK_INT(look_up("hosted.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "6.6.6.6");
	scratch_put("hosts", "10.3.3.3 c1.test\n");
	CHECK_INT(look_up("c1.test"), LOOKUP_FOUND);
	CHECK_STR(text(0), "10.3.3.3");
	stop();
}

TEST(an_answer_serves_the_next_who_asks_but_not_for_ever)
{
	REQUIRE(start(CONF));
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	CHECK_INT(entries[0].asked, 2); /* one for each family */
	CHECK_INT(look_up("zero.test"), LOOKUP_FOUND);
	CHECK_INT(look_up("zero.test"), LOOKUP_FOUND);
	CHECK_INT(entries[5].asked, 2);
	(void)usleep(1100 * 1000);
	CHECK_INT(look_up("zero.test"), LOOKUP_FOUND);
	CHECK_INT(entries[5].asked, 4);
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	CHECK_INT(entries[0].asked, 2);
	stop();
}

TEST(those_who_ask_at_the_same_time_share_one_search)
{
	struct lookup *second;

	REQUIRE(start(CONF));
	told = 0;
	for (unsigned i = 0; i < 10; i++)
		REQUIRE(resolver_look_up(resolver, STR("both.test"), take, &told));
	second = resolver_look_up(resolver, STR("both.test"), take, &told);
	REQUIRE(second);
	lookup_cancel(second);
	run_until(10, 3000);
	CHECK_INT(told, 10);
	CHECK_INT(entries[0].asked, 2);
	stop();
}

TEST(too_many_who_wait_are_refused_and_places_come_back)
{
	struct lookup *all[65];
	size_t count = 0;

	REQUIRE(start(CONF));
	while (count < COUNT_OF(all) &&
	       (all[count] = resolver_look_up(resolver, STR("silent.test"), take, &told)))
		count++;
	CHECK_INT(count, 64);
	while (count > 0)
		lookup_cancel(all[--count]);
	CHECK_INT(look_up("both.test"), LOOKUP_FOUND);
	stop();
}

TEST(no_descriptor_is_left)
{
	int before = dup(0), after;

	(void)close(before);
	REQUIRE(start(ONCE));
	CHECK_INT(look_up("long.test"), LOOKUP_FOUND);
	CHECK_INT(look_up("wrong-id.test"), LOOKUP_FAILED);
	CHECK(resolver_look_up(resolver, STR("silent.test"), take, &told) != NULL);
	stop();
	after = dup(0);
	(void)close(after);
	CHECK_INT(after, before);
}
