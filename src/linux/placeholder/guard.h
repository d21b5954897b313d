/* SPDX-License-Identifier: MIT */
/*
 * What another program does to the host's files can take a mount of the sandbox away,
 * for the kernel detaches a mount when the name below it is removed or renamed over:
 *
 *  - Placeholders are directories of the host: who removes one outside (`git clean`
 *    in another window) takes away the mount that covers it in the sandbox, and the
 *    command could create what it must not.
 *  - A file that is denied or read-only is so by a mount on it: who saves it outside
 *    by writing a new one and renaming it (editors, `git config`) leaves the new one
 *    open to the command.
 *
 * They are looked at ten times a second, and a run that loses one is ended. (Not by
 * inotify: to close it takes the kernel longer than most runs.)
 */
#pragma once

#include "linux/init/sandbox.h"
#include "linux/placeholder/placeholder.h"
#include "os/loop.h"

struct guard {
	struct loop *loop; /* NULL: nothing to guard */
	struct timer timer;
	const struct placeholders *held;
	const struct sandbox *sandbox;
	size_t next; /* of sandbox->narrowed */
};

/*
 * `held` and `sandbox` must outlive it. ERR_SYS. A loss is a failure of the loop: ERR_POLICY
 * by name.
 */
int guard_start(struct guard *g, struct loop *loop, const struct placeholders *held,
		const struct sandbox *sandbox, struct err *e) MUST_CHECK NONNULL;
void guard_stop(struct guard *g) NONNULL;
