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
 * ERR_SYNTAX: empty, over 253 bytes, a label over 63, characters that no host
 * name has, an odd spelling of IPv4 (0x7f.1, 0177.0.0.1, 2130706433, 127.1: a
 * name whose last label is a number), a name that IDNA does not allow or whose
 * composed form is not certain.
 */
int hostname_parse(struct arena *a, struct str text, struct hostname *out, struct err *e)
	MUST_CHECK NONNULL;

/* The same for one domain name without wildcards, addresses refused. */
int hostname_parse_name(struct arena *a, struct str text, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/*
 * "HOST", "HOST:PORT", "[V6]:PORT", "V6". `port` is 0 when none is given.
 */
int hostname_parse_port(struct arena *a, struct str text, struct hostname *out, uint16_t *port,
			struct err *e) MUST_CHECK NONNULL;
