/* SPDX-License-Identifier: MIT */
/*
 * Ends a run that loses one of its protections. The kernel detaches a mount when another program
 * removes the name below it, or renames another file over it:
 *
 *  - Placeholders are directories of the host. If a program outside removes one (`git clean` in
 *    another terminal), the mount on it goes, and the command could create what it must not.
 *  - A mount makes a file denied or read-only. If a program outside saves the file by renaming a
 *    new one over it (editors, `git config`), the command could read or write the new one.
 *
 * The guard checks them ten times a second. (It does not use inotify, because closing it takes the
 * kernel longer than most runs.)
 */
#pragma once

#include "linux/init/sandbox.h"
#include "linux/placeholder/placeholder.h"
#include "os/loop.h"

struct guarded {
	const struct placeholders *held;
	const struct narrowed_list *narrowed;
	size_t next; /* of `narrowed` */
	struct guarded *after;
};

struct guard {
	struct loop *loop; /* NULL: not started */
	struct timer timer;
	const struct sandbox *sandbox;
	struct guarded *parts;
	struct guarded first;
};

/*
 * `held` and `sandbox` must outlive it. ERR_SYS. A loss is a failure of the loop: ERR_POLICY
 * by name.
 */
int guard_start(struct guard *g, struct loop *loop, const struct placeholders *held,
		const struct sandbox *sandbox, struct err *e) MUST_CHECK NONNULL;
void guard_stop(struct guard *g) NONNULL;

/* Guards more, until guard_drop(). `part` has its members set, and must outlive that. ERR_SYS. */
int guard_add(struct guard *g, struct guarded *part, struct err *e) MUST_CHECK NONNULL;
void guard_drop(struct guard *g, const struct guarded *part) NONNULL;
