/* SPDX-License-Identifier: MIT */
/* See flow.h. */
#include "proxy/http/flow.h"

#include "os/socket.h"

#include <errno.h>

enum {
	ROUNDS = 8,		 /* then other connections have their turn */
	PIPE_FROM = 256 * 1024,	 /* smaller bodies are faster to copy */
	PIPE_LEAVES = 16 * 1024, /* what trickles is copied */
};

static bool is_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

struct str http_flow_raw(const struct http_flow *f)
{
	if (!f->block)
		return STR_EMPTY;
	return (struct str){ f->block->bytes + f->raw, f->block->end - f->raw };
}

static size_t ready_bytes(const struct http_flow *f)
{
	return f->block ? f->ready - f->block->start : 0;
}

/* If nothing is ready, raw bytes come first. */
static void settle(struct http_flow *f)
{
	if (f->block && ready_bytes(f) == 0)
		f->block->start = f->ready = f->raw;
}

void http_flow_skip(struct http_flow *f, size_t bytes)
{
	f->raw += (uint32_t)bytes;
	settle(f);
}

bool http_flow_has_any(const struct http_flow *f)
{
	return f->head || f->piped > 0 || ready_bytes(f) > 0 ||
	       (f->block && f->raw < f->block->end);
}

void http_flow_rest(struct server *s, struct http_flow *f)
{
	if (f->block && f->block->start == f->block->end)
		block_give(s, &f->block);
}

void http_flow_forget(struct server *s, struct http_flow *f)
{
	block_give(s, &f->head);
	pipe_give(s->pipes, &f->pipe, f->piped == 0);
	f->piped = 0;
	if (f->block)
		f->block->start = f->ready = f->raw;
}

void http_flow_done(struct server *s, struct http_flow *f)
{
	block_give(s, &f->head);
	block_give(s, &f->block);
	pipe_give(s->pipes, &f->pipe, f->piped == 0);
	f->piped = 0;
	f->is_dry = false;
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* Moves the bytes to the front of the block, to make room after them. A held head moves too. */
static void move_up(struct http_flow *f)
{
	struct block *b = f->block;
	uint32_t by = b->start;

	memmove(b->bytes, b->bytes + by, b->end - by);
	b->start = 0;
	b->end -= by;
	f->ready -= by;
	f->raw -= by;
}

static bool make_room(struct server *s, struct http_flow *f)
{
	if (!f->block) {
		f->block = block_take(s);
		if (!f->block)
			return false;
		f->block->start = f->block->end = 0;
		f->ready = f->raw = 0;
	} else if (f->block->start == f->block->end) {
		f->block->start = f->block->end = f->ready = f->raw = 0;
	} else if (f->block->end == BLOCK_BYTES && f->block->start > 0) {
		move_up(f);
	}
	return true;
}

enum http_flow_state http_flow_read(struct server *s, struct http_flow *f, int source)
{
	struct block *b;
	size_t room;
	ssize_t n;

	if (!make_room(s, f))
		return FLOW_STARVES;
	b = f->block;
	room = BLOCK_BYTES - b->end;
	if (room == 0)
		return FLOW_WAITS_SINK;
	n = socket_receive(source, b->bytes + b->end, room);
	if (n <= 0) {
		http_flow_rest(s, f);
		if (n == 0)
			return FLOW_SOURCE_ENDED;
		return is_later() ? FLOW_WAITS_SOURCE : FLOW_SOURCE_FAILED;
	}
	b->end += (uint32_t)n;
	f->is_dry = (size_t)n < room;
	return FLOW_DONE;
}

static enum http_flow_state read_into_pipe(struct server *s, struct http_flow *f, int source)
{
	uint64_t want = MIN_OF(http_body_plain(&f->body), (uint64_t)PIPE_BYTES);
	ssize_t n = pipe_fill(&f->pipe, source, (size_t)want);

	if (n <= 0)
		pipe_give(s->pipes, &f->pipe, true);
	if (n == 0)
		return FLOW_SOURCE_ENDED;
	if (n < 0)
		return is_later() ? FLOW_WAITS_SOURCE : FLOW_SOURCE_FAILED;
	f->piped = (uint32_t)n;
	f->is_dry = n < PIPE_LEAVES;
	http_body_skip(&f->body, (uint64_t)n);
	return FLOW_DONE;
}

/* Only where the next bytes of the body need no parsing, and if there are many. */
static bool may_pipe(struct server *s, struct http_flow *f, int sink)
{
	if (sink < 0 || http_body_plain(&f->body) < PIPE_FROM)
		return false;
	return f->pipe.in >= 0 || pipe_take(s->pipes, &f->pipe);
}

static enum http_flow_state read_more(struct server *s, struct http_flow *f, int source, int sink)
{
	if (f->is_dry) {
		f->is_dry = false;
		return FLOW_WAITS_SOURCE;
	}
	if (!may_pipe(s, f, sink))
		return http_flow_read(s, f, source);
	http_flow_rest(s, f);
	return read_into_pipe(s, f, source);
}

/* ---- Writing ------------------------------------------------------------------------------ */

/* Parses all that was read of the body. */
static bool look(struct http_flow *f, struct http_fault *fault)
{
	struct str raw = http_flow_raw(f);
	size_t used, kept;
	bool is_good;

	if (raw.len == 0 || f->body.is_whole || ready_bytes(f) > 0)
		return true;
	is_good = http_body_take(&f->body, f->block->bytes + f->raw, raw.len, &used, &kept, fault);
	f->block->start = f->raw;
	f->ready = f->raw + (uint32_t)kept;
	f->raw += (uint32_t)used;
	settle(f);
	return is_good;
}

static void take_sent(struct http_flow *f, size_t sent)
{
	f->block->start += (uint32_t)sent;
	settle(f);
}

static enum http_flow_state write_head(struct server *s, struct http_flow *f, int sink)
{
	struct block *b = f->head;
	ssize_t n;

	if (!b)
		return FLOW_DONE;
	n = socket_send(sink, b->bytes + b->start, b->end - b->start);
	if (n < 0)
		return is_later() ? FLOW_WAITS_SINK : FLOW_SINK_FAILED;
	b->start += (uint32_t)n;
	if (b->start < b->end)
		return FLOW_WAITS_SINK;
	block_give(s, &f->head);
	return FLOW_DONE;
}

static enum http_flow_state write_ready(struct http_flow *f, int sink)
{
	size_t len = ready_bytes(f);
	ssize_t n;

	if (len == 0)
		return FLOW_DONE;
	if (sink < 0) {
		take_sent(f, len);
		return FLOW_DONE;
	}
	n = socket_send(sink, f->block->bytes + f->block->start, len);
	if (n < 0)
		return is_later() ? FLOW_WAITS_SINK : FLOW_SINK_FAILED;
	take_sent(f, (size_t)n);
	return (size_t)n < len ? FLOW_WAITS_SINK : FLOW_DONE;
}

static enum http_flow_state write_piped(struct server *s, struct http_flow *f, int sink)
{
	while (f->piped > 0) {
		ssize_t n = pipe_empty(&f->pipe, sink, f->piped);

		if (n <= 0)
			return n < 0 && is_later() ? FLOW_WAITS_SINK : FLOW_SINK_FAILED;
		f->piped -= (uint32_t)n;
	}
	/* Others can use the block while nothing comes. */
	if (f->is_dry || f->body.is_whole)
		pipe_give(s->pipes, &f->pipe, true);
	return FLOW_DONE;
}

static enum http_flow_state write_all(struct server *s, struct http_flow *f, int sink)
{
	enum http_flow_state state = write_head(s, f, sink);

	if (state == FLOW_DONE)
		state = write_ready(f, sink);
	return state == FLOW_DONE && f->pipe.in >= 0 ? write_piped(s, f, sink) : state;
}

enum http_flow_state http_flow_run(struct server *s, struct http_flow *f, int source, int sink,
				   struct http_fault *fault)
{
	for (int round = 0; round < ROUNDS; round++) {
		enum http_flow_state state = write_all(s, f, sink);

		if (state != FLOW_DONE)
			return state;
		if (!look(f, fault))
			return FLOW_MALFORMED;
		if (ready_bytes(f) > 0)
			continue;
		if (f->body.is_whole) {
			pipe_give(s->pipes, &f->pipe, true);
			return FLOW_DONE;
		}
		state = read_more(s, f, source, sink);
		if (state != FLOW_DONE)
			return state;
	}
	/* There is more to write, so the loop reports this at once, after the others. */
	return FLOW_WAITS_SINK;
}

/* The rest of a head goes into its own block. */
static enum http_flow_state keep_head(struct server *s, struct http_flow *f, struct str rest)
{
	if (rest.len == 0)
		return FLOW_DONE;
	f->head = block_take(s);
	if (!f->head)
		return FLOW_STARVES;
	memcpy(f->head->bytes, rest.p, rest.len);
	f->head->start = 0;
	f->head->end = (uint32_t)rest.len;
	return FLOW_WAITS_SINK;
}

enum http_flow_state http_flow_begin(struct server *s, struct http_flow *f, int sink,
				     struct str head, struct http_fault *fault)
{
	bool is_good = look(f, fault);
	struct socket_part parts[2] = {
		{ .data = head.p, .bytes = head.len },
		{ .data = f->block ? f->block->bytes + f->block->start : NULL,
		  .bytes = ready_bytes(f) },
	};
	ssize_t n;

	if (!is_good)
		return FLOW_MALFORMED;
	n = socket_send_parts(sink, parts, parts[1].bytes > 0 ? 2 : 1);
	if (n < 0 && !is_later())
		return FLOW_SINK_FAILED;
	if (n < (ssize_t)head.len)
		return keep_head(s, f, str_from(head, n > 0 ? (size_t)n : 0));
	if (parts[1].bytes > 0)
		take_sent(f, (size_t)n - head.len);
	return ready_bytes(f) > 0 ? FLOW_WAITS_SINK : FLOW_DONE;
}
