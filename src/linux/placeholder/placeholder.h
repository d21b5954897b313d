/* SPDX-License-Identifier: MIT */
/*
 * P11: what stands on the host at a missing path so that it can't be created
 * there, for as long as any run needs it.
 *
 * A placeholder is an empty directory (or, inside git directories, a small file)
 * that bears a mark (os/linux/mark.h): a modification time that nothing else has.
 * Whatever is put into it changes that time, so the mark also says "untouched". A
 * run holds a shared lock (flock) on the inode itself; who ends tries the
 * exclusive lock, and removes the placeholder when nobody else holds it. A dead
 * process holds no lock, so nothing has to be written down: a run that finds a
 * marked, unlocked placeholder takes it over, and host views show it as missing
 * (os_file .is_placeholder), so that concurrent runs make the same plan.
 *
 * Where a directory would be in the way, a *socket* stands that nobody is bound to
 * (policy/metadata.h). It can't be opened, so the lock is that of the directory
 * .cordon beside it, which a run keeps from being changed, too; where there is none, of
 * the directory around it. It is taken away by another name first, so that what a
 * program on the host has put into its place meanwhile is never removed for it.
 *
 * Other programs see an empty directory, no more open than the one it is in and
 * owned like it. Git takes it for nothing: `git status`, `add -A`, `diff` are as
 * without it, and an empty `.git` is no repository, so git goes on to the one
 * above. `git init` on the host uses it, and then it stays. Who removes it on the
 * host during a run (rmdir; `git clean -d` and `git stash -u` do so with empty
 * directories, but never with `.git`) removes the mounts on it in every sandbox.
 */
#pragma once

#include "base/arena.h"
#include "plan/plan.h"

struct held {
	const struct placeholder *wanted;
	const char *path; /* wanted->path as a C string */
	int fd;		  /* holds the lock, or -1; of sockets the first in a directory has it */
	bool is_there;	  /* false: this user could not create anything there */
	enum placeholder_kind kind;	    /* what stands there */
	uint64_t device, inode;		    /* of that; 0 when it is not there */
	uint64_t above_device, above_inode; /* likewise, of the directory that it was found in */
};

struct placeholders {
	struct held *items; /* as in plan->placeholders */
	size_t count;
};

/*
 * Lists what the plan wants; nothing is made yet, so that the warden can be
 * there first. ERR_NOMEM, ERR_LIMIT.
 */
int placeholders_prepare(struct arena *a, const struct plan *plan, struct placeholders *out,
			 struct err *e) MUST_CHECK NONNULL;

/*
 * Makes and locks all that is listed. When one can't be had, those already
 * made are released again. ERR_SYS names the path; ERR_POLICY when something
 * else appeared at it since the plan was made.
 */
int placeholders_take(struct placeholders *held, struct err *e) MUST_CHECK NONNULL;

/*
 * Removes those that nobody else holds and closes the locks. Async-signal-safe,
 * makes no allocation: the warden runs it. Never removes what is not empty and
 * marked, or what is not the inode that was held.
 */
void placeholders_release(struct placeholders *held) NONNULL;

/*
 * Removes what stands, marked, empty and locked by nobody, at the listed paths
 * that are not held (fd -1): what a run that died was making. Async-signal-safe.
 */
void placeholders_reclaim(const struct placeholders *held) NONNULL;
