/* SPDX-License-Identifier: MIT */
/*
 * Bytes to messages: each is a line. A line that is too long is dropped as it comes, whatever its
 * length, and told of when its end has come, so that the one behind it is read again. Pure.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "mcp/salvage.h"

/* Of a line that comes; a client drops the connection at longer ones too. */
enum { FRAME_MAX_BYTES = 10 << 20 };

struct frame {
	struct buf line;
	bool is_told; /* `line` is complete, and was given to the caller */
	bool drops;   /* the line is too long, or there is no memory for it */
	enum err_code why;
	struct salvage salvage; /* of a line that is dropped */
};

#define FRAME_INIT                                 \
	{                                          \
		.line = BUF_INIT(FRAME_MAX_BYTES), \
	}

void frame_done(struct frame *f) NONNULL;

enum frame_result {
	FRAME_MORE,    /* all was taken, and no line has ended */
	FRAME_LINE,    /* `*line` is one, without its end; good until the next call */
	FRAME_DROPPED, /* one was left out: f->why, f->salvage */
};

/* Takes from `*bytes` up to the end of a line. */
enum frame_result frame_take(struct frame *f, struct str *bytes, struct str *line) NONNULL;

/* No more comes: what has come of a last line without an end. */
enum frame_result frame_end(struct frame *f, struct str *line) NONNULL;
