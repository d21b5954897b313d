/* SPDX-License-Identifier: MIT */
/*
 * What a command has told the terminal so far, as far as it matters to a question that is asked
 * there: modes that hide or distort what is written (a scroll region, insert mode, another character
 * set, colours), and modes that change what keys and the mouse send. So the terminal can be made plain
 * for the question, and put back afterwards. Pure.
 *
 * SECURITY: a command can deceive this, because terminals differ in what they understand. What would
 * hide a question is therefore also reset without having been seen.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { MODES_PARTIAL_BYTES = 128, MODES_STYLE_BYTES = 128 };

struct terminal_modes {
	int state; /* of the parser */
	int more;  /* bytes of a character in UTF-8 that are to come */
	bool is_at_line_start;
	/* The sequence or character that has begun and not ended. */
	char partial[MODES_PARTIAL_BYTES];
	size_t partial_bytes;
	bool is_too_long;      /* for `partial` */
	uint32_t changed;      /* of the table in terminal_modes.c: not as they are at first */
	uint32_t screen;       /* the mode that chose the alternate screen; 0: it is the main one */
	uint32_t top, bottom;  /* the scroll region; 0: all */
	uint32_t other_keys;   /* modifyOtherKeys */
	uint32_t key_protocol; /* how often the keyboard's protocol was set */
	bool has_colours;      /* the palette was changed */
	bool has_link;	       /* one was begun, and perhaps not ended */
	bool is_shifted;       /* to the second character set */
	char charsets[2];      /* 0: as at first */
	char style[MODES_STYLE_BYTES]; /* what has set colours and the like since they were reset */
	size_t style_bytes;
	int osc; /* the number of the operating system command that is being read, -1: none */
	char last;
};

void modes_init(struct terminal_modes *m) NONNULL;

/* These bytes were sent to the terminal. */
void modes_feed(struct terminal_modes *m, struct str bytes) NONNULL;

/* Whether no sequence or character is incomplete. */
bool modes_is_at_rest(const struct terminal_modes *m) NONNULL;

/*
 * Whether the rest of the incomplete sequence has to be left out, because modes_add_plain() has
 * ended it and it is too long to be sent again. Feed what is left out.
 */
bool modes_is_skipping(const struct terminal_modes *m) NONNULL;

/* What makes the terminal plain, on a fresh line of its main screen. */
void modes_add_plain(const struct terminal_modes *m, struct buf *out) NONNULL;

/* What makes it what it was before that, but for the text and the position of the cursor. */
void modes_add_back(const struct terminal_modes *m, struct buf *out) NONNULL;
