/* SPDX-License-Identifier: MIT */
/* See mounts.h. */
#include "backend/mounts/mounts.h"

#include <unistd.h>

struct os_cgroup_limits mounts_group_limits(const struct plan *plan)
{
	const struct limits *limits = &plan->policy->profile->limits;
	uint64_t processes = limits->value[LIMIT_PROCESSES];
	struct os_cgroup_limits out = { .memory = limits->value[LIMIT_MEMORY] };

	/* PID 1 counts as one. The kernel does not apply RLIMIT_NPROC to root. */
	if (processes && geteuid() == 0)
		out.tasks = processes + 1;
	return out;
}

static bool holds_limits(const struct plan *plan)
{
	struct os_cgroup_limits wanted;
	char place[OS_CGROUP_BYTES];

	if (!plan || plan->is_unsandboxed || !(plan->needs_set & GUARANTEE_BIT(G_LIMITS)))
		return false;
	wanted = mounts_group_limits(plan);
	return (!wanted.memory && !wanted.tasks) || os_cgroup_find(&wanted, place);
}

guarantee_set mounts_give(const struct plan *plan)
{
	return (holds_limits(plan) ? GUARANTEE_BIT(G_LIMITS) : 0) | GUARANTEE_BIT(G_FS_WRITE) |
	       GUARANTEE_BIT(G_FS_READ) | GUARANTEE_BIT(G_FS_CARVE) | GUARANTEE_BIT(G_FS_REOPEN) |
	       GUARANTEE_BIT(G_PROTECT_MISSING) | GUARANTEE_BIT(G_NET_OFF) |
	       GUARANTEE_BIT(G_NET_MANAGED) | GUARANTEE_BIT(G_IPC) | GUARANTEE_BIT(G_PROC) |
	       GUARANTEE_BIT(G_KERNEL) | GUARANTEE_BIT(G_TREE_DEATH);
}

const char *mounts_why_not(enum guarantee g)
{
	switch (g) {
	case G_DENY_FUTURE:
		return "names that appear later are masked when they are seen, with a window";
	case G_LIMITS:
		return "limits of memory, and of root's processes, need a control group (cgroup "
		       "v2), and Cordon may not make one here";
	case G_FS_WRITE:
	case G_FS_READ:
	case G_FS_CARVE:
	case G_FS_REOPEN:
	case G_PROTECT_MISSING:
	case G_NET_OFF:
	case G_NET_MANAGED:
	case G_IPC:
	case G_PROC:
	case G_KERNEL:
	case G_TREE_DEATH:
	case GUARANTEE_COUNT:
		break;
	}
	return "";
}
