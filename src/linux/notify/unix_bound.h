/* SPDX-License-Identifier: MIT */
/*
 * Whether a socket file was bound inside a sandbox.
 *
 * bind() always makes a new inode, so whoever bound it is fixed with the inode:
 * it is the sandbox's when a socket of the sandbox's network namespace that is
 * itself bound (not one that was accepted: those bear the listener's name in the
 * namespace of who connected) has that inode. The kernel lists them (sock_diag),
 * but names the inode by 32 bits of its number and by the device of the file
 * system. Where that can be true of two inodes (subvolumes of btrfs, layers of
 * overlayfs, large disks with xfs), the socket itself is taken from the process
 * inside that has it, and asked for its file (SIOCUNIXFILE, Linux 4.11).
 *
 * A sandbox without namespaces has the host's: there a socket is its own when a
 * process inside has it (none comes in from elsewhere). All sockets that could be
 * the one have to be; and where this process may not ask them for their file, which
 * takes CAP_NET_ADMIN, the device has to be the same, too. What is left open is a
 * server in another network namespace (of which the kernel does not tell) behind an
 * inode that has, on the same file system, the number of one of the sandbox's own
 * sockets but for a multiple of 2^32.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/macros.h"
#include "linux/notify/unix_holder.h"

enum { UNIX_BOUND_REMEMBERED = 32 };

struct bound_file {
	uint64_t cookie; /* of the socket, never used twice; 0: none */
	dev_t device;
	ino_t inode;
};

struct unix_bound {
	int diag; /* netlink socket of the sandbox's network namespace, or the host's */
	struct unix_inside inside;
	uint32_t sequence;
	bool is_behind;					     /* not all of an answer was read */
	struct bound_file remembered[UNIX_BOUND_REMEMBERED]; /* what was asked for before */
	size_t next;
};

enum unix_bound_where {
	BOUND_ELSEWHERE, /* or it can't be told */
	BOUND_INSIDE,
	BOUND_UNTOLD, /* it was looked for as far as one may (struct unix_effort) */
};

/* `file` is an O_PATH descriptor of a socket file, `st` its status. */
enum unix_bound_where unix_bound_find(struct unix_bound *b, int file, const struct stat *st)
	MUST_CHECK NONNULL;

/*
 * Whether any socket is bound to it, anywhere; else it is a leftover. Nobody
 * notices being asked: a datagram socket is told of the wrong type before
 * anything happens. With the caller's rights. 0 when nobody is, 1, or -errno.
 */
int unix_bound_anywhere(int file) MUST_CHECK;
