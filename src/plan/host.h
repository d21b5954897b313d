/* SPDX-License-Identifier: MIT */
/*
 * The host's files, as plan/ sees them: a handful of questions, answered by the
 * operating system in real use and by a made-up tree in tests. plan/ knows no
 * other way to reach the host.
 *
 * All paths are plain (base/path.h). No function follows a link at the end of
 * its path; callers hand in paths whose directories they have resolved.
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
	HOST_HIDDEN, /* this user may not look there; see host_find_lock() */
	HOST_FILE,
	HOST_DIR,
	HOST_LINK,
	HOST_OTHER, /* socket, device, fifo */
};

struct host_file {
	enum host_type type;
	uint64_t device, inode; /* 0 unless it exists */
	/*
	 * It is this user's, but its mode keeps this user from reading it, or from
	 * searching it. Whoever runs as this user may change that with chmod.
	 */
	bool is_locked;
	bool is_sealed;	  /* a directory: the same, from creating anything in it */
	bool is_others;	  /* another user's */
	bool is_open;	  /* everybody may write it */
	bool has_no_dirs; /* a directory that is known to hold none */
};

/* In a directory. */
struct host_name {
	struct str name;
	enum host_type type;
};

/* All names of a directory, and what it was when they were read. */
struct host_listing {
	struct stamp stamp;
	const struct host_name *items;
	size_t count;
};

struct host {
	void *user;
	/* What lies at `path`. Fails only when the host itself does (I/O error). */
	int (*look)(void *user, struct str path, struct host_file *out, struct err *e);
	/* The text of a link. */
	int (*read_link)(void *user, struct str path, struct buf *out, struct err *e);
	/* A whole file; ERR_LIMIT when it does not fit `out`, EACCES when it can't be read. */
	int (*read_file)(void *user, struct str path, struct buf *out, struct err *e);
	/*
	 * Calls `each` for every name but "." and ".."; stops when it returns non-zero, and returns
	 * that. ERR_SYS: ENOENT, ENOTDIR; EACCES for a directory that this user may not read.
	 * Also names the placeholders of other runs (P11), which look() does not see.
	 */
	int (*list)(void *user, struct str path,
		    int (*each)(void *arg, struct str name, enum host_type type, struct err *e),
		    void *arg, struct err *e);
	/*
	 * What list() has found there before, if it is remembered, and whether it still holds can be
	 * told: it does as long as the directory has the same stamp. May be NULL.
	 */
	bool (*recall)(void *user, struct str path, struct host_listing *out);
};

/* host->recall(), if there is one. */
static inline bool host_recall(const struct host *host, struct str path, struct host_listing *out)
{
	return host && host->recall && host->recall(host->user, path, out);
}

/*
 * canon.c: what keeps this user from looking at `path` or into it, when that is a file or
 * directory of the user's own whose mode forbids it; else "".
 *
 * SECURITY: what is closed by someone else is closed to the sandbox too. What is
 * closed by this user the sandboxed command may have closed itself, in an earlier
 * run, and may open again in this one: whatever has to be found there must not be
 * taken for absent.
 */
int host_find_lock(const struct host *host, struct str path, struct str *out, struct err *e)
	MUST_CHECK NONNULL;

/* ERR_POLICY, with the way out, when there is such a lock; `what` would be lost by it. */
int host_refuse_lock(const struct host *host, struct str path, const char *what, struct err *e)
	MUST_CHECK NONNULL;
