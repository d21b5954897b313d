/* SPDX-License-Identifier: MIT */
/*
 * Upstream proxies: which one the environment of the caller names for a target, and what is
 * said to it until bytes flow. HTTP (CONNECT) and SOCKS5.
 *
 * The private guard holds as without one: the name is looked up here, each address is
 * judged, and the upstream proxy is given the address that was judged, never a name that it
 * would look up again. Non-public addresses, and what NO_PROXY names, are dialled directly.
 */
#pragma once

#include "base/err.h"
#include "proxy/decide.h"

enum {
	UPSTREAM_MAX_EXCEPTIONS = 128,
	UPSTREAM_SECRET_BYTES = 256, /* of the user and of the password, each */
	UPSTREAM_REQUEST_BYTES = 1024,
	UPSTREAM_ANSWER_BYTES = 16384, /* of a head; a longer one is none */
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
 * From http_proxy, https_proxy, all_proxy and no_proxy, or the same in capitals. ERR_SYNTAX,
 * ERR_LIMIT: one of them can't be understood, and nothing may go another way than it says.
 */
int upstreams_read(struct upstreams *out, const char *const *environment, struct err *e)
	MUST_CHECK NONNULL;

/* The one for a target, at the addresses that were found for it; NULL: it is dialled directly. */
const struct upstream *upstreams_find(const struct upstreams *u, const struct target *target,
				      const struct ip *addresses, size_t count);

/* ---- What is said to it ------------------------------------------------------------- */

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
	UPSTREAM_SENDS, /* call again when it can be written */
	UPSTREAM_WAITS, /* call again when it can be read */
	UPSTREAM_CONNECTED,
	UPSTREAM_REFUSED /* `os_error` says why */
};

void upstream_talk_begin(struct upstream_talk *t, const struct upstream *u, const struct ip *ip,
			 uint16_t port) NONNULL;

/*
 * Goes on with what can be done now. Not one byte is read beyond the answer: those are the
 * server's. `os_error` is the status of HTTP's answer (from 200 on) or an errno.
 */
enum upstream_step upstream_talk_step(struct upstream_talk *t, int fd, int *os_error)
	MUST_CHECK NONNULL;
