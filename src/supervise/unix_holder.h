/* SPDX-License-Identifier: MIT */
/* The file that a socket of another process is bound to, told by the socket itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/macros.h"

/*
 * Looks for the socket, by its number in /proc/PID/fd and its cookie, among the
 * processes of `inside`'s pid namespace. False when none has it.
 */
bool unix_holder_stat(pid_t inside, uint32_t socket_inode, uint64_t cookie, struct stat *out)
	MUST_CHECK NONNULL;
