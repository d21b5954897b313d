/* SPDX-License-Identifier: MIT */
/*
 * Closing a descriptor without waiting for what the kernel has to do then: the last close of an
 * inotify instance that watches something takes a dozen milliseconds.
 */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

/*
 * `*fd` is -1 afterwards. No process is started for it. False: it was closed like any other, because
 * too many of this user's are left already, or there is no descriptor or room for the way.
 */
bool fd_leave(int *fd) NONNULL;
