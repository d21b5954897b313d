/* SPDX-License-Identifier: MIT */
/*
 * The network matcher (P12-P14): one function answers for a host and port;
 * `why`, the proxy and the tests use it. Like the filesystem it is a stack: the
 * profile's answer, then the least with every narrowing layer. It judges names
 * and literals, and never resolves.
 *
 * Order in the profile: network off: deny · network full: allow · deny rule ·
 * private guard · allow rule or grant · decider (ask) · deny. A narrowing layer
 * lowers by "off", by its deny rules, and has no opinion otherwise.
 *
 * Where that leaves room:
 *  - Of several rules that cover a host, the most specific is named: exact before
 *    the longest suffix before "*", the longest prefix of an address; then the one
 *    for fewer ports.
 *  - A grant (P18) opens its hosts also where the profile's network is off, as a
 *    grant of a path does below a deny that stands higher up; the private guard,
 *    deny rules and narrowing layers hold against it. Nobody is asked there.
 *  - Network full has no private guard: it was asked for every host.
 *  - A deny of an IPv4 block also covers an IPv6 address that carries one of its
 *    addresses (NAT64, 6to4, …). An allow does not.
 *  - "localhost" and what is below it are loopback by definition, and so are the
 *    like ("localhost.localdomain", "ip6-localhost", …) in practice, so the guard
 *    treats the name as such: it needs an allow of that exact name and one of
 *    127.0.0.1 or ::1 as an address or a block, which no deny covers.
 *  - Port 0, not known: a deny of any port counts, an allow only for every port;
 *    so what is allowed is allowed on all ports. The others are in the trace.
 *  - A narrowing layer over network full makes it managed as soon as it has
 *    anything to enforce. Then, as always in managed mode, only those unix
 *    sockets are open that the profile names.
 *  - An unsandboxed policy allows everything, because nothing would stop it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hostname.h"
#include "base/str.h"
#include "policy/policy.h"

/* Ordered like enum access: the lesser is the narrower. */
enum decision { DECISION_DENY, DECISION_ASK, DECISION_ALLOW };
const char *decision_name(enum decision d) RETURNS_NONNULL;

enum net_reason {
	NET_REASON_OFF,	      /* no network at all */
	NET_REASON_FULL,      /* every host */
	NET_REASON_RULE,      /* a rule says so */
	NET_REASON_PRIVATE,   /* the private guard */
	NET_REASON_UNMATCHED, /* neither allowed nor denied */
	NET_REASON_UNSANDBOXED,
};

struct net_verdict {
	enum decision decision;
	enum net_reason reason;
	const struct net_rule *rule; /* or NULL */
	uint32_t layer;		     /* index into policy->layers */
	struct origin origin; /* of the rule, of `enabled`, …; .file NULL when nothing says it */
};

typedef VEC(struct net_verdict) net_trace;

struct net;

const struct net *net_build(struct arena *a, const struct policy *p, bool has_decider,
			    struct err *e) MUST_CHECK NONNULL;

/* What the network as a whole is after all layers: off, full or managed (grants included). */
enum net_access net_mode(const struct net *n) NONNULL;
bool net_is_limited(const struct net *n) NONNULL;

/* P13; only where every layer that speaks of the network leaves it. */
bool net_allows_local_binding(const struct net *n) NONNULL;
bool net_allows_upstream_proxy(const struct net *n) NONNULL;

/* The answer; never fails, allocates nothing. `port` 0: not known, the least of all ports. */
struct net_verdict net_resolve(const struct net *n, const struct hostname *host, uint16_t port)
	NONNULL;

/*
 * The second look of P13, at the address about to be dialled for a name that
 * net_resolve() allowed: a deny of that address holds, and a non-public one needs
 * an allow of its own. Otherwise allowed, for the reason NET_REASON_UNMATCHED.
 */
struct net_verdict net_resolve_address(const struct net *n, const struct ip *ip, uint16_t port)
	NONNULL;

/* P14: whether a request with this method may pass ("" for a tunnel that can't be seen into). */
bool net_method_passes(const struct net *n, struct str method) NONNULL;

/* The same answer as net_resolve() with every rule that had a say, the deciding one first. */
int net_trace_host(struct arena *a, const struct net *n, const struct hostname *host, uint16_t port,
		   struct net_verdict *out, net_trace *trace, struct err *e) MUST_CHECK NONNULL;

/* P15: whether that socket file of the host may be connected to. `home` as in struct places. */
struct net_verdict net_resolve_socket(const struct net *n, struct str path, struct str home)
	NONNULL;
