/* SPDX-License-Identifier: MIT */
/*
 * From a name to its addresses, the host's way: "localhost" by definition, the hosts file,
 * then the servers of resolv.conf, for IPv4 and IPv6 at the same time, over UDP and, where
 * an answer does not fit, TCP. Each question has a random number and comes from a random
 * port; only the server that was asked, with that number and that question, is believed.
 *
 * A name that is being looked up is not asked for again, and what was found is kept for as
 * long as its owner says, at least a second and at most a minute: so the look-up that the
 * resolver inside made serves the connection that follows.
 *
 * The search list serves names with fewer dots than "ndots" says. A name with more is only
 * ever looked up as it is: what policy judged is what is asked for.
 */
#pragma once

#include "os/loop.h"
#include "proxy/dial/dial.h"
#include "proxy/dns/message.h"
#include "proxy/dns/name_files.h"

struct lookup; /* somebody waits for an answer */

struct resolver_sources {
	const char *resolv_conf, *hosts;
	uint16_t port; /* of the servers */
};
#define RESOLVER_SOURCES_DEFAULT                                                     \
	{                                                                            \
		.resolv_conf = "/etc/resolv.conf", .hosts = "/etc/hosts", .port = 53 \
	}

struct found_addresses {
	enum lookup_result result;
	size_t count;				    /* > 0 if and only if LOOKUP_FOUND */
	struct ip addresses[2 * DNS_MAX_ADDRESSES]; /* those of IPv6 first */
};

/* Before the lock. `most`: that may wait at once. ERR_NOMEM, ERR_SYS. */
int resolver_make(struct resolver **out, const struct resolver_sources *sources, uint32_t most,
		  struct err *e) MUST_CHECK NONNULL;
void resolver_done(struct resolver *r) NONNULL;

/* In the proxy, before anything is asked. */
int resolver_run(struct resolver *r, struct loop *loop, struct err *e) MUST_CHECK NONNULL;

/* Whether the answer is known already. */
bool resolver_knows(struct resolver *r, struct str name, struct found_addresses *out)
	MUST_CHECK NONNULL;

/*
 * Asks for what resolver_knows() did not. `done` is called once, never from within; NULL: too
 * many wait. It ends within what resolv.conf says about time.
 */
struct lookup *resolver_look_up(struct resolver *r, struct str name,
				void (*done)(void *user, const struct found_addresses *found),
				void *user) MUST_CHECK NONNULL;
void lookup_cancel(struct lookup *l) NONNULL;

/*
 * A C library that looks "host" up asks for "host.domain" too, for each domain of the search
 * list. Of a name that may be one of these all are told, itself included, until `next` says
 * that it knows enough (true): then that is the answer.
 */
bool resolver_each_searched(const struct resolver *r, struct str name,
			    bool (*next)(void *user, struct str name), void *user) NONNULL;

/* The hosts file as it is now. */
struct str resolver_hosts(struct resolver *r) NONNULL;
