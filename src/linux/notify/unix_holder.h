/* SPDX-License-Identifier: MIT */
/* Finds the file that a socket of another process is bound to, by asking the socket. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/macros.h"

/* The processes of the sandbox: those of a pid namespace, or without one a process tree. */
struct unix_inside {
	pid_t pid; /* any process of the namespace, or the root of the tree */
	bool is_tree;
};

/*
 * Limits the work of one search. It runs in the event loop, and the command decides how many
 * processes and descriptors there are: without a limit it could block the supervisor.
 */
struct unix_effort {
	unsigned left;	      /* directories and descriptors to look at */
	int64_t cpu_until_us; /* CPU time of this thread, so that a busy machine refuses nothing */
	int64_t until_us;     /* and a limit in real time */
	bool is_spent;
};

enum unix_holder {
	HOLDER_NONE,
	HOLDER_UNTOLD, /* not found within the limit */
	HOLDER_FOUND,  /* but asking its socket for the file needs CAP_NET_ADMIN */
	HOLDER_TOLD,   /* found, and `*out` is the file */
};

void unix_effort_start(struct unix_effort *effort) NONNULL;
/* Takes one step. False: the limit is reached. */
bool unix_effort_take(struct unix_effort *effort) MUST_CHECK NONNULL;

/*
 * Searches the sandbox's processes for the socket with this inode (as /proc/PID/fd shows it) and
 * this cookie.
 */
enum unix_holder unix_holder_find(struct unix_inside inside, uint32_t socket_inode, uint64_t cookie,
				  struct unix_effort *effort, struct stat *out) MUST_CHECK NONNULL;
