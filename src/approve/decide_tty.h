/* SPDX-License-Identifier: MIT */
/*
 * Asks at the terminal (--ask tty): one question at a time, in the order in which they came.
 *
 * With it the command has a terminal of its own, which the session relays (session/relay.c).
 * SECURITY: while a question is shown nothing is relayed in either direction, so the command can
 * neither read the answer nor write it, nor paint over the question. What the user's terminal is
 * sent and what was typed there goes through struct prompt_terminal alone.
 */
#pragma once

#include "approve/approve.h"
#include "base/buf.h"
#include "base/err.h"
#include "os/loop.h"

enum prompt_lent {
	PROMPT_LENT,
	PROMPT_TAKEN,  /* another run asks there now */
	PROMPT_BEHIND, /* this process is in the background */
};

/*
 * The terminal of the user, as its relay lends it. None of these calls the decider back, whatever
 * happens to the terminal.
 */
struct prompt_terminal {
	/*
	 * Stops relaying and puts the terminal into a known state. From now on what is typed comes
	 * through decide_tty_take(). If it can't be had, decide_tty_wake() is called when it can.
	 */
	enum prompt_lent (*lend)(void *self);
	/* Puts it back as the command had it, relays again, and has the command paint anew. */
	void (*give_back)(void *self);
	/* Never waits, and never reads or escapes `text`. What does not fit is lost. */
	void (*write)(void *self, struct str text);
	/* Discards what was typed and not read yet. True: there was something. */
	bool (*discard)(void *self);
	/* The columns and rows of the window; at least 20 and 5. */
	void (*size)(void *self, size_t *columns, size_t *rows);
	void *self;
};

struct decide_tty_options {
	struct loop *loop; /* until decide_tty_free() */
	struct prompt_terminal terminal;
	bool has_colour; /* no NO_COLOR */
	/* Where the answers go: broker_decide() with loop_now(). */
	void (*answer)(void *user, uint64_t id, const struct answer *answer);
	/* Adds what "always" would write for it, without an end of line; NULL: it is not shown. */
	void (*show_entry)(void *user, const struct grant *grant, struct buf *out);
	void *user;
};

struct decide_tty;

/* ERR_NOMEM. */
int decide_tty_new(const struct decide_tty_options *options, struct decide_tty **out, struct err *e)
	MUST_CHECK NONNULL;
void decide_tty_free(struct decide_tty *d); /* NULL is fine */

/* `deadline_ms` of its ask() is how long the question may stand. */
const struct decider *decide_tty_decider(const struct decide_tty *d) NONNULL;

/* ---- From the relay ------------------------------------------------------------------------- */

/* What was typed while it has the terminal. */
void decide_tty_take(struct decide_tty *d, struct str typed) NONNULL;
/* This process is in the foreground (again), or no other run asks at the terminal any more. */
void decide_tty_wake(struct decide_tty *d) NONNULL;
/* The terminal is gone; not from within a call of it. Every question, and every later one, is denied. */
void decide_tty_hang_up(struct decide_tty *d) NONNULL;
