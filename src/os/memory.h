/* SPDX-License-Identifier: MIT */
/* Memory directly from the system, for processes that can't use malloc(); and wiping it. */
#pragma once

#include <stddef.h>

#include "base/macros.h"

/* Zeroed pages, which cost nothing until they are touched. NULL: there are none. */
void *os_map(size_t bytes) MUST_CHECK;
void os_unmap(void *memory, size_t bytes) NONNULL;

/* Clears a secret; the compiler can't optimise it away. */
void os_wipe(void *memory, size_t bytes) NONNULL;
