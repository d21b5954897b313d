/* SPDX-License-Identifier: MIT */
/*
 * A file of this user's own that only Cordon writes, and that others may read and write at the same
 * time: it is replaced as a whole, under a lock, so a reader sees the file before or after a
 * change, also if the writer was killed at any moment.
 *
 * SECURITY: it is used only if it is a regular file of this user's with one name that nobody else may
 * write, and its own name is no link. Anything else is CAUSE_FILE_UNTRUSTED, and stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct os_kept {
	struct str path;   /* absolute */
	bool is_dir_owned; /* its directory is for this user alone as well, and no link */
};

/* What tells one version of the file from another; all zeros: it is missing. */
struct os_kept_stamp {
	uint64_t device, inode, bytes;
	int64_t changed_s, changed_ns;
};

/* The whole text, a NUL behind it; "" and a stamp of zeros when it is missing. */
int os_kept_read(const struct os_kept *kept, struct arena *a, size_t max_bytes, struct str *out,
		 struct os_kept_stamp *stamp, struct err *e) MUST_CHECK NONNULL;

/* Whether it is another version than that of `stamp`, or can't be looked at. One system call. */
bool os_kept_is_changed(const struct os_kept *kept, const struct os_kept_stamp *stamp) NONNULL;

/*
 * Makes missing directories, for this user alone, and locks the file against other writers; waits
 * for them for a while. ERR_SYS with ETIMEDOUT: one holds the lock for too long.
 */
struct os_kept_lock {
	int directory, lock; /* descriptors; -1: none */
};
#define OS_KEPT_LOCK_INIT           \
	{                           \
		.directory = -1, -1 \
	}
int os_kept_lock(const struct os_kept *kept, struct os_kept_lock *out, struct err *e)
	MUST_CHECK NONNULL;
void os_kept_unlock(struct os_kept_lock *lock) NONNULL;

/*
 * Replaces it, with the lock held, and returns when that is on the disk. The caller has read it
 * since it holds the lock, so what is replaced is known to be its own.
 */
int os_kept_write(const struct os_kept *kept, const struct os_kept_lock *lock, struct str text,
		  struct err *e) MUST_CHECK NONNULL;

/* Who may own such files: the user that this process acts as. */
uint64_t os_kept_user(void);
