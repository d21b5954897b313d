/* SPDX-License-Identifier: MIT */
/* What a native launch asks of this host and this process, through /proc. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Identities in the new user namespace are what they are outside: this user's
 * own, or for root all that root has here.
 */
int host_map_identities(pid_t pid, struct err *e) MUST_CHECK NONNULL;

int host_open_namespaces(pid_t pid, int *user_ns, int *mount_ns, struct err *e) MUST_CHECK NONNULL;

/* ERR_WEAKER: why namespaces, or a new /proc, are not to be had, and the way out. */
int host_fail_namespaces(int os_error, struct err *e) NONNULL;
int host_fail_proc(int os_error, struct err *e) NONNULL;
