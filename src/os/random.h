/* SPDX-License-Identifier: MIT */
/* Random numbers that nobody can guess. */
#pragma once

#include <stddef.h>

#include "base/macros.h"

/* 0 or -errno. Up to 256 bytes are never cut. */
int os_random(void *out, size_t bytes) MUST_CHECK NONNULL;
