/* SPDX-License-Identifier: MIT */
/*
 * P15 on a host: which socket files the policy names, and whether a given one is
 * among them. A name is only a way to an inode, and the command may change names
 * wherever it may write. So:
 *
 *  - Names are resolved before the command runs (P8).
 *  - A name that leads through a link in a place that the command may write to
 *    stands for nothing: an earlier run could have made the link.
 *  - Where the command can't write, the socket is whatever stands at that path
 *    when it is asked for: its server may have been started again.
 *  - Where it can, it is only the inode that stood there at the start, which is
 *    held open so that its number can't come to mean another one.
 */
#pragma once

#include <sys/stat.h>

#include "plan/net.h"
#include "plan/plan.h"

struct known_socket {
	const char *path;     /* canonical */
	struct origin origin; /* in the policy */
	int inode_fd;	      /* O_PATH, or -1: nothing stood there at the start */
	bool is_allow;
	bool is_replaceable; /* by the command */
};

struct unix_sockets {
	const struct plan *plan;
	VEC(struct known_socket) items;
};

#define UNIX_SOCKETS_NONE               \
	{                               \
		.items = { NULL, 0, 0 } \
	}

/*
 * To be called before the command runs; `plan` must outlive it. A socket that is
 * not there is no failure. ERR_SYS, ERR_LIMIT, ERR_NOMEM.
 */
int unix_sockets_find(struct arena *a, const struct plan *plan, struct unix_sockets *out,
		      struct err *e) MUST_CHECK NONNULL;
void unix_sockets_done(struct unix_sockets *s) NONNULL;

enum socket_reason {
	SOCKET_ALLOWED,
	SOCKET_NETWORK_OFF,
	SOCKET_DENIED,	 /* by a rule */
	SOCKET_REPLACED, /* allowed is what stood there at the start */
	SOCKET_UNNAMED,
};

struct socket_verdict {
	enum socket_reason reason;
	struct origin origin; /* .file NULL when nothing says it */
	bool is_final;	      /* said by a layer that the profile can't answer */
};

/* `path` is where the inode lies as the command sees it; it decides nothing alone. */
struct socket_verdict unix_sockets_decide(const struct unix_sockets *s, const struct stat *inode,
					  struct str path) NONNULL;
