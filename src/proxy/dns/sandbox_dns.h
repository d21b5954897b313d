/* SPDX-License-Identifier: MIT */
/*
 * Programs that do not use a proxy look up a name and connect to its address. The resolver inside
 * gives each name an address of its own, in 198.18.0.0/15 and in a block below fd00::/8, which
 * stands for that name alone. When a connection to the address comes, the proxy finds the name
 * again.
 *
 * The resolver sends no query for a name that the policy does not allow. It looks up an allowed
 * name first, so that a name that does not exist does not seem to. Of a program's query only the
 * name ever leaves the host, in its normal form.
 *
 * "localhost" is the sandbox's own. A C library applies the search list: for "host" it asks for
 * "host.domain" and for "host". If one of these is allowed, the resolver answers that the others do
 * not exist. So the library reaches the allowed one, and learns whether that exists.
 */
#pragma once

#include "os/loop.h"
#include "proxy/dial/dial.h"

struct sandbox_dns;

enum { SANDBOX_DNS_MAX_NAMES = 65536 };

/* Call before lock_finish(). ERR_NOMEM. */
int sandbox_dns_make(struct sandbox_dns **out, const struct rules *rules, struct dialer *dialer,
		     struct err *e) MUST_CHECK NONNULL;
void sandbox_dns_done(struct sandbox_dns *s) NONNULL;

/* Takes a socket of the resolver inside (PROXY_NAMES_UDP): one for each family, or one for both. */
int sandbox_dns_serve(struct sandbox_dns *s, struct loop *loop, int fd, bool is_stream,
		      struct err *e) MUST_CHECK NONNULL;

/* Called for a name that gets no address because the table is full; the look-up fails. */
void sandbox_dns_tell(struct sandbox_dns *s, void (*is_full)(void *user, const struct target *name),
		      void *user) NONNULL;

/*
 * What an address that a program connects to means: the name that it stands for, or the address
 * itself. Programs may also read the hosts file and connect to an address that they found there. So
 * if no rule matches the address, but the hosts file has a name for it that is allowed, that name
 * counts. It is then dialled, and each of its addresses is checked.
 */
void sandbox_dns_find(const struct sandbox_dns *s, const struct ip *ip, uint16_t port,
		      struct target *out) NONNULL;
