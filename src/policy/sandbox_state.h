/* SPDX-License-Identifier: MIT */
/*
 * What codex says of its own sandbox with each call to a server that declares "codex/sandbox-state":
 * the permission profile that its user has chosen. Pure.
 *
 * It becomes a layer that narrows. SECURITY: what is not known, or can't be said as a layer, is an error,
 * because losing a deny would make the call wider than codex's own sandbox.
 */
#pragma once

#include "base/json.h"
#include "policy/policy.h"

enum { SANDBOX_STATE_MAX_ENTRIES = 4096 };

/*
 * `state` is the value of "codex/sandbox-state". A path that the profile does not name is denied there, so
 * it is denied here; a write entry does not cover what codex protects below it (.git, .codex, …).
 * `*takes_away`: whether the layer restricts anything. ERR_POLICY, ERR_LIMIT, ERR_NOMEM.
 */
int sandbox_state_read(struct arena *a, const struct json *state, struct layer *out,
		       bool *takes_away, struct err *e) MUST_CHECK NONNULL;
