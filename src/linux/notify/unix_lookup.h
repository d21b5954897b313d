/* SPDX-License-Identifier: MIT */
/*
 * A path as its caller means it: from its root, its working directory or one of
 * its descriptors, with its rights. What comes out is the inode; whether it may be
 * reached is for others to say.
 *
 * /proc/self/fd/N, /dev/fd/N and the like are the usual way around the 108 bytes
 * of an address, and would be this process's own. As the start of a path they are
 * taken to be the caller's; links of that kind elsewhere are not followed
 * (ELOOP, as in a file system without them).
 */
#pragma once

#include <stdbool.h>

#include "linux/notify/engine.h"

struct lookup {
	int root;	  /* of the caller, O_PATH */
	int start;	  /* where `rest` is relative to; -1: the root */
	const char *rest; /* in the caller's path; "" is `start` itself */
	bool nofollow;	  /* a link at its end is what is meant */
};

/* Opens what the search starts from. 0 or -errno; lookup_done() in any case. */
int lookup_init(struct lookup *l, const struct engine *engine, const struct engine_call *call,
		const char *path) MUST_CHECK NONNULL;
/* The same from the caller's descriptor `dir`, or AT_FDCWD; an empty path is the descriptor. */
int lookup_init_at(struct lookup *l, const struct engine *engine, const struct engine_call *call,
		   int dir, const char *path) MUST_CHECK NONNULL;
void lookup_done(struct lookup *l) NONNULL;

/* The descriptor of its own that a path names as a whole (/dev/stdout, /proc/self/fd/7), or -1. */
int lookup_own_descriptor(const char *path) NONNULL;

/*
 * An O_PATH descriptor of what the path leads to, or -errno. To be called with
 * the caller's rights (rights.h); lookup_init() needs more.
 */
int lookup_find(const struct lookup *l) MUST_CHECK NONNULL;
/* The same of what is in the caller's tree where that file lies in its own, which may be another. */
int lookup_again(const struct lookup *l, int file) MUST_CHECK NONNULL;
