/* SPDX-License-Identifier: MIT */
#include "proxy/http/body.h"

#include "test.h"

static const struct http_body chunked = { .kind = HTTP_CHUNKED };

/*
 * What is passed on of `text`, which comes `step` bytes at a time, with '.' behind a whole
 * body and '!' behind a fault; then "+" and what is left alone.
 */
static const char *pass(struct http_body b, const char *text, size_t step)
{
	static char out[4096];
	struct http_fault fault = { 0, NULL };
	size_t at = 0, len = strlen(text), end = 0;
	bool is_good = true;

	while (is_good && at < len && !b.is_whole) {
		char part[4096];
		size_t n = MIN_OF(step, len - at), used, kept;

		memcpy(part, text + at, n);
		is_good = http_body_take(&b, part, n, &used, &kept, &fault);
		CHECK(kept <= used && used <= n);
		CHECK(is_good == !fault.text);
		CHECK(!is_good || used == n || b.is_whole);
		memcpy(out + end, part, kept);
		end += kept;
		at += used;
	}
	(void)snprintf(out + end, sizeof(out) - end, "%s", !is_good ? "!" : b.is_whole ? "." : "");
	if (is_good && at < len)
		(void)snprintf(out + strlen(out), sizeof(out) - strlen(out), "+%s", text + at);
	return out;
}

static bool passes(struct http_body b, const char *text, const char *want)
{
	bool ok = true;

	for (size_t step = 1; step <= strlen(text); step++) {
		const char *got = pass(b, text, step);

		if (strcmp(got, want) != 0) {
			printf("# in steps of %zu: '%s'\n", step, got);
			ok = false;
		}
	}
	return ok;
}

static bool is_bad(const char *text)
{
	bool ok = true;

	for (size_t step = 1; step <= strlen(text); step++) {
		const char *got = pass(chunked, text, step);

		ok &= strchr(got, '!') != NULL;
		if (!strchr(got, '!'))
			printf("# '%s' in steps of %zu: '%s'\n", text, step, got);
	}
	return ok;
}

TEST(chunks_are_passed_on_as_they_are)
{
	CHECK(passes(chunked, "5\r\nhello\r\n0\r\n\r\nGET", "5\r\nhello\r\n0\r\n\r\n.+GET"));
	CHECK(passes(chunked, "0\r\n\r\n", "0\r\n\r\n."));
	CHECK(passes(chunked, "00A\r\n0123456789\r\n1\r\nx\r\n000\r\n\r\n",
		     "00A\r\n0123456789\r\n1\r\nx\r\n000\r\n\r\n."));
	CHECK(passes(chunked, "2\r\n\r\n\r\n0\r\n\r\n", "2\r\n\r\n\r\n0\r\n\r\n."));
	CHECK(passes(chunked, "5\r\nhel", "5\r\nhel"));
}

TEST(extensions_and_trailers_are_taken_out)
{
	CHECK(passes(chunked, "5;a=b;c=\"d e\"\r\nhello\r\n0;x\r\nA: b\r\nC-D:\r\n\r\nGET",
		     "5\r\nhello\r\n0\r\n\r\n.+GET"));
	CHECK(passes(chunked, "1;\r\nx\r\n0;;\r\n\r\n", "1\r\nx\r\n0\r\n\r\n."));
}

TEST(chunks_without_their_framing)
{
	struct http_body bare = chunked;

	bare.is_bare = true;
	CHECK(passes(bare, "5;a\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\nGET", "hello!.+GET"));
}

TEST(bad_chunks_are_refused)
{
	CHECK(is_bad("\r\n"));
	CHECK(is_bad("x\r\n"));
	CHECK(is_bad(" 5\r\nhello\r\n"));
	CHECK(is_bad("5 \r\nhello\r\n"));
	CHECK(is_bad("5\t;a\r\nhello\r\n"));
	CHECK(is_bad("+5\r\nhello\r\n"));
	CHECK(is_bad("-5\r\nhello\r\n"));
	CHECK(is_bad("0x5\r\nhello\r\n"));
	CHECK(is_bad("5h\r\nhello\r\n"));
	CHECK(is_bad(";a\r\nhello\r\n"));
	CHECK(is_bad("5\nhello\n"));
	CHECK(is_bad("5\rhello\r\n"));
	CHECK(is_bad("5\r\nhello\n0\r\n\r\n"));
	CHECK(is_bad("5\r\nhello0\r\n\r\n"));
	CHECK(is_bad("5\r\nhello!\r\n"));
	CHECK(is_bad("5;a\nb\r\nhello\r\n"));
	CHECK(is_bad("5;a\x01\r\nhello\r\n"));
	CHECK(is_bad("5;a\rb\r\nhello\r\n"));
	CHECK(is_bad("8000000000000000\r\n"));
	CHECK(is_bad("10000000000000005\r\nhello\r\n"));
	CHECK(is_bad("00000000000000005\r\nhello\r\n"));
	CHECK(is_bad("0\r\n A: b\r\n\r\n"));
	CHECK(is_bad("0\r\nA\r\n\r\n"));
	CHECK(is_bad("0\r\nA : b\r\n\r\n"));
	CHECK(is_bad("0\r\n: b\r\n\r\n"));
	CHECK(is_bad("0\r\nA: b\n\r\n"));
	CHECK(is_bad("0\r\nA: b\rC: d\r\n\r\n"));
	CHECK(is_bad("0\r\n\rX"));
	CHECK(is_bad("0\r\n\n"));
	CHECK(passes(chunked, "7fffffffffffffff\r\n", "7fffffffffffffff\r\n"));
}

TEST(long_extensions_and_trailers_are_refused)
{
	static char text[40000];
	struct http_fault fault;
	struct http_body b = chunked;
	size_t used, kept;

	(void)snprintf(text, sizeof(text), "5;%0*d\r\n", HTTP_MAX_CHUNK_LINE - 100, 0);
	CHECK(http_body_take(&b, text, strlen(text), &used, &kept, &fault));
	b = chunked;
	(void)snprintf(text, sizeof(text), "5;%0*d\r\n", HTTP_MAX_CHUNK_LINE, 0);
	CHECK(!http_body_take(&b, text, strlen(text), &used, &kept, &fault));
	b = chunked;
	(void)snprintf(text, sizeof(text), "0\r\nA: %0*d\r\n\r\n", HTTP_MAX_TRAILERS, 0);
	CHECK(!http_body_take(&b, text, strlen(text), &used, &kept, &fault));
	CHECK(strstr(fault.text, "trailers"));
}

TEST(sized_bodies_end_where_they_say)
{
	struct http_body b = { .kind = HTTP_SIZED, .left = 5 };

	CHECK(passes(b, "helloGET", "hello.+GET"));
	CHECK(passes(b, "hel", "hel"));
	b = (struct http_body){ .kind = HTTP_UNTIL_CLOSE };
	CHECK(passes(b, "helloGET", "helloGET"));
}

static uint8_t kind_of(const char *head, bool is_to_head)
{
	static struct http_response r;
	struct http_fault fault = { 0, "" };

	CHECK(http_response_parse(str_of(head), &r, &fault));
	return http_response_body(&r, is_to_head).kind;
}

TEST(which_body_a_response_has)
{
#define SIZED	"Content-Length: 5\r\n\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"
	CHECK_INT(kind_of("HTTP/1.1 200 OK\r\n" SIZED, false), HTTP_SIZED);
	CHECK_INT(kind_of("HTTP/1.1 200 OK\r\n" SIZED, true), HTTP_NO_BODY);
	CHECK_INT(kind_of("HTTP/1.1 200 OK\r\n" CHUNKED, false), HTTP_CHUNKED);
	CHECK_INT(kind_of("HTTP/1.1 200 OK\r\n" CHUNKED, true), HTTP_NO_BODY);
	CHECK_INT(kind_of("HTTP/1.1 200 OK\r\n\r\n", false), HTTP_UNTIL_CLOSE);
	CHECK_INT(kind_of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false), HTTP_NO_BODY);
	CHECK_INT(kind_of("HTTP/1.1 304 Same\r\n" SIZED, false), HTTP_NO_BODY);
	CHECK_INT(kind_of("HTTP/1.1 204 No\r\n\r\n", false), HTTP_NO_BODY);
	CHECK_INT(kind_of("HTTP/1.1 103 Hints\r\n\r\n", false), HTTP_NO_BODY);
}
