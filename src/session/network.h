/* SPDX-License-Identifier: MIT */
/*
 * The managed network of a run: the proxy beside it. It is forked before the sandbox is
 * made, so that it is ready when that stands, gets the sockets that were made inside, and is
 * asked and told from then on:
 *
 *	the supervisor	a program is about to connect: may it?		backend.h
 *			more sockets of the sandbox's network
 *	the caller	what no rule speaks of; rules that are added	session.h
 *
 * What it decides becomes lines of the audit log, denials, and the sums of the report.
 * SECURITY: without it there is no way out, and nobody who says what was refused; so when
 * it is gone the run ends.
 */
#pragma once

#include "os/loop.h"
#include "proxy/proxy.h"
#include "session/session.h"

struct session;

/* Sockets that the proxy has asked for, on their way from the sandbox. */
struct socket_stock {
	bool is_wanted; /* the supervisor is still to be asked */
	bool is_asked;
	bool is_here;
	int fds[PROXY_SOCKETS_AT_ONCE];
	size_t count; /* 0 with is_here: there are none to be had */
};

struct network {
	bool is_wanted; /* the backend that is tried manages the network */
	bool is_ready;	/* the proxy serves */
	bool has_start; /* the sandbox can make sockets */
	bool waits_for_room;
	bool is_finishing; /* everything in the sandbox is dead */
	bool is_over;	   /* and the proxy has said its last */
	uint64_t until_ms; /* how long it may take */
	struct timer patience;
	struct proxy proxy;
	struct watcher channel, gone;
	struct entrance entrance; /* if the command has the host's network */
	struct launch_network launch;
	int published[SESSION_MAX_PORTS];
	size_t published_count;
	struct socket_stock stocks[2]; /* IPv4, IPv6 */
	struct audit *audit;
	uint64_t last_rule;
};

void network_init(struct session *s) NONNULL;

/* Before each launch: starts the proxy, unless it runs, when the backend is to have one. */
int network_prepare(struct session *s, struct err *e) MUST_CHECK NONNULL;

/*
 * When the sandbox stands: the proxy gets its sockets. Returns when it serves; ERR_SYS when
 * it can't.
 */
int network_hand_over(struct session *s, struct err *e) MUST_CHECK NONNULL;

/* After supervisor_start(). */
int network_begin(struct session *s, struct err *e) MUST_CHECK NONNULL;

/* For struct supervisor_events; `user` is the session. */
int network_take_sockets(void *user, int family, const int *fds, size_t count, struct err *e)
	MUST_CHECK;
bool network_tell_proxy(void *user, const struct proxy_order *order) NONNULL;

/*
 * Everything in the sandbox is dead. What it has sent is still passed on, and the last
 * records come, while the loop goes on; at most some seconds.
 */
void network_finish(struct session *s) NONNULL;
bool network_is_over(const struct session *s) NONNULL;

/* The proxy goes, whatever it does. */
void network_end(struct session *s) NONNULL;

/* ---- traffic.c: what the proxy decided, in sums and in words ---------------------------- */

void traffic_init(struct traffic *t) NONNULL;
void traffic_done(struct traffic *t) NONNULL;
/* Memory that runs out only loses detail. */
void traffic_add(struct traffic *t, const struct proxy_record *record) NONNULL;

/* A refusal by policy, as a denial of the run. */
void traffic_deny(struct denials *denials, const struct proxy_record *record) NONNULL;

/* What was allowed and failed, in words; the first is kept. */
void traffic_fail(struct traffic *t, const struct proxy_record *record, struct buf *words) NONNULL;
