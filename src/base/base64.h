/* SPDX-License-Identifier: MIT */
/* RFC 4648's first alphabet, for bytes that may be no text. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

void base64_add(struct buf *b, struct str in) NONNULL;

/* Padding may be missing; nothing may follow it. False: it is none, or `out` has no room. */
bool base64_decode(struct str s, char *out, size_t room, size_t *len) MUST_CHECK NONNULL;
