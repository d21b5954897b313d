/* SPDX-License-Identifier: MIT */
/*
 * P6: names that appear during a run and are denied by a glob. The directories in which a glob can
 * match are watched (inotify). If a glob denies a new name (plan_resolve()), the masker, which has
 * joined the sandbox's namespaces, mounts a mask on it. Between creation and mask the command can
 * use the name; the report says so, and how many were masked. A link is covered as a link: its
 * target keeps the access that it had when the plan was made. A link that P7 leaves open
 * (plan->lifted) is not covered. The command can't remove or rename a name that is covered.
 */
#pragma once

#include "base/progress.h"
#include "linux/init/sandbox.h"
#include "os/loop.h"
#include "plan/plan.h"

struct watch;

struct watch_summary {
	uint64_t directories; /* watched */
	uint64_t masked;      /* names that were covered */
	uint64_t missed;      /* names seen that could not be covered, or a queue that overflowed */
};

/* Whether the plan has names to be watched for. */
/* If what comes after it fails. */
void watch_set_plan(struct watch *w, const struct plan *plan) NONNULL;

bool watch_is_needed(const struct plan *plan) NONNULL;

/*
 * NULL without an error when the plan has no glob that needs it. Directories
 * that appear while it is being set up are not missed. ERR_SYS: also when the
 * host allows no more watches (max_user_watches), and says so. `progress` is told
 * until it has started; NULL: nobody waits.
 */
int watch_start(struct arena *a, struct loop *loop, const struct sandbox *sandbox,
		const struct plan *plan, const struct progress *progress, struct watch **out,
		struct err *e) MUST_CHECK __attribute__((nonnull(1, 2, 3, 4, 6, 7)));
struct watch_summary watch_stop(struct watch *w) NONNULL;

/*
 * The masker of this watch, which is started if it was not needed so far; for grafts, which it makes in
 * order with the masks. ERR_SYS.
 */
struct masker;
int watch_use_masker(struct watch *w, struct masker **out, struct err *e) MUST_CHECK NONNULL;

/*
 * From now on `plan` answers; it differs from the one before in grants alone. Looks at all names at and
 * below `path` again, and orders the masks for them. ERR_SYS: not all could be looked at.
 */
int watch_look_again(struct watch *w, const struct plan *plan, struct str path, struct err *e)
	MUST_CHECK NONNULL;
