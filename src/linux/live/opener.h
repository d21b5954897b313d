/* SPDX-License-Identifier: MIT */
/*
 * The opener: a process that performs calls for the command in paths that were granted while it
 * runs. It has joined the sandbox's user and mount namespaces and has no capabilities, so the kernel
 * checks its calls against the sandbox's own mounts and the command's own rights. Landlock, which can't be
 * widened, does not confine it. It is needed because
 *
 *  - Landlock still forbids the command to open files for writing there: otherwise the host's FIFOs
 *    could be written to through a read-only mount. The opener opens regular files alone.
 *  - a working or other directory that was opened before the grant stays read-only;
 *  - a single call may be performed on a clone that is mounted nowhere.
 *
 * SECURITY: a path is the one that was judged, looked up without following a link anywhere. Of what
 * was opened only regular files are handed over, never a directory.
 *
 * It is forked without exec from what may be a threaded program, so it makes only async-signal-safe
 * calls.
 */
#pragma once

#include <time.h>

#include "base/path.h"
#include "linux/init/sandbox.h"
#include "os/loop.h"

enum opener_act {
	OPENER_OPEN, /* the answer brings a descriptor */
	OPENER_TRUNCATE,
	OPENER_MKDIR,
	OPENER_MKNOD,	/* a regular file, FIFO or socket */
	OPENER_SYMLINK, /* `other` is the text */
	OPENER_LINK,	/* `path` becomes another name of `other` */
	OPENER_UNLINK,
	OPENER_RMDIR,
	OPENER_RENAME, /* `path` to `other` */
	OPENER_CHMOD,
	OPENER_UTIME,
};

struct opener_order {
	uint64_t call; /* the engine's id; comes back with the answer */
	uint32_t act;  /* enum opener_act */
	uint32_t flags;
	uint32_t mode, mask; /* the caller's umask */
	int64_t length;
	uint64_t max_length; /* RLIMIT_FSIZE of the caller */
	struct timespec times[2];
	uint32_t has_dir; /* one comes with it: `path` is a name in it. A single call on a clone */
	uint32_t path_bytes, other_bytes; /* with the NUL; from the sandbox's root on */
	char texts[2 * PATH_MAX_BYTES];	  /* path, other */
};

struct opener {
	struct loop *loop;
	struct watcher answers;
	int pidfd;
	bool is_stuck;
	/* What came of a call; `fd` (or -1) is closed afterwards. */
	void (*done)(void *user, const struct opener_order *order, int result, int fd);
	void *user;
};

#define OPENER_NONE                                  \
	{                                            \
		.answers = { .fd = -1 }, .pidfd = -1 \
	}

/* Does nothing if it runs. `done` and `user` are set before. ERR_SYS. */
int opener_start(struct opener *o, struct loop *loop, const struct sandbox *sandbox, struct err *e)
	MUST_CHECK NONNULL;
void opener_stop(struct opener *o) NONNULL;

/* Fills in the texts. False: they are too long. */
bool opener_set_paths(struct opener_order *order, struct str path, struct str other)
	MUST_CHECK NONNULL;

/* `dir` is -1 unless `has_dir`. 0 or -errno; then `done` is not called. */
int opener_ask(struct opener *o, const struct opener_order *order, int dir) MUST_CHECK NONNULL;
