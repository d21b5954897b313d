/* SPDX-License-Identifier: MIT */
/*
 * P11: placeholders. A placeholder is made on the host at a missing path, so that the command can't
 * create something there. It stays as long as any run needs it.
 *
 * A placeholder is an empty directory (inside git directories, a small file) with a mark
 * (os/linux/mark.h): a modification time that no other file has. Putting something into it changes
 * that time, so the mark also shows that it is untouched. Each run has a shared lock (flock) on the
 * inode. A run that ends tries to get the exclusive lock; if it succeeds, no other run needs the
 * placeholder, and it removes it. The kernel releases the locks of a dead process, so no record is
 * needed: a run that finds a marked placeholder without a lock takes it over. Host views show
 * placeholders as missing (os_file .is_placeholder), so that concurrent runs make the same plan.
 *
 * Where a directory would disturb other programs, the placeholder is an unbound *socket*
 * (policy/metadata.h). A socket can't be opened, so the run locks the directory .cordon beside it,
 * which is protected, too; if there is none, the directory that contains it. To remove a socket, the
 * run renames it first and checks it, so that it never removes a file that a program on the host
 * has put in its place.
 *
 * Other programs see an empty directory with the owner of its parent, and no wider permissions. Git
 * ignores it: `git status`, `add -A` and `diff` do not change, and an empty `.git` is no repository,
 * so git uses the one above. `git init` on the host uses the placeholder, and then it stays. If
 * a program on the host removes it during a run (rmdir; `git clean -d` and `git stash -u` remove
 * empty directories, but never `.git`), the kernel removes the mounts on it in every sandbox.
 */
#pragma once

#include "base/arena.h"
#include "plan/plan.h"

struct held {
	const struct placeholder *wanted;
	const char *path; /* wanted->path as a C string */
	int fd;		  /* has the lock, or -1; only the first socket of a directory has one */
	bool is_there;	  /* false: this user could not create anything there */
	enum placeholder_kind kind;	    /* what was made there */
	uint64_t device, inode;		    /* of that; 0 if it is not there */
	uint64_t above_device, above_inode; /* of the directory that contains it */
};

struct placeholders {
	struct held *items; /* in the order of the list */
	size_t count;
};

/* Which of a plan's placeholders. */
struct placeholder_list {
	const struct placeholder *items;
	size_t count;
};
static inline struct placeholder_list placeholders_of(const struct plan *plan)
{
	return (struct placeholder_list){ plan->placeholders.items, plan->placeholders.count };
}

/*
 * Lists these placeholders. Makes none yet, because the warden has to be started before.
 * ERR_NOMEM, ERR_LIMIT.
 */
int placeholders_prepare(struct arena *a, struct placeholder_list wanted, struct placeholders *out,
			 struct err *e) MUST_CHECK NONNULL;

/*
 * Makes and locks all listed placeholders. If one fails, releases those already made. ERR_SYS names
 * the path; ERR_POLICY if something else appeared there since the plan was made.
 */
int placeholders_take(struct placeholders *held, struct err *e) MUST_CHECK NONNULL;

/*
 * Removes the placeholders that no other run has locked, and closes the locks. The warden runs it,
 * so it is async-signal-safe and allocates nothing. Never removes anything but the same inode, empty
 * and marked.
 */
void placeholders_release(struct placeholders *held) NONNULL;

/*
 * Removes marked, empty, unlocked placeholders at the listed paths that have no lock here (fd -1): those
 * that a killed run was making. Async-signal-safe.
 */
void placeholders_reclaim(const struct placeholders *held) NONNULL;
