/* SPDX-License-Identifier: MIT */
/* See output.h. */
#include "session/output.h"

#include <errno.h>

#include "os/fd.h"
#include "os/streams.h"
#include "os/write_signals.h"

static bool is_read_on(const struct output *o)
{
	return o->in.fd >= 0 && o->sent == o->length;
}

static void end_pipe(struct output *o)
{
	if (o->in.fd < 0)
		return;
	loop_remove(o->loop, &o->in);
	fd_close(&o->in.fd);
}

static void drop_mirror(struct output *o)
{
	loop_remove(o->loop, &o->mirror);
	o->mirror.fd = -1;
	o->sent = o->length;
}

/* ---- Passing on ---------------------------------------------------------------------- */

/* Without waiting: false when there is no room now. */
static bool write_some(struct output *o, bool *is_broken)
{
	ssize_t n = os_write_some(o->mirror.fd, o->chunk + o->sent, o->length - o->sent);

	if (n >= 0)
		o->sent += (size_t)n;
	else if (n == -EAGAIN)
		return false;
	else
		*is_broken = n != -EINTR;
	return !*is_broken;
}

static bool write_all(struct output *o, bool *is_broken)
{
	bool has_room = true;
	struct os_write_signals signals;

	os_write_signals_block(&signals);
	while (has_room && o->sent < o->length)
		has_room = write_some(o, is_broken);
	os_write_signals_restore(&signals);
	return has_room;
}

static int pass_on(struct output *o, struct err *e)
{
	bool is_broken = false;
	bool has_room = write_all(o, &is_broken);

	if (is_broken) {
		drop_mirror(o);
		has_room = true;
	}
	if (has_room) {
		loop_remove(o->loop, &o->mirror);
		if (o->in.fd >= 0 && !o->in.is_added && !o->is_over)
			return loop_add(o->loop, &o->in, LOOP_IN, e);
		return 0;
	}
	loop_remove(o->loop, &o->in);
	if (!o->mirror.is_added)
		return loop_add(o->loop, &o->mirror, LOOP_OUT, e);
	return 0;
}

/* ---- Reading ------------------------------------------------------------------------- */

static void keep(struct output *o, struct str bytes)
{
	struct captured *c = o->captured;
	size_t room = c->bytes.max - c->bytes.len;

	if (bytes.len > room)
		c->is_truncated = true;
	if (!c->is_truncated || room > 0)
		buf_add(&c->bytes, str_first(bytes, room));
}

/* One chunk; 0 at the end, -1 when there is nothing now. */
static ssize_t read_chunk(struct output *o)
{
	size_t room = OUTPUT_CHUNK_BYTES;
	ssize_t n;

	if (o->is_over)
		room = MIN_OF(room, o->left);
	if (room == 0)
		return 0;
	n = os_read_output(o->in.fd, o->chunk, room);
	if (n < 0)
		return n == -EAGAIN && !o->is_over ? -1 : 0;
	if (o->is_over)
		o->left -= (size_t)n;
	return n;
}

static int take_chunk(struct output *o, struct err *e)
{
	ssize_t n = read_chunk(o);
	struct str bytes;

	if (n < 0)
		return 0;
	if (n == 0) {
		end_pipe(o);
		return 0;
	}
	bytes = (struct str){ o->chunk, (size_t)n };
	if (o->captured) {
		keep(o, bytes);
		if (o->captured->bytes.failed != ERR_OK)
			return buf_check(&o->captured->bytes, e);
	}
	if (o->request->hands_out)
		o->request->output(o->request->user, o->stream, bytes);
	if (o->mirror.fd < 0)
		return 0;
	o->sent = 0;
	o->length = bytes.len;
	return pass_on(o, e);
}

static int pipe_is_ready(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return take_chunk(user, e);
}

/* What is left when the command has ended, as far as it can be passed on. */
static int take_rest(struct output *o, struct err *e)
{
	while (o->is_over && is_read_on(o))
		if (take_chunk(o, e) < 0)
			return err_result(e);
	return 0;
}

static int mirror_is_ready(void *user, uint32_t events, struct err *e)
{
	struct output *o = user;

	(void)events;
	return pass_on(o, e) < 0 ? err_result(e) : take_rest(o, e);
}

int output_start(struct arena *a, struct output *o, struct loop *loop, int stream,
		 const struct session_request *request, struct captured *captured, int *write_end,
		 struct err *e)
{
	int r;

	*o = (struct output){ .loop = loop,
			      .request = request,
			      .captured = captured,
			      .stream = stream,
			      .in = { .fd = -1, .ready = pipe_is_ready, .user = o },
			      .mirror = { .fd = request->mirrors ? stream : -1,
					  .ready = mirror_is_ready,
					  .user = o } };
	if (captured)
		captured->bytes = (struct buf)BUF_INIT(request->capture_limit);
	o->chunk = arena_alloc(a, OUTPUT_CHUNK_BYTES, e);
	if (!o->chunk)
		return err_result(e);
	r = os_open_output(&o->in.fd, write_end);
	if (r < 0)
		return FAIL_SYS(e, -r, "can't make a pipe for the command's output");
	if (loop_add(loop, &o->in, LOOP_IN, e) < 0) {
		fd_close(write_end);
		end_pipe(o);
		return err_wrap(e, "can't read the command's output");
	}
	return 0;
}

void output_end(struct output *o)
{
	struct err ignored = ERR_INIT;

	if (o->in.fd < 0 || o->is_over)
		return;
	loop_remove(o->loop, &o->in);
	o->is_over = true;
	o->left = os_count_output(o->in.fd);
	/* Without memory the rest is lost, and the capture is marked as truncated. */
	if (take_rest(o, &ignored) < 0) {
		if (o->captured)
			o->captured->is_truncated = true;
		end_pipe(o);
	}
}

bool output_is_done(const struct output *o)
{
	return o->in.fd < 0 && (o->mirror.fd < 0 || o->sent == o->length);
}

void output_stop(struct output *o)
{
	if (!o->loop)
		return;
	loop_remove(o->loop, &o->mirror);
	o->mirror.fd = -1;
	o->sent = o->length;
	end_pipe(o);
}
