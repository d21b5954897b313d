/* SPDX-License-Identifier: MIT */
/*
 * plan -> mount operations. Pure.
 *
 * The command gets the host's own tree, in place, in its own mount namespace: read-only as a whole
 * (or hidden, if "/" is denied), then opened and narrowed from the top down. An operation says
 * what must lie at a path (type, device, inode: P8) and what is mounted on it. The backend opens
 * everything that it shows before it covers anything, so the order of operations matters only for
 * mounting: parents before children.
 *
 * An empty mount covers a denied directory. If something below it is open again, the cover is a
 * *skeleton* instead: directories that lead to the mount points and can't be listed.
 */
#pragma once

#include "backend/backend.h"
#include "backend/inner/inner.h"
#include "backend/mounts/kernel_mounts.h"
#include "plan/plan.h"

enum mount_kind {
	MOUNT_SELF,	/* the file or directory itself, with `access` */
	MOUNT_MASK,	/* an empty one that can't be read */
	MOUNT_EMPTY,	/* an empty directory that can be read */
	MOUNT_SKELETON, /* a mask with directories that lead to what is open below */
	MOUNT_FRESH,	/* an empty, writable directory that ends with the run (tmp = "private") */
};

struct mount_op {
	enum mount_kind kind;
	enum access access; /* of MOUNT_SELF */
	enum host_type type;
	bool is_pin;		/* mounted only so that it can't be renamed (P8) */
	bool is_in_made;	/* its place was made for the run, and is not that inode */
	bool is_narrower;	/* allows less than its surroundings: losing the mount opens it */
	bool may_go;		/* see struct narrowed */
	bool may_vanish;	/* of a nested repository (P9): the run can do without it */
	bool is_checked;	/* `device` and `inode` must match */
	uint64_t device, inode; /* as they were when the plan was made */
	const char *path;
	const char *below; /* `path` from the root on: "" or "home/me" */
	const char *made;  /* MOUNT_SKELETON, MOUNT_FRESH: its name among the made things */
	struct str because;
};

/* A file, directory or link to be made for skeletons; parents before children. */
struct made {
	const char *path; /* relative to the directory of everything made: "s3/home" */
	enum host_type type;
	uint32_t mode;
	const char *target; /* of a link */
};

/* The path of the directory that becomes /dev, as in struct made. */
#define MADE_DEV "dev"

struct mounts {
	VEC(struct mount_op) ops; /* parents first; [0] is "/" */
	VEC(struct made) made;
};

/*
 * `kernel` are mounts of the host that are hidden whatever the plan says
 * (kernel_mounts.h). ERR_POLICY: what the plan asks for can't be expressed, by name;
 * ERR_SYS from the host.
 */
int lower_mounts(struct arena *a, const struct launch *in, const kernel_mounts *kernel,
		 struct mounts *out, struct err *e) MUST_CHECK NONNULL;

/*
 * The part of it that Landlock repeats; see struct landlock_rules. `opens_paths`: as struct launch has
 * it.
 */
int lower_landlock(struct arena *a, const struct mounts *mounts, bool opens_paths,
		   struct landlock_rules *out, struct err *e) MUST_CHECK NONNULL;

/* The mounts whose loss would give the command more access. */
int lower_narrowed(struct arena *a, const struct mounts *mounts, struct narrowed_list *out,
		   struct err *e) MUST_CHECK NONNULL;

/* Whether the command may write anything of the host's. */
bool lower_has_writable(const struct mounts *mounts) NONNULL;

/* One line for people. */
void lower_describe(const struct mount_op *op, struct buf *out) NONNULL;
