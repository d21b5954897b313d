/* SPDX-License-Identifier: MIT */
/* Random numbers that nobody can predict. */
#pragma once

#include <stddef.h>

#include "base/macros.h"

/* 0 or -errno. Requests of up to 256 bytes are never cut short. */
int os_random(void *out, size_t bytes) MUST_CHECK NONNULL;
