/* SPDX-License-Identifier: MIT */
/*
 * A cage whose connect() is answered by linux/notify/unix_connect.c under a policy,
 * and what its tests need on both sides. Sockets that the test program itself
 * makes are the host's.
 */
#pragma once

#include <dirent.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "cage.h"
#include "linux/notify/unix_connect.h"
#include "scratch.h"
#include "test.h"
#include "world.h"

struct judged {
	struct cage cage;
	struct loop loop;
	struct engine engine;
	struct denials denials;
	struct unix_sockets sockets;
	struct unix_connect *connects;
	struct sandbox sandbox;
	struct world w;
	struct arena a;
	size_t fds_before;
};

#define NETWORK_OFF	""
#define NETWORK_MANAGED "enabled = true\nmode = 'full'\n"

static size_t count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/*
 * The plan: all of the host can be read, "w" in the scratch directory written;
 * `network` is that table of the profile.
 */
static bool judged_plan(struct judged *j, const char *network)
{
	static char config[4096], host[1024];

	(void)snprintf(host, sizeof(host), "d %s/w\n", scratch_top);
	(void)snprintf(
		config, sizeof(config),
		"default_permissions = 'dev'\n[permissions.dev.filesystem]\n':root' = 'read'\n"
		"'%s/w' = 'write'\n[permissions.dev.network]\n%s",
		scratch_top, network);
	world_init(&j->w, host, "/");
	j->w.user = config;
	return world_plan(&j->w);
}

static bool judged_start_managed(struct judged *j, const char *network,
				 const struct cage_options *options,
				 const struct connect_proxy *proxy)
{
	struct cage_options o = *options;
	struct err e = ERR_INIT;

	memset(j, 0, sizeof(*j));
	o.asks = SYS_connect;
	j->fds_before = count_fds();
	j->a = (struct arena)ARENA_INIT(1 << 20);
	if (!judged_plan(j, network)) {
		printf("# %s\n", j->w.e.text);
		return false;
	}
	if (unix_sockets_find(&j->a, j->w.plan, &j->sockets, &e) < 0 || !cage_start(&j->cage, &o) ||
	    loop_init(&j->loop, &e) < 0 ||
	    engine_start(&j->engine, &j->loop, j->cage.listener, &e) < 0)
		return false;
	j->cage.listener = -1;
	j->sandbox = (struct sandbox)SANDBOX_NONE;
	j->sandbox.pid = shared->pid;
	j->sandbox.unix_diag = j->cage.diag;
	j->sandbox.has_own_network = true;
	denials_init(&j->denials);
	j->connects = unix_connect_start(&j->a, &j->engine, &j->sandbox, &j->sockets, proxy,
					 &j->denials, &e);
	return j->connects != NULL;
}

TEST_MAY_BE_UNUSED static bool judged_start(struct judged *j, const char *network,
					    const struct cage_options *options)
{
	return judged_start_managed(j, network, options, NULL);
}

static int judged_run(struct judged *j)
{
	cage_go(&j->cage);
	return cage_wait(&j->cage, &j->loop);
}

/* Also checks that no descriptor is left. */
static void judged_done(struct judged *j)
{
	if (j->connects)
		unix_connect_stop(j->connects);
	engine_stop(&j->engine);
	loop_done(&j->loop);
	unix_sockets_done(&j->sockets);
	denials_done(&j->denials);
	cage_done(&j->cage);
	world_done(&j->w);
	arena_done(&j->a);
	CHECK_INT(count_fds(), j->fds_before);
}

/* The status of `inside` without a filter, in the same namespaces. */
TEST_MAY_BE_UNUSED static int run_free(const struct cage_options *options)
{
	struct cage_options o = *options;
	struct err e = ERR_INIT;
	struct cage cage;
	struct loop loop;
	int status;

	o.is_free = true;
	if (!cage_start(&cage, &o) || loop_init(&loop, &e) < 0)
		return -1;
	cage_go(&cage);
	status = cage_wait(&cage, &loop);
	loop_done(&loop);
	cage_done(&cage);
	return status;
}

/* ---- Sockets ------------------------------------------------------------------- */

static socklen_t fill_unix(struct sockaddr_un *out, const char *path)
{
	size_t len = strlen(path);

	memset(out, 0, sizeof(*out));
	out->sun_family = AF_UNIX;
	/* "@name" is abstract. */
	memcpy(out->sun_path, path, len < sizeof(out->sun_path) ? len : sizeof(out->sun_path));
	if (path[0] == '@')
		out->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] != '@'));
}

static int listen_at_type(const char *path, int type, int backlog)
{
	struct sockaddr_un address;
	socklen_t size = fill_unix(&address, path);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (path[0] != '@')
		(void)unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, backlog) < 0)
		return -1;
	return fd;
}

TEST_MAY_BE_UNUSED static int listen_at(const char *path)
{
	return listen_at_type(path, SOCK_STREAM, 64);
}

/* 0 or -errno. */
static int connect_fd(int fd, const char *path)
{
	struct sockaddr_un address;
	socklen_t size = fill_unix(&address, path);

	return connect(fd, (struct sockaddr *)&address, size) < 0 ? -errno : 0;
}

static int connect_type(const char *path, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	int r = connect_fd(fd, path);

	close(fd);
	return r;
}

TEST_MAY_BE_UNUSED static int connect_to(const char *path)
{
	return connect_type(path, SOCK_STREAM);
}

/* How many connections wait; they are dropped. */
TEST_MAY_BE_UNUSED static int count_waiting(int listener)
{
	int count = 0, fd;
	struct pollfd p = { .fd = listener, .events = POLLIN };

	while (poll(&p, 1, 0) == 1 && (fd = accept(listener, NULL, NULL)) >= 0) {
		close(fd);
		count++;
	}
	return count;
}

/* ---- TCP on the loopback -------------------------------------------------------- */

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = port,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A listener on any port, which is set as the network has it. */
TEST_MAY_BE_UNUSED static int listen_tcp(uint16_t *port, int backlog)
{
	struct sockaddr_in address = loopback(0);
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*port = 0;
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, backlog) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	*port = address.sin_port;
	return fd;
}

TEST_MAY_BE_UNUSED static int connect_port(int fd, uint16_t port)
{
	struct sockaddr_in address = loopback(port);

	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}
