/* SPDX-License-Identifier: MIT */
/*
 * plan -> mount operations. Pure.
 *
 * The command gets the host's own tree, in place, in a mount namespace of its
 * own: closed as a whole (read-only, or not at all there when "/" is denied), and
 * opened and narrowed again from the top down. An operation says what has to lie
 * at a path (type, device, inode: P8) and what comes onto it. Those that show the
 * thing itself are taken from the tree before anything in it is covered, so that
 * their order matters only for where they go: parents before children.
 *
 * What covers a denied directory is empty. Where something below it is open
 * again, it is a *skeleton* instead: directories that can be passed through but
 * not listed, down to the mount points.
 */
#pragma once

#include "backend/backend.h"
#include "backend/inner/inner.h"
#include "backend/mounts/kernel_mounts.h"
#include "plan/plan.h"

enum mount_kind {
	MOUNT_SELF,	/* what lies there, with `access` */
	MOUNT_MASK,	/* something empty that can't be read */
	MOUNT_EMPTY,	/* an empty directory that can */
	MOUNT_SKELETON, /* a mask with ways through it */
	MOUNT_FRESH,	/* an empty, writable directory that ends with the run (tmp = "private") */
};

struct mount_op {
	enum mount_kind kind;
	enum access access; /* of MOUNT_SELF */
	enum host_type type;
	bool is_pin;		/* there only so that it can't be renamed (P8) */
	bool is_in_made;	/* its place was made: it is not that inode */
	bool is_narrower;	/* than around it, on the host's own inode: its loss opens it */
	bool may_go;		/* see struct narrowed */
	bool may_vanish;	/* of a nested repository (P9): without it the run goes on */
	bool is_checked;	/* whether `device` and `inode` have to be there */
	uint64_t device, inode; /* as they were when the plan was made */
	const char *path;
	const char *below; /* `path` from the root on: "" or "home/me" */
	const char *made;  /* MOUNT_SKELETON, MOUNT_FRESH: its name among the made things */
	struct str because;
};

/* A thing to be made for the skeletons; parents before children. */
struct made {
	const char *path; /* relative to all made things: "s3/home" */
	enum host_type type;
	uint32_t mode;
	const char *target; /* of a link */
};

/* Where the directory that becomes /dev is among the made things. */
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

/* What of it Landlock repeats: see struct landlock_rules. */
int lower_landlock(struct arena *a, const struct mounts *mounts, struct landlock_rules *out,
		   struct err *e) MUST_CHECK NONNULL;

/* Where the loss of a mount would open what it narrows. */
int lower_narrowed(struct arena *a, const struct mounts *mounts, struct narrowed_list *out,
		   struct err *e) MUST_CHECK NONNULL;

/* Whether anything of the host's may be written. */
bool lower_has_writable(const struct mounts *mounts) NONNULL;

/* One line for people. */
void lower_describe(const struct mount_op *op, struct buf *out) NONNULL;
