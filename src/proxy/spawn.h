/* SPDX-License-Identifier: MIT */
/* How the proxy's process begins: posix/spawn.c forks it, windows/spawn.c starts this program again. */
#pragma once

#include "proxy/decide.h"
#include "proxy/proxy.h"

/* `p` is as it was if this fails. ERR_SYS, ERR_NOMEM, ERR_LIMIT, ERR_WEAKER. */
int proxy_spawn(struct proxy *p, const struct proxy_options *options,
		const struct rule_place *place, struct err *e) MUST_CHECK NONNULL;
