/* SPDX-License-Identifier: MIT */
/* A connection, from its first byte, which shows the protocol, to its end. */
#include <errno.h>

#include "os/fd.h"
#include "os/socket.h"
#include "proxy/client/socks5.h"
#include "proxy/server.h"

enum {
	DRAIN_MS = 2000,
	DRAIN_READS = 64, /* blocks to drain; a peer that sends more does not read the answer */
	TICK_MS = 1000,	  /* the precision of deadlines */
	RETRY_MS = 1000,  /* after descriptors, blocks or sockets ran out */
};

/* ---- Waiting for room --------------------------------------------------------------------- */

/*
 * Sets the timer to the first deadline of all clients. A deadline that was moved later is found
 * then.
 */
static void set_tick(struct server *s, uint64_t at_ms)
{
	if (s->tick.at_ms == 0 || at_ms < s->tick.at_ms)
		loop_set_timer(&s->loop, &s->tick, at_ms);
}

/*
 * exchange_begin() says when there is room. For all else a client waits for, try again after a
 * while.
 */
void client_set_waiting(struct client *c)
{
	if (!c->is_waiting)
		c->server->waiting++;
	c->is_waiting = true;
	set_tick(c->server, loop_now() + RETRY_MS);
}

static void clear_waiting(struct client *c)
{
	if (c->is_waiting)
		c->server->waiting--;
	c->is_waiting = false;
}

void clients_resume(struct server *s)
{
	on_demand_retry(s);
	if (s->waiting == 0)
		return;
	for (struct client *c = s->first_client, *next; c; c = next) {
		next = c->next;
		if (!c->is_waiting)
			continue;
		if (!outbox_has_room(s))
			return;
		clear_waiting(c);
		c->protocol->resume(c);
	}
}

/* ---- Its life -------------------------------------------------------------------------- */

static int ready(void *user, uint32_t events, struct err *e)
{
	struct client *c = user;

	(void)e;
	c->protocol->ready(c, events);
	return 0;
}

struct client *client_begin(struct server *s, int fd, const struct ip *peer, uint16_t peer_port,
			    const struct protocol *p)
{
	struct client *c = pool_take(&s->clients);

	if (!c) {
		fd_done(&fd);
		server_set_accepting(s, false);
		return NULL;
	}
	*c = (struct client){ .server = s,
			      .protocol = p,
			      .watcher = { .fd = fd, .ready = ready, .user = c },
			      .next = s->first_client,
			      .peer = *peer,
			      .peer_port = peer_port };
	if (s->first_client)
		s->first_client->previous = c;
	s->first_client = c;
	/* The pool is empty now, so new connections wait in the kernel's queue. */
	if (s->clients.used == s->clients.count)
		server_set_accepting(s, false);
	if (p == &protocol_first_byte) {
		/*
		 * SECURITY: a client that has not shown the token gets a short deadline. Else
		 * a stranger could hold all connections open and lock others out.
		 */
		client_set_deadline(c,
				    server_has_token(s) ? s->limits.header_ms : s->limits.idle_ms);
		if (!client_wait(c, LOOP_IN))
			return NULL;
	}
	return c;
}

bool server_wait(struct server *s, struct watcher *w, uint32_t *now, uint32_t events)
{
	if (events == *now)
		return true;
	*now = events;
	if (events == 0)
		loop_remove(&s->loop, w);
	else if ((w->is_added ? loop_change(&s->loop, w, events, &s->failure)
			      : loop_add(&s->loop, w, events, &s->failure)) < 0)
		return false;
	return true;
}

bool client_wait(struct client *c, uint32_t events)
{
	if (server_wait(c->server, &c->watcher, &c->events, events))
		return true;
	client_end(c);
	return false;
}

void client_set_deadline(struct client *c, uint32_t in_ms)
{
	c->deadline_ms = in_ms ? loop_now() + in_ms : 0;
	if (in_ms)
		set_tick(c->server, c->deadline_ms);
}

int clients_check_deadlines(void *user, struct err *e)
{
	struct server *s = user;
	uint64_t now = loop_now();
	uint64_t first = UINT64_MAX;

	(void)e;
	for (struct client *c = s->first_client, *next; c; c = next) {
		next = c->next;
		if (c->deadline_ms == 0)
			continue;
		if (c->deadline_ms > now) {
			first = MIN_OF(first, c->deadline_ms);
			continue;
		}
		c->deadline_ms = 0;
		/* A client ends only itself, so `next` stays valid. */
		c->protocol->expired(c);
	}
	if (!s->is_accepting && !s->is_finishing && s->clients.used < s->clients.count)
		server_set_accepting(s, true);
	clients_resume(s);
	if (!s->is_accepting || s->waiting > 0)
		first = MIN_OF(first, now + RETRY_MS);
	if (first != UINT64_MAX)
		set_tick(s, MAX_OF(first, now + TICK_MS));
	return 0;
}

static void leave_list(struct client *c)
{
	if (c->previous)
		c->previous->next = c->next;
	else
		c->server->first_client = c->next;
	if (c->next)
		c->next->previous = c->previous;
}

void client_end(struct client *c)
{
	struct server *s = c->server;

	if (c->protocol->ended)
		c->protocol->ended(c);
	if (c->dial)
		dial_cancel(c->dial);
	clear_waiting(c);
	question_drop(c);
	exchange_finish(c);
	attribution_leave(c);
	loop_forget(&s->loop, &c->watcher); /* accepted by this process, so no copy exists */
	fd_close(&c->watcher.fd);
	leave_list(c);
	pool_give(&s->clients, c);
	if (!s->is_accepting && !s->is_ending)
		set_tick(s, loop_now() + 1);
}

void client_reset(struct client *c)
{
	socket_reset_on_close(c->watcher.fd);
	client_end(c);
}

void client_speak(struct client *c, const struct protocol *p)
{
	c->protocol = p;
	c->state = 0;
}

/* ---- The last answer --------------------------------------------------------------------- */

static void drain(struct client *c, uint32_t events)
{
	ssize_t n;

	(void)events;
	n = socket_receive(c->watcher.fd, c->server->scratch, BLOCK_BYTES);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || ++c->state > DRAIN_READS)
		client_end(c);
}

static void nothing(struct client *c)
{
	(void)c;
}

static const struct protocol protocol_last = {
	.ready = drain,
	.resume = nothing,
	.expired = client_end,
};

void client_end_gently(struct client *c)
{
	if (c->protocol->ended)
		c->protocol->ended(c);
	if (c->dial)
		dial_cancel(c->dial);
	c->dial = NULL;
	clear_waiting(c);
	question_drop(c);
	exchange_finish(c);
	client_speak(c, &protocol_last);
	if (socket_shut_down(c->watcher.fd) < 0) {
		client_end(c);
		return;
	}
	client_set_deadline(c, DRAIN_MS);
	/* The loop is level-triggered, so it reports at once what has come in the meantime. */
	(void)client_wait(c, LOOP_IN);
}

/* ---- The first byte ------------------------------------------------------------------------ */

static void refuse_first_byte(struct client *c)
{
	if (exchange_begin(c, PROXY_BY_HTTP))
		exchange_set_reason(c->exchange, PROXY_BAD_REQUEST, 0);
	client_end(c);
}

static void read_first(struct client *c, uint32_t events)
{
	struct server *s = c->server;
	struct block *b;
	ssize_t n;

	if (events & LOOP_GONE && c->is_waiting) {
		client_end(c);
		return;
	}
	b = outbox_has_room(s) ? block_take(s) : NULL;
	/*
	 * Slow clients hold all blocks, and their deadlines will free them; or the parent is slow,
	 * and a refusal could not be recorded now.
	 */
	if (!b) {
		client_set_waiting(c);
		(void)client_wait(c, LOOP_GONE);
		return;
	}
	n = socket_receive(c->watcher.fd, b->bytes, BLOCK_BYTES);
	if (n <= 0) {
		block_give(s, &b);
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			client_end(c);
		return;
	}
	b->end = (uint32_t)n;
	client_set_deadline(c, s->limits.header_ms);
	if (b->bytes[0] == SOCKS5_VERSION) {
		client_speak(c, &protocol_socks);
		c->block = b;
		c->protocol->ready(c, 0);
	} else if (ascii_is_alpha(b->bytes[0]) || b->bytes[0] == '\r') {
		client_speak(c, &protocol_http);
		http_begin(c, b);
	} else {
		block_give(s, &b);
		refuse_first_byte(c);
	}
}

static void listen_again(struct client *c)
{
	(void)client_wait(c, LOOP_IN);
}

const struct protocol protocol_first_byte = {
	.ready = read_first,
	.resume = listen_again,
	.expired = client_end,
};
