/* SPDX-License-Identifier: MIT */
/*
 * cordon_mcp_*(): the protocol over two descriptors, and the tools behind it.
 *
 * Nothing here waits: what the client does not read is kept, up to a limit, and while there is much of
 * it nothing more is read from the client. When the client has said its last word, or can't be
 * reached, calls that are about to end may do so; then everything ends.
 */
#include "mcp/mcp.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "lib/lib.h"
#include "os/loop.h"
#include "os/memory.h"
#include "os/random.h"
#include "os/streams.h"
#include "os/write_signals.h"
#include "tools/toolbox.h"

enum {
	READ_BYTES = 64 << 10,
	QUEUE_MAX = 128 << 20,	 /* of what is not read; beyond it the client is lost */
	QUEUE_FULL = 16 << 20,	 /* nothing is read from the client until there is less */
	QUEUE_BEHIND = 64 << 10, /* no progress is told until there is less */
	QUEUE_KEPT = 256 << 10,	 /* of memory, when it is empty */
	LAST_CALLS_MS = 500,	 /* for calls that run when the client has ended */
	STDIN = 0,
	STDOUT = 1,
};

struct cordon_mcp {
	struct loop loop;
	struct watcher in, out;
	struct timer again; /* reads from what epoll does not know: a file, /dev/null */
	struct timer tick;  /* of calls that wait for their client */
	struct timer end;   /* after the client's last word */
	struct mcp *m;
	struct toolbox *box;
	struct buf queue;
	size_t sent; /* of it */
	bool reads_file, is_paused, has_ended, is_over;
	cordon_warning_fn *on_log;
	void *user;
	struct err failure;
};

static void say(void *user, const char *text)
{
	const struct cordon_mcp *s = user;

	if (s->on_log)
		s->on_log(s->user, text);
}

/* ---- To the client ------------------------------------------------------------------------------ */

static int read_more(void *user, struct err *e);

/* Until nothing is left, or there is no room. -errno when nobody reads. */
static int write_out(struct cordon_mcp *s)
{
	struct os_write_signals signals;
	ssize_t n = 0;

	os_write_signals_block(&signals);
	while (s->sent < s->queue.len) {
		n = os_write_some(s->out.fd, s->queue.p + s->sent, s->queue.len - s->sent);
		if (n < 0 && n != -EINTR)
			break;
		s->sent += n > 0 ? (size_t)n : 0;
	}
	os_write_signals_restore(&signals);
	return n < 0 && n != -EAGAIN ? (int)n : 0;
}

static void empty_queue(struct cordon_mcp *s)
{
	s->sent = 0;
	if (s->queue.room <= QUEUE_KEPT) {
		buf_clear(&s->queue);
		return;
	}
	buf_done(&s->queue);
	s->queue = (struct buf)BUF_INIT(QUEUE_MAX);
}

static int watch_output(struct cordon_mcp *s, bool wants, struct err *e)
{
	if (wants && !s->out.is_added)
		return loop_add(&s->loop, &s->out, LOOP_OUT, e);
	if (!wants)
		loop_remove(&s->loop, &s->out);
	return 0;
}

static int resume_reading(struct cordon_mcp *s, struct err *e)
{
	s->is_paused = false;
	if (s->has_ended)
		return 0;
	if (s->reads_file)
		loop_set_next_step(&s->loop, &s->again);
	else if (!s->in.is_added)
		return loop_add(&s->loop, &s->in, LOOP_IN, e);
	return 0;
}

/* The rest of a queue that was begun moves to its front, so that it does not grow for ever. */
static void shift_queue(struct cordon_mcp *s)
{
	size_t left = s->queue.len - s->sent;

	if (s->sent == 0 || s->sent < left)
		return;
	memmove(s->queue.p, s->queue.p + s->sent, left);
	s->queue.len = left;
	s->sent = 0;
}

static int flush(struct cordon_mcp *s, struct err *e)
{
	/* Who does not read any more has no use for an error either. */
	if (write_out(s) < 0)
		s->is_over = true;
	if (s->sent == s->queue.len)
		empty_queue(s);
	else
		shift_queue(s);
	if (watch_output(s, s->queue.len > 0 && !s->is_over, e) < 0)
		return err_result(e);
	if (s->is_paused && s->queue.len - s->sent < QUEUE_FULL / 2)
		return resume_reading(s, e);
	return 0;
}

/* An error of the loop from where none can be returned. */
static void fail(struct cordon_mcp *s, const struct err *e)
{
	if (s->failure.code == ERR_OK)
		s->failure = *e;
	s->is_over = true;
}

static void send_line(void *user, struct str line)
{
	struct cordon_mcp *s = user;
	struct err e = ERR_INIT;

	if (s->is_over)
		return;
	buf_add(&s->queue, line);
	if (s->queue.failed == ERR_LIMIT)
		(void)FAIL(&e, ERR_LIMIT, "the client does not read its answers");
	else if (buf_check(&s->queue, &e) < 0 || flush(s, &e) < 0)
		(void)err_wrap(&e, "can't answer the client");
	if (e.code != ERR_OK)
		fail(s, &e);
}

static bool is_behind(void *user)
{
	const struct cordon_mcp *s = user;

	return s->queue.len - s->sent > QUEUE_BEHIND;
}

static int output_ready(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return flush(user, e);
}

/* ---- From the client ---------------------------------------------------------------------------- */

static uint64_t now_ms(void *user)
{
	(void)user;
	return loop_now();
}

/* Nothing is left to be done, or to be waited for. */
static void look_for_end(struct cordon_mcp *s)
{
	if (s->has_ended && mcp_waiting(s->m) == 0 && s->queue.len == 0)
		s->is_over = true;
}

static void end_input(struct cordon_mcp *s)
{
	s->has_ended = true;
	loop_remove(&s->loop, &s->in);
	mcp_feed_end(s->m);
	toolbox_begin(s->box);
	loop_set_timer(&s->loop, &s->end, loop_now() + LAST_CALLS_MS);
}

static int pause_reading(struct cordon_mcp *s)
{
	s->is_paused = true;
	loop_remove(&s->loop, &s->in);
	return 0;
}

static int read_more(void *user, struct err *e)
{
	struct cordon_mcp *s = user;
	UNINITIALIZED char bytes[READ_BYTES];
	ssize_t n;

	if (s->queue.len - s->sent > QUEUE_FULL)
		return pause_reading(s);
	n = os_read_output(s->in.fd, bytes, sizeof(bytes));
	if (n == -EAGAIN)
		return 0;
	if (n < 0 && n != -ECONNRESET)
		return FAIL_SYS(e, (int)-n, "can't read from the client");
	if (n > 0) {
		mcp_feed(s->m, (struct str){ bytes, (size_t)n });
		toolbox_begin(s->box);
	} else {
		end_input(s);
	}
	if (s->reads_file && !s->has_ended)
		loop_set_next_step(&s->loop, &s->again);
	return 0;
}

static int input_ready(void *user, uint32_t events, struct err *e)
{
	(void)events;
	return read_more(user, e);
}

static int end_due(void *user, struct err *e)
{
	struct cordon_mcp *s = user;

	(void)e;
	s->is_over = true;
	return 0;
}

static int tick_due(void *user, struct err *e)
{
	struct cordon_mcp *s = user;

	(void)e;
	mcp_tick(s->m);
	return 0;
}

/* ---- The tools ---------------------------------------------------------------------------------- */

static int start_call(void *user, struct mcp_call *call, const struct mcp_start *what, void **work,
		      struct err *e)
{
	struct cordon_mcp *s = user;
	const struct toolbox_request request = {
		.tool = what->tool,
		.arguments = what->arguments,
		.sandbox_state = what->sandbox_state,
		.user = call,
		.done = mcp_call_done,
		.output = mcp_call_output,
		.progress = mcp_call_progress,
		.ask = what->asks ? mcp_call_ask : NULL,
		.withdraw = mcp_call_withdraw,
		.asks_alone = mcp_call_parks(call),
	};
	struct toolbox_call *started;

	if (toolbox_start(s->box, &request, &started, e) < 0)
		return err_result(e);
	*work = started;
	return 0;
}

static void cancel_call(void *user, void *work)
{
	(void)user;
	toolbox_cancel(work);
}

static void tell_failure(struct cordon_mcp *s, const struct err *e)
{
	char text[sizeof(e->text)];

	say(s, err_print(e, text, sizeof(text)));
}

static void give_answer(void *user, uint64_t id, const char *by, const struct cordon_answer *answer)
{
	struct cordon_mcp *s = user;
	struct err e = ERR_INIT;

	if (toolbox_answer(s->box, id, by, answer, &e) < 0)
		tell_failure(s, &e);
}

static void add_root(void *user, const char *path)
{
	struct cordon_mcp *s = user;
	char shown[256], text[400];
	struct err e = ERR_INIT;
	int r = toolbox_add_root(s->box, path, &e);

	if (r < 0) {
		tell_failure(s, &e);
	} else if (r > 0) {
		(void)snprintf(text, sizeof(text),
			       "the client's root '%s' is no project, because the policy does not "
			       "allow it",
			       utf8_show(str_of(path), shown, sizeof(shown)));
		say(s, text);
	}
}

static const char *digest(void *user)
{
	const struct cordon_mcp *s = user;

	return toolbox_digest(s->box);
}

static void print_policy(void *user, struct buf *out)
{
	const struct cordon_mcp *s = user;

	toolbox_print_policy(s->box, out);
}

static void print_denials(void *user, struct buf *out)
{
	const struct cordon_mcp *s = user;

	toolbox_print_denials(s->box, out);
}

static void tell(void *user, const char *text)
{
	struct cordon_mcp *s = user;

	say(s, text);
	if (s->m)
		mcp_tell(s->m, text);
}

/* ---- The calls ---------------------------------------------------------------------------------- */

static int make_server(struct cordon_mcp *s, const struct cordon_mcp_options *options,
		       struct err *e)
{
	const struct mcp_host host = {
		.user = s,
		.approves = options->approve_tool != 0,
		.send = send_line,
		.is_behind = is_behind,
		.log = say,
		.now_ms = now_ms,
		.start = start_call,
		.cancel = cancel_call,
		.answer = give_answer,
		.add_root = add_root,
		.digest = digest,
		.print_policy = print_policy,
		.print_denials = print_denials,
	};
	struct ticket_key key;
	int r = os_random(&key, sizeof(key));

	if (r < 0)
		return FAIL_SYS(e, -r, "can't make a random key");
	r = mcp_new(&host, &key, &s->m, e);
	os_wipe(&key, sizeof(key));
	return r;
}

static int make_toolbox(struct cordon_mcp *s, const struct cordon_mcp_options *options,
			struct err *e)
{
	const struct cordon_run_options none = { .size = sizeof(none) };
	const struct toolbox_options box = {
		.run = options->run ? options->run : &none,
		.roots = options->roots,
		.loop = &s->loop,
		.ask_timeout_ms = MCP_PARKED_MS,
		.user = s,
		.log = tell,
	};

	return toolbox_new(&box, &s->box, e);
}

/* A file, and what has no end of its own such as /dev/null, is always ready. */
static int watch_input(struct cordon_mcp *s, struct err *e)
{
	struct err refused = ERR_INIT;

	if (!os_is_open(s->in.fd) || !os_is_open(s->out.fd))
		return FAIL(e, ERR_ARGUMENT, "standard input or output is closed");
	if (loop_add(&s->loop, &s->in, LOOP_IN, &refused) == 0)
		return 0;
	if (refused.os_error != EPERM) {
		*e = refused;
		return err_result(e);
	}
	s->reads_file = true;
	loop_set_next_step(&s->loop, &s->again);
	return 0;
}

static int start(struct cordon_mcp *s, const struct cordon_mcp_options *options, struct err *e)
{
	if (loop_init(&s->loop, e) < 0 || loop_prepare_timers(&s->loop, e) < 0 ||
	    make_toolbox(s, options, e) < 0 || make_server(s, options, e) < 0)
		return err_result(e);
	return watch_input(s, e);
}

static void stop(struct cordon_mcp *s)
{
	/* Nobody hears any more what becomes of the calls. */
	s->is_over = true;
	mcp_free(s->m);
	s->m = NULL; /* what the toolbox still has to say is for the log */
	toolbox_free(s->box);
	loop_drop_timer(&s->loop, &s->again);
	loop_drop_timer(&s->loop, &s->tick);
	loop_drop_timer(&s->loop, &s->end);
	loop_remove(&s->loop, &s->in);
	loop_remove(&s->loop, &s->out);
	loop_done(&s->loop);
	buf_done(&s->queue);
	mem_free(s);
}

int cordon_mcp_start(const struct cordon_mcp_options *options, cordon_mcp **server,
		     cordon_error **error)
{
	struct cordon_mcp_options own;
	struct err e = ERR_INIT;
	cordon_mcp *s = NULL;

	if (!server)
		(void)FAIL(&e, ERR_ARGUMENT, "cordon_mcp_start: server is NULL");
	else if (options_read_mcp(options, &own, &e) == 0)
		s = mem_new(sizeof(*s), &e);
	if (!s)
		return error_give(&e, error);
	s->loop = (struct loop)LOOP_NONE;
	s->queue = (struct buf)BUF_INIT(QUEUE_MAX);
	s->in = (struct watcher){ .fd = STDIN, .ready = input_ready, .user = s };
	s->out = (struct watcher){ .fd = STDOUT, .ready = output_ready, .user = s };
	if (own.has_descriptors) {
		s->in.fd = (int)own.input;
		s->out.fd = (int)own.output;
	}
	s->again = (struct timer){ .due = read_more, .user = s };
	s->tick = (struct timer){ .due = tick_due, .user = s };
	s->end = (struct timer){ .due = end_due, .user = s };
	s->on_log = own.on_log;
	s->user = own.user;
	if (start(s, &own, &e) < 0) {
		stop(s);
		return error_give(&e, error);
	}
	*server = s;
	return 0;
}

int cordon_mcp_descriptor(const cordon_mcp *server)
{
	return loop_descriptor(&server->loop);
}

int cordon_mcp_poll(cordon_mcp *server, int timeout_ms, cordon_error **error)
{
	struct err e = ERR_INIT;

	look_for_end(server);
	if (!server->is_over && loop_step(&server->loop, timeout_ms, &e) < 0)
		fail(server, &e);
	look_for_end(server);
	if (server->failure.code != ERR_OK)
		return error_give(&server->failure, error);
	if (server->is_over)
		return 1;
	loop_set_timer(&server->loop, &server->tick, mcp_next_ms(server->m));
	return 0;
}

void cordon_mcp_stop(cordon_mcp *server)
{
	if (server)
		stop(server);
}
