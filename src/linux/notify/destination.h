/* SPDX-License-Identifier: MIT */
/* Where a connect() goes; of a managed network, what has to be done about it. */
#pragma once

#include "base/ip.h"
#include "linux/notify/unix_attempt.h"

enum {
	DESTINATION_PROXY_PORT = 3128, /* on loopback: LAUNCH_PROXY_PORT */
	DESTINATION_NAMES_PORT = 53,   /* on every address: the resolver */
};

enum destination_way {
	DESTINATION_FREE,	 /* as it is: within the sandbox, or nothing that connects */
	DESTINATION_PROXY,	 /* the proxy's own port: it wants to know whose it is */
	DESTINATION_ASKED,	 /* TCP to somewhere else: the proxy is asked first */
	DESTINATION_UNREACHABLE, /* datagrams to somewhere else */
};

struct destination {
	struct ip ip;
	uint16_t port;
};

/*
 * What the kernel would do with that address on that socket; sets `out` unless it is DESTINATION_FREE.
 * SECURITY: this decides only about error numbers and reports. Nothing leads out of the network, and
 * the proxy checks each connection again when it accepts it.
 */
enum destination_way destination_find(const struct attempt *t, struct destination *out) NONNULL;

/* Whether it is anything but the sandbox's own loopback. */
bool destination_is_outside(const struct destination *d) NONNULL;

/* The address alone. False: none of IP, or too short for one. */
bool destination_parse(const struct sockaddr_storage *address, size_t size, struct destination *out)
	NONNULL;
