/* SPDX-License-Identifier: MIT */
/*
 * Children that run without exec, forked from what may be a threaded program: they may only make
 * async-signal-safe calls. They have no exit signal and are known by a pidfd, so a host program's
 * waitpid(-1) never returns them and their end raises no SIGCHLD. (The kernel still raises it when
 * somebody stops one, unless SA_NOCLDSTOP is set.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"

/*
 * Runs `body` in a copy of this process, with all signals blocked; it must not return. `flags`
 * are CLONE_NEW*. Returns the pid and sets `*pidfd` (close-on-exec), or returns -1 and sets errno.
 */
pid_t os_fork(unsigned long flags, void (*body)(void *arg), void *arg, int *pidfd) NONNULL;

/*
 * A process that works for this one and must not outlive it: PID 1, monitors, the warden, the
 * masker, connectors. This is the one way to start one, so that all are tied to this process alike.
 */
struct os_helper {
	const char *name; /* that ps shows, at most 15 bytes; NULL: the name stays */
	/*
	 * The helper's code, which must not return. `parent` is a pidfd of this process. Wait with
	 * os_await_parent(), or poll both: the end of a channel alone does not show the parent's end
	 * while another process that it forked holds a copy of the channel.
	 */
	void (*run)(void *arg, int parent);
	void *arg;
	unsigned long flags; /* CLONE_NEW* */
	/* The descriptors that it keeps beside `parent`; negative ones are skipped. */
	const int *kept;
	size_t kept_count;
	bool keeps_all; /* `run` closes what it does not need */
	/*
	 * Leaves the caller's session, so that no signal to a group or from a terminal hits it, and
	 * its working directory; and nobody can read the caller's memory from this copy of it.
	 */
	bool is_detached;
	int own_pidfd; /* a pidfd of this process, if the caller has one: becomes `parent` */
};

/*
 * As os_fork(). Before `run` begins, the helper is named, every descriptor but those listed is
 * closed, and the kernel wakes it with SIGCONT when its parent ends, should it be stopped. It
 * exits with 1 when that fails.
 */
pid_t os_fork_helper(const struct os_helper *helper, int *pidfd) NONNULL;

/*
 * Has the kernel send this process SIGCONT when its parent ends. A stopped process could not notice
 * that end by itself. os_fork() does this; a process that changes its credentials has to repeat it,
 * because the kernel forgets it then. (For the kernel the parent is the thread that forked. Being
 * woken too early does no harm.)
 */
void os_wake_with_parent(void);

/*
 * Like os_fork(), for a `body` that executes another program at once: this thread waits until it
 * has, and lends it its memory. The program's exit signal is SIGCHLD, so only a process without
 * other children may use this. If no pidfd can be opened, returns -1 and leaves the program to end
 * by itself.
 */
pid_t os_vfork(void (*body)(void *arg), void *arg, int *pidfd) NONNULL;

/* A pidfd of this process; -1: errno is set. */
int os_open_self(void);

/*
 * Closes every descriptor but `kept`, of which negative ones are skipped. False: errno is set, and
 * SECURITY: the process must end, as it may hold what shows others the end of a run.
 */
bool os_close_all_but(const int *kept, size_t count) MUST_CHECK NONNULL;

/*
 * Waits until the channel can be read or has ended. False: the parent has ended and there is
 * nothing left to read.
 */
bool os_await_parent(int channel, int parent);

/*
 * Waits, at most `timeout_ms`, until the channel to a child can be read. False: the child has ended
 * and there is nothing left to read.
 */
bool os_await_child(int channel, int pidfd, int timeout_ms);

/*
 * Whether a process that os_fork() makes of this one may use the system's libraries: not on macOS while
 * this program has other threads, whose locks would stay closed.
 */
bool os_may_fork(void);

/* Does nothing if the process has already ended. */
void os_kill(int pidfd, int number);
void os_end(int pidfd); /* the process can't catch or ignore it */

/* In a child: a pidfd of `parent`, which forked it; -1: errno is set, ESRCH when that has ended. */
int os_open_parent(pid_t parent);

/*
 * Ends this process at once: nothing of the C library's is flushed or called. It never returns, but
 * is not declared so: before such a call sanitizers make system calls that the proxy's filter forbids.
 */
void os_exit(int status);

pid_t os_own_pid(void);

/* In such a child: that somebody cancelled the thread that forked must not end it. */
void os_disable_cancel(void);

/* Whether it is a child of this process that nobody has reaped, so that its pid is still its own. */
bool os_is_child(int pidfd);

/*
 * Waits until the process has ended, even if it is not a child of this one. Returns its exit status
 * as a shell reports it (128 + n for signal n), or -1 if that can't be known.
 */
int os_reap(int pidfd);

/* Makes `group` the terminal's foreground group, even if this process is in the background. */
void os_set_foreground(int terminal, pid_t group);
