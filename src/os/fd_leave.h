/* SPDX-License-Identifier: MIT */
/*
 * Closes a descriptor without waiting for the work that its last close causes: for an inotify
 * instance with watches the kernel needs a dozen milliseconds.
 */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

/*
 * Sets `*fd` to -1. Starts no process. False: closed it in the usual way, because this user has too
 * many such closes pending, or no descriptor or buffer was free.
 */
bool fd_leave(int *fd) NONNULL;
