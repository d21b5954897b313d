/* SPDX-License-Identifier: MIT */
/*
 * Acting with the command's rights. The command has this process's user and groups but no
 * capabilities, and a supervisor that runs as root may do more. While this thread's capabilities are
 * dropped, the kernel checks permissions as it would for the command.
 */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>

#include "base/macros.h"

struct rights {
	struct __user_cap_data_struct saved[2];
	bool are_dropped;
};

/* 0 or -errno. After a failure the caller must not act for the command. */
int rights_drop(struct rights *r) MUST_CHECK NONNULL;
void rights_restore(struct rights *r) NONNULL;
