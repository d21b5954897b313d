/* SPDX-License-Identifier: MIT */
/*
 * Modes, owners, times and attributes of files: all of them for a sandbox whose only wall for files
 * is Landlock, which does not govern them (the filter's FILTER_METADATA_ASKED), and where a
 * standard stream has the host's mount (FILTER_METADATA_STREAMS); else only what would set the
 * set-group-ID bit, which is for directories alone.
 *
 * A path is looked up in the caller's view, the inode that it leads to is judged (by where it
 * lies, when there are no mounts; whether it is a stream's; what it is), and what was judged is
 * changed, by descriptor and with the caller's rights. Nothing is ever
 * let through: between the look and the call the path, or the descriptor's number,
 * could come to mean another file.
 *
 * What differs from a call of the caller's own:
 *  - Links of the kernel's own (/proc/PID/fd) are followed only at the start of a path
 *    and only to what is the caller's.
 *  - Without mounts, what has no place below a writable root, as memfds, pipes and sockets, can't be
 *    changed; nor can anything by a program that its user may run but not read.
 */
#pragma once

#include "base/arena.h"
#include "linux/init/sandbox.h"
#include "linux/notify/engine.h"

/* `sandbox` must outlive the engine. ERR_NOMEM. */
int metadata_start(struct arena *a, struct engine *engine, const struct sandbox *sandbox,
		   struct err *e) MUST_CHECK NONNULL;
