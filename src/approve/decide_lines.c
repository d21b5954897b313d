/* SPDX-License-Identifier: MIT */
/*
 * A decider at the other end of a socket: lines of JSON both ways, any number of requests at once.
 * Whoever started Cordon handed the socket over (fd:N), or a server listens there (socket:PATH).
 *
 * It is a program of the user's, but it may hang, die, or talk nonsense: nothing here waits for it,
 * and what it can make this process keep is bounded.
 */
#include <errno.h>

#include "approve/decide.h"
#include "base/path.h"
#include "base/utf8.h"
#include "os/fd.h"
#include "os/local_socket.h"
#include "os/socket.h"

enum {
	SHOWN_BYTES = 256,
	/* Room for what says that a request is withdrawn, when the requests have used up theirs. */
	WITHDRAWN_BYTES = 1 << 20,
};

struct lines {
	struct decide_base base;
	struct str place; /* of the socket */
	struct watcher watcher;
	struct timer broken; /* see send_some() */
	char *in;	     /* MESSAGE_MAX_ANSWER + 1 bytes */
	size_t in_bytes;
	bool skips; /* the rest of a line that is too long */
	struct buf out;
	size_t sent; /* of `out` */
	bool waits_for_room;
	bool is_over;
};

/* ---- The end -------------------------------------------------------------------------------- */

static void close_lines(struct lines *l)
{
	if (l->is_over)
		return;
	l->is_over = true;
	loop_remove(l->base.loop, &l->watcher);
	loop_drop_timer(l->base.loop, &l->broken);
	fd_close(&l->watcher.fd);
	buf_done(&l->out);
}

static void lose(struct lines *l)
{
	if (l->is_over)
		return;
	close_lines(l);
	broker_lose_decider(l->base.broker, loop_now());
}

static int is_broken(void *user, struct err *e)
{
	(void)e;
	lose(user);
	return 0;
}

static void stop(void *self)
{
	close_lines(self);
}

/* ---- Requests ------------------------------------------------------------------------------- */

static void watch_room(struct lines *l, bool waits)
{
	struct err ignored = ERR_INIT;

	if (l->waits_for_room == waits)
		return;
	/* A watcher that was added can be changed. If not: what is unsent goes with the next line. */
	if (loop_change(l->base.loop, &l->watcher, waits ? LOOP_IN | LOOP_OUT : LOOP_IN,
			&ignored) == 0)
		l->waits_for_room = waits;
}

/*
 * Sends what the socket takes. If nobody can read it any more, the loop says so to the broker, which
 * may be who called.
 */
static void send_some(struct lines *l)
{
	while (l->sent < l->out.len) {
		ssize_t n = socket_send(l->watcher.fd, l->out.p + l->sent, l->out.len - l->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			loop_set_next_step(l->base.loop, &l->broken);
			watch_room(l, false);
			return;
		}
		l->sent += (size_t)n;
	}
	if (l->sent == l->out.len) {
		buf_clear(&l->out);
		l->sent = 0;
	}
	watch_room(l, l->out.len > 0);
}

/* False: there is no room for it, or no memory. */
static bool add_line(struct lines *l, const struct buf *line, size_t limit)
{
	size_t unsent = l->out.len - l->sent;

	if (line->failed != ERR_OK || line->len > limit || unsent > limit - line->len)
		return false;
	/* What was sent makes room, but not each time: that would move the rest again and again. */
	if (l->sent >= unsent && l->sent > 0) {
		memmove(l->out.p, l->out.p + l->sent, unsent);
		l->out.len = unsent;
		l->sent = 0;
	}
	buf_add(&l->out, buf_str(line));
	return l->out.failed == ERR_OK;
}

static bool ask(void *self, const struct ask *request, uint64_t deadline_ms)
{
	struct lines *l = self;
	scoped_buf line = BUF_INIT(DECIDER_MAX_UNSENT);

	if (l->is_over)
		return false;
	message_add_request(&line, l->base.run, request, deadline_ms);
	if (add_line(l, &line, DECIDER_MAX_UNSENT))
		send_some(l);
	else
		decide_refuse(&l->base, request->id, "too many requests wait for who decides");
	return true;
}

static void withdraw(void *self, uint64_t id)
{
	struct lines *l = self;
	char space[128];
	struct buf line = BUF_OVER(space);

	if (l->is_over)
		return;
	message_add_withdrawn(&line, id);
	/* Who does not read it answers too late, which changes nothing. */
	if (add_line(l, &line, DECIDER_MAX_UNSENT + WITHDRAWN_BYTES))
		send_some(l);
}

/* ---- Answers -------------------------------------------------------------------------------- */

/* After a line: too many that changed nothing, and nobody listens to it any more. */
static void check_heard(struct lines *l)
{
	if (!l->is_over && !broker_has_decider(l->base.broker))
		close_lines(l);
}

/* Behind a line, `*at`; false: the line has not ended. What a line does may end everything. */
static bool take_line(struct lines *l, size_t *at)
{
	struct str rest = { l->in + *at, l->in_bytes - *at };
	size_t bytes = str_find(rest, '\n');

	if (bytes == rest.len)
		return false;
	*at += bytes + 1;
	if (l->skips) {
		l->skips = false;
		return true;
	}
	decide_take_line(&l->base, str_first(rest, bytes), 0);
	check_heard(l);
	return true;
}

static void take_lines(struct lines *l)
{
	size_t at = 0;

	while (!l->is_over && take_line(l, &at))
		;
	l->in_bytes -= at;
	memmove(l->in, l->in + at, l->in_bytes);
	if (l->is_over || l->in_bytes <= MESSAGE_MAX_ANSWER)
		return;
	/* It is told of once, however long it gets. */
	l->in_bytes = 0;
	if (l->skips)
		return;
	l->skips = true;
	broker_reject(l->base.broker, 0, "a line is over 64 KiB");
	check_heard(l);
}

static int ready(void *user, uint32_t events, struct err *e)
{
	struct lines *l = user;
	ssize_t n;

	(void)e;
	if (events & LOOP_OUT)
		send_some(l);
	if (!(events & (LOOP_IN | LOOP_GONE)))
		return 0;
	/* Once for each event, so that a flood does not keep the loop from others. */
	n = socket_receive(l->watcher.fd, l->in + l->in_bytes,
			   MESSAGE_MAX_ANSWER + 1 - l->in_bytes);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0) {
		l->in_bytes += (size_t)n;
		take_lines(l);
		return 0;
	}
	if (l->in_bytes > 0 && !l->skips)
		broker_reject(l->base.broker, 0, "the last line has no end");
	lose(l);
	return 0;
}

/* ---- Opening -------------------------------------------------------------------------------- */

static int take_descriptor(int fd, int *out, struct err *e)
{
	int copy = local_socket_take(fd);

	if (copy == -EBADF)
		return FAIL(e, ERR_ARGUMENT, "--ask fd:%d: no such descriptor is open", fd);
	if (copy == -ENOTSOCK || copy == -EPROTOTYPE || copy == -ENOTCONN)
		return FAIL(e, ERR_ARGUMENT,
			    "--ask fd:%d: this is no connected stream socket, which both requests "
			    "and answers could go through",
			    fd);
	if (copy < 0)
		return FAIL_SYS(e, -copy, "--ask fd:%d", fd);
	*out = copy;
	return 0;
}

static int fail_connect(const char *shown, int os_error, struct err *e)
{
	if (os_error == ENOTSOCK)
		return FAIL_CAUSE(e, CAUSE_DECIDER_UNUSABLE, "--ask socket:%s: this is no socket",
				  shown);
	if (os_error == ETIMEDOUT)
		return FAIL_CAUSE(e, CAUSE_DECIDER_UNUSABLE,
				  "--ask socket:%s: the server did not accept the connection "
				  "within %d seconds",
				  shown, DECIDER_CONNECT_MS / 1000);
	if (os_error == ECONNREFUSED)
		return FAIL_CAUSE(e, CAUSE_DECIDER_UNUSABLE,
				  "--ask socket:%s: nobody listens there; start the server before "
				  "the command",
				  shown);
	return FAIL_SYS_CAUSE(e, CAUSE_DECIDER_UNUSABLE, os_error, "--ask socket:%s: can't connect",
			      shown);
}

static int connect_socket(const struct plan *plan, struct str path, int *out, struct err *e)
{
	char shown[SHOWN_BYTES];
	uint64_t uid;
	int fd;

	if (decide_check_place(plan, path, false, "the socket ", e) < 0)
		return err_result(e);
	(void)utf8_show(path, shown, sizeof(shown));
	fd = local_socket_connect(path.p, DECIDER_CONNECT_MS);
	if (fd < 0)
		return fail_connect(shown, -fd, e);
	if (!local_socket_is_trusted(fd, &uid)) {
		fd_close(&fd);
		return FAIL_CAUSE(e, CAUSE_DECIDER_UNTRUSTED,
				  "--ask socket:%s: the server belongs to another user (%lld)",
				  shown, (long long)uid);
	}
	*out = fd;
	return 0;
}

int decide_lines_open(struct arena *a, const struct ask_option *option,
		      const struct decider_setup *setup, struct decider *out, struct err *e)
{
	bool is_socket = option->kind == DECIDER_SOCKET;
	struct lines *l = ARENA_NEW(a, struct lines, e);
	int fd = -1, r;

	if (!l)
		return err_result(e);
	*l = (struct lines){
		.base = { .by = is_socket ? "socket" : "fd",
			  .run = setup->run,
			  .loop = setup->loop,
			  .broker = setup->broker },
		.watcher = { .fd = -1, .ready = ready, .user = l },
		.broken = { .due = is_broken, .user = l },
		.in = arena_alloc(a, MESSAGE_MAX_ANSWER + 1, e),
		.out = BUF_INIT((size_t)2 * (DECIDER_MAX_UNSENT + WITHDRAWN_BYTES)),
	};
	if (!l->in)
		return err_result(e);
	r = is_socket ? connect_socket(setup->plan, option->path, &fd, e)
		      : take_descriptor(option->fd, &fd, e);
	if (r < 0)
		return err_result(e);
	l->watcher.fd = fd;
	if (loop_prepare_timers(setup->loop, e) < 0 ||
	    loop_add(setup->loop, &l->watcher, LOOP_IN, e) < 0) {
		fd_close(&l->watcher.fd);
		return err_result(e);
	}
	l->place = option->path;
	*out = (struct decider){ .by = l->base.by,
				 .ask = ask,
				 .withdraw = withdraw,
				 .stop = stop,
				 .self = l,
				 .places = &l->place,
				 .place_count = is_socket };
	return 0;
}
