/* SPDX-License-Identifier: MIT */
/*
 * Programs that know nothing of proxies ask for an address and connect to it. The
 * resolver inside gives each name an address of its own, of 198.18.0.0/15 and of a block
 * below fd00::/8, which stands for the name and for nothing else; whoever accepts a
 * connection to it knows the name again. Nothing leaves the host for a name that policy
 * does not allow; one that it does is looked up first, so that a name that does not
 * exist does not seem to. Of a question only the name ever leaves, in its normal form.
 *
 * "localhost" is the sandbox's own. A C library goes through the search list: for "host" it
 * asks for "host.domain" and for "host". If one of these is allowed, the others do not exist,
 * so that it comes to that one, and learns the truth when that one does not exist.
 */
#pragma once

#include "os/loop.h"
#include "proxy/dial/dial.h"

struct stand_ins;

enum { STAND_IN_MAX_NAMES = 65536 };

/* Before the lock. ERR_NOMEM. */
int stand_ins_make(struct stand_ins **out, const struct rules *rules, struct dialer *dialer,
		   struct err *e) MUST_CHECK NONNULL;
void stand_ins_done(struct stand_ins *s) NONNULL;

/* Takes the sockets of the resolver inside (PROXY_NAMES_UDP, one each family or one for both). */
int stand_ins_serve(struct stand_ins *s, struct loop *loop, int fd, bool is_stream, struct err *e)
	MUST_CHECK NONNULL;

/* Who is told of a name that gets no address because there are too many; it can't be looked up. */
void stand_ins_tell(struct stand_ins *s, void (*is_full)(void *user, const struct target *name),
		    void *user) NONNULL;

/*
 * What an address that was connected to means: the name that it stands for, or itself. A
 * program reads the hosts file by itself and then connects to what it found there; so an
 * address that no rule speaks of is taken for a name that the file has for it, if that one
 * is allowed. Then the name is dialled, and each of its addresses judged.
 */
void stand_ins_find(const struct stand_ins *s, const struct ip *ip, uint16_t port,
		    struct target *out) NONNULL;
