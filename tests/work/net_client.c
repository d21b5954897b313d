/* SPDX-License-Identifier: MIT */
/*
 * A client that knows nothing of proxies or of libc's resolver: a static program that
 * asks the name server of resolv.conf itself, as Go's programs do, and waits for its
 * connection in an epoll that had the socket before it was connected.
 *
 *	net_client NAME PORT TEXT	one line to stdout: "OK address reply", or where it failed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000 };

static int fail(const char *at)
{
	(void)printf("%s %s\n", at, strerrorname_np(errno));
	return 1;
}

static void find_server(struct sockaddr_in *server)
{
	char line[256], word[64];
	FILE *file = fopen("/etc/resolv.conf", "re");

	*server = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(53) };
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "nameserver %63s", word) == 1 &&
		    inet_pton(AF_INET, word, &server->sin_addr) == 1)
			break;
	if (file)
		(void)fclose(file);
}

static size_t put_question(const char *name, unsigned char *out)
{
	static const unsigned char head[12] = { 0x12, 0x34, 1, 0, 0, 1 };
	static const unsigned char tail[5] = { 0, 0, 1, 0, 1 };
	size_t at = sizeof head;

	memcpy(out, head, sizeof head);
	for (const char *label = name; *label;) {
		size_t len = strcspn(label, ".");

		out[at++] = (unsigned char)len;
		memcpy(out + at, label, len);
		at += len;
		label += len + (label[len] == '.');
	}
	memcpy(out + at, tail, sizeof tail);
	return at + sizeof tail;
}

/* The answer that is expected is one record, whose last four bytes are the address. */
static int look_up(const char *name, struct in_addr *out)
{
	unsigned char message[512];
	struct sockaddr_in server;
	struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	size_t asked = put_question(name, message);
	ssize_t got;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	find_server(&server);
	/* Connected: an answer from another address than was asked would not be seen. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0 ||
	    connect(fd, (const struct sockaddr *)&server, sizeof server) < 0 ||
	    send(fd, message, asked, 0) < 0)
		return fail("ask");
	got = recv(fd, message, sizeof message, 0);
	if (got < 0)
		return fail("answer");
	(void)close(fd);
	if ((size_t)got < asked + 16 || message[7] == 0) {
		(void)printf("answer rcode %d\n", message[3] & 15);
		return 1;
	}
	memcpy(out, message + got - 4, 4);
	return 0;
}

static int connect_in_epoll(int fd, const struct sockaddr_in *to)
{
	int poll = epoll_create1(EPOLL_CLOEXEC), error = 0;
	struct epoll_event event = { .events = EPOLLOUT | EPOLLERR };
	socklen_t len = sizeof error;

	if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) < 0)
		return fail("epoll");
	/* A socket that is not connected is reported at once: drain that. */
	event.events = EPOLLOUT | EPOLLERR | EPOLLET;
	if (epoll_ctl(poll, EPOLL_CTL_MOD, fd, &event) < 0 || epoll_wait(poll, &event, 1, 0) < 0)
		return fail("epoll");
	if (connect(fd, (const struct sockaddr *)to, sizeof *to) < 0 && errno != EINPROGRESS)
		return fail("connect");
	if (epoll_wait(poll, &event, 1, PATIENCE_MS) != 1)
		return fail("wait");
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error) {
		errno = error;
		return fail("connected");
	}
	return 0;
}

static int talk(int fd, const struct sockaddr_in *to, const char *text)
{
	char reply[512], address[INET_ADDRSTRLEN] = "";
	struct sockaddr_in peer = { 0 };
	socklen_t len = sizeof peer;
	ssize_t got;

	if (getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
		return fail("getpeername");
	if (memcmp(&peer.sin_addr, &to->sin_addr, sizeof peer.sin_addr) != 0 ||
	    peer.sin_port != to->sin_port)
		return puts("the peer is another one than was connected to"), 1;
	(void)fcntl(fd, F_SETFL, 0);
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return fail("send");
	got = recv(fd, reply, sizeof reply - 1, 0);
	if (got < 0)
		return fail("receive");
	reply[got] = '\0';
	(void)inet_ntop(AF_INET, &to->sin_addr, address, sizeof address);
	(void)printf("OK %s %s\n", address, reply);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fd;

	if (argc != 4)
		return 2;
	to.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 && look_up(argv[1], &to.sin_addr) != 0)
		return 1;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail("socket");
	if (connect_in_epoll(fd, &to) != 0)
		return 1;
	return talk(fd, &to, argv[3]);
}
