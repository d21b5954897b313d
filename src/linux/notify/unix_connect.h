/* SPDX-License-Identifier: MIT */
/*
 * connect() of a sandbox that must not reach the host's unix sockets (P12, P15).
 *
 * A filter can't see a path, so every connect() comes here. It is never let
 * through (ENGINE_CONTINUE): between the look and the call another thread could
 * put another address, or another socket under the same number. The socket is
 * taken from the caller (pidfd_getfd), the address copied and judged, and what was
 * judged is connected by a process that may be kept waiting (connector.h); the
 * caller sees the result on its own socket, epoll registrations and all.
 *
 *	from outside		refused: a socket that was inherited (stdio) belongs to
 *				another network namespace, and connecting it anew would
 *				reach that one
 *	not a unix socket	connected as it is: its network namespace is its own. Where
 *				the network is off nothing is there but loopback: the kernel
 *				refuses, and that is a denial with a name
 *	abstract name		likewise: abstract names belong to the network namespace
 *	a path			looked up in the caller's own view (its root and working
 *				directory); connected when the policy names it (P15), or
 *				when the socket that is bound there belongs to the sandbox's
 *				network namespace (asked of the kernel, sock_diag), else
 *				refused with EACCES and a denial. Where nobody is bound, the
 *				answer is ECONNREFUSED as ever: programs tell by it that a
 *				socket is a leftover.
 *
 * What differs from a connect() of the caller's own:
 *  - A server sees that process as its peer (SO_PEERCRED, SO_PEERPIDFD): the user
 *    and group are the command's, because they are the same, the pid is 0 for a
 *    server inside. Credentials sent with a message (SCM_CREDENTIALS) are the
 *    sender's own.
 *  - A program that its user may run but not read can't be looked into by an
 *    ordinary user's supervisor: its connects are refused (EPERM).
 *  - A signal whose handler was set without SA_RESTART, and that comes in the
 *    moment before the call is received here, makes it EINTR, also where it would
 *    not have blocked; nothing was connected then. Later ones do not, and are seen
 *    at the end of the call, or while a blocking connect waits within a few
 *    hundredths of a second.
 */
#pragma once

#include "backend/denials.h"
#include "linux/init/sandbox.h"
#include "linux/notify/engine.h"
#include "linux/notify/unix_sockets.h"
#include "proxy/channel.h"

struct unix_connect;

/*
 * A managed network: a TCP connect to anything but loopback is asked of the proxy first
 * (PROXY_WILL_CONNECT) and made when it says so; one to the proxy's own port, or to one of the
 * host's that it listens at, is told to it afterwards (PROXY_HAS_CONNECTED), so that it knows
 * whose it is.
 */
struct connect_proxy {
	bool (*send)(void *user, const struct proxy_order *order); /* false: it is not to be had */
	void *user;
	const uint16_t *host_ports;
	size_t host_port_count;
};

/*
 * Where there is no network: names that are asked for are told by unix_connect_note_name() from
 * now on, in place of the name server that a caller connects to.
 */
void unix_connect_hear_names(struct unix_connect *u) NONNULL;
void unix_connect_note_name(struct unix_connect *u, struct str name) NONNULL;

/* What the proxy has answered (PROXY_MAY_CONNECT). */
void unix_connect_answer(struct unix_connect *u, uint64_t id, int os_error) NONNULL;

/*
 * All but `e` must outlive it. `proxy` is NULL where the network is not managed. ERR_NOMEM,
 * ERR_SYS.
 */
struct unix_connect *unix_connect_start(struct arena *a, struct engine *engine,
					const struct sandbox *sandbox,
					const struct unix_sockets *sockets,
					const struct connect_proxy *proxy, struct denials *denials,
					struct err *e) MUST_CHECK;

/* Calls that wait are left to the engine's end. No process is left. */
void unix_connect_stop(struct unix_connect *u) NONNULL;
