/* SPDX-License-Identifier: MIT */
/*
 * The native backend makes namespaces and mounts itself, with the kernel's mount API.
 * backend/mounts says what is mounted where.
 *
 *	apply.c		prepares a job, clones PID 1 into its namespaces, talks to it
 *	child.c		PID 1 until the command runs
 *	child_mounts.c	its mounts
 *
 * The files child*.c run between clone and exec in what may be a threaded program: they make raw
 * system calls on what the job holds, and use no allocation, no locale and no stdio. They report
 * a failure as a stage, a number and an errno in an init_message, which the parent turns into
 * text. backend/inner does what follows the mounts.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "backend/backend.h"
#include "backend/devices.h"
#include "backend/inner/inner.h"
#include "backend/mounts/lower.h"

/* What PID 1 was doing when it failed: name, what completes "can't". */
#define NATIVE_STAGES(X)                                              \
	X(NETWORK, "make a network of its own")                       \
	X(DEVICES, "take the devices of the host")                    \
	X(PRIVATE, "keep mounts of the host from appearing later")    \
	X(SOURCE, "open")                                             \
	X(SOURCE_CHANGED, "find what the policy was compiled for at") \
	X(SOURCE_ACCESS, "set the access of")                         \
	X(PROC, "mount a /proc of its own")                           \
	X(BOX, "mount a file system for what is made")                \
	X(MADE, "make the directories that lead to what is open")     \
	X(DEV, "make /dev")                                           \
	X(CLOSE_TREE, "make the file system read-only")               \
	X(TARGET, "find the place of")                                \
	X(ATTACH, "mount")                                            \
	X(ROOT, "enter the new root")

enum native_stage {
	NATIVE_BEFORE_FIRST = INNER_STAGE_COUNT - 1,
#define NATIVE_STAGE_ENUM(name, text) NATIVE_##name,
	NATIVE_STAGES(NATIVE_STAGE_ENUM)
#undef NATIVE_STAGE_ENUM
};

enum { NATIVE_STACK_BYTES = 64 << 10 };

/* Everything that PID 1 needs, prepared before the clone. */
struct native_job {
	struct inner_job inner;
	const struct mounts *mounts;
	int *sources;		   /* one for each mount: what MOUNT_SELF shows */
	const char *terminal_path; /* NULL: none */
	bool has_own_ipc;
	bool is_root;

	/* Set inside. */
	uint32_t mounter; /* its pid; the kernel clears it when it ends */
	bool is_mounted;
	int root; /* O_PATH: what becomes "/" */
	int box;  /* a tmpfs that holds everything that is made */
	int devices[DEVICE_COUNT];
	int console, shm;
};

/* PID 1 from the clone on. */
_Noreturn void native_child(struct native_job *job);

/* Reports and exits. `stage` is of either list, `index` that of a mount operation or a made file. */
_Noreturn static inline void native_fail(const struct native_job *job, uint32_t stage, size_t index)
{
	inner_fail(&job->inner, stage, index);
}

/* In this order; each exits if it fails. */
void native_open_sources(struct native_job *job); /* before identities are mapped */
void native_mount_all(struct native_job *job);	  /* after; changes the working directory */

extern const struct backend backend_native;
