/* SPDX-License-Identifier: MIT */
/*
 * Control groups (v2) of this process's own making, for limits on a whole tree of processes.
 *
 * A group that has processes can't have groups with controllers below it, and this process and
 * its caller stay where they are: so a new group is made beside their own, where somebody who
 * delegates (systemd does, to its users' managers) has left them the one above. Nothing else
 * is changed there, and what a killed run has left is removed by the next.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct os_cgroup {
	int above, dir; /* -1: there is none */
	char name[48];	/* in `above` */
};
#define OS_CGROUP_NONE                                      \
	{                                                   \
		.above = -1, .dir = -1, .name = { [0] = 0 } \
	}

/* What is to be limited; 0: not. */
struct os_cgroup_limits {
	uint64_t memory; /* in bytes; nothing is swapped then */
	uint64_t tasks;	 /* processes and threads */
};

enum { OS_CGROUP_BYTES = 4096 }; /* of a path */

/*
 * The directory of this process's group; false without one. Pure, from the text of
 * /proc/self/mountinfo and /proc/self/cgroup.
 */
bool os_cgroup_own(struct str mountinfo, struct str own, char *out, size_t bytes) NONNULL;

/* Where a group with these limits can be made; false: nowhere. Allocates nothing. */
bool os_cgroup_find(const struct os_cgroup_limits *limits, char out[OS_CGROUP_BYTES]) NONNULL;

/* Whether `directory` belongs to this user, may be added to, and counts what has to be. */
bool os_cgroup_may_use(const char *directory, const struct os_cgroup_limits *limits) NONNULL;

/* A new one in it. ERR_SYS; then there is none. */
int os_cgroup_make(const char *directory, const struct os_cgroup_limits *limits,
		   struct os_cgroup *out, struct err *e) MUST_CHECK NONNULL;

/* 0 or -errno. What a process starts from then on is in it, too. */
int os_cgroup_enter(const struct os_cgroup *group, pid_t pid) MUST_CHECK NONNULL;

/* Whether the kernel has killed anything in it for want of memory. */
bool os_cgroup_ran_out(const struct os_cgroup *group) NONNULL;

/* When everything in it is dead. */
void os_cgroup_remove(struct os_cgroup *group) NONNULL;
