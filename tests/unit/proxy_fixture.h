/* SPDX-License-Identifier: MIT */
/*
 * A proxy, its parent, its client and the server behind it, for the tests of the process as
 * a whole: the test is all but the first. All of it is on loopback.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/child.h"
#include "os/fd.h"
#include "os/loop.h"
#include "proxy/proxy.h"
#include "test.h"
#include "world.h"

#define PROFILE "default_permissions = 'dev'\n[permissions.dev.network]\nenabled = true\n"
#define LOCAL	PROFILE "domains = { '127.0.0.1' = 'allow', 'good.test' = 'allow' }\n"

enum { PATIENCE_MS = 20000 };

static const char host_text[] = "d /repo\nd /home/me\n";
static struct proxy proxy = PROXY_NONE;
static uint16_t proxy_port, server_port;
TEST_MAY_BE_UNUSED static int server = -1;
static struct proxy_limits limits = PROXY_LIMITS_DEFAULT;
static const char *token;
TEST_MAY_BE_UNUSED static bool has_decider;

/* ---- The proxy --------------------------------------------------------------------------- */

TEST_MAY_BE_UNUSED static bool receive(struct proxy_message *m)
{
	uint64_t until = loop_now() + PATIENCE_MS;
	int r;

	while ((r = proxy_receive(&proxy, m)) == 0 && loop_now() < until) {
		struct pollfd more = { .fd = proxy.channel, .events = POLLIN };

		(void)poll(&more, 1, 100);
	}
	return r > 0;
}

TEST_MAY_BE_UNUSED static bool receive_kind(uint32_t kind, struct proxy_message *m)
{
	while (receive(m)) {
		/* On a slow host anything may last. */
		if (m->kind == PROXY_RECORD && m->record.is_open)
			continue;
		if (m->kind == kind)
			return true;
		if (m->kind == PROXY_FAILED)
			printf("# failed: %s\n", m->text);
	}
	return false;
}

TEST_MAY_BE_UNUSED static int listen_on(uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*port = 0;
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) < 0 || listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &size) < 0)
		return -1;
	*port = ntohs(a.sin_port);
	return fd;
}

/* `port` as of the role. */
TEST_MAY_BE_UNUSED static bool hand_over(uint32_t role, uint16_t port, int fd)
{
	const struct proxy_order o = { .kind = PROXY_TAKE, .role = role, .port = port };

	return proxy_send(&proxy, &o, &fd, 1) == 0;
}

TEST_MAY_BE_UNUSED static bool start(const char *text)
{
	struct world w;
	struct proxy_options options = { .limits = limits, .token = token };
	struct proxy_message m;
	bool is_started;
	int fd;

	world_init(&w, host_text, "/repo");
	w.user = text;
	options.has_decider = has_decider;
	is_started = world_plan(&w);
	options.plan = w.plan;
	is_started = is_started && proxy_start(&proxy, &options, &w.e) == 0;
	if (!is_started)
		printf("# %s\n", w.e.text);
	world_done(&w);
	if (!is_started || !receive_kind(PROXY_READY, &m))
		return false;
	fd = listen_on(&proxy_port);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (fd < 0 || !hand_over(PROXY_MIXED, 0, fd))
		return false;
	(void)close(fd);
	server = listen_on(&server_port);
	return server >= 0;
}

TEST_MAY_BE_UNUSED static struct proxy_record last_record;
TEST_MAY_BE_UNUSED static size_t record_count;
TEST_MAY_BE_UNUSED static uint64_t refusal_count;
TEST_MAY_BE_UNUSED static bool has_told_all;

TEST_MAY_BE_UNUSED static void note(void *user, const struct proxy_record *r)
{
	(void)user;
	if (r->is_open)
		return;
	last_record = *r;
	record_count++;
	refusal_count += r->reason != PROXY_ALLOWED ? r->count : 0;
}

TEST_MAY_BE_UNUSED static void stop(void)
{
	record_count = 0;
	refusal_count = 0;
	has_told_all = proxy_stop(&proxy, PATIENCE_MS, note, NULL);
	fd_close(&server);
}

/* ---- A client and a server ------------------------------------------------------------------ */

TEST_MAY_BE_UNUSED static int connect_to(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr = { htonl(INADDR_LOOPBACK) },
				 .sin_port = htons(port) };
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

TEST_MAY_BE_UNUSED static int accept_one(void)
{
	const struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	struct pollfd more = { .fd = server, .events = POLLIN };
	int fd;

	if (poll(&more, 1, PATIENCE_MS) != 1)
		return -1;
	fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

TEST_MAY_BE_UNUSED static bool send_all(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

TEST_MAY_BE_UNUSED static bool receives(int fd, const void *bytes, size_t size)
{
	char got[4096];

	return size <= sizeof(got) && recv(fd, got, size, MSG_WAITALL) == (ssize_t)size &&
	       memcmp(got, bytes, size) == 0;
}

#define SENDS(fd, literal)    send_all((fd), (literal), sizeof(literal) - 1)
#define RECEIVES(fd, literal) receives((fd), (literal), sizeof(literal) - 1)

TEST_MAY_BE_UNUSED static bool is_at_end(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) == 0;
}

TEST_MAY_BE_UNUSED static bool is_reset(int fd)
{
	char byte;

	return recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET;
}

/* A request of SOCKS for an address; what it was answered, or -1. */
TEST_MAY_BE_UNUSED static int ask_socks(int fd, uint32_t address, uint16_t port)
{
	uint8_t request[] = { 5, 1, 0, 5, 1, 0, 1, 0, 0, 0, 0, 0, 0 };
	uint8_t reply[12];

	address = htonl(address);
	port = htons(port);
	memcpy(request + 7, &address, 4);
	memcpy(request + 11, &port, 2);
	if (!send_all(fd, request, sizeof(request)) ||
	    recv(fd, reply, sizeof(reply), MSG_WAITALL) != (ssize_t)sizeof(reply) ||
	    reply[0] != 5 || reply[1] != 0 || reply[2] != 5)
		return -1;
	return reply[3];
}

/* A tunnel to the server: both ends of it. */
TEST_MAY_BE_UNUSED static bool open_tunnel(int *client, int *behind)
{
	*behind = -1;
	*client = connect_to(proxy_port);
	if (*client < 0 || ask_socks(*client, INADDR_LOOPBACK, server_port) != 0)
		return false;
	*behind = accept_one();
	return *behind >= 0;
}

/* A hello with a server name, and then whatever. */
TEST_MAY_BE_UNUSED static size_t make_hello(uint8_t *out, const char *name)
{
	size_t n = strlen(name);
	uint8_t body[512];
	size_t at = 0;

#define PUT(...)                                       \
	do {                                           \
		const uint8_t put[] = { __VA_ARGS__ }; \
		memcpy(body + at, put, sizeof(put));   \
		at += sizeof(put);                     \
	} while (0)
	PUT(3, 3);
	memset(body + at, 7, 32);
	at += 32;
	PUT(0, 0, 2, 0x13, 1, 1, 0);
	PUT((uint8_t)((n + 9) >> 8), (uint8_t)(n + 9), 0, 0, (uint8_t)((n + 5) >> 8),
	    (uint8_t)(n + 5), (uint8_t)((n + 3) >> 8), (uint8_t)(n + 3), 0, (uint8_t)(n >> 8),
	    (uint8_t)n);
	memcpy(body + at, name, n);
	at += n;
#undef PUT
	memcpy(out,
	       (uint8_t[]){ 22, 3, 1, (uint8_t)((at + 4) >> 8), (uint8_t)(at + 4), 1, 0,
			    (uint8_t)(at >> 8), (uint8_t)at },
	       9);
	memcpy(out + 9, body, at);
	return at + 9;
}
