/* SPDX-License-Identifier: MIT */
/*
 * From a target to a connected socket. The dialer looks up the name once, checks each address
 * (P13), and connects to exactly the addresses that it checked, alternating IPv6 and IPv4 (RFC
 * 8305). Or it asks an upstream proxy to connect to them.
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
	 * An errno. For PROXY_FAILED_LOOKUP: ENOENT (no such name), ENODATA (it has no address),
	 * EAGAIN (no server could answer), ETIMEDOUT. For PROXY_FAILED_UPSTREAM: from 200 on it is
	 * the upstream proxy's HTTP status.
	 */
	int os_error;
	bool has_address;
	struct ip address;	    /* dialled, or refused */
	struct judgement judgement; /* of the address, if policy refused it */
};

/*
 * Call before lock_finish(). Maps memory for the largest number of dials, and reads the upstream
 * proxies of `environment` (NULL: none), the hosts file and resolv.conf. ERR_NOMEM, ERR_SYNTAX (an
 * upstream proxy's URL is malformed).
 */
int dialer_make(struct dialer **out, const struct rules *rules, bool allows_upstream,
		const char *const *environment, size_t max_dials, uint32_t timeout_ms,
		struct err *e) MUST_CHECK;
void dialer_done(struct dialer *d) NONNULL;

/* The same with other files and another DNS port, for tests. */
struct resolver_sources;
int dialer_make_from(struct dialer **out, const struct rules *rules, bool allows_upstream,
		     const char *const *environment, size_t max_dials, uint32_t timeout_ms,
		     const struct resolver_sources *sources, struct err *e) MUST_CHECK;

/*
 * Addresses on which the proxy itself listens on the host. It never dials them, so that no client
 * can make it talk to itself. At most DIAL_MAX_OWN; ERR_LIMIT.
 */
enum { DIAL_MAX_OWN = 64 };
int dialer_add_own(struct dialer *d, const struct ip *ip, uint16_t port, struct err *e)
	MUST_CHECK NONNULL;

/* Call in the proxy's process, before any other. */
int dialer_run(struct dialer *d, struct loop *loop, struct err *e) MUST_CHECK NONNULL;

/*
 * `done` is called once, never from within dial_start(); the dial is freed before. rules_judge()
 * must have allowed `target`, which is copied. NULL: too many dials are under way.
 */
struct dial *dial_start(struct dialer *d, const struct target *target,
			void (*done)(void *user, const struct dial_result *result), void *user)
	MUST_CHECK NONNULL;
/*
 * The same without names and policy, for PROXY_HOST_PORT and PROXY_PUBLISHED. Takes over `fd`, even
 * if it returns NULL; -1: makes a socket.
 */
struct dial *dial_address(struct dialer *d, int fd, const struct ip *ip, uint16_t port,
			  void (*done)(void *user, const struct dial_result *result), void *user)
	MUST_CHECK NONNULL;
void dial_cancel(struct dial *d) NONNULL; /* `done` is not called */

/* ---- Look-ups without a dial, for the resolver inside -------------------------------- */

enum lookup_result { LOOKUP_FOUND, LOOKUP_NO_SUCH_NAME, LOOKUP_NO_ADDRESS, LOOKUP_FAILED };
/* As dial_start(). The dial that follows reuses the answer. */
bool dialer_look_up(struct dialer *d, const struct target *name,
		    void (*done)(void *user, enum lookup_result result), void *user)
	MUST_CHECK NONNULL;
struct resolver *dialer_resolver(const struct dialer *d) NONNULL;
