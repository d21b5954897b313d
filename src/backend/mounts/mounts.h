/* SPDX-License-Identifier: MIT */
/* What all backends that mount give, and why not the rest. */
#pragma once

#include "backend/backend.h"

guarantee_set mounts_give(void);
const char *mounts_why_not(enum guarantee g) RETURNS_NONNULL;
