/* SPDX-License-Identifier: MIT */
/*
 * Landlock and seccomp alone, for hosts where namespaces are not to be had (P19).
 *
 * The command sees the host as it is. What it may write is a list of subtrees,
 * which is what Landlock knows; so only plans that a mode can express are taken,
 * and of what they need the narrower inside the wider, what is missing, hidden
 * processes and the end of the whole tree are not held: they have to be dropped
 * or accepted by name.
 *
 * What Landlock does not govern, and who does:
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
 *	lower.c		plan -> walls (pure)
 *	apply.c		prepares a job, starts the monitor, speaks with it
 *	monitor_child.c	the monitor until the command runs; then it is linux/init/init.c's
 */
#pragma once

#include "backend/backend.h"
#include "backend/inner/inner.h"
#include "backend/mounts/kernel_mounts.h"

extern const struct backend backend_landlock;

/* What lower needs to know of the host beyond what the plan knows. */
struct landlock_facts {
	uint32_t abi;
	const kernel_mounts *kernel;
	const char *terminal_path; /* NULL: none */
};

/*
 * The walls for a plan. ERR_WEAKER: what can't be held, by name and with a way out;
 * ERR_SYS from the host.
 */
int landlock_lower(struct arena *a, const struct launch *in, const struct landlock_facts *facts,
		   struct landlock_rules *out, struct err *e) MUST_CHECK NONNULL;

/* One line for people. */
void landlock_describe_rule(const struct landlock_rule *rule, struct buf *out) NONNULL;

/* The monitor from the fork on. */
_Noreturn void landlock_monitor(struct inner_job *job);
