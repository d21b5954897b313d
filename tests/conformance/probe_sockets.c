/* SPDX-License-Identifier: MIT */
/* Attempts at sockets: every family, every way to reach a unix socket, the host's loopback. */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A name that starts with '@' is abstract. Returns the length of the address. */
static socklen_t unix_address(const char *name, struct sockaddr_un *out)
{
	size_t length = strlen(name);

	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	if (length >= sizeof(out->sun_path))
		length = sizeof(out->sun_path) - 1;
	memcpy(out->sun_path, name, length);
	if (name[0] == '@') {
		out->sun_path[0] = '\0';
		return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	}
	return sizeof(*out);
}

static int try_connect(const char *name, int type)
{
	struct sockaddr_un address;
	socklen_t length = unix_address(name, &address);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), result;

	if (fd < 0)
		return -errno;
	result = outcome(connect(fd, (struct sockaddr *)&address, length));
	if (result == 0)
		result = outcome(send(fd, "EVIL", 4, MSG_NOSIGNAL));
	(void)close(fd);
	return result;
}

static int try_unix_stream(char **a)
{
	return try_connect(a[0], SOCK_STREAM);
}

static int try_unix_seqpacket(char **a)
{
	return try_connect(a[0], SOCK_SEQPACKET);
}

static int try_unix_dgram_connect(char **a)
{
	return try_connect(a[0], SOCK_DGRAM);
}

static int unix_sendto(int fd, const char *name)
{
	struct sockaddr_un address;
	socklen_t length = unix_address(name, &address);

	return outcome(sendto(fd, "EVIL", 4, MSG_NOSIGNAL, (struct sockaddr *)&address, length));
}

static int try_unix_sendto(char **a)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : unix_sendto(fd, a[0]);
}

/* For unix sockets SOCK_RAW is another word for SOCK_DGRAM. */
static int try_unix_raw_sendto(char **a)
{
	int fd = socket(AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : unix_sendto(fd, a[0]);
}

/* One end of a datagram pair can be aimed at anybody. */
static int pair_sendto(int type, const char *name)
{
	int ends[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	return unix_sendto(ends[0], name);
}

static int try_pair_sendto(char **a)
{
	return pair_sendto(SOCK_DGRAM, a[0]);
}

static int try_pair_raw_sendto(char **a)
{
	return pair_sendto(SOCK_RAW, a[0]);
}

/* Whether a stream or packet pair can be aimed elsewhere; EISCONN, EOPNOTSUPP when not. */
static int try_pair_stream_sendto(char **a)
{
	return pair_sendto(SOCK_STREAM, a[0]);
}

/* What every program may have: a pair of streams. */
static int try_pair(char **a)
{
	int ends[2];

	(void)a;
	return outcome(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}

static int send_fd(int fd, const char *name, int passed)
{
	struct sockaddr_un address;
	socklen_t length = name != NULL ? unix_address(name, &address) : 0;
	struct iovec part = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_name = name != NULL ? &address : NULL,
				  .msg_namelen = length,
				  .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.room) };

	memset(&control, 0, sizeof(control));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control.head), &passed, sizeof(passed));
	return outcome(sendmsg(fd, &message, MSG_NOSIGNAL));
}

/* sendmsg() with an address and a descriptor: needs no connect(). */
static int try_unix_pass(char **a)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : send_fd(fd, a[0], must_open(a[1], O_RDONLY));
}

static int try_pair_pass(char **a)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	return send_fd(ends[0], a[0], must_open(a[1], O_RDONLY));
}

/* Passing a descriptor within the sandbox is ordinary work. */
static int try_pass_self(char **a)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	return send_fd(ends[0], NULL, must_open(a[0], O_RDONLY));
}

/* A listener of its own at a[0], and a connection to it. */
static int unix_self(const char *name, int type)
{
	struct sockaddr_un address;
	socklen_t length = unix_address(name, &address);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 || listen(fd, 1) < 0)
		return -errno;
	return try_connect(name, type);
}

static int try_unix_self(char **a)
{
	return unix_self(a[0], SOCK_STREAM);
}

static int try_unix_self_seqpacket(char **a)
{
	return unix_self(a[0], SOCK_SEQPACKET);
}

static _Noreturn void swap_for_ever(char **a, const char *other)
{
	for (unsigned i = 0;; i++)
		if (link(a[i % 2], other) < 0 || rename(other, a[2]) < 0)
			(void)unlink(other);
}

/*
 * Binds a[0] and connects to a[2] for a[3] ms, while a child makes a[2] another name of
 * a[0] and of a[1] in turn. Says how many connects went well (all to a[0], it is hoped),
 * and how many were refused by policy.
 */
static int try_unix_race(char **a)
{
	struct sockaddr_un address;
	socklen_t length = unix_address(a[0], &address);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), good = 0;
	int refused = 0;
	struct timespec start, now;
	char other[4096];
	pid_t child;

	if (server < 0 || bind(server, (struct sockaddr *)&address, length) < 0 ||
	    listen(server, 8) < 0)
		return -errno;
	(void)snprintf(other, sizeof(other), "%s.new", a[2]);
	child = fork();
	if (child == 0)
		swap_for_ever(a, other);
	(void)clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		int peer, result = try_connect(a[2], SOCK_STREAM | SOCK_NONBLOCK);

		good += result == 0;
		refused += result == -EACCES || result == -EPERM;
		while ((peer = accept4(server, NULL, NULL, SOCK_CLOEXEC)) >= 0)
			(void)close(peer);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		 number(a[3]));
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	say("%d %d", good, refused);
	return 0;
}

static int try_families(char **a)
{
	/* A filter looks at 64 bits, the kernel at 32. */
	uint64_t high = strcmp(a[0], "high") == 0 ? 0xdeadbeef00000000U : 0;
	static const int flags[] = { 0, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK };

	for (int family = 0; family < 64; family++) {
		for (int type = 0; type <= 10; type++) {
			long opened = -1;

			for (size_t i = 0; i < 4 && opened < 0; i++)
				opened = syscall(SYS_socket, (uint64_t)family | high,
						 (uint64_t)(type | flags[i]) | high, high);
			if (opened < 0)
				continue;
			say("%d/%d ", family, type);
			(void)close((int)opened);
		}
	}
	return 0;
}

static int try_pairs(char **a)
{
	(void)a;
	for (int family = 0; family < 64; family++) {
		for (int type = 0; type <= 10; type++) {
			int ends[2];

			if (socketpair(family, type | SOCK_CLOEXEC, 0, ends) < 0)
				continue;
			say("%d/%d ", family, type);
			(void)close(ends[0]);
			(void)close(ends[1]);
		}
	}
	return 0;
}

static int try_netlinks(char **a)
{
	(void)a;
	for (int protocol = 0; protocol < 32; protocol++) {
		int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

		if (fd < 0)
			continue;
		say("%d ", protocol);
		(void)close(fd);
	}
	return 0;
}

static int try_socket(char **a)
{
	return outcome(socket((int)number(a[0]), (int)number(a[1]), (int)number(a[2])));
}

static socklen_t inet_address(const char *host, long port, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1 ? sizeof(*v6) : 0;
}

static int await_answer(int fd, short events)
{
	struct pollfd wait = { .fd = fd, .events = events };
	int ready = poll(&wait, 1, 5000), error = 0;
	socklen_t size = sizeof(error);

	if (ready <= 0)
		return ready < 0 ? -errno : -ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return -error;
}

/* a: address, port, protocol (0, or 262 for MPTCP). */
static int try_tcp(char **a)
{
	struct sockaddr_storage address;
	socklen_t length = inet_address(a[0], number(a[1]), &address);
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
			(int)number(a[2]));

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, length) < 0 && errno != EINPROGRESS)
		return -errno;
	return await_answer(fd, POLLOUT);
}

/* Connects by sendto(): no connect() is made. */
static int try_tcp_fastopen(char **a)
{
	struct sockaddr_storage address;
	socklen_t length = inet_address(a[0], number(a[1]), &address);
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	return outcome(sendto(fd, "EVIL", 4, MSG_FASTOPEN | MSG_NOSIGNAL,
			      (struct sockaddr *)&address, length));
}

/* Sends a datagram and waits for one in answer. */
static int try_udp(char **a)
{
	struct sockaddr_storage address;
	socklen_t length = inet_address(a[0], number(a[1]), &address);
	int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), result, on = 1;
	struct sockaddr_storage own;
	char text[16];

	/* Not by chance the same port, from which it would answer itself. */
	(void)inet_address(address.ss_family == AF_INET ? "0.0.0.0" : "::", number(a[1]) ^ 1, &own);
	if (fd >= 0)
		(void)bind(fd, (struct sockaddr *)&own, length);
	/* That nobody is there is told at once then. */
	if (fd >= 0 && address.ss_family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	else if (fd >= 0)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
	if (fd < 0 || sendto(fd, "EVIL", 4, 0, (struct sockaddr *)&address, length) < 0)
		return -errno;
	result = await_answer(fd, POLLIN);
	return result < 0 ? result : outcome(recv(fd, text, sizeof(text), 0));
}

/* A server of its own on this address, and a client of it. */
static int try_tcp_self(char **a)
{
	struct sockaddr_storage address;
	socklen_t length = inet_address(a[0], 0, &address);
	int server = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (server < 0 || client < 0 || bind(server, (struct sockaddr *)&address, length) < 0 ||
	    listen(server, 1) < 0 || getsockname(server, (struct sockaddr *)&address, &length) < 0)
		return -errno;
	return outcome(connect(client, (struct sockaddr *)&address, length));
}

const struct attempt socket_attempts[] = {
	{ "unix-stream", 1, try_unix_stream },
	{ "unix-seqpacket", 1, try_unix_seqpacket },
	{ "unix-dgram-connect", 1, try_unix_dgram_connect },
	{ "unix-sendto", 1, try_unix_sendto },
	{ "unix-raw-sendto", 1, try_unix_raw_sendto },
	{ "pair-sendto", 1, try_pair_sendto },
	{ "pair-raw-sendto", 1, try_pair_raw_sendto },
	{ "pair-stream-sendto", 1, try_pair_stream_sendto },
	{ "pair", 0, try_pair },
	{ "unix-pass", 2, try_unix_pass },
	{ "pair-pass", 2, try_pair_pass },
	{ "pass-self", 1, try_pass_self },
	{ "unix-self", 1, try_unix_self },
	{ "unix-self-seqpacket", 1, try_unix_self_seqpacket },
	{ "unix-race", 4, try_unix_race },
	{ "families", 1, try_families },
	{ "pairs", 0, try_pairs },
	{ "netlinks", 0, try_netlinks },
	{ "socket", 3, try_socket },
	{ "tcp", 3, try_tcp },
	{ "tcp-fastopen", 2, try_tcp_fastopen },
	{ "udp", 2, try_udp },
	{ "tcp-self", 1, try_tcp_self },
	{ NULL, 0, NULL },
};
