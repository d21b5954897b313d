/* SPDX-License-Identifier: MIT */
/*
 * Where a command that shares the host's network reaches its proxy: a port of the loopback and a token,
 * with the real proxy behind it.
 */
#include "base/base64.h"
#include "proxy/entrance.h"
#include "proxy_fixture.h"

static struct entrance way = ENTRANCE_NONE;

/* As the session does it: opened first, given away, and kept. */
static bool start_behind(struct entrance *e)
{
	struct err err = ERR_INIT;

	if (entrance_open(e, &err) < 0)
		return false;
	token = e->token;
	if (!start(LOCAL))
		return false;
	proxy_port = e->port;
	for (size_t i = 0; i < COUNT_OF(e->fds); i++)
		if (e->fds[i] >= 0 && !hand_over(PROXY_MIXED, e->port, e->fds[i]))
			return false;
	return true;
}

static int connect_v6(uint16_t port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6,
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT,
				  .sin6_port = htons(port) };
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* The status of the answer to a CONNECT that shows `word`; 0: no answer. */
static int ask_tunnel(int fd, const char *word)
{
	char plain[128], text[512], request[1024], answer[64] = "";
	struct buf encoded = BUF_OVER(text);
	int n;

	(void)snprintf(plain, sizeof(plain), "cordon:%s", word ? word : "");
	base64_add(&encoded, str_of(plain));
	n = snprintf(request, sizeof(request),
		     "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s%s%s\r\n",
		     server_port, server_port, word ? "Proxy-Authorization: Basic " : "",
		     word ? text : "", word ? "\r\n" : "");
	if (fd < 0 || !send_all(fd, request, (size_t)n) ||
	    recv(fd, answer, sizeof("HTTP/1.1 200") - 1, MSG_WAITALL) <= 0)
		return 0;
	(void)close(fd);
	return atoi(answer + sizeof("HTTP/1.1"));
}

/* With the option that servers set: whether somebody else gets the port. */
static bool can_be_taken(int family, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) },
				  .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT,
				   .sin6_port = htons(port) };
	const struct sockaddr *at = family == AF_INET ? (struct sockaddr *)&v4
						      : (struct sockaddr *)&v6;
	socklen_t size = family == AF_INET ? sizeof(v4) : sizeof(v6);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	bool is_taken;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	is_taken = bind(fd, at, size) == 0 && listen(fd, 1) == 0;
	(void)close(fd);
	return is_taken;
}

TEST(only_who_has_the_token_gets_through)
{
	struct entrance other = ENTRANCE_NONE;
	struct err e = ERR_INIT;

	REQUIRE(start_behind(&way));
	REQUIRE(entrance_open(&other, &e) == 0);
	CHECK_INT(ask_tunnel(connect_to(way.port), way.token), 200);
	CHECK_INT(ask_tunnel(connect_to(way.port), NULL), 407);
	CHECK_INT(ask_tunnel(connect_to(way.port), ""), 407);
	CHECK_INT(ask_tunnel(connect_to(way.port), other.token), 407); /* of another run */
	if (way.fds[1] >= 0) {
		CHECK_INT(ask_tunnel(connect_v6(way.port), way.token), 200);
		CHECK_INT(ask_tunnel(connect_v6(way.port), NULL), 407);
	}
	/* Without a password there is no SOCKS. */
	CHECK_INT(ask_socks(connect_to(way.port), INADDR_LOOPBACK, server_port), -1);
	entrance_close(&other);
	stop();
	entrance_close(&way);
}

TEST(its_port_is_nobodys_while_the_command_may_use_it)
{
	uint16_t port;

	REQUIRE(start_behind(&way));
	port = way.port;
	CHECK(!can_be_taken(AF_INET, port));
	/* SECURITY: the profile of the command still opens it. */
	(void)kill(proxy.pid, SIGKILL);
	stop();
	CHECK(!has_told_all);
	CHECK(!can_be_taken(AF_INET, port));
	if (way.fds[1] >= 0)
		CHECK(!can_be_taken(AF_INET6, port));
	entrance_close(&way);
	CHECK_INT(way.port, 0);
	CHECK(can_be_taken(AF_INET, port));
	CHECK_INT(way.token[0], '\0');
}

TEST(a_port_that_is_taken_in_one_family_is_not_used)
{
	/* Many at once: the second family meets ports of the first. */
	static struct entrance all[200];
	struct err e = ERR_INIT;

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		all[i] = (struct entrance)ENTRANCE_NONE;
		REQUIRE(entrance_open(&all[i], &e) == 0);
		CHECK_INT(strlen(all[i].token), ENTRANCE_TOKEN_BYTES - 1);
		for (size_t k = 0; k < i; k++)
			CHECK(all[k].port != all[i].port &&
			      strcmp(all[k].token, all[i].token) != 0);
	}
	for (size_t i = 0; i < COUNT_OF(all); i++)
		entrance_close(&all[i]);
}
