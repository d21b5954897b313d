/* SPDX-License-Identifier: MIT */
#include "base/hostname.h"

#include "base/idna.h"
#include "test.h"

/* The normal form, or "!" and the reason. */
static const char *normal(const char *text)
{
	static char out[sizeof(((struct err *)NULL)->text) + 80];
	scoped_arena a = ARENA_INIT(1U << 16);
	struct err e = ERR_INIT;
	struct hostname host;

	if (hostname_parse(&a, str_of(text), &host, &e) < 0) {
		CHECK_INT(e.code, ERR_SYNTAX);
		(void)snprintf(out, sizeof(out), "!%s", e.text);
	} else {
		(void)snprintf(out, sizeof(out), "%.*s", (int)host.name.len, host.name.p);
	}
	return out;
}

/* Whether `text` is refused for a reason that holds `why`. */
static bool refused(const char *text, const char *why)
{
	const char *answer = normal(text);
	bool ok = answer[0] == '!' && strstr(answer, why);

	if (!ok)
		printf("# '%s': %s\n", text, answer);
	return ok;
}

TEST(names_are_lowered_and_lose_one_dot)
{
	CHECK_STR(normal("example.com"), "example.com");
	CHECK_STR(normal("EXAMPLE.Com"), "example.com");
	CHECK_STR(normal("example.com."), "example.com");
	CHECK_STR(normal("localhost"), "localhost");
	CHECK_STR(normal("_acme-challenge.example.com"), "_acme-challenge.example.com");
	CHECK_STR(normal("1a.2b.c3"), "1a.2b.c3");
	CHECK_STR(normal("r3---sn-x.example.com"), "r3---sn-x.example.com");
	CHECK_STR(normal("1.2.3.4.in-addr.arpa"), "1.2.3.4.in-addr.arpa");
}

TEST(malformed_names_are_refused)
{
	CHECK(refused("", "empty"));
	CHECK(refused(".", "empty"));
	CHECK(refused("a..b", "empty"));
	CHECK(refused(".a", "empty"));
	CHECK(refused("a.b..", "empty"));
	CHECK(refused("a b", "U+0020"));
	CHECK(refused("a/b", "'/'"));
	CHECK(refused("a*b", "'*'"));
	CHECK(refused("*.a", "'*'"));
	CHECK(refused("a\tb", "U+0009"));
	CHECK(refused("-a.b", "'-'"));
	CHECK(refused("a-.b", "'-'"));
	CHECK(refused("a@b", "'@'"));
	CHECK(refused("a%b", "'%'"));
	CHECK(refused("a\xff", "UTF-8"));
}

TEST(lengths_are_bounded)
{
	char label[65], name[300];

	memset(label, 'a', sizeof(label));
	label[63] = '\0';
	CHECK_STR(normal(label), label);
	label[63] = 'a';
	label[64] = '\0';
	CHECK(refused(label, "63"));
	label[63] = '\0';
	(void)snprintf(name, sizeof(name), "%s.%s.%s.%.61s", label, label, label, label);
	CHECK_INT(strlen(name), 253);
	CHECK_STR(normal(name), name);
	(void)snprintf(name, sizeof(name), "%s.%s.%s.%.62s", label, label, label, label);
	CHECK(refused(name, "253"));
	(void)snprintf(name, sizeof(name), "\xc3\xbc%.57s", label);
	CHECK(refused(name, "63"));
}

TEST(a_nul_is_no_part_of_a_name)
{
	scoped_arena a = ARENA_INIT(1U << 16);
	struct err e = ERR_INIT;
	struct hostname host;

	CHECK(hostname_parse(&a, (struct str){ "a\0.com", 6 }, &host, &e) < 0);
	CHECK(strstr(e.text, "U+0000"));
}

TEST(odd_spellings_of_ipv4_are_refused)
{
	static const char *const odd[] = {
		"127.1",
		"0x7f.1",
		"0x7f000001",
		"2130706433",
		"0177.0.0.1",
		"127.0.0.01",
		"1.2.3",
		"1.2.3.4.5",
		"256.1.1.1",
		"127.0.0.1.",
		"0x7F.0.0.0X1",
		"example.123",
		"0x",
		"example.0xff",
		"\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", /* full-width digits */
		"0",
	};

	for (size_t i = 0; i < COUNT_OF(odd); i++)
		CHECK(refused(odd[i], "number"));
	CHECK_STR(normal("0xfg"), "0xfg");
}

TEST(addresses_are_canonical)
{
	CHECK_STR(normal("127.0.0.1"), "127.0.0.1");
	CHECK_STR(normal("[::1]"), "::1");
	CHECK_STR(normal("2001:DB8::0:1"), "2001:db8::1");
	CHECK_STR(normal("fe80::1%eth0"), "fe80::1");
	CHECK_STR(normal("[fe80::1%25en0]"), "fe80::1");
	CHECK_STR(normal("::ffff:1.2.3.4"), "1.2.3.4");
	CHECK(refused("[1.2.3.4]", "IPv6"));
	CHECK(refused("[::1", "bracket"));
	CHECK(refused("[", "bracket"));
	CHECK(refused("[]", "IPv6"));
	CHECK(refused("[[::1]]", "IPv6"));
	CHECK(refused("::1]", "IPv6"));
	CHECK(refused("fe80::1%", "IPv6"));
	CHECK(refused("fe80::1%a b", "zone"));
	CHECK(refused("1.2.3.4%eth0", "host name"));
	CHECK(refused("a:80", "IPv6"));
}

TEST(labels_are_encoded)
{
	static const struct {
		const char *text, *encoded;
	} cases[] = {
		{ "bücher.example", "xn--bcher-kva.example" },
		{ "BÜCHER.example", "xn--bcher-kva.example" },
		{ "XN--BCHER-KVA.example", "xn--bcher-kva.example" },
		{ "münchen.de", "xn--mnchen-3ya.de" },
		{ "例え.jp", "xn--r8jz45g.jp" },
		{ "пример.рф", "xn--e1afmkfd.xn--p1ai" },
		{ "ПРИМЕР.РФ", "xn--e1afmkfd.xn--p1ai" },
		{ "δοκιμή", "xn--jxalpdlp" },
		{ "उदाहरण", "xn--p1b6ci4b4b3a" },
		{ "faß.de", "xn--fa-hia.de" },
		{ "ελλάς", "xn--hxarsa0b" },
		{ "שלום.example", "xn--9dbne9b.example" },
		{ "مثال", "xn--mgbh0fb" },
		{ "한국", "xn--3e0b707e" },
		{ "ไทย", "xn--o3cw4h" },
		{ "বাংলা", "xn--54b7fta0cc" },
		{ "தமிழ்", "xn--rlcus7b3d" },
		{ "łódź.pl", "xn--d-uga0v4h.pl" },
		{ "יהלום1", "xn--1-7hcdoqh" },
		{ "日本語。jp", NULL }, /* the ideographic full stop: refused */
		{ "ｅｘａｍｐｌｅ.com", "example.com" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (cases[i].encoded)
			CHECK_STR(normal(cases[i].text), cases[i].encoded);
		else
			CHECK(refused(cases[i].text, "U+3002"));
}

TEST(labels_that_idna_forbids_are_refused)
{
	CHECK(refused("u\u0308ber.de", "NFC"));
	CHECK(refused("\u00e0\u0325.de", "NFC")); /* the ring goes below the a first */
	CHECK(refused("\u0308a.de", "combining mark"));
	CHECK(refused("a\u0323\u0307\u0323.de", "NFC"));
	CHECK(refused("i\u2764.ws", "U+2764"));
	CHECK(refused("a\u200db.com", "U+200D"));
	CHECK(refused("l\u00b7l.cat", "U+00B7"));
	CHECK(refused("\u1e9e.de", "U+1E9E"));
	CHECK(refused("\u0130.com", "U+0130"));
	CHECK(refused("\u212a.com", "U+212A"));
	CHECK(refused("a\uff0ecom", "U+FF0E"));
	CHECK(refused("\u202ea.com", "U+202E"));
	CHECK(refused("ab--\u00fc.com", "'--'"));
	CHECK(refused("-\u00fc.com", "'-'"));
	CHECK(refused("_\u00fc.com", "U+005F"));
}

TEST(writing_directions_do_not_mix)
{
	CHECK(refused("a\u05d0.com", "directions"));
	CHECK(refused("\u05d0a.com", "directions"));
	CHECK(refused("\u05d0-.com", "'-'"));
	CHECK(refused("1\u05d0.com", "directions"));
	/* One such label binds the others too: this one starts with a digit. */
	CHECK(refused("1a.\u05d0\u05d1", "directions"));
	CHECK_STR(normal("a1.\u05d0\u05d1"), "a1.xn--4dbc");
}

TEST(an_encoded_label_must_be_what_encoding_gives)
{
	CHECK(refused("xn--", "'-'"));
	CHECK(refused("xn--a-.com", "'-'"));
	CHECK(refused("xn--abc", "xn--abc"));
	CHECK(refused("xn--99999999", "Punycode"));
	CHECK(refused("xn--a-ecp.ru.xn--", "xn--"));
	CHECK(refused("xn--80ak6aa92e-.com", "'-'"));
	CHECK(refused("xn--i-7iq.ws", "U+2764"));     /* i, a heart */
	CHECK(refused("xn--bcher-2pa.de", "U+00DC")); /* upper case inside */
	CHECK(refused("xn--ls8h.la", "U+1F4A9"));     /* an emoji */
	CHECK(refused("xn--uber-vwc.de", "NFC"));     /* u and a combining diaeresis */
	CHECK_STR(normal("xn--p1ai"), "xn--p1ai");
	CHECK_STR(normal("a.xn--fiqs8s"), "a.xn--fiqs8s");
}

/* RFC 3492, section 7.1, some of the samples. */
TEST(punycode_samples)
{
	static const struct {
		uint32_t c[24];
		size_t count;
		const char *text;
	} samples[] = {
		{ { 0x0644, 0x064A, 0x0647, 0x0645, 0x0627, 0x0628, 0x062A, 0x0643, 0x0644, 0x0645,
		    0x0648, 0x0634, 0x0639, 0x0631, 0x0628, 0x064A, 0x061F },
		  17,
		  "egbpdaj6bu4bxfgehfvwxn" },
		{ { 0x4ED6, 0x4EEC, 0x4E3A, 0x4EC0, 0x4E48, 0x4E0D, 0x8BF4, 0x4E2D, 0x6587 },
		  9,
		  "ihqwcrb4cv8a8dqg056pqjye" },
		{ { 0x33, 0x5E74, 0x42, 0x7D44, 0x91D1, 0x516B, 0x5148, 0x751F },
		  8,
		  "3B-ww4c5e180e575a65lsy2b" },
		{ { 0x305D, 0x306E, 0x30B9, 0x30D4, 0x30FC, 0x30C9, 0x3067 }, 7, "d9juau41awczczp" },
		{ { 0x2D, 0x3E, 0x20, 0x24, 0x31, 0x2E, 0x30, 0x30, 0x20, 0x3C, 0x2D },
		  11,
		  "-> $1.00 <--" },
	};

	for (size_t i = 0; i < COUNT_OF(samples); i++) {
		uint32_t c[24];
		char text[64];
		size_t len, count;

		REQUIRE(punycode_encode(samples[i].c, samples[i].count, text, sizeof(text) - 1,
					&len));
		text[len] = '\0';
		CHECK_STR(text, samples[i].text);
		REQUIRE(punycode_decode(str_of(samples[i].text), c, COUNT_OF(c), &count));
		CHECK_INT(count, samples[i].count);
		CHECK(memcmp(c, samples[i].c, count * sizeof(*c)) == 0);
	}
}

TEST(punycode_stops_at_its_room)
{
	static const uint32_t c[] = { 0x4ED6, 0x61, 0x4EEC };
	uint32_t back[3];
	char text[16];
	size_t len, whole;

	REQUIRE(punycode_encode(c, 3, text, sizeof(text), &whole));
	for (size_t room = 0; room < whole; room++)
		CHECK(!punycode_encode(c, 3, text, room, &len));
	for (size_t room = 0; room < 3; room++)
		CHECK(!punycode_decode((struct str){ text, whole }, back, room, &len));
}

/* "host port" or "!". */
static const char *with_port(const char *text)
{
	static char out[300];
	scoped_arena a = ARENA_INIT(1U << 16);
	struct err e = ERR_INIT;
	struct hostname host;
	uint16_t port;

	if (hostname_parse_port(&a, str_of(text), &host, &port, &e) < 0)
		(void)snprintf(out, sizeof(out), "%s", e.text[0] ? "!" : "no reason");
	else
		(void)snprintf(out, sizeof(out), "%.*s %u", STR_ARG(host.name), (unsigned)port);
	return out;
}

TEST(ports)
{
	CHECK_STR(with_port("a.b"), "a.b 0");
	CHECK_STR(with_port("A.b:443"), "a.b 443");
	CHECK_STR(with_port("a.b.:65535"), "a.b 65535");
	CHECK_STR(with_port("1.2.3.4:1"), "1.2.3.4 1");
	CHECK_STR(with_port("[::1]:80"), "::1 80");
	CHECK_STR(with_port("[::1]"), "::1 0");
	CHECK_STR(with_port("::1"), "::1 0");
	CHECK_STR(with_port("::1:80"), "::1:80 0");
}

TEST(malformed_ports_are_refused)
{
	static const char *const bad[] = {
		"a:",	      "a:0",   "a:080", "a:65536", "a:+1",
		"a: 1",	      "a:1x",  ":80",	"[::1]:",  "[::1]80",
		"[::1]:80:1", "a:1:2", "",	"a:99999", "a:1000000000"
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (!CHECK_STR(with_port(bad[i]), "!"))
			printf("# '%s'\n", bad[i]);
}

TEST(a_name_only_is_no_address)
{
	scoped_arena a = ARENA_INIT(1U << 16);
	struct err e = ERR_INIT;
	struct str name;

	CHECK_INT(hostname_parse_name(&a, STR("A.b."), &name, &e), 0);
	CHECK(str_is(name, "a.b"));
	CHECK(hostname_parse_name(&a, STR("1.2.3.4"), &name, &e) < 0);
	CHECK(hostname_parse_name(&a, STR("::1"), &name, &e) < 0);
	CHECK(hostname_parse_name(&a, STR("[::1]"), &name, &e) < 0);
}
