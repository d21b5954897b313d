/* SPDX-License-Identifier: MIT */
/*
 * connect() of a sandbox that must not reach the host's unix sockets (P12, P15).
 *
 * A filter can't see a path, so every connect() comes here. It is never let
 * through (ENGINE_CONTINUE): between the look and the call another thread could
 * put another address, or another socket under the same number. The socket is
 * taken from the caller (pidfd_getfd), the address copied, judged, and connected
 * here; the caller sees the result on its own socket, epoll registrations and
 * all. A blocking connect that would block is waited for in the loop.
 *
 *	not a unix socket	connected as it is: its network namespace is its own
 *	abstract name		likewise: abstract names belong to the network namespace
 *	a path			looked up in the caller's own view (its root and working
 *				directory); connected when the policy names it (P15), or
 *				when the socket that is bound there belongs to the sandbox's
 *				network namespace (asked of the kernel, sock_diag), else
 *				refused with EACCES and a denial.
 */
#pragma once

#include "plan/plan.h"
#include "supervise/denials.h"
#include "supervise/engine.h"
#include "supervise/sandbox.h"

struct unix_connect;

/* `sandbox` and `plan` must outlive it. ERR_NOMEM, ERR_SYS. */
struct unix_connect *unix_connect_start(struct arena *a, struct engine *engine,
					const struct sandbox *sandbox, const struct plan *plan,
					struct denials *denials, struct err *e) MUST_CHECK NONNULL;
void unix_connect_stop(struct unix_connect *u) NONNULL;
