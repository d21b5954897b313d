/* SPDX-License-Identifier: MIT */
/* What a launch into namespaces asks of this host and this process, through /proc. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* What AppArmor takes this process for: the profile's name and mode, or "unconfined". */
#define HOST_APPARMOR_LABEL "/proc/self/attr/apparmor/current"

/* ERR_WEAKER when the numbers in /proc are not those that this process knows. */
int host_check_proc(const char *backend, struct err *e) MUST_CHECK NONNULL;

/*
 * Identities in the new user namespace are what they are outside: this user's
 * own, or for root all that root has here.
 */
int host_map_identities(const char *backend, pid_t pid, struct err *e) MUST_CHECK NONNULL;

int host_open_namespaces(pid_t pid, int *user_ns, int *mount_ns, struct err *e) MUST_CHECK NONNULL;

/* A limit of namespaces that lets nobody have one of some kind. */
struct host_limit {
	const char *path;
	const char *what; /* "user.max_net_namespaces is 0" */
	const char *fix;  /* the command, for root */
};

/* The first of them that is in force; NULL: none is. */
const struct host_limit *host_find_limit(void);

/* ERR_WEAKER: why `backend` has no namespaces, or no new /proc, and the way out. */
int host_fail_namespaces(const char *backend, int os_error, struct err *e) NONNULL;
/* Likewise why it may not do in them what it has to; `doing` completes "can't". */
int host_fail_rights(const char *backend, const char *doing, int os_error, struct err *e) NONNULL;
int host_fail_proc(const char *backend, int os_error, struct err *e) NONNULL;
