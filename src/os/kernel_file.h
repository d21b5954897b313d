/* SPDX-License-Identifier: MIT */
/* Files that are none: the kernel acts when they are read or written. */
#pragma once

#include <stdbool.h>

#include "base/macros.h"

/* Whether `fd` is of a kernel file system (/proc, /sys, ...); so is what can't be told. */
bool os_is_of_kernel(int fd) MUST_CHECK;
