/* SPDX-License-Identifier: MIT */
/*
 * Changes of modes, owners, times and attributes of files. The filter notifies of all of them if only
 * Landlock protects files, because Landlock does not govern them (FILTER_METADATA_ASKED), and if
 * a standard stream has the host's mount (FILTER_METADATA_STREAMS). Otherwise it notifies only of
 * calls that set the set-group-ID bit, which only directories may have.
 *
 * The handler looks the path up as the caller sees it, and checks the inode: whether it is below a
 * writable root (without mounts), whether it is a stream's file, and its type. Then it changes this
 * inode itself, by descriptor and with the caller's rights. It never lets the call continue: after
 * the check the path, or the descriptor's number, could mean another file.
 *
 * Differences from an ordinary call:
 *  - The kernel's own links (/proc/PID/fd) are followed only at the start of a path, and only those
 *    of the caller.
 *  - Without mounts, a file that is not below a writable root (a memfd, pipe or socket) can't be
 *    changed. A program that its user may execute but not read can change nothing.
 */
#pragma once

#include "base/arena.h"
#include "linux/init/sandbox.h"
#include "linux/notify/engine.h"

/* `sandbox` must outlive the engine. ERR_NOMEM. */
int metadata_start(struct arena *a, struct engine *engine, const struct sandbox *sandbox,
		   struct err *e) MUST_CHECK NONNULL;
