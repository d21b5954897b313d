/* SPDX-License-Identifier: MIT */
/*
 * What the proxy needs to begin, as bytes: for a system where its process is not a copy of its parent. The rules are
 * those that were decided, each with its place; nothing is read or decided anew. Pure.
 *
 * Both sides are the same program, and the reader trusts the writer; what is cut or too long is refused all the same.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "proxy/decide.h"
#include "proxy/proxy.h"

enum { HANDOVER_MAX_BYTES = 64 << 20 };

/* Of the environment what names proxies. ERR_LIMIT, ERR_NOMEM. */
int handover_print(const struct proxy_options *options, const struct rule_place *place,
		   struct buf *out, struct err *e) MUST_CHECK NONNULL;

/* All that it leads to is in the arena, or is a part of `bytes`. ERR_SYNTAX, ERR_LIMIT, ERR_NOMEM. */
int handover_parse(struct arena *a, struct str bytes, struct proxy_options *out,
		   struct rule_place *place, struct err *e) MUST_CHECK NONNULL;
