/* SPDX-License-Identifier: MIT */
/*
 * The warden: a process of its own, only there when there are placeholders, that
 * removes them when this process can't, because it was killed. It leaves the
 * session, so that no signal meant for the others reaches it, holds copies of the
 * locks, and waits for the end of a channel whose other end is this process's.
 * Then it kills the sandbox (by pidfd), waits until nothing in it is left, and
 * releases the placeholders.
 *
 * It is forked without exec from what may be a threaded program: nothing in it
 * but async-signal-safe calls.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "linux/placeholder/placeholder.h"
#include "os/shed.h"

struct warden {
	pid_t pid;	  /* 0: none */
	int pidfd;	  /* readable when it has ended: then the run must not go on */
	int channel;	  /* its end is the sign */
	struct shed shed; /* where removed placeholders are left: a disk takes its time */
};

#define WARDEN_NONE                                                     \
	{                                                               \
		.pid = 0, .pidfd = -1, .channel = -1, .shed = SHED_NONE \
	}

/*
 * Starts the warden and then makes and locks what the plan wants
 * (placeholders_take), in this order: there is no moment at which a killed
 * process leaves one behind. Nothing is forked, and that is success, when the
 * plan wants none. On failure nothing is left.
 */
int warden_hold(struct warden *w, struct arena *a, const struct plan *plan,
		struct placeholders *out, struct err *e) MUST_CHECK NONNULL;

/* From now on it can kill the sandbox. */
int warden_watch(struct warden *w, int sandbox_pidfd, struct err *e) MUST_CHECK NONNULL;

/*
 * The sandbox is gone: removes the placeholders that nobody else holds, and kills
 * the warden. It takes a while to die, as the last to hold what was removed.
 */
void warden_let_go(struct warden *w, struct placeholders *held) NONNULL;

/* Likewise, and waits for its end, whatever became of it. All descriptors closed. */
void warden_finish(struct warden *w, struct placeholders *held) NONNULL;
