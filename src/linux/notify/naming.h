/* SPDX-License-Identifier: MIT */
/*
 * Names what the policy refuses. The filter notifies the supervisor of calls that create, change or
 * remove files by a path, and with NAMING_ALL also of opens for reading and of executions. The
 * kernel decides about all of them: each call continues, and mounts, filter and Landlock refuse it
 * or not. What happens here only finds out whether the call is about to be refused, by which rule,
 * and what would allow it. So a command that changes a path meanwhile can falsify a name in the
 * report, and nothing else. A call that is about to be refused may be held (holds.h) while
 * somebody is asked; afterwards it is judged again.
 *
 *	naming_calls.c	what a call tries: the operation and its paths
 *	naming_path.c	which path it leads to, as the caller sees it
 *	naming_denied.c	how what covers a denied path refuses
 *	naming.c	whether that is refused, and by whom
 *
 * Not noticed:
 *  - changes of metadata by a descriptor (fchmod() and the like), because tar and cp make one for
 *    each file and almost none is refused
 *  - callers in a mount namespace of their own making (isolation.userns)
 *  - paths in /proc and /dev, where what is inside is not what is outside
 */
#pragma once

#include "backend/denials.h"
#include "base/path.h"
#include "linux/init/sandbox.h"
#include "linux/notify/engine.h"
#include "linux/notify/holds.h"
#include "plan/plan.h"

struct namer;

/* All of it must outlive the engine. */
struct naming_request {
	struct engine *engine;
	const struct sandbox *sandbox;
	const struct plan *plan;
	struct denials *denials;
	struct holds *holds; /* of refused writes; NULL: all are refused at once */
	const struct naming_performer *performer; /* NULL: nothing is granted while it runs */
};

/* Performs what was granted while the command runs, where the kernel can't (linux/live/opener.h). */
struct performed;
struct naming_performer {
	void *user;
	/* As perform(); `is_once`: in what is granted for this call alone. */
	int (*perform)(void *user, const struct performed *call, bool is_once);
};

/* ERR_NOMEM. */
int naming_start(struct arena *a, const struct naming_request *in, struct namer **out,
		 struct err *e) MUST_CHECK NONNULL;

void naming_stop(struct namer *n) NONNULL;

/* From now on `plan` says what is refused. */
void naming_set_plan(struct namer *n, const struct plan *plan) NONNULL;

/* ---- naming_calls.c ----------------------------------------------------------------------- */

/* One path of a call. */
struct naming_target {
	enum operation operation;
	int dir;	  /* a descriptor of the caller's, or AT_FDCWD */
	uint64_t address; /* of the path, in the caller's memory */
	bool follows;	  /* a link at its end */
	bool may_create;
	bool is_exclusive; /* fails if something is there */
	bool is_unnamed;   /* O_TMPFILE: the path is the directory */
	bool truncates;
	bool only_creates; /* and reads what is there already */
};

enum { NAMING_MAX_TARGETS = 2 };

/* How many paths the call has that could be refused; -1: the call is not one that is named. */
int naming_read_call(const struct engine_call *call,
		     struct naming_target targets[NAMING_MAX_TARGETS]) NONNULL;

/* False for the removal of a directory as a file, and the other way round. */
static inline bool naming_fits(enum operation operation, bool is_directory)
{
	return operation == OPERATION_RENAME || (operation == OPERATION_RMDIR) == is_directory;
}

/* ---- naming_denied.c ---------------------------------------------------------------------- */

/* The error of an operation on a path that is denied; 0: it does not fail because of that. */
int naming_denied_error(const struct sandbox *sandbox, struct str path,
			const struct naming_target *target) MUST_CHECK NONNULL;
/* Whether not even the directory of a denied path is found. */
bool naming_is_closed(const struct sandbox *sandbox, struct str path) MUST_CHECK NONNULL;

/* Of a call that makes a hard link, the file that gets another name; false: it is no such call. */
bool naming_read_source(const struct engine_call *call, struct naming_target *out)
	MUST_CHECK NONNULL;

/* ---- naming_path.c ------------------------------------------------------------------------ */

/* The canonical path of a directory, remembered for a moment. */
struct naming_known {
	uint64_t until_ms;
	size_t key_len, path_len;
	char key[256], path[256];
};

enum { NAMING_KNOWN = 64 };

struct naming_paths {
	const struct sandbox *sandbox;
	const struct plan *plan;
	bool looks_anew; /* nothing is taken from `known`: by what is found a call is performed */
	struct naming_known known[NAMING_KNOWN];
	int descriptors; /* /proc/PID/fd of the last caller that has used one, or -1 */
	int32_t descriptors_of;
};

struct naming_path {
	char named[PATH_MAX_BYTES]; /* as the caller wrote it */
	char path[PATH_MAX_BYTES];  /* canonical, as far as it exists */
	size_t len;
};

/*
 * Finds the path that a target leads to. False if the call fails by itself (a directory on the way
 * is missing), or if the path can't be told. If the caller is gone, it may be any path.
 */
bool naming_find_path(struct naming_paths *n, const struct engine_call *call,
		      const struct naming_target *target, struct naming_path *out)
	MUST_CHECK NONNULL;

/* Opens a canonical path in the sandbox, O_PATH and without following a link; -errno. */
int naming_open_inside(const struct sandbox *sandbox, const char *path) MUST_CHECK NONNULL;
