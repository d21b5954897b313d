/* SPDX-License-Identifier: MIT */
/*
 * Copies bytes both ways. Tunnels share one buffer for small messages. Larger streams go through a
 * pipe, so that their bytes never enter this process. A tunnel holds memory only for bytes that it
 * has read and the other side does not take yet: at most one block at its beginning, or a pipe.
 *
 * The proxy inspects what the client sends first: it holds back a TLS ClientHello until its server
 * name is checked (P13). It never holds back what the server sends, because in many protocols the
 * server speaks first.
 */
#include <errno.h>
#include <string.h>

#include "os/fd.h"
#include "os/socket.h"
#include "proxy/client/tls_hello.h"
#include "proxy/server.h"

enum {
	THROWN_READS = 256,
	ROUNDS = 8,		 /* then other connections have their turn */
	BULK_LEAVES = 16 * 1024, /* a stream that has become this slow is copied again */
};

/* ---- One way ------------------------------------------------------------------------------------ */

struct way {
	int from, to;
	bool is_bulk;
	bool is_looked_at; /* take_first() alone reads what comes */
	bool is_blocked;   /* `to` takes no more now */
	bool is_read;	   /* `from` has ended, or nobody wants its bytes */
	bool is_shut;	   /* and `to` knows it */
	bool has_hung_up;
	struct block *held; /* goes first */
	struct pipe pipe;   /* with `in_pipe` bytes */
	uint32_t in_pipe;
	uint64_t bytes;
};

struct tunnel {
	struct client *client;
	struct watcher server;
	uint32_t server_events;
	bool is_checked;  /* the client's first bytes were checked, and no other hello can come */
	bool holds_hello; /* `up` holds part of a hello, until it is complete */
	struct way up, down;
	uint64_t hello_until_ms; /* 0: none has begun */
	struct tls_hello hello;
};

size_t tunnel_bytes(void)
{
	return sizeof(struct tunnel);
}

enum moved { MOVED, MOVED_ALL, MOVED_NOTHING, MOVE_BLOCKED, MOVE_FAILED };

static bool is_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

/* Nobody takes these bytes any more. The other direction may still be of use. */
static enum moved give_up(struct server *s, struct way *w)
{
	block_give(s, &w->held);
	pipe_give(s->pipes, &w->pipe, w->in_pipe == 0);
	w->in_pipe = 0;
	w->is_read = w->is_shut = true;
	w->is_blocked = false;
	return MOVED_NOTHING;
}

static enum moved send_held(struct server *s, struct way *w)
{
	struct block *b = w->held;
	ssize_t n = socket_send(w->to, b->bytes + b->start, b->end - b->start);

	if (n < 0)
		return is_later() ? MOVE_BLOCKED : give_up(s, w);
	b->start += (uint32_t)n;
	if (b->start < b->end)
		return MOVE_BLOCKED;
	block_give(s, &w->held);
	return MOVED;
}

static enum moved send_piped(struct server *s, struct way *w)
{
	while (w->in_pipe > 0) {
		ssize_t n = pipe_empty(&w->pipe, w->to, w->in_pipe);

		if (n <= 0)
			return n < 0 && is_later() ? MOVE_BLOCKED : give_up(s, w);
		w->in_pipe -= (uint32_t)n;
	}
	pipe_give(s->pipes, &w->pipe, true);
	return MOVED;
}

/* Keeps bytes that were read and that `to` did not take. */
static bool hold(struct server *s, struct way *w, struct str bytes)
{
	if (bytes.len == 0)
		return true;
	w->held = block_take(s);
	if (!w->held)
		return false;
	memcpy(w->held->bytes, bytes.p, bytes.len);
	w->held->end = (uint32_t)bytes.len;
	return true;
}

static enum moved end_of(struct way *w, ssize_t n)
{
	if (n < 0)
		return is_later() ? MOVED_NOTHING : MOVE_FAILED;
	w->is_read = true;
	return MOVED_NOTHING;
}

/*
 * Copies a message. If there is no block for what `to` may leave, this only peeks, and then removes
 * what was sent from the socket.
 */
static enum moved move_by_copy(struct server *s, struct way *w)
{
	/*
	 * Half of the blocks are for requests, so that tunnels whose peers do not read can't use
	 * them all up.
	 */
	bool may_hold = s->blocks.used < s->blocks.count / 2;
	ssize_t n = may_hold ? socket_receive(w->from, s->scratch, BLOCK_BYTES)
			     : socket_peek(w->from, s->scratch, BLOCK_BYTES);
	ssize_t sent;

	if (n <= 0)
		return end_of(w, n);
	sent = socket_send(w->to, s->scratch, (size_t)n);
	if (sent < 0) {
		if (!is_later())
			return give_up(s, w);
		sent = 0;
	}
	w->bytes += (uint64_t)(may_hold ? n : sent);
	if (may_hold && !hold(s, w, (struct str){ s->scratch + sent, (size_t)(n - sent) }))
		return MOVE_FAILED;
	if (!may_hold && sent > 0 && socket_discard(w->from, s->scratch, (size_t)sent) != sent)
		return MOVE_FAILED;
	if (sent < n)
		return MOVE_BLOCKED;
	w->is_bulk = n == BLOCK_BYTES;
	return w->is_bulk ? MOVED : MOVED_ALL;
}

static enum moved move_by_pipe(struct server *s, struct way *w)
{
	ssize_t n;

	if (w->pipe.in < 0 && !pipe_take(s->pipes, &w->pipe)) {
		w->is_bulk = false;
		return move_by_copy(s, w);
	}
	n = pipe_fill(&w->pipe, w->from, PIPE_BYTES);
	if (n <= 0) {
		pipe_give(s->pipes, &w->pipe, true);
		return end_of(w, n);
	}
	w->in_pipe = (uint32_t)n;
	w->bytes += (uint64_t)n;
	w->is_bulk = n >= BULK_LEAVES;
	return send_piped(s, w);
}

static enum moved move_more(struct server *s, struct way *w)
{
	enum moved moved = MOVED;

	if (w->held)
		moved = send_held(s, w);
	else if (w->in_pipe > 0)
		moved = send_piped(s, w);
	else if (w->is_looked_at)
		moved = MOVED_ALL; /* and is read by who looks */
	else if (!w->is_read)
		moved = w->is_bulk ? move_by_pipe(s, w) : move_by_copy(s, w);
	if (w->is_read && !w->is_shut && !w->held && w->in_pipe == 0) {
		w->is_shut = true;
		(void)socket_shut_down(w->to);
	}
	return w->is_read && w->is_shut && moved == MOVED ? MOVED_ALL : moved;
}

/* False: the connection that it reads from has failed. */
static bool pump(struct server *s, struct way *w)
{
	enum moved moved = MOVED;

	if (w->is_shut)
		return true;
	for (int i = 0; i < ROUNDS && moved == MOVED; i++)
		moved = move_more(s, w);
	w->is_blocked = moved == MOVE_BLOCKED;
	return moved != MOVE_FAILED;
}

static void reset_both(struct tunnel *t)
{
	socket_reset_on_close(t->server.fd);
	client_reset(t->client);
}

/* ---- The client's first bytes -------------------------------------------------------------------- */

static void refuse_hello(struct tunnel *t)
{
	/* A fatal alert: access_denied (RFC 8446, 6.2). */
	static const char alert[] = { 21, 3, 3, 0, 2, 2, 49 };
	struct client *c = t->client;

	(void)socket_send(c->watcher.fd, alert, sizeof(alert));
	exchange_set_reason(c->exchange, PROXY_DENIED_HELLO, 0);
	client_end_gently(c);
}

/* P13: checks the name in the hello as if the client had asked for it. */
static bool may_name(struct tunnel *t)
{
	struct exchange *x = t->client->exchange;
	uint16_t port = x->target.port;
	struct target named;
	char why[128];

	if (!target_parse(&named, str_of(t->hello.name), port, why, sizeof(why)))
		return false;
	if (target_is_same(&named, &x->target))
		return true;
	return exchange_look_again(t->client->server, x, &named);
}

/* The last `kept` of these bytes are undecided. False: the client has ended. */
static bool check_hello(struct tunnel *t, struct str bytes, size_t *kept)
{
	enum tls_hello_result result;
	size_t undecided;
	bool is_whole;

	do {
		result = tls_hello_feed(&t->hello, bytes);
		undecided = bytes.len - t->hello.settled;
		bytes = str_from(bytes, t->hello.taken);
		if (result == TLS_HELLO_BAD || (result == TLS_HELLO_NAME && !may_name(t))) {
			refuse_hello(t);
			return false;
		}
		is_whole = result == TLS_HELLO_NAME || result == TLS_HELLO_NO_NAME;
		if (is_whole)
			tls_hello_next(&t->hello);
	} while (is_whole);
	t->is_checked = result == TLS_HELLO_NOT_TLS;
	t->up.is_looked_at = !t->is_checked;
	t->holds_hello = !t->is_checked && !tls_hello_is_between(&t->hello);
	*kept = t->holds_hello ? undecided : 0;
	if (!t->holds_hello)
		t->hello_until_ms = 0;
	else if (t->hello_until_ms == 0)
		t->hello_until_ms = loop_now() + t->client->server->limits.header_ms;
	return true;
}

/* Sends what it can, and keeps the rest. The last `kept` bytes stay until they are decided. */
static bool pass_first(struct tunnel *t, struct str bytes, size_t kept)
{
	struct server *s = t->client->server;
	ssize_t n = 0;

	if (bytes.len > kept)
		n = socket_send(t->up.to, bytes.p, bytes.len - kept);
	if (n < 0 && !is_later()) {
		(void)give_up(s, &t->up);
		return true;
	}
	if (hold(s, &t->up, str_from(bytes, n > 0 ? (size_t)n : 0)))
		return true;
	exchange_set_reason(t->client->exchange, PROXY_FAILED_RESOURCES, 0);
	client_end(t->client);
	return false;
}

/* More of a hello that is kept back already. */
static ssize_t read_behind(struct block *b, int fd)
{
	ssize_t n = socket_receive(fd, b->bytes + b->end, BLOCK_BYTES - b->end);

	if (n > 0)
		b->end += (uint32_t)n;
	return n;
}

/* False: the client has ended. */
static bool take_first(struct tunnel *t)
{
	struct server *s = t->client->server;
	struct block *b = t->up.held;
	const char *start = b ? b->bytes + b->end : s->scratch;
	ssize_t n = b ? read_behind(b, t->up.from)
		      : socket_receive(t->up.from, s->scratch, BLOCK_BYTES);
	struct str bytes = { start, n > 0 ? (size_t)n : 0 };
	size_t kept = 0;

	if (n < 0 && is_later())
		return true;
	if (n < 0) {
		reset_both(t);
		return false;
	}
	/*
	 * SECURITY: drop a hello that ends in its middle. Its server name was never checked, and a
	 * lenient server might act on it.
	 */
	if (n == 0 && b) {
		refuse_hello(t);
		return false;
	}
	if (n == 0) {
		t->is_checked = true;
		t->up.is_looked_at = false;
		return true; /* the end of the stream is read again */
	}
	t->up.bytes += bytes.len;
	if (!check_hello(t, bytes, &kept))
		return false;
	return b ? true : pass_first(t, bytes, kept);
}

/* ---- Both ways ------------------------------------------------------------------------------------ */

static void touch(struct tunnel *t)
{
	struct client *c = t->client;
	uint64_t at_ms = t->hello_until_ms ? t->hello_until_ms
					   : loop_now() + c->server->limits.silence_ms;

	/*
	 * If the deadline moves later, the tick notices by itself. If it moves earlier, the tick
	 * must be told.
	 */
	if (t->hello_until_ms && (c->deadline_ms == 0 || at_ms < c->deadline_ms))
		client_set_deadline(c, c->server->limits.header_ms);
	c->deadline_ms = at_ms;
}

/* Which events to wait for at the end that `in` reads from and `out` writes to. */
static uint32_t wanted(const struct way *in, const struct way *out)
{
	uint32_t events = 0;

	if (!in->is_read && !in->is_blocked)
		events |= LOOP_IN;
	if (out->is_blocked)
		events |= LOOP_OUT;
	if (events == 0 && !in->is_read && !in->has_hung_up)
		events = LOOP_GONE;
	return events;
}

/* Whether everything that came from inside was forwarded, and nobody there waits for more. */
static bool is_finished(const struct tunnel *t)
{
	const struct way *from_inside = t->client->role == PROXY_PUBLISHED ? &t->down : &t->up;

	return t->client->server->is_finishing && from_inside->is_shut;
}

void stream_throw_away(struct server *s, int fd)
{
	/* Bounded, because the peer may send as fast as this reads. */
	for (int i = 0; i < THROWN_READS; i++)
		if (socket_receive(fd, s->scratch, BLOCK_BYTES) <= 0)
			break;
}

/* Runs after each event: ends the tunnel, or sets what it waits for. */
static void update(struct tunnel *t)
{
	struct client *c = t->client;

	if (is_finished(t))
		stream_throw_away(c->server,
				  c->role == PROXY_PUBLISHED ? t->up.from : t->down.from);
	if ((t->up.is_shut && t->down.is_shut) || is_finished(t)) {
		client_end(c);
		return;
	}
	touch(t);
	if (!server_wait(c->server, &t->server, &t->server_events, wanted(&t->down, &t->up)))
		client_end(c);
	else
		(void)client_wait(c, wanted(&t->up, &t->down));
}

/*
 * One end is ready: `in` reads from it, `out` writes to it. A blocked direction does not read, so
 * it has to check separately whether its source has closed.
 */
static void move_both(struct tunnel *t, uint32_t events, struct way *in, struct way *out)
{
	struct server *s = t->client->server;

	if (events & LOOP_GONE && in->is_blocked) {
		if (socket_take_error(in->from) != 0) {
			reset_both(t);
			return;
		}
		in->has_hung_up = true;
	}
	if (events & (LOOP_IN | LOOP_GONE) && !in->is_blocked) {
		if (in == &t->up && !t->is_checked) {
			if (!take_first(t))
				return;
			/* Until the server takes it. The loop reports again what comes after it. */
			t->up.is_blocked = t->up.held && !t->holds_hello;
		} else if (!pump(s, in)) {
			reset_both(t);
			return;
		}
	}
	if (events & (LOOP_OUT | LOOP_GONE) && out->is_blocked && !pump(s, out)) {
		reset_both(t);
		return;
	}
	update(t);
}

void tunnel_finish(struct client *c)
{
	/* Drops a hello that is not complete: it was never checked. */
	if (c->tunnel->hello_until_ms)
		client_end(c);
	else
		update(c->tunnel);
}

void tunnel_cut(struct client *c)
{
	reset_both(c->tunnel);
}

static int server_ready(void *user, uint32_t events, struct err *e)
{
	struct tunnel *t = user;

	(void)e;
	move_both(t, events, &t->down, &t->up);
	return 0;
}

static void client_ready(struct client *c, uint32_t events)
{
	move_both(c->tunnel, events, &c->tunnel->up, &c->tunnel->down);
}

static void expired(struct client *c)
{
	struct tunnel *t = c->tunnel;

	/* A hello that is not complete by now was never checked. */
	if (t->hello_until_ms && loop_now() >= t->hello_until_ms)
		refuse_hello(t);
	else
		client_end(c);
}

static void ended(struct client *c)
{
	struct server *s = c->server;
	struct tunnel *t = c->tunnel;

	c->exchange->record.bytes_up = t->up.bytes;
	c->exchange->record.bytes_down = t->down.bytes;
	/*
	 * SECURITY: remove the watcher explicitly. Another process may hold a copy of a socket of
	 * the sandbox, and epoll would go on to report events for freed memory.
	 */
	if (c->role == PROXY_PUBLISHED)
		loop_remove(&s->loop, &t->server);
	else
		loop_forget(&s->loop, &t->server);
	fd_done(&t->server.fd);
	(void)give_up(s, &t->up);
	(void)give_up(s, &t->down);
	pool_give(&s->tunnels, t);
	c->tunnel = NULL;
}

static void nothing(struct client *c)
{
	(void)c;
}

const struct protocol protocol_tunnel = {
	.ready = client_ready,
	.resume = nothing,
	.expired = expired,
	.ended = ended,
};

static void init(struct tunnel *t, struct client *c, int fd)
{
	t->client = c;
	t->server = (struct watcher){ .fd = fd, .ready = server_ready, .user = t };
	t->server_events = 0;
	t->is_checked = c->role == PROXY_HOST_PORT || c->role == PROXY_PUBLISHED;
	t->holds_hello = false;
	t->hello_until_ms = 0;
	t->up = (struct way){
		.from = c->watcher.fd, .to = fd, .is_looked_at = !t->is_checked, .pipe = { -1, -1 }
	};
	t->down = (struct way){ .from = fd, .to = c->watcher.fd, .pipe = { -1, -1 } };
	tls_hello_init(&t->hello);
}

/* Sends what the proxy itself has to say first. */
static bool greet(struct tunnel *t, struct str bytes)
{
	struct server *s = t->client->server;
	ssize_t n = socket_send(t->down.to, bytes.p, bytes.len);

	if (n < 0 && !is_later())
		return false;
	bytes = str_from(bytes, n > 0 ? (size_t)n : 0);
	t->down.is_blocked = bytes.len > 0;
	return hold(s, &t->down, bytes);
}

void tunnel_start(struct client *c, int fd, struct str to_client, struct str to_server)
{
	struct tunnel *t = pool_take(&c->server->tunnels);
	size_t kept = 0;

	if (!t) {
		fd_done(&fd);
		exchange_set_reason(c->exchange, PROXY_FAILED_RESOURCES, 0);
		client_end(c);
		return;
	}
	init(t, c, fd);
	server_limit_buffers(c->server, c->watcher.fd, fd);
	client_speak(c, &protocol_tunnel);
	c->tunnel = t;
	open_records_add(c);
	if (to_client.len > 0 && !greet(t, to_client)) {
		client_end(c);
		return;
	}
	if (to_server.len > 0) {
		t->up.bytes = to_server.len;
		if ((!t->is_checked && !check_hello(t, to_server, &kept)) ||
		    !pass_first(t, to_server, kept))
			return;
		t->up.is_blocked = t->up.held && !t->holds_hello;
	}
	client_set_deadline(c, c->server->limits.silence_ms);
	update(t);
}
