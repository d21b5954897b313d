/* SPDX-License-Identifier: MIT */
/* See frame.h. */
#include "mcp/frame.h"

enum { KEPT_BYTES = 64 << 10 }; /* of memory, between two lines */

void frame_done(struct frame *f)
{
	buf_done(&f->line);
}

/* Empty for the next line; what a long one took is given back. */
static void empty(struct frame *f)
{
	size_t max = f->line.max;

	f->is_told = false;
	if (f->line.room <= KEPT_BYTES) {
		buf_clear(&f->line);
		return;
	}
	buf_done(&f->line);
	f->line = (struct buf)BUF_INIT(max);
}

static void begin_dropping(struct frame *f)
{
	f->drops = true;
	f->why = f->line.failed;
	salvage_init(&f->salvage);
	salvage_feed(&f->salvage, buf_str(&f->line));
	empty(f);
}

static void add(struct frame *f, struct str part)
{
	if (!f->drops) {
		size_t room = f->line.max - f->line.len;

		/* What fits of it is seen by the salvage in either case. */
		buf_add(&f->line, str_first(part, room));
		if (f->line.failed == ERR_OK && part.len > room)
			f->line.failed = ERR_LIMIT;
		if (f->line.failed == ERR_OK)
			return;
		part = str_from(part, f->line.failed == ERR_LIMIT ? room : 0);
		begin_dropping(f);
	}
	salvage_feed(&f->salvage, part);
}

/* What some systems put before the end of a line is no part of it. */
static enum frame_result end_line(struct frame *f, struct str *line)
{
	if (f->drops) {
		f->drops = false;
		return FRAME_DROPPED;
	}
	f->is_told = true;
	*line = buf_str(&f->line);
	if (str_has_suffix(*line, STR("\r")))
		line->len--;
	return FRAME_LINE;
}

enum frame_result frame_take(struct frame *f, struct str *bytes, struct str *line)
{
	size_t end = str_find(*bytes, '\n');
	bool has_end = end < bytes->len;

	if (f->is_told)
		empty(f);
	add(f, str_first(*bytes, end));
	*bytes = str_from(*bytes, end + 1);
	return has_end ? end_line(f, line) : FRAME_MORE;
}

enum frame_result frame_end(struct frame *f, struct str *line)
{
	if (f->is_told)
		empty(f);
	return f->drops || f->line.len ? end_line(f, line) : FRAME_MORE;
}
