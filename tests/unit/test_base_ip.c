/* SPDX-License-Identifier: MIT */
#include "base/ip.h"

#include <arpa/inet.h>

#include "test.h"

/* The canonical text of `text`, or "" when it is refused. */
static const char *canonical(const char *text)
{
	static char out[64];
	scoped_buf b = BUF_INIT(63);
	struct ip ip;

	out[0] = '\0';
	if (ip_parse(str_of(text), &ip)) {
		ip_print(&b, &ip);
		memcpy(out, b.p, b.len + 1);
	}
	return out;
}

static struct ip ip_of(const char *text)
{
	struct ip ip = { { 0 } };

	if (!CHECK(ip_parse(str_of(text), &ip)))
		printf("# '%s'\n", text);
	return ip;
}

TEST(only_dotted_quads_are_ipv4)
{
	static const char *const bad[] = { "",		"1.2.3",      "1.2.3.4.",   "01.2.3.4",
					   "1.2.3.256", "1.2.3.04",   "0x7f.0.0.1", "1.2.3.4 ",
					   " 1.2.3.4",	"1..3.4",     "1.2.3.4.5",  "1.2.3.-4",
					   "1.2.3.+4",	"1.2.3.1000", "2130706433", "127.1",
					   "a.b.c.d",	"1.2.3.4/8" };

	CHECK_STR(canonical("1.2.3.4"), "1.2.3.4");
	CHECK_STR(canonical("0.0.0.0"), "0.0.0.0");
	CHECK_STR(canonical("255.255.255.255"), "255.255.255.255");
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK_STR(canonical(bad[i]), "");
}

TEST(ipv6_is_printed_as_rfc_5952_says)
{
	CHECK_STR(canonical("::"), "::");
	CHECK_STR(canonical("::1"), "::1");
	CHECK_STR(canonical("1::"), "1::");
	CHECK_STR(canonical("2001:DB8:0:0:0:0:0:1"), "2001:db8::1");
	CHECK_STR(canonical("2001:db8:0:1:1:1:1:1"), "2001:db8:0:1:1:1:1:1");
	CHECK_STR(canonical("2001:0:0:1:0:0:0:1"), "2001:0:0:1::1");
	CHECK_STR(canonical("2001:db8:0:0:1:0:0:1"), "2001:db8::1:0:0:1");
	CHECK_STR(canonical("1:2:3:4:5:6:7::"), "1:2:3:4:5:6:7:0");
	CHECK_STR(canonical("::2:3:4:5:6:7:8"), "0:2:3:4:5:6:7:8");
	CHECK_STR(canonical("::ffff:1.2.3.4"), "1.2.3.4");
	CHECK_STR(canonical("::ffff:102:304"), "1.2.3.4");
	CHECK_STR(canonical("64:ff9b::1.2.3.4"), "64:ff9b::102:304");
	CHECK_STR(canonical("1:2:3:4:5:6:1.2.3.4"), "1:2:3:4:5:6:102:304");
}

TEST(malformed_ipv6_is_refused)
{
	static const char *const bad[] = {
		":",
		":::",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"1::2::3",
		":1",
		"1:",
		"12345::",
		"g::",
		"::1%eth0",
		"[::1]",
		"1:2:3:4:5:6:7:8::",
		"::1:2:3:4:5:6:7:8",
		"1::2:3:4:5:6:7:8",
		"1.2.3.4::",
		"::1.2.3",
		"::1.2.3.4:5",
		"::01.2.3.4",
		"1:2:3:4:5:6:7:1.2.3.4",
		"::/0",
		"1:::2",
		"1:2:3:4:5:6:7:8:",
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (!CHECK_STR(canonical(bad[i]), ""))
			printf("# '%s'\n", bad[i]);
}

/* inet_pton is the other opinion; it differs on nothing but v4-compatible texts, left out. */
TEST(random_addresses_print_as_inet_ntop_does)
{
	uint64_t seed = test_seed();

	for (size_t n = test_cases(20000); n > 0; n--) {
		struct ip ip, again;
		char theirs[INET6_ADDRSTRLEN];

		for (size_t i = 0; i < 8; i++) {
			uint64_t r = test_random(&seed);

			ip.bytes[2 * i] = r & 3 ? 0 : (uint8_t)(r >> 8);
			ip.bytes[2 * i + 1] = r & 12 ? 0 : (uint8_t)(r >> 16);
		}
		ip.bytes[0] |= 1;
		REQUIRE(inet_ntop(AF_INET6, ip.bytes, theirs, sizeof(theirs)));
		REQUIRE(ip_parse(str_of(theirs), &again));
		CHECK(memcmp(&ip, &again, sizeof(ip)) == 0);
		CHECK_STR(canonical(theirs), theirs);
	}
}

TEST(random_texts_parse_as_inet_pton_does)
{
	static const char letters[] = "::::1aF0..2";
	uint64_t seed = test_seed();

	for (size_t n = test_cases(200000); n > 0; n--) {
		size_t len = test_random(&seed) % 14;
		struct ip ip;
		char text[16] = "";
		uint8_t theirs[16];
		bool ok;

		for (size_t i = 0; i < len; i++)
			text[i] = letters[test_random(&seed) % (sizeof(letters) - 1)];
		if (!strchr(text, ':'))
			continue;
		ok = inet_pton(AF_INET6, text, theirs) == 1;
		if (!CHECK_INT(ip_parse(str_of(text), &ip), ok))
			printf("# '%s'\n", text);
		else if (ok)
			CHECK(memcmp(ip.bytes, theirs, 16) == 0);
	}
}

static bool in_block(const char *block, const char *ip)
{
	struct ip_block b = { .bits = 0 };
	struct ip address = ip_of(ip);

	if (!CHECK(ip_block_parse(str_of(block), &b)))
		printf("# '%s'\n", block);
	return ip_block_has(&b, &address);
}

TEST(blocks_hold_what_has_their_prefix)
{
	CHECK(in_block("10.0.0.0/8", "10.255.0.1"));
	CHECK(!in_block("10.0.0.0/8", "11.0.0.1"));
	CHECK(in_block("172.16.0.0/12", "172.31.255.255"));
	CHECK(!in_block("172.16.0.0/12", "172.32.0.0"));
	CHECK(in_block("1.2.3.4", "1.2.3.4"));
	CHECK(!in_block("1.2.3.4", "1.2.3.5"));
	CHECK(in_block("0.0.0.0/0", "8.8.8.8"));
	CHECK(in_block("fd00::/8", "fdff::1"));
	CHECK(!in_block("fd00::/8", "fc00::1"));
	CHECK(in_block("::1", "::1"));
	CHECK(in_block("10.0.0.0/8", "::ffff:10.1.1.1"));
	CHECK(in_block("::ffff:10.0.0.0/104", "10.1.1.1"));
}

TEST(blocks_of_one_family_do_not_hold_the_other)
{
	CHECK(in_block("::/0", "2001:db8::1"));
	CHECK(!in_block("::/0", "1.2.3.4"));
	CHECK(!in_block("0.0.0.0/0", "2001:db8::1"));
	CHECK(!in_block("0.0.0.0/0", "::1"));
	CHECK(in_block("::ffff:0:0/96", "1.2.3.4"));
}

TEST(malformed_blocks_are_refused)
{
	static const char *const bad[] = { "10.0.0.1/8",   "10.0.0.0/33",
					   "10.0.0.0/",	   "10.0.0.0/08",
					   "10.0.0.0/-1",  "10/8",
					   "fd00::/129",   "fd00::1/8",
					   "/8",	   "::/0/0",
					   "10.0.0.0/8 ",  "::ffff:1.2.3.4/32",
					   "10.0.0.0/256", "" };
	struct ip_block b;

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (!CHECK(!ip_block_parse(str_of(bad[i]), &b)))
			printf("# '%s'\n", bad[i]);
}

static const char *embedded(const char *text)
{
	static char out[64];
	scoped_buf b = BUF_INIT(63);
	struct ip ip = ip_of(text), inner;

	out[0] = '\0';
	if (ip_embedded_v4(&ip, &inner)) {
		ip_print(&b, &inner);
		memcpy(out, b.p, b.len + 1);
	}
	return out;
}

TEST(embedded_ipv4_is_found)
{
	CHECK_STR(embedded("1.2.3.4"), "1.2.3.4");
	CHECK_STR(embedded("::ffff:127.0.0.1"), "127.0.0.1");
	CHECK_STR(embedded("::127.0.0.1"), "127.0.0.1");
	CHECK_STR(embedded("64:ff9b::10.0.0.1"), "10.0.0.1");
	CHECK_STR(embedded("64:ff9b:1::10.0.0.1"), "");
	CHECK_STR(embedded("2002:7f00:1::"), "127.0.0.1");
	/* The example of RFC 4380, section 4: client 192.0.2.45. */
	CHECK_STR(embedded("2001:0:4136:e378:8000:63bf:3fff:fdd2"), "192.0.2.45");
	CHECK_STR(embedded("::"), "");
	CHECK_STR(embedded("::1"), "");
	CHECK_STR(embedded("2606:4700::1"), "");
	CHECK_STR(embedded("2606:4700::5efe:10.0.0.1"), "10.0.0.1");
	CHECK_STR(embedded("2606:4700::200:5efe:127.0.0.1"), "127.0.0.1");
	CHECK_STR(embedded("fe80::5efe:192.168.0.1"), "192.168.0.1");
	CHECK_STR(embedded("2606:4700::100:5efe:10.0.0.1"), "");
	CHECK_STR(embedded("2606:4700::5eff:10.0.0.1"), "");
	CHECK_STR(embedded("2002:808:808::5efe:10.0.0.1"), "8.8.8.8");
}

TEST(loopback_is_of_both_families)
{
	static const char *const loopback[] = { "127.0.0.1", "127.255.255.255", "::1",
						"::ffff:127.0.0.1" };
	static const char *const other[] = { "126.255.255.255", "128.0.0.1", "0.0.0.0", "::", "::2",
					     "::127.0.0.1",	"7f00::1" };

	for (size_t i = 0; i < COUNT_OF(loopback); i++) {
		struct ip ip = ip_of(loopback[i]);

		CHECK(ip_is_loopback(&ip));
	}
	for (size_t i = 0; i < COUNT_OF(other); i++) {
		struct ip ip = ip_of(other[i]);

		CHECK(!ip_is_loopback(&ip));
	}
}

TEST(special_addresses_are_not_public)
{
	static const char *const special[] = {
		"0.0.0.0",
		"0.255.255.255",
		"10.0.0.1",
		"100.64.0.1",
		"100.127.255.255",
		"127.0.0.1",
		"127.255.255.255",
		"169.254.169.254",
		"172.16.0.1",
		"172.31.255.255",
		"192.0.0.1",
		"192.0.0.9",
		"192.0.2.1",
		"192.88.99.1",
		"192.168.0.1",
		"198.18.0.1",
		"198.19.255.255",
		"198.51.100.1",
		"203.0.113.1",
		"224.0.0.1",
		"239.255.255.255",
		"240.0.0.1",
		"255.255.255.255",
		"::",
		"::1",
		"::8.8.8.8",
		"::ffff:10.0.0.1",
		"::ffff:127.0.0.1",
		"64:ff9b::10.0.0.1",
		"64:ff9b:1::1",
		"2606:4700::5efe:10.0.0.1",
		"2606:4700::200:5efe:127.0.0.1",
		"2002:808:808::5efe:10.0.0.1",
		"fe80::5efe:8.8.8.8",
		"2001:db8::5efe:8.8.8.8",
		"::5efe:8.8.8.8",
		"100::1",
		"2001::1",
		"2001:0:4136:e378:8000:63bf:3fff:fdd2",
		"2001:2::1",
		"2001:20::1",
		"2001:1ff::1",
		"2001:db8::1",
		"2002:a00:1::",
		"2002:7f00:1::",
		"3fff::1",
		"3fff:fff::1",
		"4000::1",
		"5f00::1",
		"fc00::1",
		"fd12::1",
		"fe80::1",
		"fec0::1",
		"ff02::1",
		"1::1",
		"1fff::1",
	};

	for (size_t i = 0; i < COUNT_OF(special); i++) {
		struct ip ip = ip_of(special[i]);

		if (!CHECK(!ip_is_public(&ip)))
			printf("# '%s'\n", special[i]);
	}
}

TEST(ordinary_addresses_are_public)
{
	static const char *const ordinary[] = {
		"1.1.1.1",
		"8.8.8.8",
		"9.255.255.255",
		"11.0.0.0",
		"100.63.255.255",
		"100.128.0.0",
		"126.255.255.255",
		"128.0.0.0",
		"169.253.255.255",
		"169.255.0.0",
		"172.15.255.255",
		"172.32.0.0",
		"192.0.1.0",
		"192.0.3.0",
		"192.31.196.1",
		"192.88.98.255",
		"192.88.100.0",
		"192.167.255.255",
		"192.169.0.0",
		"198.17.255.255",
		"198.20.0.0",
		"203.0.112.255",
		"203.0.114.0",
		"223.255.255.255",
		"::ffff:8.8.8.8",
		"64:ff9b::8.8.8.8",
		"2002:808:808::1",
		"2001:200::1",
		"2001:db7::1",
		"2001:db9::1",
		"2606:4700::1",
		"2a00::1",
		"2000::1",
		"3ffe::1",
		"3fff:1000::1",
		"2001:0:4136:e378:8000:63bf:f7f7:f7f7", /* Teredo, client 8.8.8.8 */
	};

	for (size_t i = 0; i < COUNT_OF(ordinary); i++) {
		struct ip ip = ip_of(ordinary[i]);

		if (!CHECK(ip_is_public(&ip)))
			printf("# '%s'\n", ordinary[i]);
	}
}
