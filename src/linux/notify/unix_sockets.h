/* SPDX-License-Identifier: MIT */
/*
 * P15 on a host: the socket files that the policy names, and whether a given inode is one of them.
 * The command may change names wherever it may write. So:
 *
 *  - Paths are resolved before the command runs (P8).
 *  - A path through a link in a writable directory matches nothing: an earlier run could have made
 *    the link.
 *  - Where the command can't write, the path means the socket that is there when the command
 *    connects: the server may have been restarted.
 *  - Where it can write, the path means only the inode that was there at the start. It is kept
 *    open, so that the file system can't reuse its number.
 *
 * What is granted while the command runs (P18) is a rule like the others, from when it was granted.
 */
#pragma once

#include <sys/stat.h>

#include "plan/net.h"
#include "plan/plan.h"

struct known_socket {
	const char *path;     /* canonical */
	struct origin origin; /* in the policy */
	int inode_fd;	      /* O_PATH; -1: it did not exist at the start */
	bool is_allow;
	bool is_live; /* granted while the command runs */
};

struct unix_sockets {
	/* What is in force now: a directory that was granted counts as one that can be written. */
	const struct plan *plan;
	VEC(struct known_socket) items;
};

#define UNIX_SOCKETS_NONE               \
	{                               \
		.items = { NULL, 0, 0 } \
	}

/*
 * Call it before the command runs; `plan` must outlive it. A missing socket is no failure. ERR_SYS,
 * ERR_LIMIT, ERR_NOMEM.
 */
int unix_sockets_find(struct arena *a, const struct plan *plan, struct unix_sockets *out,
		      struct err *e) MUST_CHECK NONNULL;
void unix_sockets_done(struct unix_sockets *s) NONNULL;

/*
 * From now on the socket at the canonical `path` may be connected to, unless a rule denies it.
 * ERR_POLICY: there is none, or no socket of the host may be reached; ERR_SYS, ERR_NOMEM, ERR_LIMIT.
 */
int unix_sockets_open(struct arena *a, struct unix_sockets *s, struct str path, struct err *e)
	MUST_CHECK NONNULL;
/* Takes that back. */
void unix_sockets_close(struct unix_sockets *s, struct str path) NONNULL;

enum socket_reason {
	SOCKET_ALLOWED,
	SOCKET_NETWORK_OFF,
	SOCKET_DENIED,	 /* by a rule */
	SOCKET_REPLACED, /* the allowed one was replaced since the start */
	SOCKET_UNNAMED,
};

struct socket_verdict {
	enum socket_reason reason;
	struct origin origin; /* .file is NULL if no rule says it */
	bool is_final;	      /* set by a layer that the profile can't override */
};

/* `path` is the inode's path inside the sandbox; it alone never allows anything. */
struct socket_verdict unix_sockets_decide(const struct unix_sockets *s, const struct stat *inode,
					  struct str path) NONNULL;
