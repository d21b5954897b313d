/* SPDX-License-Identifier: MIT */
/* What all backends that mount give, and why not the rest. */
#pragma once

#include "backend/backend.h"
#include "os/cgroup.h"

guarantee_set mounts_give(const struct plan *plan);
const char *mounts_why_not(enum guarantee g) RETURNS_NONNULL;

/* Which of the plan's limits take a control group: memory always, processes for root. */
struct os_cgroup_limits mounts_group_limits(const struct plan *plan) NONNULL;
