/* SPDX-License-Identifier: MIT */
/* One pattern of `network.domains` (P13): which hosts and ports it speaks of. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/hostname.h"
#include "base/ip.h"
#include "base/str.h"

enum domain_kind {
	DOMAIN_EXACT,	   /* example.com */
	DOMAIN_SUBDOMAINS, /* *.example.com */
	DOMAIN_BOTH,	   /* **.example.com */
	DOMAIN_ANY,	   /* *: every name and every public address */
	DOMAIN_BLOCK,	   /* an address or a CIDR block */
};

struct domain {
	enum domain_kind kind;
	struct str name; /* normal form, without the stars; of EXACT, SUBDOMAINS, BOTH */
	struct ip_block block;
	uint16_t port_first, port_last; /* 0 and 65535 when none is given, or all are */
	struct str text;		/* the whole pattern in normal form */
};

/* ERR_SYNTAX with what is wrong, what the forms are, and what was probably meant. */
int domain_parse(struct arena *a, struct str text, struct domain *out, struct err *e)
	MUST_CHECK NONNULL;

/* The same without the pattern and what was meant in the text. */
int domain_parse_plain(struct arena *a, struct str text, struct domain *out, struct err *e)
	MUST_CHECK NONNULL;

/* Where the "://" of a URL is, or text.len when it is none. */
size_t domain_scheme_end(struct str text) PURE;

/* "; did you mean 'a.com:443'?" for what is no pattern; nothing when that is not clear. */
void domain_add_hint(struct buf *out, struct str text) NONNULL;

/* The same for the ports from `first` to `last` alone. */
int domain_limit_ports(struct arena *a, const struct domain *d, uint16_t first, uint16_t last,
		       struct domain *out, struct err *e) MUST_CHECK NONNULL;

/*
 * One host and port as a pattern that covers just that; port 0 (not known) is
 * every port. Refers to the host's name.
 */
struct domain domain_of_host(const struct hostname *host, uint16_t port) NONNULL;

/*
 * Whether every host and port that `inner` covers is covered by `outer` too. Two
 * patterns of which neither lies within the other have no host in common, "*"
 * and a block aside.
 *
 * Names and addresses are apart: a name pattern covers no address and a block no
 * name; '*' covers every name and every public address, never another one (the
 * private guard of P13). An address that carries an IPv4 address inside (NAT64,
 * 6to4) is not covered by the block of that one, v4-mapped ones excepted: whoever
 * denies looks at ip_embedded_v4 as well.
 */
bool domain_is_within(const struct domain *inner, const struct domain *outer) NONNULL;

/* The same for hosts alone. */
bool domain_is_host_within(const struct domain *inner, const struct domain *outer) NONNULL;
