/* SPDX-License-Identifier: MIT */
#include "proxy/http/head.h"

#include "test.h"

static char out[2 * HTTP_MAX_HEAD_BYTES];

static struct buf over_out(void)
{
	return (struct buf)BUF_OVER(out);
}

static bool find_end(const char *text, size_t *len, struct http_fault *fault)
{
	size_t seen = 0;

	*len = http_head_end(str_of(text), &seen, fault);
	return *len > 0;
}

/*
 * What goes to the server, with '|' for each line end; or "STATUS reason". The text of a
 * request is given without the empty line.
 */
static const char *forward(const char *text)
{
	static char head[2 * HTTP_MAX_HEAD_BYTES];
	static struct http_request r;
	struct http_fault fault;
	struct target t;
	char detail[128];
	size_t len;
	struct buf b = over_out();

	(void)snprintf(head, sizeof(head), "%s\r\n\r\n", text);
	if (!find_end(head, &len, &fault) ||
	    !http_request_parse((struct str){ head, len }, &r, &fault) ||
	    !http_request_target(&r, &t, &fault, detail, sizeof(detail))) {
		buf_printf(&b, "%u %s", fault.status, fault.text);
		return out;
	}
	CHECK_INT(len, strlen(head));
	http_request_write(&r, &t, r.fields.is_websocket, &b);
	for (char *c = out; *c; c++)
		if (c[0] == '\r' && c[1] == '\n') {
			*c = '|';
			memmove(c + 1, c + 2, strlen(c + 2) + 1);
		}
	return out;
}

static bool refused(const char *text, unsigned status, const char *why)
{
	char begin[16];
	const char *got = forward(text);
	bool ok;

	(void)snprintf(begin, sizeof(begin), "%u ", status);
	ok = strncmp(got, begin, strlen(begin)) == 0 && strstr(got, why);
	if (!ok)
		printf("# '%.80s': %.80s\n", text, got);
	return ok;
}

static bool accepted(const char *text)
{
	return !ascii_is_digit(forward(text)[0]);
}

TEST(the_forms_of_a_target)
{
	CHECK_STR(forward("GET http://a.example/x?y=1 HTTP/1.1\r\nHost: a.example"),
		  "GET /x?y=1 HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("GET http://a.example HTTP/1.1\r\nHost: a.example"),
		  "GET / HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("GET HTTP://a.example?q HTTP/1.1\r\nHost: a.example"),
		  "GET /?q HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("OPTIONS http://a.example HTTP/1.1\r\nHost: a.example"),
		  "OPTIONS * HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("GET /x HTTP/1.1\r\nHost: a.example:8080"),
		  "GET /x HTTP/1.1|Host: a.example:8080||");
	CHECK_STR(forward("OPTIONS * HTTP/1.1\r\nHost: a.example"),
		  "OPTIONS * HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("GET http://[2001:db8::1]:81/ HTTP/1.1\r\nHost: [2001:db8::1]:81"),
		  "GET / HTTP/1.1|Host: [2001:db8::1]:81||");
	/* An authority behind the first one is a path. */
	CHECK_STR(forward("GET http://a.example//b.example/ HTTP/1.1\r\nHost: a.example"),
		  "GET //b.example/ HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("GET http://a.example/http://b.example/ HTTP/1.1\r\nHost: a.example"),
		  "GET /http://b.example/ HTTP/1.1|Host: a.example||");
}

TEST(targets_that_are_refused)
{
	CHECK(refused("GET https://a.example/ HTTP/1.1\r\nHost: a.example", 400, "CONNECT"));
	CHECK(refused("GET ftp://a.example/ HTTP/1.1\r\nHost: a.example", 400, "http://"));
	CHECK(refused("GET a.example/ HTTP/1.1\r\nHost: a.example", 400, "http://"));
	CHECK(refused("GET http:/a.example/ HTTP/1.1\r\nHost: a.example", 400, "no host"));
	CHECK(refused("GET http:///x HTTP/1.1\r\nHost: a.example", 400, "no host"));
	CHECK(refused("GET http://u:p@a.example/ HTTP/1.1\r\nHost: a.example", 400, "user"));
	CHECK(refused("GET http://a.example@b.example/ HTTP/1.1\r\nHost: b.example", 400, "user"));
	CHECK(refused("GET http://a.example/#x HTTP/1.1\r\nHost: a.example", 400, "fragment"));
	CHECK(refused("GET http://a.example:0/ HTTP/1.1\r\nHost: a.example:0", 400, "port"));
	CHECK(refused("GET http://a.example:/ HTTP/1.1\r\nHost: a.example", 400, "port"));
	CHECK(refused("GET http://a.example:080/ HTTP/1.1\r\nHost: a.example", 400, "port"));
	CHECK(refused("GET http://a.example:65536/ HTTP/1.1\r\nHost: a.example", 400, "port"));
	CHECK(refused("GET http://a.example:+80/ HTTP/1.1\r\nHost: a.example", 400, "port"));
	CHECK(refused("GET http://::1/ HTTP/1.1\r\nHost: [::1]", 400, "brackets"));
	CHECK(refused("GET http://0x7f.1/ HTTP/1.1\r\nHost: 0x7f.1", 400, ""));
	CHECK(refused("GET http://127.1/ HTTP/1.1\r\nHost: 127.1", 400, ""));
	CHECK(refused("GET http://ex%61mple.com/ HTTP/1.1\r\nHost: ex%61mple.com", 400, ""));
	CHECK(refused("GET http://a.example\\@b.example/ HTTP/1.1\r\nHost: b.example", 400, ""));
	CHECK(refused("GET /a\x01 HTTP/1.1\r\nHost: a.example", 400, "bytes"));
	CHECK(refused("GET /a\x7f HTTP/1.1\r\nHost: a.example", 400, "bytes"));
	CHECK(refused("GET /a\tb HTTP/1.1\r\nHost: a.example", 400, "bytes"));
	CHECK(refused("GET * HTTP/1.1\r\nHost: a.example", 400, "OPTIONS"));
	CHECK(refused("CONNECT a.example HTTP/1.1\r\nHost: a.example", 400, "port"));
	CHECK(refused("CONNECT http://a.example:443 HTTP/1.1\r\nHost: a.example", 400, ""));
	CHECK(refused("CONNECT /x HTTP/1.1\r\nHost: a.example", 400, ""));
}

TEST(first_lines_that_are_refused)
{
	CHECK(refused("GET /\r\nHost: a.example", 400, "version"));
	CHECK(refused("GET", 400, "version"));
	CHECK(refused("GET / HTTP/1.2\r\nHost: a.example", 505, "HTTP/1.1"));
	CHECK(refused("GET / HTTP/0.9\r\nHost: a.example", 505, "HTTP/1.1"));
	CHECK(refused("PRI * HTTP/2.0", 505, "HTTP/1.1"));
	CHECK(refused("GET / HTTP/1.1 \r\nHost: a.example", 505, ""));
	CHECK(refused("GET / http/1.1\r\nHost: a.example", 400, "version"));
	CHECK(refused("GET  / HTTP/1.1\r\nHost: a.example", 400, ""));
	CHECK(refused("GET /  HTTP/1.1\r\nHost: a.example", 400, ""));
	CHECK(refused("GET / a HTTP/1.1\r\nHost: a.example", 400, ""));
	CHECK(refused("GET\t/ HTTP/1.1\r\nHost: a.example", 400, ""));
	CHECK(refused("G(T / HTTP/1.1\r\nHost: a.example", 400, "method"));
	CHECK(refused("GETGETGETGETGETGETGETGETGETGETGETGETGET / HTTP/1.1\r\nHost: a.example", 400,
		      "32 bytes"));
	CHECK(refused("\r\nGET / HTTP/1.1\r\nHost: a.example", 400, "no HTTP"));
	CHECK(refused("\x16\x03\x01", 400, "no HTTP"));
}

TEST(host_has_to_be_the_targets)
{
	CHECK_STR(forward("GET http://A.example:80/ HTTP/1.1\r\nHost: a.EXAMPLE."),
		  "GET / HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("GET http://a.example/ HTTP/1.1\r\nHost: a.example:80"),
		  "GET / HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("GET http://a.example/ HTTP/1.0"), "GET / HTTP/1.1|Host: a.example||");
	CHECK_STR(forward("GET http://a.example:81/ HTTP/1.1\r\nhOST:a.example:81"),
		  "GET / HTTP/1.1|Host: a.example:81||");
	CHECK(refused("GET http://a.example/ HTTP/1.1", 400, "no Host"));
	CHECK(refused("GET / HTTP/1.0", 400, "no Host"));
	CHECK(refused("GET http://a.example/ HTTP/1.1\r\nHost: b.example", 400, "not the target"));
	CHECK(refused("GET http://a.example/ HTTP/1.0\r\nHost: b.example", 400, "not the target"));
	CHECK(refused("GET http://a.example/ HTTP/1.1\r\nHost: a.example:81", 400,
		      "not the target"));
	CHECK(refused("GET http://a.example:81/ HTTP/1.1\r\nHost: a.example", 400,
		      "not the target"));
	CHECK(refused("GET http://a.example/ HTTP/1.1\r\nHost: a.example, b.example", 400,
		      "not the target"));
	CHECK(refused("GET http://a.example/ HTTP/1.1\r\nHost: u@a.example", 400,
		      "not the target"));
	CHECK(refused("GET http://a.example/ HTTP/1.1\r\nHost:", 400, "not the target"));
	CHECK(refused("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example", 400,
		      "more than once"));
	CHECK(refused("GET / HTTP/1.1\r\nHost: http://a.example/", 400, ""));
	CHECK(refused("CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443", 400,
		      "not the target"));
	CHECK(refused("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:80", 400,
		      "not the target"));
	CHECK(accepted("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example"));
	CHECK(accepted("CONNECT a.example:443 HTTP/1.0"));
}

TEST(lengths_that_two_could_read_differently_are_refused)
{
#define HEAD "POST / HTTP/1.1\r\nHost: a.example\r\n"
	CHECK_STR(forward(HEAD "Content-Length: 5"),
		  "POST / HTTP/1.1|Host: a.example|Content-Length: 5||");
	CHECK_STR(forward(HEAD "Content-Length: 005 \r\nContent-Length:5"),
		  "POST / HTTP/1.1|Host: a.example|Content-Length: 5||");
	CHECK_STR(forward(HEAD "Transfer-Encoding: Chunked"),
		  "POST / HTTP/1.1|Host: a.example|Transfer-Encoding: chunked||");
	CHECK_STR(forward(HEAD "Content-Length: 9223372036854775807"),
		  "POST / HTTP/1.1|Host: a.example|Content-Length: 9223372036854775807||");
	CHECK(refused(HEAD "Content-Length: 5\r\nContent-Length: 6", 400, "different"));
	CHECK(refused(HEAD "Content-Length: 5, 5", 400, "no number"));
	CHECK(refused(HEAD "Content-Length: +5", 400, "no number"));
	CHECK(refused(HEAD "Content-Length: -1", 400, "no number"));
	CHECK(refused(HEAD "Content-Length: 0x5", 400, "no number"));
	CHECK(refused(HEAD "Content-Length: 5 5", 400, "no number"));
	CHECK(refused(HEAD "Content-Length: 1e2", 400, "no number"));
	CHECK(refused(HEAD "Content-Length:", 400, "no number"));
	CHECK(refused(HEAD "Content-Length: 9223372036854775808", 400, "no number"));
	CHECK(refused(HEAD "Content-Length: 18446744073709551621", 400, "no number"));
	CHECK(refused(HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked", 400, "both"));
	CHECK(refused(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 0", 400, "both"));
	CHECK(refused(HEAD "Transfer-Encoding: gzip, chunked", 501, "chunked"));
	CHECK(refused(HEAD "Transfer-Encoding: chunked, identity", 501, "chunked"));
	CHECK(refused(HEAD "Transfer-Encoding: identity", 501, "chunked"));
	CHECK(refused(HEAD "Transfer-Encoding: xchunked", 501, "chunked"));
	CHECK(refused(HEAD "Transfer-Encoding: \"chunked\"", 501, "chunked"));
	CHECK(refused(HEAD "Transfer-Encoding:", 501, "chunked"));
	CHECK(refused(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", 400,
		      "more than once"));
	CHECK(refused(HEAD "Transfer-Encoding: \x0b"
			   "chunked",
		      400, "control"));
	CHECK(refused("POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked", 400,
		      "HTTP/1.0"));
	CHECK(refused("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3", 400,
		      "body"));
	CHECK(accepted("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0"));
}

TEST(fields_that_two_could_read_differently_are_refused)
{
	CHECK_STR(forward(HEAD "A:b\r\nC:  d\te \xc3\xa4 \r\nE:"),
		  "POST / HTTP/1.1|Host: a.example|A:b|C:  d\te \xc3\xa4 |E:||");
	CHECK(refused(HEAD "A: b\r\n c", 400, "several lines"));
	CHECK(refused(HEAD "A: b\r\n\tc", 400, "several lines"));
	CHECK(refused("GET / HTTP/1.1\r\n Host: a.example", 400, "several lines"));
	CHECK(refused(HEAD "A : b", 400, "name"));
	CHECK(refused(HEAD "Content-Length : 5", 400, "name"));
	CHECK(refused(HEAD ": b", 400, "no name"));
	CHECK(refused(HEAD "A", 400, "name"));
	CHECK(refused(HEAD "A\x01: b", 400, "name"));
	CHECK(refused(HEAD "\xc3\xa4: b", 400, "name"));
	CHECK(refused(HEAD "A[]: b", 400, "name"));
	CHECK(refused(HEAD "A: b\nC: d", 400, "carriage return"));
	CHECK(refused(HEAD "A: b\rC: d", 400, "control"));
	CHECK(refused(HEAD "A: b\r\r\nC: d", 400, "control"));
	CHECK(refused(HEAD "A: \x1b[2J", 400, "control"));
	CHECK(refused(HEAD "Expect: 200-ok", 417, "Expect"));
}

TEST(an_empty_line_before_a_head_is_told_apart)
{
	struct http_fault fault;
	size_t len;

	CHECK_INT(http_empty_line(STR("")), 0);
	CHECK_INT(http_empty_line(STR("\r")), 1);
	CHECK_INT(http_empty_line(STR("\r\n")), 2);
	CHECK_INT(http_empty_line(STR("\r\nGET / HTTP/1.1\r\n")), 2);
	CHECK_INT(http_empty_line(STR("\r\n\r\n")), 2);
	CHECK_INT(http_empty_line(STR("\n")), 0);
	CHECK_INT(http_empty_line(STR("\rG")), 0);
	CHECK_INT(http_empty_line(STR("\r\r\n")), 0);
	CHECK_INT(http_empty_line(STR(" \r\n")), 0);
	CHECK_INT(http_empty_line(STR("GET")), 0);
	/* A head never begins with one itself, nor does an answer. */
	CHECK(!find_end("\r\nGET / HTTP/1.1\r\n\r\n", &len, &fault) && fault.status == 400);
	CHECK(!http_response_may_begin(STR("\r\nHTTP/1.1 200")));
}

TEST(a_nul_is_refused_wherever_it_is)
{
	static const char whole[] = "GET / HTTP/1.1\r\nHost: a.example\r\nA: b\r\n\r\n";
	static struct http_request r;
	struct http_fault fault;

	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		char copy[sizeof(whole)];
		size_t seen = 0, len;

		memcpy(copy, whole, sizeof(whole));
		copy[i] = '\0';
		len = http_head_end((struct str){ copy, sizeof(copy) - 1 }, &seen, &fault);
		CHECK(len == 0 || !http_request_parse((struct str){ copy, len }, &r, &fault));
	}
}

TEST(what_belongs_to_the_connection_stays_here)
{
	CHECK_STR(forward(HEAD "A: 1\r\nConnection: x-a, close ,,X-B\r\nX-B: 2\r\nB: 3\r\nx-A: 4"),
		  "POST / HTTP/1.1|Host: a.example|A: 1|B: 3||");
	CHECK_STR(forward(HEAD "Proxy-Connection: x-a\r\nX-A: 4\r\nB: 3"),
		  "POST / HTTP/1.1|Host: a.example|B: 3||");
	CHECK_STR(forward(HEAD
			  "Keep-Alive: 1\r\nProxy-Authorization: Basic eDp5\r\nTE: trailers\r\n"
			  "Trailer: a\r\nUpgrade: h2c\r\nProxy-Authenticate: a\r\n"
			  "HTTP2-Settings: x\r\nConnection: Upgrade, HTTP2-Settings\r\nB: 3"),
		  "POST / HTTP/1.1|Host: a.example|B: 3||");
	/* What this end writes itself can't be taken away by naming it. */
	CHECK_STR(forward(HEAD "Connection: host, content-length\r\nContent-Length: 3"),
		  "POST / HTTP/1.1|Host: a.example|Content-Length: 3||");
	CHECK(refused(HEAD "Connection: a b", 400, "list"));
	CHECK_STR(forward("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\n"
			  "Upgrade: WebSocket\r\nSec-WebSocket-Key: x"),
		  "GET / HTTP/1.1|Host: a.example|Sec-WebSocket-Key: x|Connection: "
		  "Upgrade|Upgrade: websocket||");
	CHECK_STR(forward(HEAD "Expect: 100-Continue\r\nContent-Length: 3"),
		  "POST / HTTP/1.1|Host: a.example|Content-Length: 3|Expect: 100-continue||");
}

TEST(a_websocket_is_asked_for_by_both_fields)
{
	static const char *const others[] = {
		"Upgrade: websocket",
		"Connection: upgrade",
		"Connection: upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket",
		"Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c",
	};
	char text[256];

	for (size_t i = 0; i < COUNT_OF(others); i++) {
		(void)snprintf(text, sizeof(text), "GET http://a/ HTTP/1.1\r\nHost: a\r\n%s",
			       others[i]);
		CHECK_STR(forward(text), "GET / HTTP/1.1|Host: a||");
	}
}

/* Whoever does not read the body takes it for a request. */
TEST(after_an_odd_body_the_connection_ends)
{
	CHECK_STR(forward("GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2"),
		  "GET / HTTP/1.1|Host: a|Content-Length: 2|Connection: close||");
	CHECK_STR(forward("GET http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked"),
		  "GET / HTTP/1.1|Host: a|Transfer-Encoding: chunked|Connection: close||");
	CHECK_STR(forward("GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0"),
		  "GET / HTTP/1.1|Host: a|Content-Length: 0||");
	CHECK_STR(forward("PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 2"),
		  "PUT / HTTP/1.1|Host: a|Content-Length: 2||");
}

TEST(heads_have_limits)
{
	static char text[3 * HTTP_MAX_HEAD_BYTES];
	size_t len, at;

	(void)snprintf(text, sizeof(text), HEAD "A: ");
	len = strlen(text);
	at = HTTP_MAX_HEAD_BYTES - 4 - len;
	memset(text + len, 'x', at);
	CHECK(accepted(text));
	memset(text + len, 'x', at + 1);
	CHECK(refused(text, 431, "32 KiB"));

	/* There is room for them. NOLINTBEGIN(clang-analyzer-security.insecureAPI.strcpy) */
	(void)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a.example");
	for (size_t i = 1; i < HTTP_MAX_FIELDS; i++)
		strcat(text, "\r\nA: b");
	CHECK(accepted(text));
	strcat(text, "\r\nA: b");
	CHECK(refused(text, 431, "128 fields"));

	(void)snprintf(text, sizeof(text), HEAD "Connection: a");
	for (size_t i = 1; i < HTTP_MAX_TOKENS; i++)
		strcat(text, ",a");
	CHECK(accepted(text));
	strcat(text, ",a");
	/* NOLINTEND(clang-analyzer-security.insecureAPI.strcpy) */
	CHECK(refused(text, 431, "64 names"));
}

TEST(a_head_is_found_however_it_comes)
{
	static const char text[] = HEAD "A: b\r\n\r\nGET";
	size_t whole = sizeof(text) - 1 - 3;
	struct http_fault fault;

	for (size_t step = 1; step < sizeof(text); step++) {
		size_t seen = 0, len = 0, have = 0;

		while (len == 0 && have < sizeof(text) - 1) {
			have = MIN_OF(have + step, sizeof(text) - 1);
			len = http_head_end((struct str){ text, have }, &seen, &fault);
			CHECK(!fault.text);
		}
		CHECK_INT(len, whole);
		CHECK(have < whole + step || have == sizeof(text) - 1);
	}
}

/* What goes to the client, in the same manner. */
static const char *answer(const char *text, struct http_answer how)
{
	static char head[4096];
	static struct http_response r;
	struct http_fault fault;
	struct buf b = over_out();
	size_t len;

	(void)snprintf(head, sizeof(head), "%s\r\n\r\n", text);
	if (!http_response_may_begin(str_of(head)))
		return "no HTTP";
	if (!find_end(head, &len, &fault) ||
	    !http_response_parse((struct str){ head, len }, &r, &fault)) {
		buf_printf(&b, "! %s", fault.text);
		return out;
	}
	http_response_write(&r, &how, &b);
	for (char *c = out; *c; c++)
		if (c[0] == '\r' && c[1] == '\n') {
			*c = '|';
			memmove(c + 1, c + 2, strlen(c + 2) + 1);
		}
	return out;
}

TEST(responses)
{
	struct http_answer sized = { .has_length = true, .keeps = true };
	struct http_answer chunked = { .is_chunked = true, .keeps = true, .is_to_1_0 = true };
	struct http_answer last = { .keeps = false };

	CHECK_STR(answer("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nA: b", sized),
		  "HTTP/1.1 200 OK|A: b|Content-Length: 3||");
	CHECK_STR(answer("HTTP/1.0 404\r\nConnection: x\r\nX: y", last),
		  "HTTP/1.1 404 |Connection: close||");
	CHECK_STR(answer("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\nTrailer: a", chunked),
		  "HTTP/1.1 200 |Transfer-Encoding: chunked|Connection: keep-alive||");
	CHECK_STR(answer("HTTP/1.1 204 No\r\nContent-Length: 0", last),
		  "HTTP/1.1 204 No|Connection: close||");
	CHECK_STR(answer("SSH-2.0-x", sized), "no HTTP");
	CHECK_STR(answer("HTTP/2 200 OK", sized), "no HTTP");
	CHECK(strstr(answer("HTTP/1.1 20 OK", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1 2000 OK", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1 099 OK", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1  200 OK", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1 200 O\x01", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1 200 OK\nA: b", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1 200 OK\r\nA: b\r\n c", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: x", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2", sized),
		     "! "));
	CHECK(strstr(
		answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked", sized),
		"! "));
	CHECK(strstr(answer("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked", sized), "! "));
	CHECK(strstr(answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip", sized), "! "));
}

TEST(tokens_and_wishes)
{
	static struct http_request r;
	struct http_fault fault;
	struct str head = STR(
		"GET http://a/ HTTP/1.0\r\nProxy-Authorization: basic dXNlcjpwYTpzcw==\r\n\r\n");
	struct str password;
	char room[64];

	REQUIRE(http_request_parse(head, &r, &fault));
	CHECK(http_wants_json(&r.fields));
	REQUIRE(http_password(&r.fields, room, sizeof(room), &password));
	CHECK(str_is(password, "pa:ss"));
	/* "user:pa:ss", and not a byte beyond what there is room for. */
	memset(room, '#', sizeof(room));
	CHECK(!http_password(&r.fields, room, 9, &password));
	CHECK_INT(room[9], '#');
	CHECK(http_password(&r.fields, room, 10, &password));
	r.fields.proxy_authorization = STR("Basic dXNlcg=="); /* "user" */
	CHECK(!http_password(&r.fields, room, sizeof(room), &password));
	r.fields.proxy_authorization = STR("BasicdXNlcjpwYTpzcw==");
	CHECK(!http_password(&r.fields, room, sizeof(room), &password));
	r.fields.proxy_authorization = STR("Basic*dXNlcjpwYTpzcw==");
	CHECK(!http_password(&r.fields, room, sizeof(room), &password));

	head = STR(
		"GET http://a/ HTTP/1.0\r\nProxy-Authorization: Bearer x\r\nAccept: */*\r\n\r\n");
	REQUIRE(http_request_parse(head, &r, &fault));
	CHECK(!http_wants_json(&r.fields));
	CHECK(!http_password(&r.fields, room, sizeof(room), &password));
	head = STR("GET http://a/ HTTP/1.0\r\nAccept: application/vnd.x+JSON\r\n\r\n");
	REQUIRE(http_request_parse(head, &r, &fault));
	CHECK(http_wants_json(&r.fields));
	CHECK(!http_password(&r.fields, room, sizeof(room), &password));
}
