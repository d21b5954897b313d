/* SPDX-License-Identifier: MIT */
/* Tests of proxy/client/socks5.c: RFC 1928 and RFC 1929 on the server's side. */
#include "proxy/client/socks5.h"

#include "test.h"

#define BYTES(text) ((struct str){ "" text, sizeof(text) - 1 })

static const char *shown_ip(const struct ip *ip)
{
	static char text[64];
	struct buf b = BUF_OVER(text);

	ip_print(&b, ip);
	return text;
}

TEST(greeting_says_what_is_offered)
{
	struct socks5_greeting g;

	CHECK_INT(socks5_parse_greeting(BYTES("\5\2\0\2more"), &g), 4);
	CHECK(g.offers_no_auth && g.offers_password);
	CHECK_INT(socks5_parse_greeting(BYTES("\5\1\1"), &g), 3);
	CHECK(!g.offers_no_auth && !g.offers_password);
	CHECK_INT(socks5_parse_greeting(BYTES("\5\0"), &g), 2);
	CHECK_INT(socks5_choose(&g, false), SOCKS5_NO_METHOD);
}

TEST(other_versions_are_malformed_at_the_first_byte)
{
	struct socks5_greeting g;
	struct socks5_request r;
	struct socks5_auth a;

	CHECK_INT(socks5_parse_greeting(BYTES("\4"), &g), -1);
	CHECK_INT(socks5_parse_greeting(BYTES("G"), &g), -1);
	CHECK_INT(socks5_parse_auth(BYTES("\5"), &a), -1);
	CHECK_INT(socks5_parse_request(BYTES("\4"), &r), -1);
	CHECK_INT(r.refused, SOCKS5_FAILURE);
}

TEST(a_token_needs_the_password_method)
{
	struct socks5_greeting none = { .offers_no_auth = true };
	struct socks5_greeting password = { .offers_password = true };
	struct socks5_greeting both = { .offers_no_auth = true, .offers_password = true };

	CHECK_INT(socks5_choose(&none, false), SOCKS5_NO_AUTH);
	CHECK_INT(socks5_choose(&none, true), SOCKS5_NO_METHOD);
	CHECK_INT(socks5_choose(&password, false), SOCKS5_PASSWORD);
	CHECK_INT(socks5_choose(&password, true), SOCKS5_PASSWORD);
	CHECK_INT(socks5_choose(&both, false), SOCKS5_NO_AUTH);
	CHECK_INT(socks5_choose(&both, true), SOCKS5_PASSWORD);
}

TEST(user_and_password_are_found)
{
	struct socks5_auth a;

	CHECK_INT(socks5_parse_auth(BYTES("\1\4user\6secret\5"), &a), 13);
	CHECK(str_is(a.user, "user"));
	CHECK(str_is(a.password, "secret"));
	CHECK_INT(socks5_parse_auth(BYTES("\1\0\0"), &a), 3);
	CHECK_INT(a.user.len + a.password.len, 0);
}

TEST(all_kinds_of_addresses_are_read)
{
	struct socks5_request r;

	CHECK_INT(socks5_parse_request(BYTES("\5\1\0\3\13example.com\1\273"), &r), 18);
	CHECK_INT(r.refused, SOCKS5_DONE);
	CHECK(!r.is_ip && str_is(r.name, "example.com"));
	CHECK_INT(r.port, 443);
	CHECK_INT(socks5_parse_request(BYTES("\5\1\0\1\12\0\0\1\0\120"), &r), 10);
	CHECK_INT(r.refused, SOCKS5_DONE);
	CHECK(r.is_ip);
	CHECK_STR(shown_ip(&r.ip), "10.0.0.1");
	CHECK_INT(r.port, 80);
	CHECK_INT(socks5_parse_request(
			  BYTES("\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2\x1f\x90"), &r),
		  22);
	CHECK_STR(shown_ip(&r.ip), "2001:db8::2");
	CHECK_INT(r.port, 8080);
	/* The private guard has to see the IPv4 address in such a one. */
	CHECK_INT(socks5_parse_request(
			  BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\1\0\120"), &r),
		  22);
	CHECK_STR(shown_ip(&r.ip), "127.0.0.1");
}

TEST(what_is_not_served_has_its_reply)
{
	struct socks5_request r;

	CHECK_INT(socks5_parse_request(BYTES("\5\2\0\1\12\0\0\1\0\120"), &r), 10);
	CHECK_INT(r.refused, SOCKS5_BAD_COMMAND);
	CHECK_INT(socks5_parse_request(BYTES("\5\3\0\1\0\0\0\0\0\0"), &r), 10);
	CHECK_INT(r.refused, SOCKS5_BAD_COMMAND);
	CHECK_INT(socks5_parse_request(BYTES("\5\1\0\2"), &r), -1);
	CHECK_INT(r.refused, SOCKS5_BAD_ADDRESS);
	CHECK_INT(socks5_parse_request(BYTES("\5\1\0\3\0\0\120"), &r), 7);
	CHECK_INT(r.refused, SOCKS5_FAILURE);
	CHECK_INT(socks5_parse_request(BYTES("\5\1\0\1\12\0\0\1\0\0"), &r), 10);
	CHECK_INT(r.refused, SOCKS5_FAILURE);
	CHECK_INT(socks5_parse_request(BYTES("\5\1\7\1\12\0\0\1\0\120"), &r), -1);
	CHECK_INT(r.refused, SOCKS5_FAILURE);
}

TEST(every_beginning_asks_for_more)
{
	struct str greeting = BYTES("\5\2\0\2"), auth = BYTES("\1\4user\6secret");
	struct str request = BYTES("\5\1\0\3\13example.com\1\273");
	struct socks5_greeting g;
	struct socks5_request r;
	struct socks5_auth a;

	for (size_t i = 0; i < greeting.len; i++)
		CHECK_INT(socks5_parse_greeting(str_first(greeting, i), &g), 0);
	for (size_t i = 0; i < auth.len; i++)
		CHECK_INT(socks5_parse_auth(str_first(auth, i), &a), 0);
	for (size_t i = 0; i < request.len; i++) {
		CHECK_INT(socks5_parse_request(str_first(request, i), &r), 0);
		CHECK(r.refused != SOCKS5_DONE);
	}
}

TEST(replies_have_an_address_of_either_family)
{
	uint8_t out[SOCKS5_REPLY_BYTES];
	struct ip ip;

	CHECK_INT(socks5_put_reply(2, NULL, 0, out), 10);
	CHECK(memcmp(out, "\5\2\0\1\0\0\0\0\0\0", 10) == 0);
	REQUIRE(ip_parse(STR("10.1.2.3"), &ip));
	CHECK_INT(socks5_put_reply(0, &ip, 443, out), 10);
	CHECK(memcmp(out, "\5\0\0\1\12\1\2\3\1\273", 10) == 0);
	REQUIRE(ip_parse(STR("2001:db8::2"), &ip));
	CHECK_INT(socks5_put_reply(0, &ip, 80, out), 22);
	CHECK(out[3] == 4 && out[4] == 0x20 && out[19] == 2 && out[21] == 80);
}
