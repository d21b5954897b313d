/* SPDX-License-Identifier: MIT */
/* What dial.c (names, judgement, time) and connect.c (sockets) share. */
#pragma once

#include "proxy/dial/dial.h"
#include "proxy/dial/upstream.h"
#include "proxy/dns/resolve.h"
#include "proxy/pool.h"

struct attempt {
	struct dial *dial;
	struct watcher watcher; /* its fd is -1 when the attempt is over */
	struct ip ip;
};

enum dial_state {
	DIAL_LOOKING_UP,
	DIAL_LOOKING_FOR_UPSTREAM,
	DIAL_CONNECTING,
	DIAL_TALKING, /* with the upstream proxy */
	DIAL_ENDING,  /* `result` waits for the timer */
};

struct dial {
	struct dialer *dialer;
	struct dial *next, *previous;
	enum dial_state state;
	struct target target;
	void (*done)(void *user, const struct dial_result *result);
	void *user;
	uint64_t deadline_ms;
	uint64_t next_ms; /* when to try the next address too; 0: only after the last has failed */
	struct lookup *lookup;
	bool is_judged; /* by policy; that of dial_address() is not */

	uint16_t port; /* that is connected to */
	size_t count, tried, open;
	struct ip addresses[DIAL_MAX_ADDRESSES];
	struct attempt attempts[DIAL_MAX_ADDRESSES];

	const struct upstream *upstream; /* NULL: directly */
	size_t beyond_count, beyond_tried;
	/* addresses that the upstream proxy has to connect to */
	struct ip beyond[DIAL_MAX_ADDRESSES];
	struct upstream_talk talk;
	struct watcher talk_watcher;

	struct dial_result result;
};

/* A look-up that the resolver inside waits for. */
struct asker {
	struct dialer *dialer;
	struct asker *next, *previous;
	struct lookup *lookup;
	bool is_known; /* `result` waits for the timer */
	enum lookup_result result;
	uint64_t deadline_ms;
	void (*done)(void *user, enum lookup_result result);
	void *user;
};

struct own {
	struct ip ip;
	uint16_t port;
};

struct dialer {
	const struct rules *rules;
	struct resolver *resolver;
	struct loop *loop;
	struct timer timer;
	uint32_t timeout_ms;
	struct pool dials, askers;
	struct dial *first, *cursor; /* `cursor`: the next that the timer looks at */
	struct asker *first_asker, *asker_cursor;
	struct upstreams upstreams;
	size_t own_count;
	struct own own[DIAL_MAX_OWN];
};

/* ---- dial.c ------------------------------------------------------------------------- */

/* Frees the dial, then tells its owner. `result` must not point into the dial. */
void dial_finish(struct dial *d, const struct dial_result *result) NONNULL;

/* Ends the dial from the timer with `result`; dial_fail() fills that in first. */
void dial_end_later(struct dial *d) NONNULL;
void dial_fail(struct dial *d, enum proxy_reason reason, int os_error) NONNULL;
void dial_wake_by(struct dialer *d, uint64_t at_ms) NONNULL;

/* ---- connect.c ---------------------------------------------------------------------- */

/*
 * Connects to the first of `addresses`; dial_next() also tries the next, while earlier attempts go
 * on.
 */
void dial_begin_connecting(struct dial *d) NONNULL;
void dial_connect_next(struct dial *d) NONNULL;

/* Connects to this address alone, with `fd` (taken over; -1: makes one). */
void dial_connect_with(struct dial *d, const struct ip *ip, int fd) NONNULL;

void dial_close_all(struct dial *d) NONNULL;
