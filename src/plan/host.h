/* SPDX-License-Identifier: MIT */
/*
 * The host's files, as plan/ sees them: a few questions. The operating system answers them in real
 * use, a made-up tree in tests. plan/ has no other access to the host.
 *
 * All paths are plain (base/path.h). No function follows a link at the end of its path; callers
 * pass paths whose directories they have resolved.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/stamp.h"
#include "base/str.h"

enum host_type {
	HOST_MISSING,
	HOST_HIDDEN, /* this user may not search a directory on the way; see host_find_lock() */
	HOST_FILE,
	HOST_DIR,
	HOST_LINK,
	HOST_OTHER, /* socket, device, fifo */
};

struct host_file {
	enum host_type type;
	uint64_t device, inode; /* 0 unless it exists */
	/*
	 * It belongs to this user, but its mode keeps this user from reading or searching it. Any
	 * program that runs as this user may change that with chmod.
	 */
	bool is_locked;
	/* a directory of this user's whose mode keeps this user from creating anything in it */
	bool is_sealed;
	bool is_others;	  /* it belongs to another user */
	bool is_open;	  /* everybody may write it */
	bool has_no_dirs; /* a directory that is known to have no subdirectories */
	/* Windows: its access list takes nothing from the directory above */
	bool inherits_nothing;
	bool has_own_list; /* Windows: entries of its own, beyond those that every Windows has */
	/* the name that it has there, where it may be asked for by other spellings; "": as asked */
	struct str name;
};

/* A name in a directory. */
struct host_name {
	struct str name;
	enum host_type type;
};

/* All names of a directory, and its stamp when they were read. */
struct host_listing {
	struct stamp stamp;
	const struct host_name *items;
	size_t count;
};

struct host {
	void *user;
	/* What is at `path`. Fails only if the host does (I/O error). */
	int (*look)(void *user, struct str path, struct host_file *out, struct err *e);
	/* The text of a link. */
	int (*read_link)(void *user, struct str path, struct buf *out, struct err *e);
	/* A whole file. ERR_LIMIT if it does not fit `out`, EACCES if it can't be read. */
	int (*read_file)(void *user, struct str path, struct buf *out, struct err *e);
	/*
	 * Calls `each` for every name except "." and "..". Stops when `each` returns non-zero, and
	 * returns that. ERR_SYS: ENOENT, ENOTDIR; EACCES for a directory that this user may not
	 * read. Also lists the placeholders of other runs (P11), which look() reports as missing.
	 */
	int (*list)(void *user, struct str path,
		    int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		    void *arg, struct err *e);
	/*
	 * The names that list() found there earlier, if they are remembered and it can be told
	 * whether they are still current: they are as long as the directory has the same stamp. May
	 * be NULL.
	 */
	bool (*recall)(void *user, struct str path, struct host_listing *out);
	bool folds; /* names that differ in case or composition alone are one (base/fold.h) */
	/*
	 * With `folds`: only names that a table of capitals makes equal are one (base/windows_path.h).
	 * What narrows counts for both, what opens for these alone.
	 */
	bool has_table;
	bool has_drives; /* directly below "/" are drives, and nothing leads out of one */
};

/* Calls host->recall() if there is one. */
static inline bool host_recall(const struct host *host, struct str path, struct host_listing *out)
{
	return host && host->recall && host->recall(host->user, path, out);
}

/*
 * canon.c: finds the file or directory of the user's own whose mode keeps this user from examining
 * `path`; "" if there is none.
 *
 * SECURITY: a directory that somebody else closed is closed to the sandbox too. A directory that
 * this user owns and closed may have been closed by the command in an earlier run, and the command
 * can open it again in this one. So nothing that has to be found there may be treated as absent.
 */
int host_find_lock(const struct host *host, struct str path, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* CAUSE_PATH_LOCKED, with advice, if there is such a lock. `what` is what Cordon would miss. */
int host_refuse_lock(const struct host *host, struct str path, const char *what, struct err *e)
	MUST_CHECK NONNULL;
