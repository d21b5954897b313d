/* SPDX-License-Identifier: MIT */
/*
 * Upstream proxies: which one the caller's environment names for a target, and the handshake with
 * it. HTTP (CONNECT) and SOCKS5.
 *
 * The guard of private addresses holds as without one: Cordon looks up the name and checks each
 * address, and gives the upstream proxy the address that it checked, never a name for it to look up
 * again. Non-public addresses, and hosts that NO_PROXY names, are dialled directly.
 */
#pragma once

#include "base/err.h"
#include "proxy/decide.h"

enum {
	UPSTREAM_MAX_EXCEPTIONS = 128,
	UPSTREAM_SECRET_BYTES = 256, /* of the user name and of the password, each */
	UPSTREAM_REQUEST_BYTES = 1024,
	UPSTREAM_ANSWER_BYTES = 16384, /* of an answer's head; a longer one is refused */
};

struct upstream {
	bool is_socks;
	struct target where; /* the proxy itself */
	bool has_login;
	char user[UPSTREAM_SECRET_BYTES], password[UPSTREAM_SECRET_BYTES];
};

/* One word of NO_PROXY. */
struct upstream_exception {
	bool is_block, is_any;
	bool is_below_only; /* ".example.com": not the name itself */
	uint16_t port;	    /* 0: every */
	struct ip_block block;
	char name[PROXY_HOST_BYTES];
};

struct upstreams {
	struct upstream http, other; /* where.port 0: none */
	size_t exception_count;
	struct upstream_exception exceptions[UPSTREAM_MAX_EXCEPTIONS];
};

/*
 * Reads http_proxy, https_proxy, all_proxy and no_proxy, or their upper-case forms. ERR_SYNTAX,
 * ERR_LIMIT: one of them is malformed; then nothing may be dialled, because it might take another
 * way than the user wants.
 */
int upstreams_read(struct upstreams *out, const char *const *environment, struct err *e)
	MUST_CHECK NONNULL;

/* The upstream proxy for a target with these addresses; NULL: dial it directly. */
const struct upstream *upstreams_find(const struct upstreams *u, const struct target *target,
				      const struct ip *addresses, size_t count);

/* ---- The handshake ------------------------------------------------------------------ */

struct upstream_talk {
	const struct upstream *upstream;
	struct ip ip; /* to be connected to */
	uint16_t port;
	uint8_t state;
	size_t sent, to_send;
	size_t got, expected; /* of a message of SOCKS; `got` also of a head of HTTP */
	uint8_t matched;      /* of the empty line that ends a head */
	char bytes[UPSTREAM_REQUEST_BYTES];
};

enum upstream_step {
	UPSTREAM_SENDS, /* call again when the socket is writable */
	UPSTREAM_WAITS, /* call again when the socket is readable */
	UPSTREAM_CONNECTED,
	UPSTREAM_REFUSED /* `os_error` says why */
};

void upstream_talk_begin(struct upstream_talk *t, const struct upstream *u, const struct ip *ip,
			 uint16_t port) NONNULL;

/*
 * Continues as far as it can without waiting. Reads not one byte beyond the answer, because those
 * are the server's. `os_error` is the HTTP status (from 200 on) or an errno.
 */
enum upstream_step upstream_talk_step(struct upstream_talk *t, int fd, int *os_error)
	MUST_CHECK NONNULL;
