/* SPDX-License-Identifier: MIT */
/* File systems on which another spelling finds the same name. */
#pragma once

#include "base/err.h"
#include "linux/placeholder/placeholder.h"

/*
 * SECURITY: where .GIT finds .git, and the kernel takes the two for two names, what holds the one
 * leaves the other open. ERR_POLICY then. `dir` is the directory of what is held.
 */
int spellings_check(int dir, const struct held *h, struct err *e) MUST_CHECK NONNULL;
