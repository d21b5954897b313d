/* SPDX-License-Identifier: MIT */
/* Tries what each guarantee forbids; see probe.h. */
#include "doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "doctor/native.h"
#include "os/fd.h"
#include "os/os.h"
#include "os/posix/native.h"
#include "policy/guarantee.h"

enum { SAID_MAX_BYTES = 4096, NETNS_PROXY_PORT = 3128 };

/*
 * SECURITY: a sandboxed command of the same user may be able to write to this directory, and the
 * probe also runs without a sandbox. So it follows no link and does not block. -1 with errno.
 */
static int open_top(const struct probe_facts *f)
{
	return open(f->directory, native_open_directory | O_NOFOLLOW);
}

static int open_above(const struct probe_facts *f, const char *name, const char **last)
{
	scoped_fd top = open_top(f);

	return top < 0 ? -1 : room_open_above(top, name, last);
}

int probe_open(const struct probe_facts *f, const char *name, int flags)
{
	scoped_fd top = open_top(f);

	return top < 0 ? -1 : native_open_below(top, name, flags | O_NONBLOCK | O_CLOEXEC);
}

/* 0 or errno. */
static int try_open(const struct probe_facts *f, const char *name, int flags)
{
	int fd = probe_open(f, name, flags);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* ---- Files ------------------------------------------------------------------------------- */

static int try_work(const struct probe_facts *f)
{
	const char *last;
	scoped_fd above = open_above(f, "work/made", &last);
	int error = try_open(f, "work/made", O_WRONLY | O_CREAT | O_EXCL);

	if (error == 0 && unlinkat(above, last, 0) < 0)
		error = errno;
	return error;
}

static int try_fs_write(const struct probe_facts *f)
{
	return try_open(f, "outside", O_WRONLY);
}

static int try_fs_read(const struct probe_facts *f)
{
	return try_open(f, "denied/file", O_RDONLY);
}

static int try_fs_carve(const struct probe_facts *f)
{
	return try_open(f, "work/carved", O_WRONLY);
}

static int try_fs_reopen(const struct probe_facts *f)
{
	return try_open(f, "denied/open/file", O_RDONLY);
}

static int try_protect_missing(const struct probe_facts *f)
{
	const char *last;
	scoped_fd above = open_above(f, "work/missing", &last);
	int error = 0;

	if (above < 0)
		return errno;
	if (mkdirat(above, last, 0700) < 0 || unlinkat(above, last, AT_REMOVEDIR) < 0)
		error = errno;
	/* A placeholder there has to deny writing, too. */
	return error == EEXIST ? try_open(f, "work/missing/made", O_WRONLY | O_CREAT | O_EXCL)
			       : error;
}

/* ---- Network and neighbours ---------------------------------------------------------------- */

int probe_connect(int family, const void *address, unsigned bytes)
{
	const struct timeval patience = { .tv_usec = 500000 };
	int fd = native_socket(family, SOCK_STREAM, true);
	int error = 0;

	if (fd < 0)
		return errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, address, bytes) < 0)
		error = errno;
	close(fd);
	return error;
}

static int try_net_off(const struct probe_facts *f)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)f->port),
					.sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };

	return probe_connect(AF_INET, &to, sizeof(to));
}

/* The environment of a managed run names it; where the sandbox has a network of its own it is always the same. */
static uint16_t proxy_port(void)
{
	const char *proxy = os_environment_find(os_environment(), "http_proxy");
	const char *colon = proxy ? strrchr(proxy, ':') : NULL;
	long port = colon ? strtol(colon + 1, NULL, 10) : 0;

	return port > 0 && port <= UINT16_MAX ? (uint16_t)port : NETNS_PROXY_PORT;
}

/* The name and the token in "http://NAME:TOKEN@HOST:PORT", which the proxy of a host's network asks for. */
static void add_credentials(struct buf *request)
{
	const char *proxy = os_environment_find(os_environment(), "http_proxy");
	const char *end = proxy ? strchr(proxy, '@') : NULL;
	const char *begin = end;

	if (!end)
		return;
	while (begin > proxy && begin[-1] != '/')
		begin--;
	buf_add_text(request, "Proxy-Authorization: Basic ");
	base64_add(request, (struct str){ begin, (size_t)(end - begin) });
	buf_add_text(request, "\r\n");
}

/* Whether the proxy, if there is one, opens a tunnel to the port. 0: it does. */
static int try_tunnel(long port)
{
	const struct timeval patience = { .tv_sec = 2 };
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(proxy_port()),
					.sin_addr = { .s_addr = htonl(INADDR_LOOPBACK) } };
	int fd = native_socket(AF_INET, SOCK_STREAM, true);
	scoped_buf request = BUF_INIT(1024);
	char text[128];
	ssize_t n = -1;

	buf_printf(&request, "CONNECT 127.0.0.1:%ld HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n", port,
		   port);
	add_credentials(&request);
	buf_add_text(&request, "\r\n");
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0 &&
	    request.failed == ERR_OK &&
	    send(fd, request.p, request.len, native_no_signal) == (ssize_t)request.len)
		n = recv(fd, text, sizeof(text), 0);
	close(fd);
	return n >= 12 && memcmp(text, "HTTP/1.1 200", 12) == 0 ? 0 : EACCES;
}

/* Connects to a port that no rule allows, directly and through the proxy. */
static int try_net_managed(const struct probe_facts *f)
{
	return try_net_off(f) == 0 ? 0 : try_tunnel(f->port);
}

/* ---- All of it ----------------------------------------------------------------------------- */

static attempt_fn *const attempts[GUARANTEE_COUNT] = {
	[G_FS_WRITE] = try_fs_write,
	[G_FS_READ] = try_fs_read,
	[G_FS_CARVE] = try_fs_carve,
	[G_FS_REOPEN] = try_fs_reopen,
	[G_PROTECT_MISSING] = try_protect_missing,
	[G_NET_OFF] = try_net_off,
	[G_NET_MANAGED] = try_net_managed,
};

static attempt_fn *attempt_for(enum guarantee g)
{
	return attempts[g] ? attempts[g] : native_attempt(g);
}

static void try_named(const struct probe_facts *f, const char *name, struct buf *out)
{
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (attempt_for((enum guarantee)g) &&
		    strcmp(name, guarantee_name((enum guarantee)g)) == 0)
			buf_printf(out, "%s %d\n", name, attempt_for((enum guarantee)g)(f));
	/* Without a network namespace, this would ask a proxy of the host. */
	if (strcmp(name, guarantee_name(G_NET_MANAGED)) == 0 && try_net_off(f) != 0)
		buf_printf(out, PROBE_OPEN " %d\n", try_tunnel(f->open_port));
}

int doctor_probe_main(int argc, char **argv)
{
	scoped_buf said = BUF_INIT(SAID_MAX_BYTES);
	struct probe_facts facts;

	/* Its own name comes first: macOS tells it by that (inner_main.c). */
	argc--;
	argv++;
	if (argc <= PROBE_FACT_COUNT)
		return 125;
	(void)signal(SIGPIPE, SIG_IGN);
	facts = (struct probe_facts){ .directory = argv[1],
				      .port = strtol(argv[2], NULL, 10),
				      .open_port = strtol(argv[3], NULL, 10),
				      .socket = argv[4],
				      .memory = strtol(argv[5], NULL, 10),
				      .pid = strtol(argv[6], NULL, 10),
				      .born = argv[7] };
	buf_add_text(&said, PROBE_GREETING "\n");
	buf_printf(&said, PROBE_WORK " %d\n", try_work(&facts));
	for (int i = 1 + PROBE_FACT_COUNT; i < argc; i++)
		try_named(&facts, argv[i], &said);
	buf_add_text(&said, "end 0\n");
	return said.failed == ERR_OK && write(STDOUT_FILENO, said.p, said.len) == (ssize_t)said.len
		       ? 0
		       : 125;
}
