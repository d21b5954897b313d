/* SPDX-License-Identifier: MIT */
/*
 * Children that run on without exec, made in what may be a threaded program:
 * async-signal-safe calls only in there. They have no exit signal and are known by
 * a pidfd, so that a host program's waitpid(-1) never meets them and no SIGCHLD tells
 * of their end; that somebody has stopped one is told, unless SA_NOCLDSTOP is set.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/macros.h"

/*
 * `body` runs in a copy of this process, with all signals blocked, and must not
 * return. `flags` are CLONE_NEW*. The pid and `*pidfd` (close-on-exec), or -1 and
 * errno.
 */
pid_t os_fork(unsigned long flags, void (*body)(void *arg), void *arg, int *pidfd) NONNULL;

/*
 * Who is stopped hears nothing of the end of whom it belongs to: the kernel wakes it then. A child
 * is born so; who changes its credentials has to say it again. (To the kernel a parent is the
 * thread that forked; to be woken too early does no harm.)
 */
void os_wake_with_parent(void);

/*
 * For a `body` that executes another program at once: this thread waits for that, and lends it its
 * memory. Else as os_fork(); but the program has SIGCHLD for an exit signal, as all have, and so is
 * for who has no other children to confuse it with. When no descriptor can be had it is left to end
 * by itself.
 */
pid_t os_vfork(void (*body)(void *arg), void *arg, int *pidfd) NONNULL;

/*
 * In such a child: a pidfd of the process that forked it, or -1 when that is gone. The end of a
 * channel to it does not tell of its end while a process that it has forked has a copy.
 */
int os_open_parent(pid_t parent);

/* Until the channel can be read, or has ended. False: the parent has, and there is nothing to read. */
bool os_await_parent(int channel, int parent);

/* That it is gone already is no failure. */
void os_kill(int pidfd, int number);

/* Whether it is a child of this process that nobody has reaped: its number is nobody else's. */
bool os_is_child(int pidfd);

/*
 * Waits until it is gone, also when it is not a child of this process. How it ended, as a shell
 * says it (128 + n by signal n); -1 when that can't be known.
 */
int os_reap(int pidfd);

/* `group` gets the terminal, also when this process is in the background. */
void os_set_foreground(int terminal, pid_t group);
