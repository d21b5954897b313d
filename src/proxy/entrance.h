/* SPDX-License-Identifier: MIT */
/*
 * Where a command that shares the network of the host reaches its proxy: one port of the loopback, in
 * both families, and the token that the proxy asks for there.
 *
 * SECURITY: every process of the host can connect to such a port, so it is worth nothing without the
 * token. The process that made it keeps it open until the command has ended: if the proxy dies, nobody
 * else gets the port that the command's sandbox leaves open.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum { ENTRANCE_TOKEN_BYTES = 49 }; /* 48 hexadecimal digits and a NUL */

struct entrance {
	int fds[2];    /* listeners: IPv4, IPv6; -1: none */
	uint16_t port; /* 0: it is not open */
	char token[ENTRANCE_TOKEN_BYTES];
};
#define ENTRANCE_NONE              \
	{                          \
		.fds = { -1, -1 }, \
	}

/* On a free port. ERR_SYS. */
int entrance_open(struct entrance *out, struct err *e) MUST_CHECK NONNULL;

/* Fine if it is not open. The token is wiped. */
void entrance_close(struct entrance *e) NONNULL;
