/* SPDX-License-Identifier: MIT */
/*
 * The server that the proxies of the bench are measured against: one process, epoll,
 * HTTP/1.1, kept alive. "GET /N" is answered with N bytes.
 *
 *	net_origin ADDRESS PORT		prints "ready" when it listens; ends with its stdin
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_BYTES = 2048, BLOCK_BYTES = 256 * 1024, EVENTS = 256, MAX_CLIENTS = 65536 };

struct client {
	size_t got;    /* of the head */
	uint64_t left; /* of the body that is being sent */
	bool closes, waits_to_write;
	char head[HEAD_BYTES];
};

static struct client *clients[MAX_CLIENTS]; /* by descriptor */
static char block[BLOCK_BYTES];
static int poll_fd;

static void forget(int fd)
{
	free(clients[fd]);
	clients[fd] = NULL;
	(void)close(fd);
}

static void watch(int fd, int operation, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	(void)epoll_ctl(poll_fd, operation, fd, &event);
}

/* False when the client is gone. */
static bool send_body(int fd, struct client *c)
{
	while (c->left > 0) {
		size_t size = c->left < BLOCK_BYTES ? (size_t)c->left : BLOCK_BYTES;
		ssize_t sent = send(fd, block, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN) {
			if (!c->waits_to_write)
				watch(fd, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
			c->waits_to_write = true;
			return true;
		}
		if (sent <= 0)
			return forget(fd), false;
		c->left -= (uint64_t)sent;
	}
	if (c->waits_to_write)
		watch(fd, EPOLL_CTL_MOD, EPOLLIN);
	c->waits_to_write = false;
	if (c->closes)
		return forget(fd), false;
	return true;
}

/* Head and a small body in one call, as servers do. */
static bool answer(int fd, struct client *c, const char *end)
{
	char out[4096];
	uint64_t size = strtoull(c->head + strlen("GET /"), NULL, 10);
	size_t with = size < 2048 ? (size_t)size : 0;
	int head;

	c->closes = strcasestr(c->head, "\r\nConnection: close") != NULL;
	head = snprintf(
		out, sizeof out,
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %llu\r\n%s\r\n",
		(unsigned long long)size, c->closes ? "Connection: close\r\n" : "");
	memcpy(out + head, block, with);
	c->left = size - with;
	c->got -= (size_t)(end - c->head);
	memmove(c->head, end, c->got + 1);
	if (send(fd, out, (size_t)head + with, MSG_NOSIGNAL) != head + (ssize_t)with)
		return forget(fd), false;
	return send_body(fd, c);
}

static void serve(int fd, uint32_t events)
{
	struct client *c = clients[fd];
	char *end;
	ssize_t got;

	if (!c ||
	    (c->left > 0 && ((events & (EPOLLERR | EPOLLHUP)) || !send_body(fd, c) || c->left > 0)))
		return;
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	got = recv(fd, c->head + c->got, HEAD_BYTES - 1 - c->got, 0);
	if (got <= 0) {
		if (got == 0 || errno != EAGAIN)
			forget(fd);
		return;
	}
	c->got += (size_t)got;
	c->head[c->got] = '\0';
	while (c->left == 0 && (end = strstr(c->head, "\r\n\r\n")) != NULL)
		if (!answer(fd, c, end + 4))
			return;
	if (c->got >= HEAD_BYTES - 1)
		forget(fd);
}

static void take_all(int listener)
{
	int fd, one = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		if (fd >= MAX_CLIENTS || !(clients[fd] = calloc(1, sizeof *clients[fd]))) {
			(void)close(fd);
			continue;
		}
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		watch(fd, EPOLL_CTL_ADD, EPOLLIN);
	}
}

static int open_listener(const char *address, const char *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || inet_pton(AF_INET, address, &at.sin_addr) != 1 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 4096) < 0)
		return -1;
	return fd;
}

int main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];
	struct rlimit files;
	int listener;

	if (argc != 3)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	memset(block, 'x', sizeof block);
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	listener = open_listener(argv[1], argv[2]);
	if (listener < 0 || poll_fd < 0) {
		perror("net_origin");
		return 1;
	}
	watch(listener, EPOLL_CTL_ADD, EPOLLIN);
	watch(STDIN_FILENO, EPOLL_CTL_ADD, EPOLLIN);
	(void)puts("ready");
	(void)fflush(stdout);
	for (;;) {
		int count = epoll_wait(poll_fd, events, EVENTS, -1);

		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == STDIN_FILENO)
				return 0;
			if (events[i].data.fd == listener)
				take_all(listener);
			else
				serve(events[i].data.fd, events[i].events);
		}
	}
}
