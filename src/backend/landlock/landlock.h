/* SPDX-License-Identifier: MIT */
/*
 * Landlock and seccomp alone, for hosts where namespaces are not to be had (P19).
 *
 * The command sees the host as it is. What it may write is a list of subtrees, because that is
 * all that Landlock can express. So this backend accepts only plans that a mode can express. It
 * can't narrow access inside a subtree, protect missing paths, hide processes, or end all
 * processes of a run; the caller has to drop these guarantees or accept their loss by name.
 *
 * What Landlock does not govern, and what does instead:
 *
 *	mode, owner, times, attributes	refused by the filter when nothing is writable,
 *					else asked of the supervisor (linux/notify/metadata.h)
 *	ioctl() of file systems		a list in the filter
 *	truncation before ABI 3		the filter, and the supervisor
 *	the network			no inet sockets (the filter); ports from ABI 4 on
 *	unix sockets			connect() is asked of the supervisor
 *	SysV, message queues		the filter
 *	/dev/shm, devices		not among what may be read; they would be the host's
 *	abstract sockets, signals	Landlock from ABI 6 on
 *	memory of other processes	Landlock: none outside may be traced
 *	/proc and /sys			read-only as a whole, the command's own entries included
 *	a /proc inside the workspace	refused by name
 *	Cordon's own files (P25)	refused by name where they lie in what is writable
 *
 *	lower.c		plan -> Landlock rules (pure)
 *	apply.c		prepares a job, starts the monitor, talks to it
 *	monitor_child.c	the monitor until the command runs; then it runs linux/init/init.c
 */
#pragma once

#include "backend/backend.h"
#include "backend/inner/inner.h"
#include "backend/mounts/kernel_mounts.h"

extern const struct backend backend_landlock;

/* What lower needs to know about the host beside the plan. */
struct landlock_facts {
	uint32_t abi;
	const kernel_mounts *kernel;
	const char *terminal_path; /* NULL: none */
};

/*
 * The Landlock rules for a plan. CAUSE_BACKEND_UNSUITED names what can't be enforced, and what to
 * do; ERR_SYS from the host.
 */
int landlock_lower(struct arena *a, const struct launch *in, const struct landlock_facts *facts,
		   struct landlock_rules *out, struct err *e) MUST_CHECK NONNULL;

/* One line for people. */
void landlock_describe_rule(const struct landlock_rule *rule, struct buf *out) NONNULL;

/* The monitor from the fork on. */
_Noreturn void landlock_monitor(struct inner_job *job);
