/* SPDX-License-Identifier: MIT */
/*
 * From a target to a connected socket: the name is looked up once, each address is
 * judged (P13's second look), and what was judged is what is dialled, IPv6 and IPv4 in
 * turns (RFC 8305); or all of it is asked of an upstream proxy.
 */
#pragma once

#include "os/loop.h"
#include "proxy/decide.h"

enum { DIAL_MAX_ADDRESSES = 16, DIAL_STAGGER_MS = 250 };

struct resolver;
struct dialer;
struct dial; /* one that is under way */

struct dial_result {
	int fd; /* connected, non-blocking; -1: `reason` says why */
	enum proxy_reason reason;
	/*
	 * An errno. Of PROXY_FAILED_LOOKUP: ENOENT (no such name), ENODATA (it has no address),
	 * EAGAIN (no server could say), ETIMEDOUT. Of PROXY_FAILED_UPSTREAM: from 200 on it is
	 * the status that the upstream proxy answered with.
	 */
	int os_error;
	bool has_address;
	struct ip address;	    /* dialled, or refused */
	struct judgement judgement; /* of the address, when policy refused it */
};

/*
 * Before the lock: what may ever be under way at once, the upstream proxies of
 * `environment` (NULL: none), the hosts file and the servers. ERR_NOMEM, ERR_SYNTAX (an
 * upstream proxy that can't be read).
 */
int dialer_make(struct dialer **out, const struct rules *rules, bool allows_upstream,
		const char *const *environment, size_t max_dials, uint32_t timeout_ms,
		struct err *e) MUST_CHECK;
void dialer_done(struct dialer *d) NONNULL;

/* The same with other files than the host's, and another port than 53, for tests. */
struct resolver_sources;
int dialer_make_from(struct dialer **out, const struct rules *rules, bool allows_upstream,
		     const char *const *environment, size_t max_dials, uint32_t timeout_ms,
		     const struct resolver_sources *sources, struct err *e) MUST_CHECK;

/*
 * Where the proxy itself listens, on the host: never dialled, so that nobody can make it
 * talk to itself. At most DIAL_MAX_OWN; ERR_LIMIT.
 */
enum { DIAL_MAX_OWN = 64 };
int dialer_add_own(struct dialer *d, const struct ip *ip, uint16_t port, struct err *e)
	MUST_CHECK NONNULL;

/* In the proxy, before anything else. */
int dialer_run(struct dialer *d, struct loop *loop, struct err *e) MUST_CHECK NONNULL;

/*
 * `done` is called once, never from within dial_start(); then the dial is gone. `target`
 * was allowed by rules_judge() and is copied. NULL: too many are under way.
 */
struct dial *dial_start(struct dialer *d, const struct target *target,
			void (*done)(void *user, const struct dial_result *result), void *user)
	MUST_CHECK NONNULL;
/*
 * The same without names and policy, for PROXY_HOST_PORT and PROXY_PUBLISHED. `fd` is taken
 * over, also when the answer is NULL; -1: one is made here.
 */
struct dial *dial_address(struct dialer *d, int fd, const struct ip *ip, uint16_t port,
			  void (*done)(void *user, const struct dial_result *result), void *user)
	MUST_CHECK NONNULL;
void dial_cancel(struct dial *d) NONNULL; /* `done` is not called */

/* ---- The look-up alone, for the resolver inside ------------------------------------- */

enum lookup_result { LOOKUP_FOUND, LOOKUP_NO_SUCH_NAME, LOOKUP_NO_ADDRESS, LOOKUP_FAILED };
/* As dial_start(); the answer is remembered for the dial that follows. */
bool dialer_look_up(struct dialer *d, const struct target *name,
		    void (*done)(void *user, enum lookup_result result), void *user)
	MUST_CHECK NONNULL;
struct resolver *dialer_resolver(const struct dialer *d) NONNULL;
