/* SPDX-License-Identifier: MIT */
/*
 * Whether a socket file was bound inside a sandbox.
 *
 * bind() always creates a new inode, so an inode belongs to one socket for ever. The file is the
 * sandbox's if a socket of the sandbox's network namespace is bound to that inode. (Accepted sockets
 * do not count: they have the listener's name, but the namespace of the client.) The kernel lists
 * bound sockets (sock_diag) with the device and the low 32 bits of the inode number. Two inodes can
 * agree in both (subvolumes of btrfs, layers of overlayfs, large xfs disks). There the supervisor
 * duplicates the socket from the process inside that holds it, and asks it for its file
 * (SIOCUNIXFILE, Linux 4.11).
 *
 * A sandbox without namespaces shares the host's network namespace. There a socket is the sandbox's
 * if a process inside holds it; none gets in from outside. Every candidate has to be. If this process
 * may not ask the sockets for their files (that needs CAP_NET_ADMIN), the device has to match, too.
 *
 * Remaining gap: a server in another network namespace, which the kernel does not list, on the same
 * file system, whose inode number differs from that of a socket of the sandbox by a multiple of 2^32.
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
	uint64_t cookie; /* of the socket, which the kernel never reuses; 0: none */
	dev_t device;
	ino_t inode;
};

struct unix_bound {
	int diag; /* netlink socket of the sandbox's network namespace, or the host's */
	struct unix_inside inside;
	uint32_t sequence;
	bool is_behind;					     /* not all of an answer was read */
	struct bound_file remembered[UNIX_BOUND_REMEMBERED]; /* earlier answers */
	size_t next;
};

enum unix_bound_where {
	BOUND_ELSEWHERE, /* or unknown */
	BOUND_INSIDE,
	BOUND_UNTOLD, /* not found within the limit of struct unix_effort */
};

/* `file` is an O_PATH descriptor of a socket file, `st` its status. */
enum unix_bound_where unix_bound_find(struct unix_bound *b, int file, const struct stat *st)
	MUST_CHECK NONNULL;

/*
 * Whether any socket, inside or outside, is bound to the file; if none is, it is a leftover. The
 * server does not notice: connecting with the wrong socket type fails before anything happens. Call
 * it with the caller's rights. 1, 0 or -errno.
 */
int unix_bound_anywhere(int file) MUST_CHECK;
