/* SPDX-License-Identifier: MIT */
/*
 * A request in words, for the terminal, and the answer that was typed there. Pure.
 *
 * SECURITY: names, words, directory and reason are the command's. Each is shown with everything
 * escaped that a terminal would obey or that has no shape, and takes a bounded number of lines.
 */
#pragma once

#include "approve/approve.h"
#include "base/buf.h"

struct question_look {
	size_t columns, rows; /* of the window: at least 20 and 5 */
	bool has_colour;
	uint64_t left_ms; /* until it is denied */
	/* As in struct decide_tty_options. */
	void (*show_entry)(void *user, const struct grant *grant, struct buf *out);
	void *user;
};

enum { QUESTION_MAX_LINES = 64, QUESTION_MAX_ANSWER = 40 };

/* Lines that end with "\n"; at most QUESTION_MAX_LINES of `columns`. */
void question_add(struct buf *out, const struct ask *ask, const struct question_look *look) NONNULL;

/*
 * `line` without its end. False: it is no answer, and `why` says why not. The grant is borrowed
 * from `ask`.
 */
bool question_parse(struct str line, const struct ask *ask, struct answer *out, struct buf *why)
	MUST_CHECK NONNULL;

/* Says of a line that it is no answer, and which words are. */
void question_explain(const struct ask *ask, struct buf *why) NONNULL;

/*
 * ESCALATE: whether all words of the command are shown. SECURITY: whoever decides about a command has to
 * see each; one that is cut could hide the argument that matters.
 */
bool question_shows_command(const struct ask *ask) NONNULL;

/* What was decided, in a line. */
void question_add_outcome(struct buf *out, const struct answer *answer) NONNULL;
