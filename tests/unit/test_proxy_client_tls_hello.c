/* SPDX-License-Identifier: MIT */
/* Tests of proxy/client/tls_hello.c, on hellos that are put together here. */
#include "proxy/client/tls_hello.h"

#include "test.h"

enum { ROOM = 40000 };

struct bytes {
	size_t len;
	uint8_t p[ROOM];
};

static void put(struct bytes *b, size_t number, unsigned width)
{
	while (width--)
		b->p[b->len++] = (uint8_t)(number >> (8 * width));
}

static void put_zeros(struct bytes *b, size_t count)
{
	memset(b->p + b->len, 0, count);
	b->len += count;
}

static void put_text(struct bytes *b, struct str s)
{
	memcpy(b->p + b->len, s.p, s.len);
	b->len += s.len;
}

static void put_name(struct bytes *b, struct str name)
{
	put(b, 0, 2);
	put(b, name.len + 5, 2);
	put(b, name.len + 3, 2);
	put(b, 0, 1);
	put(b, name.len, 2);
	put_text(b, name);
}

static void put_extension(struct bytes *b, unsigned kind, size_t len)
{
	put(b, kind, 2);
	put(b, len, 2);
	put_zeros(b, len);
}

/* How many bytes its parts before the extensions have. */
struct shape {
	size_t session, ciphers, compressions;
};
static const struct shape usual = { 32, 4, 1 };

/* The message around the extensions; NULL: without any. */
static void put_hello(struct bytes *b, const struct bytes *extensions, const struct shape *s)
{
	size_t len = 34 + 1 + s->session + 2 + s->ciphers + 1 + s->compressions +
		     (extensions ? 2 + extensions->len : 0);

	put(b, 1, 1);
	put(b, len, 3);
	put(b, 0x0303, 2);
	put_zeros(b, 32);
	put(b, s->session, 1);
	put_zeros(b, s->session);
	put(b, s->ciphers, 2);
	put_zeros(b, s->ciphers);
	put(b, s->compressions, 1);
	put_zeros(b, s->compressions);
	if (!extensions)
		return;
	put(b, extensions->len, 2);
	memcpy(b->p + b->len, extensions->p, extensions->len);
	b->len += extensions->len;
}

/* As records of at most `size` bytes each. */
static enum tls_hello_result feed(struct tls_hello *h, const struct bytes *message, size_t size)
{
	tls_hello_init(h);
	for (size_t i = 0; i < message->len; i += size) {
		size_t n = MIN_OF(size, message->len - i);
		const char head[] = { 22, 3, 1, (char)(n >> 8), (char)n };

		(void)tls_hello_feed(h, (struct str){ head, sizeof(head) });
		(void)tls_hello_feed(h, (struct str){ (const char *)message->p + i, n });
	}
	return h->result;
}

static struct bytes extensions, message;
static struct tls_hello hello;

static enum tls_hello_result feed_extensions(size_t record)
{
	message.len = 0;
	put_hello(&message, &extensions, &usual);
	return feed(&hello, &message, record);
}

TEST(the_name_is_found_whatever_the_records)
{
	static const size_t sizes[] = { 16384, 100, 40, 7, 1 };

	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		extensions.len = 0;
		put_extension(&extensions, 43, 3);
		put_name(&extensions, STR("www.example.com"));
		put_extension(&extensions, 16, 0);
		CHECK_INT(feed_extensions(sizes[i]), TLS_HELLO_NAME);
		CHECK_STR(hello.name, "www.example.com");
	}
}

TEST(nothing_is_decided_before_the_end)
{
	extensions.len = 0;
	put_name(&extensions, STR("a.example"));
	put_extension(&extensions, 21, 50);
	message.len = 0;
	put_hello(&message, &extensions, &usual);
	for (message.len--; message.len > 0; message.len--)
		REQUIRE(feed(&hello, &message, 16384) == TLS_HELLO_MORE);
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NAME);
}

TEST(without_a_name_is_an_answer_of_its_own)
{
	extensions.len = 0;
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NO_NAME);
	put_extension(&extensions, 43, 3);
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NO_NAME);
	message.len = 0;
	put_hello(&message, NULL, &usual);
	CHECK_INT(feed(&hello, &message, 16384), TLS_HELLO_NO_NAME);
}

TEST(of_an_encrypted_hello_the_outer_name_counts)
{
	extensions.len = 0;
	put_extension(&extensions, 0xfe0d, 300);
	put_name(&extensions, STR("outer.example"));
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NAME);
	CHECK_STR(hello.name, "outer.example");
}

TEST(a_large_hello_passes_up_to_the_bound)
{
	extensions.len = 0;
	put_extension(&extensions, 51, 20000);
	put_name(&extensions, STR("late.example"));
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NAME);
	CHECK_STR(hello.name, "late.example");
	put_extension(&extensions, 21, 15000);
	CHECK_INT(feed_extensions(16384), TLS_HELLO_BAD);
}

TEST(two_names_are_refused)
{
	extensions.len = 0;
	put_name(&extensions, STR("allowed.example"));
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NAME);
	put_name(&extensions, STR("other.example"));
	CHECK_INT(feed_extensions(16384), TLS_HELLO_BAD);
	/* Also where what is behind the length of the first one could be extensions again. */
	extensions.len = 0;
	put_name(&extensions, STR("a.example"));
	put_name(&extensions, STR("evil.test!!!!xxxxx"));
	put_extension(&extensions, 21, 0x2121 - 5 - 4);
	CHECK_INT(feed_extensions(16384), TLS_HELLO_BAD);
	/* In one list. */
	extensions.len = 0;
	put(&extensions, 0, 2);
	put(&extensions, 5 + 1 + 4, 2);
	put(&extensions, 3 + 1 + 4, 2);
	put(&extensions, 0, 1);
	put(&extensions, 1, 2);
	put_text(&extensions, STR("a"));
	put_extension(&extensions, 16, 0);
	CHECK_INT(feed_extensions(16384), TLS_HELLO_BAD);
}

TEST(parts_that_no_hello_has_are_refused)
{
	static const struct {
		struct shape shape;
		enum tls_hello_result result;
	} cases[] = {
		{ { 0, 2, 1 }, TLS_HELLO_NAME }, { { 32, 4, 255 }, TLS_HELLO_NAME },
		{ { 33, 2, 1 }, TLS_HELLO_BAD }, { { 255, 2, 1 }, TLS_HELLO_BAD },
		{ { 32, 0, 1 }, TLS_HELLO_BAD }, { { 32, 3, 1 }, TLS_HELLO_BAD },
		{ { 32, 4, 0 }, TLS_HELLO_BAD },
	};

	extensions.len = 0;
	put_name(&extensions, STR("a.example"));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		message.len = 0;
		put_hello(&message, &extensions, &cases[i].shape);
		CHECK_INT(feed(&hello, &message, 16384), cases[i].result);
	}
	/* A name of another kind than that of hosts. */
	extensions.p[6] = 1;
	CHECK_INT(feed_extensions(16384), TLS_HELLO_BAD);
}

TEST(names_that_no_host_has_are_refused)
{
	static const struct str names[] = {
		STR_INIT("a\0.example"), STR_INIT("a b"),	   STR_INIT("a\nb"),
		STR_INIT("\x7f"),	 STR_INIT("m\xc3\xbc.de"), STR_INIT(""),
	};
	char longest[256];

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		extensions.len = 0;
		put_name(&extensions, names[i]);
		CHECK_INT(feed_extensions(16384), TLS_HELLO_BAD);
	}
	memset(longest, 'x', sizeof(longest));
	extensions.len = 0;
	put_name(&extensions, (struct str){ longest, 255 });
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NAME);
	CHECK_INT(strlen(hello.name), 255);
	extensions.len = 0;
	put_name(&extensions, (struct str){ longest, 256 });
	CHECK_INT(feed_extensions(16384), TLS_HELLO_BAD);
}

/* Each byte of the lengths, changed: then it is malformed, or waits for more that never comes. */
TEST(wrong_lengths_are_never_a_name)
{
	static const size_t lengths[] = { 2, 3, 38, 71, 72, 77, 79, 80, 83, 84, 85, 86, 88, 89 };

	extensions.len = 0;
	put_name(&extensions, STR("a.example"));
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NAME);
	for (size_t i = 0; i < COUNT_OF(lengths); i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			message.p[lengths[i]] ^= (uint8_t)(1u << bit);
			enum tls_hello_result r = feed(&hello, &message, 16384);
			if (r == TLS_HELLO_NAME)
				printf("# byte %zu, bit %u\n", lengths[i], bit);
			CHECK(r == TLS_HELLO_BAD || r == TLS_HELLO_MORE);
			message.p[lengths[i]] ^= (uint8_t)(1u << bit);
		}
}

/* A whole hello without a name, as short as one can be. */
static const char plain_hello[] = "\x16\3\1\0\x2d\1\0\0\x29\3\3"
				  "12345678901234567890123456789012"
				  "\0\0\2\x13\1\1\0";

TEST(another_hello_may_follow_the_first)
{
	static const struct {
		struct str behind;
		enum tls_hello_result result;
	} cases[] = {
		{ STR_INIT(""), TLS_HELLO_MORE },
		{ STR_INIT("\x17\3\3\0\1"), TLS_HELLO_NOT_TLS },     /* data */
		{ STR_INIT("\x16\3\3\0\1\x10"), TLS_HELLO_NOT_TLS }, /* a key */
		{ STR_INIT("\x14\3\3\0\1\1\x17"), TLS_HELLO_NOT_TLS },
		{ STR_INIT("\x14\3\3\0\1\1"), TLS_HELLO_MORE },
		{ STR_INIT("\x15\3\3\0\2\1\x5a"), TLS_HELLO_MORE },
		{ STR_INIT("\x14\3\3\0\1\1\x16\3\3\0\2\1\0"), TLS_HELLO_MORE },
		{ STR_INIT("\x16\4\3"), TLS_HELLO_BAD },
		{ STR_INIT("\x16\x10"), TLS_HELLO_BAD },
		{ STR_INIT("\x16\3\3\0\1\1\x17"), TLS_HELLO_BAD }, /* in its middle */
		{ STR_INIT("\x16\3\3\0\1\1\x14"), TLS_HELLO_BAD },
	};
	const struct str first = { plain_hello, sizeof(plain_hello) - 1 };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		tls_hello_init(&hello);
		CHECK_INT(tls_hello_feed(&hello, first), TLS_HELLO_NO_NAME);
		CHECK_INT(hello.taken, first.len);
		tls_hello_next(&hello);
		CHECK(tls_hello_is_between(&hello));
		CHECK_INT(tls_hello_feed(&hello, cases[i].behind), cases[i].result);
	}
	/* One that follows is read whole, also behind what may come before it. */
	tls_hello_init(&hello);
	CHECK_INT(tls_hello_feed(&hello, first), TLS_HELLO_NO_NAME);
	tls_hello_next(&hello);
	CHECK_INT(tls_hello_feed(&hello, STR("\x14\3\3\0\1\1")), TLS_HELLO_MORE);
	CHECK(tls_hello_is_between(&hello));
	CHECK_INT(tls_hello_feed(&hello, str_first(first, 20)), TLS_HELLO_MORE);
	CHECK(!tls_hello_is_between(&hello));
	CHECK_INT(tls_hello_feed(&hello, str_from(first, 20)), TLS_HELLO_NO_NAME);
}

/* RFC 8446, 4.2.10: a server that wants another hello passes over the data sent before it. */
TEST(early_data_does_not_hide_another_hello)
{
	const struct str second = { plain_hello, sizeof(plain_hello) - 1 };

	for (unsigned is_early = 0; is_early < 2; is_early++) {
		enum tls_hello_result expected = is_early ? TLS_HELLO_MORE : TLS_HELLO_NOT_TLS;

		extensions.len = 0;
		put_name(&extensions, STR("www.example.com"));
		put_extension(&extensions, is_early ? 42 : 43, 0);
		CHECK_INT(feed_extensions(16384), TLS_HELLO_NAME);
		tls_hello_next(&hello);
		CHECK_INT(tls_hello_feed(&hello, STR("\x17\3\3\1\2\1\1")), expected);
		/* What is in the middle of data need not be kept back. */
		CHECK_INT(tls_hello_is_between(&hello), is_early);
	}
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NAME);
	tls_hello_next(&hello);
	CHECK_INT(tls_hello_feed(&hello, STR("\x17\3\3\0\2\1\1\x17\3\3\0\1\1")), TLS_HELLO_MORE);
	CHECK_INT(tls_hello_feed(&hello, second), TLS_HELLO_NO_NAME);
	/* The second one says nothing of data: what comes behind it is no hello. */
	tls_hello_next(&hello);
	CHECK_INT(tls_hello_feed(&hello, STR("\x17")), TLS_HELLO_NOT_TLS);
}

/* What comes before it need not be kept back with it: together they may be more than there is room for. */
TEST(what_is_before_another_hello_is_told_apart)
{
	const struct str data = STR("\x17\3\3\0\3abc\x17\3\3\0\1d");
	struct bytes both = { .len = 0 };

	extensions.len = 0;
	put_extension(&extensions, 42, 0);
	for (size_t of_hello = 1; of_hello < sizeof(plain_hello) - 1; of_hello++) {
		CHECK_INT(feed_extensions(16384), TLS_HELLO_NO_NAME);
		tls_hello_next(&hello);
		both.len = 0;
		put_text(&both, data);
		put_text(&both, (struct str){ plain_hello, of_hello });
		CHECK_INT(tls_hello_feed(&hello, (struct str){ (char *)both.p, both.len }),
			  TLS_HELLO_MORE);
		CHECK(!tls_hello_is_between(&hello));
		CHECK_INT(hello.settled, data.len);
		/* Of what comes behind nothing is, until it is whole. */
		CHECK(tls_hello_feed(&hello, (struct str){ plain_hello + of_hello, 1 }) ==
			      TLS_HELLO_MORE ||
		      of_hello + 1 == sizeof(plain_hello) - 1);
		CHECK_INT(hello.settled, 0);
	}
	CHECK_INT(feed_extensions(16384), TLS_HELLO_NO_NAME);
	CHECK_INT(hello.settled, 0);
	tls_hello_next(&hello);
	CHECK_INT(tls_hello_feed(&hello, data), TLS_HELLO_MORE);
	CHECK_INT(hello.settled, data.len);
}

/* Nor does it end the connection: what follows an accepted hello is data of any length, in any pieces. */
TEST(data_behind_an_early_hello_goes_on)
{
	static const struct {
		struct str head;
		enum tls_hello_result result;
	} cases[] = {
		{ STR_INIT("\x17\3\3\x40\x11"), TLS_HELLO_MORE }, /* 2^14, encrypted */
		{ STR_INIT("\x17\3\3\x48\0"), TLS_HELLO_MORE },	  /* RFC 5246: the most */
		{ STR_INIT("\x17\3\3\x48\1"), TLS_HELLO_BAD },
		{ STR_INIT("\x16\3\3\x40\1"), TLS_HELLO_BAD }, /* no hello is as long */
	};

	extensions.len = 0;
	put_extension(&extensions, 42, 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		CHECK_INT(feed_extensions(16384), TLS_HELLO_NO_NAME);
		tls_hello_next(&hello);
		for (size_t k = 1; k < cases[i].head.len; k++) {
			CHECK_INT(
				tls_hello_feed(&hello, (struct str){ cases[i].head.p + k - 1, 1 }),
				TLS_HELLO_MORE);
			/* Only what may become a hello is kept back. */
			CHECK_INT(tls_hello_is_between(&hello), cases[i].head.p[0] == 0x17);
		}
		CHECK_INT(tls_hello_feed(&hello, str_from(cases[i].head, 4)), cases[i].result);
	}
}

TEST(other_protocols_are_told_at_once)
{
	static const struct str others[] = {
		STR_INIT("G"),	      STR_INIT("SSH-2.0-x\r\n"),
		STR_INIT("\x16\x10"), STR_INIT("\x80\x2e\1\3\1"),
		STR_INIT("\0"),	      STR_INIT("\x15\x20"),
		STR_INIT("\x19\3\1"),
	};

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		tls_hello_init(&hello);
		CHECK_INT(tls_hello_feed(&hello, others[i]), TLS_HELLO_NOT_TLS);
	}
	tls_hello_init(&hello);
	CHECK_INT(tls_hello_feed(&hello, STR("\x16")), TLS_HELLO_MORE);
	CHECK_INT(tls_hello_feed(&hello, STR("\3")), TLS_HELLO_MORE);
}

TEST(records_that_tls_does_not_have_are_refused)
{
	static const struct str bad[] = {
		STR_INIT("\x16\3\1\0\0"), /* empty */
		STR_INIT("\x16\4\1"),	  /* versions that some servers take */
		STR_INIT("\x16\0\1"),
		STR_INIT("\x15\3\1\0\2\1\x5a"), /* an alert that they pass over */
		STR_INIT("\x14\3\1\0\1\1"),
		STR_INIT("\x16\3\1\x40\1"),	    /* over 2^14 */
		STR_INIT("\x16\3\1\0\1\2"),	    /* not a ClientHello */
		STR_INIT("\x16\3\1\0\1\1\x17\3\1"), /* data in the middle of the hello */
		STR_INIT("\x16\3\1\0\1\1\x16\2"),
		STR_INIT("\x16\3\1\0\4\1\1\0\0"), /* a hello of 64 KiB */
		STR_INIT("\x16\3\1\0\4\1\1\0\x40"),
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		tls_hello_init(&hello);
		CHECK_INT(tls_hello_feed(&hello, bad[i]), TLS_HELLO_BAD);
		/* It stays so. */
		CHECK_INT(tls_hello_feed(&hello, STR("\x16\3\1\0\1\1")), TLS_HELLO_BAD);
	}
}
