/* SPDX-License-Identifier: MIT */
/* See entrance.h. */
#include "proxy/entrance.h"

#include <errno.h>

#include "os/fd.h"
#include "os/memory.h"
#include "os/random.h"
#include "os/socket.h"

enum {
	BACKLOG = 1024,
	/* The second family may find the port taken that the first has got. */
	TRIES = 32,
};

static const struct ip loopback_4 = { { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 } };
static const struct ip loopback_6 = { { [15] = 1 } };

/* 0 or -errno; -EADDRINUSE: another port may be free. */
static int open_at_any_port(struct entrance *out)
{
	struct os_address at = { .ip = loopback_4 };
	int error;

	out->fds[0] = socket_open_listener(&at, true, BACKLOG);
	if (out->fds[0] < 0)
		return out->fds[0];
	if (socket_get_address(out->fds[0], &at) < 0) {
		error = -errno;
		fd_close(&out->fds[0]);
		return error;
	}
	out->port = at.port;
	/*
	 * SECURITY: the profile of a sandbox says "localhost", which is both. Somebody else could listen
	 * at the port of the other family.
	 */
	at = (struct os_address){ .ip = loopback_6, .port = out->port };
	out->fds[1] = socket_open_listener(&at, true, BACKLOG);
	if (out->fds[1] >= 0 || out->fds[1] == -EADDRNOTAVAIL || out->fds[1] == -EAFNOSUPPORT)
		return 0;
	error = out->fds[1];
	fd_close(&out->fds[0]);
	return error;
}

static void make_token(const uint8_t *chance, char *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < ENTRANCE_TOKEN_BYTES / 2; i++) {
		*out++ = digits[chance[i] >> 4];
		*out++ = digits[chance[i] & 15];
	}
	*out = '\0';
}

int entrance_open(struct entrance *out, struct err *e)
{
	struct entrance made = ENTRANCE_NONE;
	uint8_t chance[ENTRANCE_TOKEN_BYTES / 2];
	int r = os_random(chance, sizeof(chance));

	if (r < 0)
		return FAIL_SYS(e, -r, "can't make a token for the proxy");
	make_token(chance, made.token);
	os_wipe(chance, sizeof(chance));
	r = -EADDRINUSE;
	for (int i = 0; i < TRIES && r == -EADDRINUSE; i++)
		r = open_at_any_port(&made);
	if (r < 0)
		return FAIL_SYS(e, -r, "can't listen on the loopback of this host");
	*out = made;
	return 0;
}

void entrance_close(struct entrance *e)
{
	for (size_t i = 0; i < COUNT_OF(e->fds); i++)
		fd_close(&e->fds[i]);
	e->port = 0;
	os_wipe(e->token, sizeof(e->token));
}
