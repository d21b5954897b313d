/* SPDX-License-Identifier: MIT */
/* See mounts.h. */
#include "backend/mounts/mounts.h"

guarantee_set mounts_give(void)
{
	return GUARANTEE_BIT(G_FS_WRITE) | GUARANTEE_BIT(G_FS_READ) | GUARANTEE_BIT(G_FS_CARVE) |
	       GUARANTEE_BIT(G_FS_REOPEN) | GUARANTEE_BIT(G_PROTECT_MISSING) |
	       GUARANTEE_BIT(G_NET_OFF) | GUARANTEE_BIT(G_NET_MANAGED) | GUARANTEE_BIT(G_IPC) |
	       GUARANTEE_BIT(G_PROC) | GUARANTEE_BIT(G_KERNEL) | GUARANTEE_BIT(G_TREE_DEATH);
}

const char *mounts_why_not(enum guarantee g)
{
	switch (g) {
	case G_DENY_FUTURE:
		return "names that appear later are masked when they are seen, with a window";
	case G_LIMITS:
		return "control groups are not used in this version";
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
