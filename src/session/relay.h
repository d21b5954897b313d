/* SPDX-License-Identifier: MIT */
/*
 * A terminal of the command's own, between the user's and the command (--ask tty). The command
 * gets the pty in place of the streams that are the user's terminal, and as its controlling
 * terminal. This process shows what is written there, and passes on what is typed; it stops with
 * the command and goes on with it as a shell's job does.
 *
 * While the decider has the terminal (decide_tty_*()) nothing is relayed. What the command writes
 * meanwhile stays in the pty, and blocks it when that is full.
 *
 * The order: relay_open() when the streams are known (launch_find_terminal()), relay_serve() before
 * the command starts, relay_begin() when it runs, relay_is_drained() when it has ended, relay_close().
 */
#pragma once

#include "approve/decide_tty.h"
#include "os/terminal.h"
#include "session/session.h"

struct session;
struct relay;

/*
 * The user's terminal is that of `s->terminal`. Replaces those of `s->stdio` that are it.
 * ERR_SYS; CAUSE_NO_TERMINAL: there is none, or this process is in the background.
 */
int relay_open(struct session *s, struct relay **out, struct err *e) MUST_CHECK NONNULL;

/* Restores the user's terminal, however far it came. NULL is fine. */
void relay_close(struct relay *r);

/* The pty's path; good until relay_close(). */
const char *relay_path(const struct relay *r) NONNULL RETURNS_NONNULL;

/* What a decider asks with, and the decider, which is told of what is typed; NULL: no longer. */
struct prompt_terminal relay_lend(struct relay *r) NONNULL;
void relay_serve(struct relay *r, struct decide_tty *asker) __attribute__((nonnull(1)));

/* The command runs, in the foreground if its input and output are the terminal. ERR_SYS. */
int relay_begin(struct relay *r, struct err *e) MUST_CHECK NONNULL;
bool relay_starts_in_front(const struct relay *r) NONNULL;

/* The command was stopped by `number`: stops this process likewise; returns when both go on. */
void relay_stop(struct relay *r, int number) NONNULL;
/* It goes on: what is typed is passed on again. */
void relay_continued(struct relay *r) NONNULL;

/* SIGCONT or SIGWINCH was sent to this process: it may be in the foreground, the size another. */
void relay_look(struct relay *r) NONNULL;

/* Nothing of the command's runs any more: whether all that it has written was shown. */
bool relay_is_drained(struct relay *r) NONNULL;
