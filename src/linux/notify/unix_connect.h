/* SPDX-License-Identifier: MIT */
/*
 * connect() of a sandbox that must not reach the host's unix sockets (P12, P15).
 *
 * A filter can't see a path, so it notifies of every connect(). The handler never lets the call
 * continue (ENGINE_CONTINUE): after the check another thread could change the address, or put another
 * socket under the same number. It duplicates the caller's socket (pidfd_getfd), copies and checks the
 * address, and has a connector, which may block, make the connection (connector.h). The caller sees
 * the result on its own socket; its epoll registrations stay valid.
 *
 *	from outside		refused: an inherited socket (stdio) belongs to another network
 *				namespace, and connecting it again would reach that network
 *	not a unix socket	connected: it stays in the sandbox's network namespace. If the
 *				network is off, that has only loopback; the kernel refuses the
 *				call, and the supervisor reports a denial with its name
 *	abstract name		connected: abstract names belong to the network namespace
 *	a path			looked up as the caller sees it (its root and working directory).
 *				Connected if the policy names it (P15), or if the socket that is
 *				bound to it belongs to the sandbox's network namespace (which the
 *				kernel says, sock_diag); otherwise refused with EACCES and
 *				a denial. If no socket is bound to it, ECONNREFUSED as usual:
 *				by this error programs recognise a leftover
 *
 * Differences from an ordinary connect():
 *  - A server sees the connector as its peer (SO_PEERCRED, SO_PEERPIDFD). User and group equal the
 *    command's; the pid is 0 for a server inside. Credentials in a message (SCM_CREDENTIALS) are
 *    the sender's own.
 *  - An ordinary user's supervisor can't inspect a program that its user may execute but not read,
 *    and refuses its calls (EPERM).
 *  - A signal whose handler lacks SA_RESTART, and that arrives just before the supervisor receives
 *    the call, makes it fail with EINTR, even a call that would not block; nothing is connected
 *    then. Later signals do not. The caller handles them when the call ends, or, while
 *    a blocking connect() waits, within a few hundredths of a second.
 */
#pragma once

#include "backend/denials.h"
#include "linux/init/sandbox.h"
#include "linux/notify/engine.h"
#include "linux/notify/inside.h"
#include "linux/notify/unix_sockets.h"
#include "proxy/channel.h"

struct unix_connect;

/*
 * In a managed network, the proxy decides about each TCP connect() to an address other than loopback
 * (PROXY_WILL_CONNECT) before it is made. After a connect() to the proxy's own port, or to a host port
 * that it forwards, it learns who the caller was (PROXY_HAS_CONNECTED).
 */
struct connect_proxy {
	bool (*send)(void *user, const struct proxy_order *order); /* false: no proxy */
	void *user;
	const uint16_t *host_ports;
	size_t host_port_count;
};

/* Who is asked whether a connection to a socket of the host may be made after all (P18). */
struct connect_asker {
	/*
	 * `attempt` is the denial that it would be. True: the caller waits for
	 * unix_connect_release(), which may be called before this returns. False: it is refused.
	 */
	bool (*hold)(void *user, const struct engine_call *call, const struct denial *attempt);
	/* The caller of the call `id` does not wait any more. May be NULL. */
	void (*unhold)(void *user, uint64_t id);
	void *user;
};

/*
 * From now on what only no rule allows is asked about; what an entry denies is not. `asker` must
 * outlive it.
 */
void unix_connect_ask(struct unix_connect *u, const struct connect_asker *asker) NONNULL;

enum connect_release {
	CONNECT_REFUSE, /* who was asked records it */
	CONNECT_GO_ON,	/* made if the rules allow it by now (unix_sockets_open()) */
	CONNECT_ONCE,	/* made: this call alone, to the socket that was asked about */
};

/* False: no such call waits. */
bool unix_connect_release(struct unix_connect *u, uint64_t id, enum connect_release how) NONNULL;

/* From now on connects to its path are answered by `inside`. */
void unix_connect_serve(struct unix_connect *u, struct inside *inside) NONNULL;

/*
 * Without a network: from now on unix_connect_note_name() reports the names that are looked up, so a
 * connect() to the name server itself is not reported.
 */
void unix_connect_hear_names(struct unix_connect *u) NONNULL;
void unix_connect_note_name(struct unix_connect *u, struct str name) NONNULL;

/* The proxy's answer (PROXY_MAY_CONNECT). */
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

/* Ends all connectors. Calls that still wait get their answer when the engine ends. */
void unix_connect_stop(struct unix_connect *u) NONNULL;
