/* SPDX-License-Identifier: MIT */
/*
 * The filtering proxy (P12-P15). It reads untrusted bytes (HTTP, SOCKS, DNS, TLS hellos), so it is
 * a process of its own, and gives up its rights before it reads the first byte: it can't execute
 * programs, write files or reach other processes (on Windows it can: windows/lock.c). It is forked,
 * without exec, from a program that may have threads, so it allocates nothing: all memory is mapped
 * at the start, and bounded. It reports each decision to its parent, which writes the report and the
 * audit log.
 *
 *	channel.h	the messages between the two; names.c: names for reports and logs
 *	proxy.c		the parent's side; SYSTEM/spawn.c: how the process begins
 *	handover.c	what it is handed where it is no copy of its parent
 *	server.c	the proxy's loop: accepts, times out, ends
 *	lock.c		what the process gives up
 *	exchange.c	one decision: checks, asks, dials, records
 *	outbox.c	sends the records; open_records.c: records of connections that are still open;
 *			attribution.c: which process made the connection
 *	decide.c	applies the policy; refusal.c: what a refused client reads
 *	client/		one connection: finds the protocol; SOCKS; programs without a proxy;
 *			single ports; tunnel.c and pipes.c copy bytes both ways
 *	http/		client.c reads requests; relay.c and flow.c forward them and the answers
 *	dns/		resolve*.c looks up names; sandbox_dns*.c is the resolver inside the sandbox
 *	dial/		connects to servers; upstream*.c: through another proxy
 *	pool.c keyed_hash.c	used by all of them
 *
 * Pure, and fuzzed: http/head.c http/body.c http/write.c client/socks5.c client/tls_hello.c
 * dns/message.c
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/plan.h"
#include "proxy/channel.h"

struct proxy_limits {
	uint32_t connections; /* clients at once */
	uint32_t header_ms;   /* from the first byte of a head to its last */
	uint32_t idle_ms;     /* between requests */
	uint32_t silence_ms;  /* in a tunnel: an interactive shell may be idle that long */
	uint32_t dial_ms;     /* look-up and connect together */
	uint32_t ask_ms;      /* for an answer to PROXY_ASKS */
};
#define PROXY_LIMITS_DEFAULT                                                 \
	{                                                                    \
		.connections = 16384, .header_ms = 15000, .idle_ms = 600000, \
		.silence_ms = 7200000, .dial_ms = 30000, .ask_ms = 60000     \
	}

struct proxy_options {
	/* its network rules, and the policy that later rules are added to */
	const struct plan *plan;
	bool has_decider;  /* somebody answers PROXY_ASKS; else unlisted hosts are denied */
	const char *token; /* that every client must show; NULL: none (inside the sandbox) */
	const char *const *environment; /* for upstream proxies (HTTPS_PROXY, …); may be NULL */
	struct proxy_limits limits;
	/* Nothing is confined that would need it; else a system where it can't confine itself refuses. */
	bool may_be_unconfined;
};

struct proxy {
	pid_t pid;   /* 0: none */
	int pidfd;   /* readable once the proxy has ended; then the run must end */
	int channel; /* non-blocking */
};

#define PROXY_NONE                                   \
	{                                            \
		.pid = 0, .pidfd = -1, .channel = -1 \
	}

/*
 * Forks the proxy. It works once PROXY_READY has come; orders that were sent earlier are not lost.
 * It no longer reads the options afterwards. ERR_SYS, ERR_NOMEM, ERR_LIMIT.
 */
int proxy_start(struct proxy *p, const struct proxy_options *options, struct err *e)
	MUST_CHECK NONNULL;

/* 0 or -errno (EAGAIN: the proxy does not read). `fds` may be NULL if count is 0. */
int proxy_send(const struct proxy *p, const struct proxy_order *order, const int *fds, size_t count)
	MUST_CHECK;

/*
 * 1 with a message, whose texts end in NUL; 0 if there is none now; -errno if the proxy has ended
 * or sends an invalid message.
 */
int proxy_receive(const struct proxy *p, struct proxy_message *out) MUST_CHECK NONNULL;

/* Turns a PROXY_FAILED into an error; it may have any code. */
int proxy_failure(const struct proxy_message *m, struct err *e) NONNULL;

/*
 * Ends the proxy, which sends its open records first. Kills it after `silence_ms` without a
 * message, or after ten seconds in all. False: it was killed or had crashed, and some connections
 * may have no record.
 */
bool proxy_stop(struct proxy *p, uint32_t silence_ms,
		void (*record)(void *user, const struct proxy_record *record), void *user);
