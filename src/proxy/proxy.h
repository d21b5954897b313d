/* SPDX-License-Identifier: MIT */
/*
 * The filtering proxy (P12-P15): a process of its own, forked without exec from what
 * may be a threaded program, that reads untrusted bytes (HTTP, SOCKS, DNS, TLS hellos)
 * and therefore locks itself before it reads the first: no exec, no file opened for
 * writing, no way to other processes. It allocates nothing: all memory is mapped at the
 * start and bounded. It writes nothing either: what it decides it tells its parent.
 *
 *	channel.h	what is said between the two; words.c names it
 *	proxy.c		the parent's side
 *	server.c	the loop: accepts, times out, ends; lock.c: what it gives up
 *	exchange.c	one decision: judged, asked, dialled, recorded; outbox.c sends the
 *			records, attribution.c knows whose they are, lasting.c which are to be
 *			told of before their end
 *	decide.c	policy; refusal.c: its words
 *	client/		one connection: its first byte, SOCKS, an address that was connected to,
 *			a port; tunnel.c and pipes.c: bytes both ways
 *	http/		HTTP: client.c a connection, relay.c and flow.c a request to its server
 *			and the answer back
 *	dns/		resolve*.c names: hosts file, UDP, TCP; stand_in*.c an address for each
 *			name, and the resolver inside
 *	dial/		happy eyeballs; upstream*.c: by way of another proxy
 *	pool.c sockets.c keyed_hash.c	what all of them use
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
	uint32_t silence_ms;  /* in a tunnel: a shell may be left alone for as long */
	uint32_t dial_ms;     /* look-up and connect together */
	uint32_t ask_ms;      /* for an answer to PROXY_ASKS */
};
#define PROXY_LIMITS_DEFAULT                                                 \
	{                                                                    \
		.connections = 16384, .header_ms = 15000, .idle_ms = 600000, \
		.silence_ms = 7200000, .dial_ms = 30000, .ask_ms = 60000     \
	}

struct proxy_options {
	const struct plan *plan; /* its net, and the policy that live rules are added to */
	bool has_decider;	 /* PROXY_ASKS is answered; else what is unlisted is denied */
	const char *token;	 /* that every client has to show; NULL: none (the sandbox's own) */
	const char *const *environment; /* for upstream proxies (HTTPS_PROXY, …); may be NULL */
	struct proxy_limits limits;
};

struct proxy {
	pid_t pid;   /* 0: none */
	int pidfd;   /* readable when it has ended: then the run must not go on */
	int channel; /* non-blocking */
};

#define PROXY_NONE                                   \
	{                                            \
		.pid = 0, .pidfd = -1, .channel = -1 \
	}

/*
 * Forks it. It is of use when PROXY_READY has come; nothing it is sent before is lost.
 * What the options hold is not read here any more after that. ERR_SYS, ERR_NOMEM, ERR_LIMIT.
 */
int proxy_start(struct proxy *p, const struct proxy_options *options, struct err *e)
	MUST_CHECK NONNULL;

/* 0 or -errno (EAGAIN: it does not read). `fds` may be NULL with count 0. */
int proxy_send(const struct proxy *p, const struct proxy_order *order, const int *fds, size_t count)
	MUST_CHECK;

/*
 * 1 with a message, whose texts end in NUL, 0 when there is none now, -errno when it is gone or
 * speaks nonsense.
 */
int proxy_receive(const struct proxy *p, struct proxy_message *out) MUST_CHECK NONNULL;

/* What a PROXY_FAILED says; with any code. */
int proxy_failure(const struct proxy_message *m, struct err *e) NONNULL;

/*
 * Ends it: it sends the records that are open, and goes. It is killed when nothing has come for
 * `silence_ms`, or for ten seconds in all. False: that was so, or it had ended otherwise, and
 * there may be connections that nobody was told of.
 */
bool proxy_stop(struct proxy *p, uint32_t silence_ms,
		void (*record)(void *user, const struct proxy_record *record), void *user);
