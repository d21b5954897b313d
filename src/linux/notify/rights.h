/* SPDX-License-Identifier: MIT */
/*
 * Acting with the rights that the command has. It has this process's user and
 * groups but no capability; a supervisor run by root would reach more. While they
 * are put down, the kernel itself judges permissions as it would for the command.
 * Of this thread only.
 */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>

#include "base/macros.h"

struct rights {
	struct __user_cap_data_struct saved[2];
	bool are_dropped;
};

/* 0 or -errno; then nothing may be done on the command's behalf. */
int rights_drop(struct rights *r) MUST_CHECK NONNULL;
void rights_restore(struct rights *r) NONNULL;
