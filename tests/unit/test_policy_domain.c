/* SPDX-License-Identifier: MIT */
/* P13: patterns by example; tests/property/oracle_domain.c has all short ones. */
#include "policy/domain.h"

#include "test.h"

/* The normal form, or "!" and the reason. */
static const char *normal(const char *text)
{
	static char out[sizeof(((struct err *)NULL)->text) + 80];
	scoped_arena a = ARENA_INIT(1U << 16);
	struct err e = ERR_INIT;
	struct domain d;

	if (domain_parse(&a, str_of(text), &d, &e) < 0) {
		CHECK_INT(e.code, ERR_SYNTAX);
		(void)snprintf(out, sizeof(out), "!%s", e.text);
	} else {
		(void)snprintf(out, sizeof(out), "%.*s", (int)d.text.len, d.text.p);
	}
	return out;
}

static bool refused(const char *text, const char *why)
{
	const char *answer = normal(text);
	bool ok = answer[0] == '!' && strstr(answer, why);

	if (!ok)
		printf("# '%s': %s\n", text, answer);
	return ok;
}

/* `host` may have a port. 1, 0, or -1 when either does not parse. */
static int covers(const char *pattern, const char *host)
{
	scoped_arena a = ARENA_INIT(1U << 16);
	struct err e = ERR_INIT;
	struct hostname h;
	struct domain d, asked;
	uint16_t port;

	if (domain_parse(&a, str_of(pattern), &d, &e) < 0 ||
	    hostname_parse_port(&a, str_of(host), &h, &port, &e) < 0) {
		printf("# %s\n", e.text);
		return -1;
	}
	asked = domain_of_host(&h, port);
	return domain_is_within(&asked, &d);
}

TEST(every_form_has_one_text)
{
	CHECK_STR(normal("Example.COM."), "example.com");
	CHECK_STR(normal("*.Example.com"), "*.example.com");
	CHECK_STR(normal("**.bücher.example"), "**.xn--bcher-kva.example");
	CHECK_STR(normal("*"), "*");
	CHECK_STR(normal("*:443"), "*:443");
	CHECK_STR(normal("*.com"), "*.com");
	CHECK_STR(normal("a:80-90"), "a:80-90");
	CHECK_STR(normal("a:80-80"), "a:80");
	CHECK_STR(normal("a:1-65535"), "a");
	CHECK_STR(normal("10.0.0.0/8"), "10.0.0.0/8");
	CHECK_STR(normal("10.0.0.0/8:22"), "10.0.0.0/8:22");
	CHECK_STR(normal("10.1.2.3/32"), "10.1.2.3");
	CHECK_STR(normal("10.1.2.3:80"), "10.1.2.3:80");
	CHECK_STR(normal("0.0.0.0/0"), "0.0.0.0/0");
	CHECK_STR(normal("FD00::/8"), "fd00::/8");
	CHECK_STR(normal("[fd00::/8]"), "fd00::/8");
	CHECK_STR(normal("[fd00::0:1]:443"), "[fd00::1]:443");
	CHECK_STR(normal("[fd00::/8]:1-2"), "[fd00::/8]:1-2");
	CHECK_STR(normal("::ffff:10.0.0.0/104"), "10.0.0.0/8");
	CHECK_STR(normal("[::ffff:1.2.3.4]:5"), "1.2.3.4:5");
	CHECK_STR(normal("::/0"), "::/0");
}

TEST(other_wildcards_are_refused_with_the_forms)
{
	static const char *const bad[] = { "foo*.bar", "*foo.bar", "a.*.b", "a.*", "**",  "***.a",
					   "*.*.a",    "*.**.a",   "**.*",  "*a",  "*.*", "*:*" };

	for (size_t i = 0; i + 1 < COUNT_OF(bad); i++)
		CHECK(refused(bad[i], "**.example.com"));
	CHECK(refused("*:*", "port"));
}

TEST(what_was_meant_is_told)
{
	CHECK(refused("a.com:*", "leave the port out for all of them"));
	CHECK(refused("a.com:80,443", "write one entry for each port, or a range"));
	CHECK(refused("a.com/x", "write the host only: rules do not see paths"));
	CHECK(refused("10.0.0.1/8", "bits are set behind /8; did you mean 10.0.0.0/8?"));
	CHECK(refused("fe80::1/10", "bits are set behind /10; did you mean fe80::/10?"));
}

/* What people try first, and what is said to them. */
TEST(what_other_programs_write_is_recognised)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "**", "; did you mean '*', every public host?" },
		{ "*.*", "; did you mean '*', every public host?" },
		{ "**:443", "; did you mean '*:443', every public host?" },
		{ ":443", "; did you mean '*:443', every public host?" },
		{ ".a.com", "; did you mean '**.a.com', which is that and all below it?" },
		{ "*a.com", "; did you mean '**.a.com', which is that and all below it?" },
		{ "a.com,b.com", "; each host is an entry, or an option, of its own" },
		{ "a.com b.com", "; each host is an entry, or an option, of its own" },
		{ "git@a.com", "; did you mean 'a.com:22' (ssh)?" },
		{ "git@a.com:me/x.git", "; did you mean 'a.com:22' (ssh)?" },
		{ "https://a.com/x?y#z", "not a URL; did you mean 'a.com:443'?" },
		{ "http://me:pw@a.com:81/@x", "not a URL; did you mean 'a.com:81'?" },
		{ "https://[fd00::1]/", "not a URL; did you mean '[fd00::1]:443'?" },
		{ "ssh://git@a.com/x", "not a URL; did you mean 'a.com:22'?" },
		{ "a.com/x", "; did you mean 'a.com'?" },
		{ "a.com:https", "; did you mean 'a.com:443'?" },
		{ "a.com:443/tcp", "; did you mean 'a.com:443'?" },
		{ "a.com:80..90", "; did you mean 'a.com:80-90'?" },
		{ "a.com:80:90", "; did you mean 'a.com:80-90'?" },
		{ "a.com:80-", "; did you mean 'a.com:80-65535'?" },
		{ "10.0.0.*", "; did you mean '10.0.0.0/24'?" },
		{ "10.1.*", "; did you mean '10.1.0.0/16'?" },
		{ "!a.com", "; to deny it: --deny-host a.com, or \"a.com\" = \"deny\"" },
	};
	/* Nothing is said where it is not clear, nor offered what is no pattern either. */
	static const char *const unclear[] = { "a.*.com", "*com",   ".com",	   "https://", "@",
					       "a..b",	  "a:0",    "a_.*",	   "://",      "!",
					       "10.*.1",  "a\nb,c", "https://a b", "1.2.3.4.*" };

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		CHECK(refused(cases[i].text, cases[i].said));
	for (size_t i = 0; i < COUNT_OF(unclear); i++) {
		const char *said = normal(unclear[i]);

		CHECK(said[0] == '!' && !strstr(said, "did you mean") &&
		      !strstr(said, "entry, or"));
	}
}

TEST(malformed_patterns_are_refused)
{
	CHECK(refused("", "empty"));
	CHECK(refused("*.", "empty"));
	CHECK(refused("**.", "empty"));
	CHECK(refused("https://example.com", "URL"));
	CHECK(refused("https://example.com:443/x", "URL"));
	CHECK(refused("10.0.0.0/33", "block"));
	CHECK(refused("10.1", "number"));
	CHECK(refused("*.10.1", "number"));
	CHECK(refused("*.1.2.3.4", "address"));
	CHECK(refused("a:0", "port"));
	CHECK(refused("a:", "port"));
	CHECK(refused("a:9-8", "port"));
	CHECK(refused("a:1-", "port"));
	CHECK(refused("a:-1", "port"));
	CHECK(refused("a:1-65536", "port"));
	CHECK(refused("fd00::/8:443", "brackets"));
	CHECK(refused("fd00::1z", "brackets"));
	CHECK(refused("[10.0.0.1]:80", "IPv6"));
	CHECK(refused("[fd00::1]80", "brackets"));
	CHECK(refused("[fd00::1", "brackets"));
	CHECK(refused("[*]:80", "IPv6"));
	CHECK(refused("fe80::1%eth0", "zone"));
	CHECK(refused("a b", "U+0020"));
}

TEST(names)
{
	CHECK_INT(covers("example.com", "EXAMPLE.com."), 1);
	CHECK_INT(covers("example.com", "a.example.com"), 0);
	CHECK_INT(covers("*.example.com", "example.com"), 0);
	CHECK_INT(covers("*.example.com", "a.b.example.com"), 1);
	CHECK_INT(covers("*.example.com", "badexample.com"), 0);
	CHECK_INT(covers("**.example.com", "example.com"), 1);
	CHECK_INT(covers("**.example.com", "a.example.com"), 1);
	CHECK_INT(covers("**.example.com", "badexample.com"), 0);
	CHECK_INT(covers("**.example.com", "example.com.evil.org"), 0);
	CHECK_INT(covers("*", "localhost"), 1);
	CHECK_INT(covers("bücher.example", "xn--bcher-kva.example"), 1);
}

TEST(ports)
{
	CHECK_INT(covers("a:443", "a:443"), 1);
	CHECK_INT(covers("a:443", "a:80"), 0);
	CHECK_INT(covers("a:443", "a"), 0);
	CHECK_INT(covers("a", "a"), 1);
	CHECK_INT(covers("a", "a:1"), 1);
	CHECK_INT(covers("a:80-90", "a:80"), 1);
	CHECK_INT(covers("a:80-90", "a:90"), 1);
	CHECK_INT(covers("a:80-90", "a:91"), 0);
	CHECK_INT(covers("a:1-65535", "a"), 1);
	CHECK_INT(covers("*:443", "a:443"), 1);
	CHECK_INT(covers("*:443", "a:80"), 0);
}

TEST(a_star_never_covers_what_is_not_public)
{
	CHECK_INT(covers("*", "8.8.8.8"), 1);
	CHECK_INT(covers("*", "[2606:4700::1]:443"), 1);
	CHECK_INT(covers("*", "127.0.0.1"), 0);
	CHECK_INT(covers("*", "169.254.169.254:80"), 0);
	CHECK_INT(covers("*", "::1"), 0);
	CHECK_INT(covers("*", "::ffff:10.0.0.1"), 0);
	CHECK_INT(covers("*", "64:ff9b::a00:1"), 0);
	CHECK_INT(covers("*", "2002:7f00:1::"), 0);
}

TEST(names_and_addresses_are_apart)
{
	CHECK_INT(covers("10.0.0.0/8", "a"), 0);
	CHECK_INT(covers("0.0.0.0/0", "a"), 0);
	CHECK_INT(covers("**.com", "8.8.8.8"), 0);
	CHECK_INT(covers("10.0.0.0/8", "10.1.2.3"), 1);
	CHECK_INT(covers("10.0.0.0/8", "::ffff:10.1.2.3"), 1);
	CHECK_INT(covers("10.0.0.0/8:22", "10.1.2.3:23"), 0);
	CHECK_INT(covers("[fd00::/8]:443", "[fd12::1]:443"), 1);
	CHECK_INT(covers("::/0", "8.8.8.8"), 0);
	CHECK_INT(covers("127.0.0.1", "127.0.0.1"), 1);
}
