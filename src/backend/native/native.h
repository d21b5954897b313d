/* SPDX-License-Identifier: MIT */
/*
 * The native backend: namespaces and the mount API, in this process.
 *
 *	lower.c		plan -> mount operations (pure)
 *	stdio.c		what the standard streams may be
 *	apply.c		prepares a job, clones PID 1 into its namespaces, speaks with it
 *	child.c		PID 1 until the command runs
 *	child_mounts.c	its mounts
 *	child_lock.c	capabilities, Landlock, seccomp: what can't be undone
 *
 * The files child*.c run between clone and exec in what may be a threaded
 * program: raw system calls on what the job holds, no allocation, no locale, no
 * stdio. A failure is a stage, a number and an errno in an init_message; the
 * parent words it.
 */
#pragma once

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "backend/command_child.h"
#include "backend/native/lower.h"
#include "filter/filter.h"
#include "supervise/init.h"

/* What PID 1 was doing; one line each: name, what could not be done. */
#define NATIVE_STAGES(X)                                                                \
	X(NETWORK, "make a network of its own")                                         \
	X(DEVICES, "take the devices of")                                               \
	X(PRIVATE, "keep mounts of the host from appearing later")                      \
	X(SOURCE, "open")                                                               \
	X(SOURCE_CHANGED, "find what the policy was compiled for at")                   \
	X(SOURCE_ACCESS, "set the access of")                                           \
	X(PROC, "mount a /proc of its own")                                             \
	X(BOX, "mount a file system for what is made")                                  \
	X(MADE, "make the directories that lead to what is open")                       \
	X(DEV, "make /dev")                                                             \
	X(CLOSE_TREE, "make the file system read-only")                                 \
	X(TARGET, "find the place of")                                                  \
	X(ATTACH, "mount")                                                              \
	X(ROOT, "enter the new root")                                                   \
	X(DIRECTORY, "enter the working directory: it is not readable for the command") \
	X(GROUP, "make a process group")                                                \
	X(LIMITS, "set limits")                                                         \
	X(CAPABILITIES, "drop the capabilities")                                        \
	X(LANDLOCK, "set up Landlock")                                                  \
	X(FILTER, "install the system-call filter")                                     \
	X(TELL, "hand over to the parent process")                                      \
	X(FORK, "start a process")

enum native_stage {
#define NATIVE_STAGE_ENUM(name, text) NATIVE_##name,
	NATIVE_STAGES(NATIVE_STAGE_ENUM)
#undef NATIVE_STAGE_ENUM
};

enum {
	NATIVE_DEVICE_COUNT = 6, /* that every /dev has */
	NATIVE_STACK_BYTES = 64 << 10,
};

/* All that PID 1 needs; prepared before the clone. */
struct native_job {
	const struct mounts *mounts;
	int *sources; /* one for each mount: what MOUNT_SELF shows */

	struct command_words words;
	const char *directory;
	int stdio[3];
	/*
	 * A file that was opened for reading, and that the command may not write, is
	 * opened again inside: else it could be opened for writing by /proc/self/fd/0,
	 * which leads to the host's mount of it.
	 */
	const char *reopened[3];
	const char *terminal_path; /* NULL: none */

	struct filter filter;
	bool asks_connect;
	bool has_own_network;
	bool has_own_ipc;
	bool is_root;
	uint32_t landlock_abi; /* 0: none */
	bool allows_mounts;    /* with user namespaces: Landlock would forbid them */
	struct command_limits limits;

	char *stack; /* of who mounts while PID 1 makes the network */
	int channel; /* PID 1's end */

	/* Set by PID 1 on the way. */
	struct rlimit open_files; /* as they were */
	struct command_signals signals;
	int root; /* O_PATH: what becomes "/" */
	int box;  /* a tmpfs for everything that is made */
	int devices[NATIVE_DEVICE_COUNT];
	int console, shm;
	int unix_diag;
	bool has_mqueue;
};

/* ERR_POLICY for a standard stream through which the command could get around the policy. */
int native_judge_stdio(struct arena *a, const struct launch *in, struct native_job *job,
		       struct err *e) MUST_CHECK NONNULL;

/* PID 1 from the clone on. */
_Noreturn void native_child(struct native_job *job);

/* Reports and ends PID 1. `index` is of an operation or a made thing. */
_Noreturn void native_fail(const struct native_job *job, enum native_stage stage, size_t index);

/* In order; each ends PID 1 when it can't do its part. */
void native_open_sources(struct native_job *job); /* before identities are mapped */
void native_mount_all(struct native_job *job);	  /* after; changes the working directory */
void native_drop_capabilities(const struct native_job *job);
void native_lock_landlock(const struct native_job *job);
int native_lock_filter(const struct native_job *job); /* the listener, or -1 */

extern const struct backend backend_native;
