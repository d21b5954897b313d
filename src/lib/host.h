/* SPDX-License-Identifier: MIT */
/*
 * The host's files as plan/ asks for them, answered by os/.
 *
 * A plan is made by many passes that ask the same things, and an edit that
 * `why` suggests is tried on several plans. A view remembers the answers while a
 * policy is loaded: fewer system calls, and all of it is about the same state of
 * the files. After host_view_freeze() it only gives what it has and asks the
 * system for the rest, so that threads may share it.
 */
#pragma once

#include "base/arena.h"
#include "base/name_tree.h"
#include "base/progress.h"
#include "os/times.h"
#include "plan/host.h"

struct host_view {
	struct arena *a;
	struct name_node *files;
	size_t listed_bytes;
	bool is_frozen;
	bool folds;			 /* as struct host has it */
	struct os_stamp_kind stamp_kind; /* of what was listed last */
	uint64_t links_device;		 /* whose links were asked about last, */
	bool links_count_dirs;		 /* and the answer */
	const struct progress *progress; /* told of what is listed; may be NULL */
};

/* Answers through `view`, which lives in `a` and must outlive the host. */
struct host host_view_init(struct host_view *view, struct arena *a) NONNULL;

void host_view_freeze(struct host_view *view) NONNULL;

/* Always asks the system. */
const struct host *host_now(void);

/* ---- imagined.c: the host with what a run will have made before it starts ------------------------------------ */

struct imagined {
	struct str path; /* canonical, missing */
	bool is_file;	 /* else a directory, as all above it are */
};

struct imagined_host {
	struct host below;
	const struct imagined *items;
	size_t count;
};

/* Answers through `h`, which must outlive the host, as must `items`. */
struct host imagined_host_init(struct imagined_host *h, const struct host *below,
			       const struct imagined *items, size_t count) NONNULL;
