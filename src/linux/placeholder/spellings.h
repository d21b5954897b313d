/* SPDX-License-Identifier: MIT */
/* File systems on which another spelling finds the same name. */
#pragma once

#include "base/err.h"
#include "linux/placeholder/placeholder.h"

/*
 * SECURITY: on some file systems .GIT opens .git, but a mount on .git does not cover .GIT, so the command
 * could bypass it. CAUSE_PLACEHOLDER then. `dir` is the directory of the placeholder.
 */
int spellings_check(int dir, const struct held *h, struct err *e) MUST_CHECK NONNULL;
