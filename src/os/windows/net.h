/* SPDX-License-Identifier: MIT */
/* Winsock, for the other files of this directory. */
#pragma once

#include "base/macros.h"

/* Starts it for this process, once. 0 or -errno. */
int net_start(void) MUST_CHECK;
