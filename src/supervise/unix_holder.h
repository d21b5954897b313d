/* SPDX-License-Identifier: MIT */
/* The file that a socket of another process is bound to, told by the socket itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/macros.h"

/* Which processes are inside: those of a pid namespace, or without one a tree. */
struct unix_inside {
	pid_t pid; /* one of the namespace, or the root of the tree */
	bool is_tree;
};

enum unix_holder {
	HOLDER_NONE,
	HOLDER_FOUND, /* but this process may not ask its socket for the file (CAP_NET_ADMIN) */
	HOLDER_TOLD,  /* and `*out` is the file */
};

/*
 * Looks for the socket, by its number in /proc/PID/fd and its cookie, among the
 * processes that are inside.
 */
enum unix_holder unix_holder_find(struct unix_inside inside, uint32_t socket_inode, uint64_t cookie,
				  struct stat *out) MUST_CHECK NONNULL;
