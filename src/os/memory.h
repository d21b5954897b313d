/* SPDX-License-Identifier: MIT */
/* Memory from the system itself, for processes in which malloc() can't be used; and wiping it. */
#pragma once

#include <stddef.h>

#include "base/macros.h"

/* Zeroed pages. They are not reserved: those that are never touched cost nothing. NULL: there are none. */
void *os_map(size_t bytes) MUST_CHECK;
void os_unmap(void *memory, size_t bytes) NONNULL;

/* Clears a secret; the compiler can't leave it out. */
void os_wipe(void *memory, size_t bytes) NONNULL;
