/* SPDX-License-Identifier: MIT */
/*
 * Looks up names as the host does: "localhost" by definition, then the hosts file, then the servers
 * of resolv.conf, for IPv4 and IPv6 at the same time, over UDP, and over TCP if an answer does not
 * fit. Each query has a random id and comes from a random port. The resolver accepts only an answer
 * from the server that it asked, with that id and that question.
 *
 * It asks for a name only once at a time, and caches the answer for its TTL, at least a second and
 * at most a minute. So the connection that follows a look-up by the resolver inside needs no second
 * one.
 *
 * It applies the search list to names with fewer dots than "ndots". It looks up a name with more
 * dots only as it is, so that it asks for exactly the name that the policy checked.
 */
#pragma once

#include "os/loop.h"
#include "proxy/dial/dial.h"
#include "proxy/dns/message.h"
#include "proxy/dns/name_files.h"

struct lookup; /* somebody waits for an answer */

struct resolver_sources {
	const char *resolv_conf, *hosts; /* files; NULL: those of the system */
	uint16_t port;			 /* of the servers */
};
#define RESOLVER_SOURCES_DEFAULT                               \
	{                                                      \
		.resolv_conf = NULL, .hosts = NULL, .port = 53 \
	}

struct found_addresses {
	enum lookup_result result;
	size_t count;				    /* > 0 if and only if LOOKUP_FOUND */
	struct ip addresses[2 * DNS_MAX_ADDRESSES]; /* those of IPv6 first */
};

/* Call before lock_finish(). `most`: how many may wait at once. ERR_NOMEM, ERR_SYS. */
int resolver_make(struct resolver **out, const struct resolver_sources *sources, uint32_t most,
		  struct err *e) MUST_CHECK NONNULL;
void resolver_done(struct resolver *r) NONNULL;

/* Call in the proxy's process, before any look-up. */
int resolver_run(struct resolver *r, struct loop *loop, struct err *e) MUST_CHECK NONNULL;

/* Whether the answer is known without a query. */
bool resolver_knows(struct resolver *r, struct str name, struct found_addresses *out)
	MUST_CHECK NONNULL;

/*
 * Looks up what resolver_knows() did not know. `done` is called once, never from within; NULL: too
 * many wait. Ends within the time limits of resolv.conf.
 */
struct lookup *resolver_look_up(struct resolver *r, struct str name,
				void (*done)(void *user, const struct found_addresses *found),
				void *user) MUST_CHECK NONNULL;
void lookup_cancel(struct lookup *l) NONNULL;

/*
 * A C library that looks up "host" also asks for "host.domain", for each domain of the search list.
 * Calls `next` for every name that belongs to such a series with `name`, including `name`, until
 * `next` returns true. Returns whether it did.
 */
bool resolver_each_searched(const struct resolver *r, struct str name,
			    bool (*next)(void *user, struct str name), void *user) NONNULL;

/* The current text of the hosts file. */
struct str resolver_hosts(struct resolver *r) NONNULL;
