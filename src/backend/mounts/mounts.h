/* SPDX-License-Identifier: MIT */
/* The guarantees of all backends that use mounts, and why they lack the others. */
#pragma once

#include "backend/backend.h"
#include "os/cgroup.h"

guarantee_set mounts_give(const struct plan *plan);
const char *mounts_why_not(enum guarantee g) RETURNS_NONNULL;

/* The plan's limits that need a control group: memory always, processes for root. */
struct os_cgroup_limits mounts_group_limits(const struct plan *plan) NONNULL;
