/* SPDX-License-Identifier: MIT */
/* Tests of proxy/dial/upstream.c and proxy/dial/upstream_talk.c, and of dials by way of them. */
#include "proxy/dial/upstream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

static struct upstreams u;
static struct err e;

static bool read_list(const char *const *environment)
{
	e = (struct err)ERR_INIT;
	if (upstreams_read(&u, environment, &e) == 0)
		return true;
	CHECK(e.text[0] != '\0');
	return false;
}
#define READ(...) read_list((const char *const[]){ __VA_ARGS__, NULL })

static const struct upstream *find(const char *host, uint16_t port, const char *address)
{
	struct target t = { .port = 0 };
	struct ip ip = { { 0 } };
	char why[128];

	CHECK(target_parse(&t, str_of(host), port, why, sizeof(why)));
	CHECK(ip_parse(str_of(address), &ip));
	return upstreams_find(&u, &t, &ip, 1);
}

TEST(each_kind_of_proxy_is_read)
{
	REQUIRE(READ("HTTPS_PROXY=http://user:p%40ss@proxy.corp:3128/", "http_proxy=proxy2:8080",
		     "ALL_PROXY=socks5h://10.0.0.1"));
	CHECK(!u.other.is_socks && u.other.has_login);
	CHECK_STR(u.other.where.name, "proxy.corp");
	CHECK_INT(u.other.where.port, 3128);
	CHECK_STR(u.other.user, "user");
	CHECK_STR(u.other.password, "p@ss");
	CHECK_STR(u.http.where.name, "proxy2");
	CHECK_INT(u.http.where.port, 8080);
	REQUIRE(READ("ALL_PROXY=SOCKS5h://[fd00::1]", "PATH=/bin"));
	CHECK(u.http.is_socks && u.other.is_socks);
	CHECK_INT(u.http.where.port, 1080);
	CHECK(u.http.where.is_ip);
	REQUIRE(READ("https_proxy=http://lower", "HTTPS_PROXY=http://upper"));
	CHECK_STR(u.other.where.name, "lower");
	CHECK_INT(u.other.where.port, 80);
	CHECK(find("a.com", 443, "1.2.3.4") == &u.other);
	CHECK(find("a.com", 80, "1.2.3.4") == NULL);
	REQUIRE(READ("HTTPS_PROXY="));
	CHECK(find("a.com", 443, "1.2.3.4") == NULL);
}

TEST(what_can_not_be_spoken_to_is_an_error_without_the_password)
{
	CHECK(!READ("HTTPS_PROXY=https://user:secret@proxy"));
	CHECK(!strstr(e.text, "secret"));
	CHECK(!READ("ALL_PROXY=socks4://user:secret@proxy"));
	CHECK(!READ("HTTP_PROXY=http://user:sec%0gret@proxy"));
	CHECK(!READ("HTTP_PROXY=http://user:secret@pro xy:1"));
	CHECK(!READ("HTTP_PROXY=http://user:secret@proxy:0"));
	CHECK(!strstr(e.text, "secret"));
	/* One that was not encoded is cut in the middle. */
	CHECK(!READ("HTTP_PROXY=http://user:p@secret!/word@proxy:1"));
	CHECK(!strstr(e.text, "secret"));
	CHECK(!READ("HTTP_PROXY=http://"));
	CHECK(!READ("HTTP_PROXY=http://a%00b@proxy"));
	CHECK(READ("HTTP_PROXY=http://proxy"));
}

TEST(private_targets_go_directly)
{
	REQUIRE(READ("ALL_PROXY=http://proxy"));
	CHECK(find("a.com", 443, "1.2.3.4") != NULL);
	CHECK(find("a.com", 443, "10.0.0.1") == NULL);
	CHECK(find("10.0.0.1", 443, "10.0.0.1") == NULL);
	CHECK(find("a.com", 443, "fd00::1") == NULL);
	CHECK(find("a.com", 443, "127.0.0.1") == NULL);
}

TEST(no_proxy_is_honoured)
{
	REQUIRE(READ("ALL_PROXY=http://proxy",
		     "NO_PROXY=corp.com, .below.com,*.star.com,1.2.0.0/16 9.9.9.9,port.com:8080,"
		     "[2606:2800::1],UPPER.com.,,%%%"));
	CHECK(find("corp.com", 443, "8.8.8.8") == NULL);
	CHECK(find("a.corp.com", 443, "8.8.8.8") == NULL);
	CHECK(find("notcorp.com", 443, "8.8.8.8") != NULL);
	CHECK(find("below.com", 443, "8.8.8.8") != NULL);
	CHECK(find("a.below.com", 443, "8.8.8.8") == NULL);
	CHECK(find("a.star.com", 443, "8.8.8.8") == NULL);
	CHECK(find("1.2.3.4", 443, "1.2.3.4") == NULL);
	CHECK(find("else.com", 443, "1.2.3.4") == NULL);
	CHECK(find("9.9.9.9", 443, "9.9.9.9") == NULL);
	CHECK(find("port.com", 8080, "8.8.8.8") == NULL);
	CHECK(find("port.com", 443, "8.8.8.8") != NULL);
	CHECK(find("x.com", 443, "2606:2800::1") == NULL);
	CHECK(find("upper.com", 443, "8.8.8.8") == NULL);
	REQUIRE(READ("ALL_PROXY=http://proxy", "no_proxy=*"));
	CHECK(find("any.com", 443, "8.8.8.8") == NULL);
}

/* ---- What is said ---------------------------------------------------------------------- */

static struct upstream_talk talk;
static int ours, theirs;

static void begin(bool is_socks, bool has_login, const char *address)
{
	static struct upstream proxy;
	struct ip ip = { { 0 } };
	int pair[2];

	proxy = (struct upstream){ .is_socks = is_socks, .has_login = has_login };
	if (has_login) {
		memcpy(proxy.user, "user", 5);
		memcpy(proxy.password, "pass", 5);
	}
	CHECK(ip_parse(str_of(address), &ip));
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	ours = pair[0];
	theirs = pair[1];
	upstream_talk_begin(&talk, &proxy, &ip, 443);
}

static void end(void)
{
	(void)close(ours);
	(void)close(theirs);
}

static int os_error;

static enum upstream_step step(void)
{
	os_error = 0;
	return upstream_talk_step(&talk, ours, &os_error);
}

static const char *heard(void)
{
	static char text[2048];
	ssize_t n = recv(theirs, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static bool heard_bytes(const char *want, size_t len)
{
	char bytes[1024];

	return recv(theirs, bytes, sizeof(bytes), MSG_DONTWAIT) == (ssize_t)len &&
	       memcmp(bytes, want, len) == 0;
}

static void say(const char *bytes, size_t len)
{
	CHECK_INT(send(theirs, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}
#define SAY(text) say((text), sizeof(text) - 1)

TEST(http_is_asked_for_the_address_and_nothing_of_the_server_is_eaten)
{
	begin(false, true, "1.2.3.4");
	CHECK_INT(step(), UPSTREAM_WAITS);
	CHECK_STR(heard(), "CONNECT 1.2.3.4:443 HTTP/1.1\r\nHost: 1.2.3.4:443\r\n"
			   "Proxy-Authorization: Basic dXNlcjpwYXNz\r\n\r\n");
	SAY("HTTP/1.1 2");
	CHECK_INT(step(), UPSTREAM_WAITS);
	SAY("00 Fine\r\nVia: me\r\n\r");
	CHECK_INT(step(), UPSTREAM_WAITS);
	SAY("\nSSH-2.0-server");
	CHECK_INT(step(), UPSTREAM_CONNECTED);
	{
		char rest[64] = "";

		CHECK_INT(recv(ours, rest, sizeof(rest) - 1, 0), 14);
		CHECK_STR(rest, "SSH-2.0-server");
	}
	end();
	begin(false, false, "2606:2800::1");
	CHECK_INT(step(), UPSTREAM_WAITS);
	CHECK_STR(heard(),
		  "CONNECT [2606:2800::1]:443 HTTP/1.1\r\nHost: [2606:2800::1]:443\r\n\r\n");
	SAY("HTTP/1.0 200 \r\n\r\n");
	CHECK_INT(step(), UPSTREAM_CONNECTED);
	end();
}

static int refused_by(const char *answer)
{
	begin(false, false, "1.2.3.4");
	CHECK_INT(step(), UPSTREAM_WAITS);
	say(answer, strlen(answer));
	(void)shutdown(theirs, SHUT_WR);
	CHECK_INT(step(), UPSTREAM_REFUSED);
	end();
	return os_error;
}

TEST(an_answer_that_is_no_yes_is_a_refusal_with_its_status)
{
	static char endless[UPSTREAM_ANSWER_BYTES + 2048];

	CHECK_INT(refused_by("HTTP/1.1 403 No\r\n\r\n"), 403);
	CHECK_INT(refused_by("HTTP/1.1 407 Who\r\n\r\n"), 407);
	CHECK_INT(refused_by("HTTP/1.1 502 Bad\r\n\r\n"), 502);
	CHECK_INT(refused_by("HTTP/1.1 100 Go\r\n\r\n"), EPROTO);
	CHECK_INT(refused_by("SSH-2.0-OpenSSH_9\r\n"), EPROTO);
	CHECK_INT(refused_by("HTTP/1.1 2x0 Fine\r\n\r\n"), EPROTO);
	CHECK_INT(refused_by("HTTP/1.1 200 Fine\r\n"), ECONNRESET);
	CHECK_INT(refused_by(""), ECONNRESET);
	memset(endless, 'x', sizeof(endless) - 1);
	memcpy(endless, "HTTP/1.1 200 ", 13);
	CHECK_INT(refused_by(endless), EPROTO);
}

TEST(socks_is_spoken_with_and_without_a_login)
{
	begin(true, false, "1.2.3.4");
	CHECK_INT(step(), UPSTREAM_WAITS);
	CHECK(heard_bytes("\5\1\0", 3));
	SAY("\5");
	CHECK_INT(step(), UPSTREAM_WAITS);
	SAY("\0");
	CHECK_INT(step(), UPSTREAM_WAITS);
	CHECK(heard_bytes("\5\1\0\1\1\2\3\4\1\xbb", 10));
	SAY("\5\0\0\1\0\0\0\0\0\0rest");
	CHECK_INT(step(), UPSTREAM_CONNECTED);
	{
		char rest[8] = "";

		CHECK_INT(recv(ours, rest, sizeof(rest) - 1, 0), 4);
	}
	end();
	begin(true, true, "2606:2800::1");
	CHECK_INT(step(), UPSTREAM_WAITS);
	CHECK(heard_bytes("\5\2\0\2", 4));
	SAY("\5\2");
	CHECK_INT(step(), UPSTREAM_WAITS);
	CHECK(heard_bytes("\1\4user\4pass", 11));
	SAY("\1\0");
	CHECK_INT(step(), UPSTREAM_WAITS);
	CHECK(heard_bytes("\5\1\0\4\x26\6\x28\0\0\0\0\0\0\0\0\0\0\0\0\1\1\xbb", 22));
	SAY("\5\0\0\3\4name\0\0");
	CHECK_INT(step(), UPSTREAM_CONNECTED);
	end();
}

static int socks_refused(const char *method, size_t method_len, const char *reply, size_t len)
{
	begin(true, false, "1.2.3.4");
	CHECK_INT(step(), UPSTREAM_WAITS);
	say(method, method_len);
	if (len) {
		CHECK_INT(step(), UPSTREAM_WAITS);
		say(reply, len);
	}
	(void)shutdown(theirs, SHUT_WR);
	CHECK_INT(step(), UPSTREAM_REFUSED);
	end();
	return os_error;
}

TEST(refusals_of_socks_are_told_apart)
{
	CHECK_INT(socks_refused("\5\0", 2, "\5\2\0\1\0\0\0\0\0\0", 10), EACCES);
	CHECK_INT(socks_refused("\5\0", 2, "\5\4\0\1\0\0\0\0\0\0", 10), EHOSTUNREACH);
	CHECK_INT(socks_refused("\5\0", 2, "\5\5\0\1\0\0\0\0\0\0", 10), ECONNREFUSED);
	CHECK_INT(socks_refused("\5\0", 2, "\5\x63\0\1\0\0\0\0\0\0", 10), EPROTO);
	CHECK_INT(socks_refused("\5\0", 2, "\4\0\0\1\0\0\0\0\0\0", 10), EPROTO);
	CHECK_INT(socks_refused("\5\0", 2, "\5\0\0\7\0\0\0\0\0\0", 10), EPROTO);
	CHECK_INT(socks_refused("\5\0", 2, "\5\0\0", 3), ECONNRESET);
	CHECK_INT(socks_refused("\5\xff", 2, "", 0), EACCES);
	CHECK_INT(socks_refused("\5\2", 2, "", 0), EACCES); /* asks for what was not offered */
	CHECK_INT(socks_refused("HT", 2, "", 0), EPROTO);
}
