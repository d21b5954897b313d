/* SPDX-License-Identifier: MIT */
/* "Did you mean …?": the known name closest to a mistyped one. */
#pragma once

#include "base/str.h"

/*
 * The name of `known` (`count` of them) with the fewest edits from `typed`, or
 * NULL when none is close enough to be meant. Bounded: a `typed` over 64 bytes
 * is close to nothing.
 */
const char *nearest_name(struct str typed, const char *const *known, size_t count);
