/* SPDX-License-Identifier: MIT */
/*
 * The network matcher (P12-P14): one function answers for a host and port; `why`, the proxy and the
 * tests use it. As for files there is a stack: the profile's answer, then the least of that and
 * every narrowing layer's. It judges names and literals, and never resolves.
 *
 * Order in the profile: network off: deny · network full: allow · deny rule · private guard · allow
 * rule or grant · decider (ask) · deny. A narrowing layer lowers the answer by "off" and by its
 * deny rules, and leaves it alone otherwise.
 *
 * Details:
 *  - Of several rules that cover a host, the most specific is named: exact before the longest
 *    suffix before "*", the longest prefix of an address; then the one for fewer ports.
 *  - A grant (P18) opens its hosts even if the profile's network is off, just as a grant of a path
 *    works below a deny higher up. The private guard, deny rules and narrowing layers still apply
 *    to it. The decider is not asked there. A grant of a unix socket is the same for that socket:
 *    an entry that denies it, and narrowing layers, still apply.
 *  - A full network has no private guard: the user asked for every host.
 *  - A deny of an IPv4 block also covers an IPv6 address that carries one of its addresses (NAT64,
 *    6to4, …). An allow does not.
 *  - "localhost" and names below it are loopback by definition, and similar names
 *    ("localhost.localdomain", "ip6-localhost", …) are in practice. So the guard applies to them:
 *    they need an allow of that exact name, and one of 127.0.0.1 or ::1 as an address or a block,
 *    which no deny covers.
 *  - Port 0 means unknown: a deny of any port counts, and an allow only if it covers every port. So
 *    an allowed host is allowed on all ports. The trace has the other rules.
 *  - A narrowing layer makes a full network managed as soon as it has anything to enforce. Then, as
 *    always in a managed network, only those unix sockets are open that the profile names.
 *  - An unsandboxed policy allows everything, because nothing would stop it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hostname.h"
#include "base/str.h"
#include "policy/policy.h"

/* Ordered like enum access: the lesser one is narrower. */
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
	struct origin origin; /* of the rule, of `enabled`, …; .file is NULL if nothing says it */
};

typedef VEC(struct net_verdict) net_trace;

struct net;

const struct net *net_build(struct arena *a, const struct policy *p, bool has_decider,
			    struct err *e) MUST_CHECK NONNULL;

/* What the network as a whole is after all layers: off, full or managed (grants included). */
enum net_access net_mode(const struct net *n) NONNULL;
/*
 * P12: it is managed only so that hosts can be asked about: no rule allows any, so where it can't be
 * managed it may as well be off.
 */
bool net_is_for_asking(const struct net *n) NONNULL;
bool net_is_limited(const struct net *n) NONNULL;

/* P13; true only if every layer that mentions the network permits it. */
bool net_allows_local_binding(const struct net *n) NONNULL;
bool net_allows_upstream_proxy(const struct net *n) NONNULL;

/*
 * The profile's network with the keys that are the same for all hosts narrowed by every layer. Its
 * `access`, hosts and sockets are the profile's own.
 */
const struct net_rules *net_narrowed(const struct net *n) NONNULL RETURNS_NONNULL;

/* The answer; never fails, allocates nothing. `port` 0: unknown, the least of all ports. */
struct net_verdict net_resolve(const struct net *n, const struct hostname *host, uint16_t port)
	NONNULL;

/*
 * The second check of P13, of the address that is about to be dialled for a name that net_resolve()
 * allowed. A deny of that address counts, and a non-public address needs its own allow. Otherwise
 * it is allowed, with the reason NET_REASON_UNMATCHED.
 */
struct net_verdict net_resolve_address(const struct net *n, const struct ip *ip, uint16_t port)
	NONNULL;

/*
 * P14: whether a request with this method may pass ("" for a tunnel whose contents can't be seen).
 */
bool net_method_passes(const struct net *n, struct str method) NONNULL;

/*
 * The same answer as net_resolve() with every rule that contributed to it, the deciding one first.
 */
int net_trace_host(struct arena *a, const struct net *n, const struct hostname *host, uint16_t port,
		   struct net_verdict *out, net_trace *trace, struct err *e) MUST_CHECK NONNULL;

/*
 * P15: whether the command may connect to that socket file of the host. `home` as in struct places.
 */
struct net_verdict net_resolve_socket(const struct net *n, struct str path, struct str home)
	NONNULL;
