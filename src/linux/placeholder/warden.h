/* SPDX-License-Identifier: MIT */
/*
 * The warden: a process that removes the placeholders if this process is killed and can't. It
 * exists only when there are placeholders. It leaves the session, so that no signal to a group hits
 * it, holds copies of the locks, and waits for the end of its channel to this process. Then it
 * kills the sandbox (by pidfd), waits until all of it has ended, and releases the placeholders.
 *
 * It is forked without exec from what may be a threaded program, so it makes only async-signal-safe
 * calls.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "linux/placeholder/placeholder.h"
#include "os/deferred_close.h"

struct warden {
	pid_t pid;   /* 0: none */
	int pidfd;   /* readable when it has ended: then the run must end, too */
	int channel; /* its end tells the warden that this process has ended */
	/* The kernel closes removed placeholders from here, because disks are slow. */
	struct deferred_close deferred;
};

#define WARDEN_NONE                                                                   \
	{                                                                             \
		.pid = 0, .pidfd = -1, .channel = -1, .deferred = DEFERRED_CLOSE_NONE \
	}

/*
 * Starts the warden, and only then makes and locks the placeholders (placeholders_take):
 * so there is no moment at which a killed process leaves one behind. Without placeholders it starts
 * no warden and succeeds. On failure nothing is left.
 */
int warden_hold(struct warden *w, struct arena *a, struct placeholder_list wanted,
		struct placeholders *out, struct err *e) MUST_CHECK NONNULL;

/* Gives the warden the sandbox, which it kills if this process ends. */
int warden_watch(struct warden *w, int sandbox_pidfd, struct err *e) MUST_CHECK NONNULL;

/*
 * After the sandbox has ended: removes the placeholders that no other run needs, and kills the
 * warden, without waiting for its end.
 */
void warden_release(struct warden *w, struct placeholders *held) NONNULL;

/* The same, and waits for the warden's end, even if it ended before. Closes all descriptors. */
void warden_finish(struct warden *w, struct placeholders *held) NONNULL;
