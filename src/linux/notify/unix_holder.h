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

/*
 * How far is looked for one question: it is answered in the event loop, and the command
 * decides how many processes and descriptors there are.
 */
struct unix_effort {
	unsigned left;	      /* directories and descriptors */
	int64_t cpu_until_us; /* of this thread, so that a busy machine refuses nothing */
	int64_t until_us;     /* and a hard end */
	bool is_spent;
};

enum unix_holder {
	HOLDER_NONE,
	HOLDER_UNTOLD, /* it was looked for as far as the effort went */
	HOLDER_FOUND,  /* but this process may not ask its socket for the file (CAP_NET_ADMIN) */
	HOLDER_TOLD,   /* and `*out` is the file */
};

void unix_effort_start(struct unix_effort *effort) NONNULL;
/* One step of it; false when there are no more. */
bool unix_effort_take(struct unix_effort *effort) MUST_CHECK NONNULL;

/*
 * Looks for the socket, by its number in /proc/PID/fd and its cookie, among the
 * processes that are inside.
 */
enum unix_holder unix_holder_find(struct unix_inside inside, uint32_t socket_inode, uint64_t cookie,
				  struct unix_effort *effort, struct stat *out) MUST_CHECK NONNULL;
