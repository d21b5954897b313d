/* SPDX-License-Identifier: MIT */
/*
 * Control groups (v2) that limit a whole tree of processes.
 *
 * A group with processes can't have child groups with controllers, and this process and its caller
 * stay in theirs. So Cordon makes a new group beside their own, if the parent group was delegated
 * to them, as systemd does for the managers of its users. It changes nothing else there. Each run
 * removes the groups of runs that were killed.
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

/* The limits to set; 0: none. */
struct os_cgroup_limits {
	uint64_t memory; /* in bytes; also turns swapping off */
	uint64_t tasks;	 /* processes and threads */
};

enum { OS_CGROUP_BYTES = 4096 }; /* of a path */

/*
 * The directory of this process's group. False: it has none. Pure: reads the texts of
 * /proc/self/mountinfo and /proc/self/cgroup.
 */
bool os_cgroup_own(struct str mountinfo, struct str own, char *out, size_t bytes) NONNULL;

/* Finds where a group with these limits can be made. False: nowhere. Allocates nothing. */
bool os_cgroup_find(const struct os_cgroup_limits *limits, char out[OS_CGROUP_BYTES]) NONNULL;

/*
 * Whether `directory` belongs to this user, is writable, and has the controllers for these limits.
 */
bool os_cgroup_may_use(const char *directory, const struct os_cgroup_limits *limits) NONNULL;

/* Makes a new group in `directory`. ERR_SYS; nothing is left then. */
int os_cgroup_make(const char *directory, const struct os_cgroup_limits *limits,
		   struct os_cgroup *out, struct err *e) MUST_CHECK NONNULL;

/* 0 or -errno. Processes that it starts from then on are in the group too. */
int os_cgroup_enter(const struct os_cgroup *group, pid_t pid) MUST_CHECK NONNULL;

/* Whether the kernel has killed a process in it because memory ran out. */
bool os_cgroup_ran_out(const struct os_cgroup *group) NONNULL;

/* Call when every process in it has ended. */
void os_cgroup_remove(struct os_cgroup *group) NONNULL;
