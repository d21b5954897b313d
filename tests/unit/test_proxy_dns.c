/* SPDX-License-Identifier: MIT */
/* Tests of proxy/dns/message.c, proxy/dns/hosts_file.c and proxy/dns/resolv_conf.c. */
#include "proxy/dns/message.h"

#include "proxy/dns/name_files.h"
#include "proxy/keyed_hash.h"
#include "test.h"

static char shown[64];

static const char *show(const struct ip *ip)
{
	struct buf b = BUF_OVER(shown);

	ip_print(&b, ip);
	return shown;
}

/* ---- Answers --------------------------------------------------------------------------- */

/* "a.b" asked for with number 0x1234; what follows the question is `records`. */
#define ANSWER(flags_low, count, records) \
	"\x12\x34\x81" flags_low "\0\1\0" count "\0\0\0\0\1a\1b\0\0\1\0\1" records
#define RECORD_A(address) "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" address

static struct dns_answer answer;

static bool read_text(const char *bytes, size_t len)
{
	/* A copy of just that length, so that the sanitizer sees what is read beyond it. */
	/* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): there are blocks of none. */
	uint8_t *copy = malloc(len);
	bool ok;

	memcpy(copy, bytes, len);
	ok = dns_read_answer(copy, len, 0x1234, STR("a.b"), DNS_A, &answer);
	free(copy);
	return ok;
}
#define READ(text) read_text((text), sizeof(text) - 1)

TEST(a_question_is_what_the_standard_says)
{
	uint8_t out[DNS_ASK_BYTES];
	static const char want[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\1a\1b\0\0\x1c\0\1";

	CHECK_INT(dns_write_question(out, 0x1234, STR("a.b"), DNS_AAAA), sizeof(want) - 1);
	CHECK(memcmp(out, want, sizeof(want) - 1) == 0);
	CHECK_INT(dns_write_question(out, 1, STR(""), DNS_A), 0);
	CHECK_INT(dns_write_question(out, 1, STR("a..b"), DNS_A), 0);
	CHECK_INT(dns_write_question(out, 1, STR("a."), DNS_A), 0);
}

TEST(names_up_to_the_limit_fit_and_no_longer_ones)
{
	uint8_t out[DNS_ASK_BYTES];
	char name[300];

	memset(name, 'a', sizeof(name));
	for (size_t i = 63; i < sizeof(name); i += 64)
		name[i] = '.';
	CHECK_INT(dns_write_name(out, (struct str){ name, 253 }), 255);
	CHECK_INT(dns_write_name(out, (struct str){ name, 254 }), 0);
	name[63] = 'a';
	CHECK_INT(dns_write_name(out, (struct str){ name, 64 }), 0);
}

TEST(addresses_are_read_with_the_least_time_to_live)
{
	REQUIRE(READ(ANSWER("\x80", "\2",
			    RECORD_A("\x5d\xb8\xd8\x22") "\xc0\x0c\0\1\0\1\0\0\0\5\0\4\1\2\3\4")));
	CHECK_INT(answer.code, DNS_FINE);
	REQUIRE(answer.count == 2);
	CHECK_STR(show(&answer.addresses[0]), "93.184.216.34");
	CHECK_STR(show(&answer.addresses[1]), "1.2.3.4");
	CHECK_INT(answer.ttl, 5);
}

TEST(a_time_to_live_with_the_highest_bit_is_none)
{
	REQUIRE(READ(ANSWER("\x80", "\1", "\xc0\x0c\0\1\0\1\xff\xff\xff\xff\0\4\1\2\3\4")));
	CHECK_INT(answer.ttl, 0);
}

TEST(only_the_answer_to_the_very_question_is_one)
{
	CHECK(READ(ANSWER("\x80", "\1", RECORD_A("\1\2\3\4"))));
	CHECK(!READ("\x12\x35\x81\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\1\0\1"));    /* number */
	CHECK(!READ("\x12\x34\x01\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\1\0\1"));    /* a question */
	CHECK(!READ("\x12\x34\x89\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\1\0\1"));    /* opcode */
	CHECK(!READ("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\1a\1c\0\0\1\0\1"));    /* name */
	CHECK(!READ("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\1a\1b\1c\0\0\1\0\1")); /* longer */
	CHECK(!READ("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\3a.b\0\0\1\0\1"));     /* a dot inside */
	CHECK(!READ("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\x1c\0\1"));  /* type */
	CHECK(!READ("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\1a\1b\0\0\1\0\3"));    /* class */
	CHECK(!READ("\x12\x34\x81\x80\0\0\0\0\0\0\0\0"));		     /* none */
	CHECK(!READ("\x12\x34\x81\x80\0\2\0\0\0\0\0\0\1a\1b\0\0\1\0\1\1a\1b\0\0\1\0\1"));
	CHECK(!READ("\x12\x34"));
	/* Servers may spell it their way. */
	CHECK(READ("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\1A\1B\0\0\1\0\1"));
	CHECK_INT(answer.count, 0);
}

TEST(aliases_are_followed_in_any_order)
{
	/* a.b -> c, c -> 1.2.3.4, the address first. */
	REQUIRE(READ(ANSWER("\x80", "\2",
			    "\1c\0\0\1\0\1\0\0\0\1\0\4\1\2\3\4"
			    "\xc0\x0c\0\5\0\1\0\0\0\2\0\3\1c\0")));
	REQUIRE(answer.count == 1);
	CHECK_INT(answer.ttl, 1);
	/* What another name has is not ours. */
	REQUIRE(READ(ANSWER("\x80", "\1", "\1c\0\0\1\0\1\0\0\0\1\0\4\1\2\3\4")));
	CHECK_INT(answer.count, 0);
	CHECK_INT(answer.code, DNS_FINE);
}

TEST(an_alias_of_itself_is_a_failure_not_a_loop)
{
	REQUIRE(READ(ANSWER("\x80", "\1", "\xc0\x0c\0\5\0\1\0\0\0\2\0\2\xc0\x0c")));
	CHECK_INT(answer.code, DNS_SERVER_FAILURE);
	REQUIRE(READ(ANSWER("\x80", "\2",
			    "\xc0\x0c\0\5\0\1\0\0\0\2\0\3\1c\0"
			    "\1c\0\0\5\0\1\0\0\0\2\0\2\xc0\x0c")));
	CHECK_INT(answer.code, DNS_SERVER_FAILURE);
}

TEST(pointers_lead_back_or_nowhere)
{
	/* To itself, forwards, and to each other. */
	REQUIRE(READ(ANSWER("\x80", "\1", "\xc0\x15\0\1\0\1\0\0\0\1\0\4\1\2\3\4")));
	CHECK_INT(answer.code, DNS_SERVER_FAILURE);
	REQUIRE(READ(ANSWER("\x80", "\1", "\xc0\x20\0\1\0\1\0\0\0\1\0\4\1\2\3\4")));
	CHECK_INT(answer.code, DNS_SERVER_FAILURE);
	REQUIRE(READ(ANSWER("\x80", "\1", "\xff\xff\0\1\0\1\0\0\0\1\0\4\1\2\3\4")));
	CHECK_INT(answer.code, DNS_SERVER_FAILURE);
	/* What is neither a length nor a pointer. */
	REQUIRE(READ(ANSWER("\x80", "\1", "\x80\x0c\0\1\0\1\0\0\0\1\0\4\1\2\3\4")));
	CHECK_INT(answer.code, DNS_SERVER_FAILURE);
	/* A question has nothing before it to point to. */
	CHECK(!READ("\x12\x34\x81\x80\0\1\0\0\0\0\0\0\xc0\0\0\1\0\1"));
}

TEST(records_of_another_class_are_not_meant)
{
	REQUIRE(READ(ANSWER("\x80", "\2",
			    "\xc0\x0c\0\1\0\3\0\0\0\x3c\0\4\6\6\6\6" RECORD_A("\1\2\3\4"))));
	REQUIRE(answer.count == 1);
	CHECK_STR(show(&answer.addresses[0]), "1.2.3.4");
}

TEST(of_two_aliases_the_first_counts)
{
	REQUIRE(READ(ANSWER("\x80", "\4",
			    "\xc0\x0c\0\5\0\1\0\0\0\2\0\3\1c\0"
			    "\xc0\x0c\0\5\0\1\0\0\0\2\0\3\1d\0"
			    "\1c\0\0\1\0\1\0\0\0\1\0\4\1\2\3\4"
			    "\1d\0\0\1\0\1\0\0\0\1\0\4\5\6\7\10")));
	REQUIRE(answer.count == 1);
	CHECK_STR(show(&answer.addresses[0]), "1.2.3.4");
}

/* Pieces that are short each, and lead to a name that no buffer has room for. */
TEST(names_that_are_too_long_are_not_read)
{
	uint8_t bytes[1024];
	size_t at = sizeof(ANSWER("\x80", "\1", "")) - 1;
	static const uint8_t rest[] = { 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 1, 2, 3, 4 };

	memcpy(bytes, ANSWER("\x80", "\1", ""), at);
	for (size_t i = 0; i < 5; i++) {
		bytes[at++] = 63;
		memset(bytes + at, 'x', 63);
		at += 63;
	}
	memcpy(bytes + at, rest, sizeof(rest));
	REQUIRE(dns_read_answer(bytes, at + sizeof(rest), 0x1234, STR("a.b"), DNS_A, &answer));
	CHECK_INT(answer.code, DNS_SERVER_FAILURE);
}

TEST(every_cut_of_an_answer_is_survived)
{
	static const char whole[] =
		ANSWER("\x80", "\2", RECORD_A("\1\2\3\4") RECORD_A("\5\6\7\10"));

	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		bool ok = read_text(whole, len);

		/* The question is whole from 21 bytes on; the records are not. */
		CHECK_INT(ok, len >= 21);
		if (ok)
			CHECK_INT(answer.code, DNS_SERVER_FAILURE);
	}
}

TEST(an_address_of_the_wrong_size_is_a_failure)
{
	REQUIRE(READ(ANSWER("\x80", "\1", "\xc0\x0c\0\1\0\1\0\0\0\1\0\3\1\2\3")));
	CHECK_INT(answer.code, DNS_SERVER_FAILURE);
}

TEST(of_a_huge_answer_the_first_addresses_count)
{
	uint8_t bytes[12 + 9 + 4000 * 16];
	size_t at = sizeof(ANSWER("\x80", "\0", "")) - 1;

	memcpy(bytes, ANSWER("\x80", "\0", ""), at);
	bytes[6] = 4000 >> 8;
	bytes[7] = 4000 & 0xff;
	for (size_t i = 0; i < 4000 && at + 16 <= sizeof(bytes); i++) {
		memcpy(bytes + at, RECORD_A("\1\2\3\4"), 16);
		bytes[at + 15] = (uint8_t)i;
		at += 16;
	}
	REQUIRE(dns_read_answer(bytes, at, 0x1234, STR("a.b"), DNS_A, &answer));
	CHECK_INT(answer.count, DNS_MAX_ADDRESSES);
	CHECK_STR(show(&answer.addresses[15]), "1.2.3.15");
}

TEST(codes_and_truncation_are_told)
{
	REQUIRE(READ(ANSWER("\x83", "\0", "")));
	CHECK_INT(answer.code, DNS_NO_SUCH_NAME);
	REQUIRE(READ("\x12\x34\x83\x80\0\1\0\1\0\0\0\0\1a\1b\0\0\1\0\1"));
	CHECK(answer.is_truncated);
}

/* ---- Questions of others --------------------------------------------------------------- */

static struct dns_query query;
#define QUERY(text) dns_read_query((const uint8_t *)(text), sizeof(text) - 1, &query)
#define PLAIN	    "\x12\x34\1\0\0\1\0\0\0\0\0\0\1A\1b\0\0\1\0\1"

TEST(questions_are_read_or_told_what_is_wrong)
{
	CHECK_INT(QUERY(PLAIN), DNS_FINE);
	CHECK_STR(query.name, "a.b");
	CHECK_INT(query.type, DNS_A);
	CHECK(query.wants_recursion && !query.has_edns && !query.is_odd);
	CHECK_INT(QUERY("\x12\x34\x81\0\0\1\0\0\0\0\0\0\1A\1b\0\0\1\0\1"), -1); /* an answer */
	CHECK_INT(QUERY("\x12\x34"), -1);
	CHECK_INT(QUERY("\x12\x34\x28\0\0\1\0\0\0\0\0\0\1A\1b\0\0\1\0\1"), DNS_NOT_IMPLEMENTED);
	CHECK_INT(QUERY("\x12\x34\1\0\0\0\0\0\0\0\0\0"), DNS_FORMAT_ERROR);
	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\0\0\0\0\0\1A\1b"), DNS_FORMAT_ERROR);
	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1"), DNS_FORMAT_ERROR);
	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\0\0\0\0\0\xc0\2\0\1\0\1"), DNS_FORMAT_ERROR);
	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\1\0\0\0\0\1A\1b\0\0\1\0\1"), DNS_FORMAT_ERROR);
	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\0\0\0\0\0\1A\1b\0\0\1\0\3"), DNS_REFUSED);
	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\0\0\0\0\0\3a\0b\0\0\1\0\1"), DNS_FINE);
	CHECK(query.is_odd);
	CHECK_STR(query.name, "");
}

TEST(edns_is_answered_and_other_versions_are_not_spoken)
{
	uint8_t out[DNS_REPLY_BYTES];
	size_t len;

	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\0\0\0\0\1\1a\1b\0\0\1\0\1\0\0\x29\4\0\0\0\0\0\0\0"),
		  DNS_FINE);
	CHECK(query.has_edns);
	len = dns_write_reply(out, &query, DNS_FINE, 5, (const uint8_t *)"\1\2\3\4", 4);
	CHECK_INT(len, 12 + 9 + 16 + 11);
	CHECK_INT(out[11], 1);
	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\0\0\0\0\1\1a\1b\0\0\1\0\1\0\0\x29\4\0\0\1\0\0\0\0"),
		  DNS_BAD_VERSION);
	len = dns_write_reply(out, &query, DNS_BAD_VERSION, 0, NULL, 0);
	CHECK_INT(out[3] & 0xf, 0);
	CHECK_INT(out[len - 6], 1); /* the upper bits of the code */
	CHECK_INT(QUERY("\x12\x34\1\0\0\1\0\0\0\0\0\2\1a\1b\0\0\1\0\1\0\0\x29\4\0\0\0\0\0\0\0"
			"\0\0\x29\4\0\0\0\0\0\0\0"),
		  DNS_FORMAT_ERROR);
}

TEST(what_is_answered_can_be_read_again)
{
	uint8_t out[DNS_REPLY_BYTES];
	size_t len;

	REQUIRE(QUERY(PLAIN) == DNS_FINE);
	len = dns_write_reply(out, &query, DNS_FINE, 5, (const uint8_t *)"\306\22\0\1", 4);
	REQUIRE(dns_read_answer(out, len, 0x1234, STR("a.b"), DNS_A, &answer));
	REQUIRE(answer.count == 1);
	CHECK_STR(show(&answer.addresses[0]), "198.18.0.1");
	CHECK_INT(answer.ttl, 5);
	len = dns_write_reply(out, &query, DNS_NO_SUCH_NAME, 0, NULL, 0);
	REQUIRE(dns_read_answer(out, len, 0x1234, STR("a.b"), DNS_A, &answer));
	CHECK_INT(answer.code, DNS_NO_SUCH_NAME);
}

TEST(reverse_names_are_addresses)
{
	struct ip ip;

	REQUIRE(dns_read_reverse(STR("1.0.18.198.in-addr.arpa"), &ip));
	CHECK_STR(show(&ip), "198.18.0.1");
	REQUIRE(dns_read_reverse(STR("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
				     "0.0.d.f.ip6.arpa"),
				 &ip));
	CHECK_STR(show(&ip), "fd00::1");
	CHECK(!dns_read_reverse(STR("1.0.18.in-addr.arpa"), &ip));
	CHECK(!dns_read_reverse(STR("1.0.18.198.5.in-addr.arpa"), &ip));
	CHECK(!dns_read_reverse(STR("1.0.18.999.in-addr.arpa"), &ip));
	CHECK(!dns_read_reverse(STR("111111111111111111.in-addr.arpa"), &ip));
	CHECK(!dns_read_reverse(STR("1.0.ip6.arpa"), &ip));
	CHECK(!dns_read_reverse(STR("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
				    "0.0.d.f.0.ip6.arpa"),
				&ip));
	CHECK(!dns_read_reverse(STR("1.0.0.0.0.0.0.0.0.0.0.0.0.0.0-0.0.0.0.0.0.0.0.0.0.0.0.0."
				    "0.0.d.f.ip6.arpa"),
				&ip));
	CHECK(!dns_read_reverse(STR("a.b"), &ip));
}

/* ---- The host's files ------------------------------------------------------------------ */

TEST(hosts_are_found_by_any_of_their_names)
{
	static const struct str text = STR_INIT("127.0.0.1 localhost # not.this\n"
						"# 9.9.9.9 db\n"
						"\t10.0.0.5\tDB.Corp db\r\n"
						"fd00::5 db\n"
						"junk db\n"
						"fe80::1%lo db\n"
						"10.0.0.6 other.");
	struct ip out[4];

	REQUIRE(hosts_find(text, STR("db"), out, 4) == 2);
	CHECK_STR(show(&out[0]), "10.0.0.5");
	CHECK_STR(show(&out[1]), "fd00::5");
	CHECK_INT(hosts_find(text, STR("db"), out, 1), 1);
	CHECK_INT(hosts_find(text, STR("db.corp"), out, 4), 1);
	CHECK_INT(hosts_find(text, STR("other"), out, 4), 1);
	CHECK_INT(hosts_find(text, STR("not.this"), out, 4), 0);
	CHECK_INT(hosts_find(text, STR("d"), out, 4), 0);
	CHECK_INT(hosts_find(STR(""), STR("d"), out, 4), 0);
}

TEST(resolv_conf_is_read_as_the_manual_says)
{
	struct resolv_conf c;

	resolv_conf_read(STR("; comment\n#nameserver 9.9.9.9\nnameserver 10.0.0.1\n"
			     "nameserver fe80::1%eth0\nnameserver nonsense\nnameserver ::1\n"
			     "nameserver 10.0.0.4\ndomain old.example\n"
			     "search Corp.Example. b.example\n"
			     "options ndots:3 timeout:2 attempts:99 rotate use-vc edns0 ndots:x\n"),
			 &c);
	REQUIRE(c.server_count == 3);
	CHECK_STR(show(&c.servers[0].ip), "10.0.0.1");
	CHECK_STR(c.servers[1].zone, "eth0");
	CHECK_STR(show(&c.servers[2].ip), "::1");
	CHECK_STR(c.servers[2].zone, "");
	REQUIRE(c.search_count == 2);
	CHECK_STR(c.search[0], "corp.example");
	CHECK_STR(c.search[1], "b.example");
	CHECK_INT(c.ndots, 3);
	CHECK_INT(c.timeout_ms, 2000);
	CHECK_INT(c.attempts, 5);
	CHECK(c.rotates && c.uses_tcp);
	resolv_conf_read(STR(""), &c);
	REQUIRE(c.server_count == 1);
	CHECK_STR(show(&c.servers[0].ip), "127.0.0.1");
	CHECK_INT(c.ndots, 1);
	CHECK_INT(c.timeout_ms, 5000);
	CHECK_INT(c.attempts, 2);
}

TEST(hashes_depend_on_key_and_every_byte)
{
	struct hash_key a = { { 1, 2 } }, b = { { 1, 3 } };

	CHECK(keyed_hash(&a, STR("example.com")) == keyed_hash(&a, STR("example.com")));
	CHECK(keyed_hash(&a, STR("example.com")) != keyed_hash(&b, STR("example.com")));
	CHECK(keyed_hash(&a, STR("example.com")) != keyed_hash(&a, STR("example.con")));
	CHECK(keyed_hash(&a, STR("")) != keyed_hash(&a, (struct str){ "\0", 1 }));
}
