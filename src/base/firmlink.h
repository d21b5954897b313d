/* SPDX-License-Identifier: MIT */
/*
 * The second spellings that macOS has for what lies on its data volume: /System/Volumes/Data/Users is /Users, by no
 * link that lstat() shows. SECURITY: the kernel compares the short one alone, so a rule for the long one would match nothing. Here it
 * counts for a link.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* What `path` (plain, in any case) stands for; "": it is no such spelling. */
struct str firmlink_target(struct str path) PURE;
/* Whether such spellings begin below it. */
bool firmlink_is_above(struct str path) PURE;
