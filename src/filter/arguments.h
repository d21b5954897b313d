/* SPDX-License-Identifier: MIT */
/*
 * Calls whose arguments decide: a block of tests for each, which first loads the argument.
 *
 * SECURITY: a test compares an argument in the width that the kernel uses. If that is an int, the
 * kernel ignores the upper half. A test that compared it as well could be bypassed by setting it.
 */
#pragma once

#include <stdbool.h>

#include "filter/bpf.h"

/* Linux's error numbers; those of the system that this is built for may be others. */
enum { LINUX_EPERM = 1, LINUX_EACCES = 13, LINUX_ENOSYS = 38, LINUX_EOPNOTSUPP = 95 };

/* What setpriority() and ioprio_set() call a process. */
enum { LINUX_PRIO_PROCESS = 0, LINUX_IOPRIO_WHO_PROCESS = 1 };

/* What a program returns. */
#define FILTER_ALLOW  0x7fff0000u
#define FILTER_NOTIFY 0x7fc00000u
#define FILTER_ERRNO  0x00050000u /* | the error */
#define FILTER_KILL   0x80000000u /* the whole process */

/* Where things are in struct seccomp_data. */
enum { FILTER_NUMBER_AT = 0, FILTER_ARCH_AT = 4, FILTER_ARGUMENTS_AT = 16 };

struct arguments {
	struct bpf *bpf;
	bpf_label allow, refuse, ask; /* where to go on; refuse is EPERM */
};

bpf_label arguments_clone(const struct arguments *a) NONNULL;
bpf_label arguments_unshare(const struct arguments *a) NONNULL;
/* The same with namespaces, but for those of control groups. */
bpf_label arguments_clone_some(const struct arguments *a) NONNULL;
bpf_label arguments_unshare_some(const struct arguments *a) NONNULL;
/* Not with all that is mounted below. */
bpf_label arguments_umount(const struct arguments *a) NONNULL;
/* Only what they did when they were new: a mount, and no namespace. */
bpf_label arguments_open_tree(const struct arguments *a) NONNULL;
bpf_label arguments_fsmount(const struct arguments *a) NONNULL;
bpf_label arguments_socket(const struct arguments *a, bool reaches_host, bool has_no_network)
	NONNULL;
bpf_label arguments_ioctl(const struct arguments *a) NONNULL;
/* As a list of what is allowed; those that set attributes of a file go to `attributes`. */
bpf_label arguments_ioctl_listed(const struct arguments *a, bpf_label attributes) NONNULL;
/* Those of file systems as a list of what is allowed; what sets attributes is asked. */
bpf_label arguments_ioctl_beside_streams(const struct arguments *a) NONNULL;
/* With `keeps_appending`, clearing O_APPEND is notified. */
bpf_label arguments_fcntl(const struct arguments *a, bool keeps_appending) NONNULL;
bpf_label arguments_personality(const struct arguments *a) NONNULL;

/* Argument 0 is a process, and must not be PID 1. */
bpf_label arguments_process(const struct arguments *a) NONNULL;
/*
 * Argument 0 is a kind, argument 1 whom of it: a process when the kind is `process`. The two
 * kinds that follow it are groups and users.
 */
bpf_label arguments_priority(const struct arguments *a, unsigned process) NONNULL;

/* Argument `flags` is the flags of a send. */
bpf_label arguments_send(const struct arguments *a, unsigned flags) NONNULL;

/* Argument `mode` is the new mode of what may be a directory. `asks`: about all that is allowed. */
bpf_label arguments_chmod(const struct arguments *a, unsigned mode, bool asks) NONNULL;
/* Argument `mode` is the mode of a new file. */
bpf_label arguments_mode(const struct arguments *a, unsigned mode, bool asks) NONNULL;
/* Asks unless argument `path` is NULL, which means the descriptor before it. */
bpf_label arguments_path(const struct arguments *a, unsigned path) NONNULL;
/* Argument `flags` is those of a write: not past O_APPEND. */
bpf_label arguments_write_flags(const struct arguments *a, unsigned flags) NONNULL;
/* Argument `flags` is the flags of an open, and the next one the mode: no set-id bits. */
struct open_checks {
	bool truncate;	    /* only what is opened for writing */
	bool asks_writing;  /* about all that is opened for writing */
	bool asks_changing; /* also about what is created or truncated */
	bool asks_all;
};
bpf_label arguments_open(const struct arguments *a, unsigned flags, struct open_checks checks)
	NONNULL;
