/* SPDX-License-Identifier: MIT */
/*
 * Looks up a path as its caller would: from the caller's root, working directory or descriptor, and
 * with its rights. The result is the inode; others decide whether the caller may reach it.
 *
 * Programs use /proc/self/fd/N, /dev/fd/N and the like for paths longer than the 108 bytes of an
 * address. Here they would lead to this process's descriptors. So at the start of a path they are
 * looked up in the caller's /proc/PID; elsewhere such links are not followed (ELOOP).
 */
#pragma once

#include <stdbool.h>

#include "linux/notify/engine.h"

struct lookup {
	int root;	  /* the caller's root, O_PATH */
	int start;	  /* the directory that `rest` is relative to; -1: the root */
	const char *rest; /* points into the caller's path; "": `start` itself */
	bool nofollow;	  /* don't follow a link at the end */
};

/* Opens the directories where the search starts. 0 or -errno; call lookup_done() in any case. */
int lookup_init(struct lookup *l, const struct engine *engine, const struct engine_call *call,
		const char *path) MUST_CHECK NONNULL;
/* The same, relative to the caller's descriptor `dir` or AT_FDCWD; "" means the descriptor. */
int lookup_init_at(struct lookup *l, const struct engine *engine, const struct engine_call *call,
		   int dir, const char *path) MUST_CHECK NONNULL;
void lookup_done(struct lookup *l) NONNULL;

/* The caller's descriptor that the path names (/dev/stdout, /proc/self/fd/7); -1: none. */
int lookup_own_descriptor(const char *path) NONNULL;

/*
 * An O_PATH descriptor of the path's file, or -errno. Call it with the caller's rights (rights.h);
 * lookup_init() needs more rights.
 */
int lookup_find(const struct lookup *l) MUST_CHECK NONNULL;
/* Opens the path of `file` again in the caller's tree, where it may be another file. */
int lookup_again(const struct lookup *l, int file) MUST_CHECK NONNULL;
