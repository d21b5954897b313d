/* SPDX-License-Identifier: MIT */
/*
 * Host names in the one form in which they are compared: lower case, A-labels
 * (IDNA), no trailing dot; or an address without brackets and zone.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/ip.h"
#include "base/str.h"

struct hostname {
	bool is_ip;
	struct ip ip;	 /* when is_ip */
	struct str name; /* the normal form; for an address its canonical text */
};

/*
 * `text` is a name, an IPv4 or an IPv6 address, the last with or without
 * brackets and zone (the zone is dropped: it says which link, not which host).
 * One trailing dot is dropped.
 * ERR_SYNTAX: empty, over 253 bytes, an empty label or one over 63, characters
 * that no host name has ('_' is allowed), an odd spelling of IPv4 (0x7f.1,
 * 0177.0.0.1, 2130706433, 127.1: a name whose last label is a number), and what
 * IDNA does not allow (see idna.h): a label that is not in NFC, that needs its
 * context to be judged, that mixes writing directions, or an "xn--" label that
 * is not the one encoding of an allowed label.
 */
int hostname_parse(struct arena *a, struct str text, struct hostname *out, struct err *e)
	MUST_CHECK NONNULL;

/* The same for one domain name without wildcards, addresses refused. */
int hostname_parse_name(struct arena *a, struct str text, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* "HOST", "HOST:PORT", "[V6]:PORT", "V6". `port` is 0 when none is given. */
int hostname_parse_port(struct arena *a, struct str text, struct hostname *out, uint16_t *port,
			struct err *e) MUST_CHECK NONNULL;

/* Whether a name in normal form is loopback by definition (RFC 6761, 6.3). */
bool hostname_is_localhost(struct str name) PURE;

/* The offset of the colon before the port in such a text; text.len if there is none. */
size_t hostname_port_offset(struct str text) PURE;

/* A port: decimal, 1 to 65535, no leading zero. */
bool hostname_port_number(struct str text, uint16_t *out) NONNULL;
