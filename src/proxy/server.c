/* SPDX-License-Identifier: MIT */
/* The life of the process: what it takes from its parent, the loop, and the end. */
#include "proxy/server.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "os/child.h"
#include "os/fd.h"
#include "os/fd_pass.h"
#include "os/socket.h"

enum {
	ORDERS_AT_ONCE = 32,
	ACCEPTS_AT_ONCE = 64,
	MAX_DIALS = 2048,
	SPARE_EXCHANGES = 2048, /* of clients that have ended, and of connects that were refused */
	/*
	 * 200 look-ups, 128 sockets in stock, 128 connections of the resolver inside, and a few
	 * more.
	 */
	OWN_DESCRIPTORS = 512,
	MIN_CONNECTIONS = 16,
	/*
	 * How much the kernel may buffer for streams that nobody reads. The first ones get as much
	 * as it likes (megabytes, for fast links far away); the more there are, the less each gets.
	 */
	UNBOUND_CONNECTIONS = 64,
	BUFFERS_BYTES = 64 << 20,
	MIN_BUFFER_BYTES = 128 << 10, /* what a socket begins with */
};

/* ---- All its memory -------------------------------------------------------------------- */

static int map_pools(struct server *s, struct err *e)
{
	uint32_t clients = s->limits.connections;

	if (pool_make(&s->clients, sizeof(struct client), clients, e) < 0 ||
	    pool_make(&s->exchanges, sizeof(struct exchange), clients + SPARE_EXCHANGES, e) < 0 ||
	    pool_make(&s->blocks, sizeof(struct block), BLOCK_MAX, e) < 0 ||
	    pool_make(&s->tunnels, tunnel_bytes(), clients, e) < 0)
		return err_result(e);
	s->listeners = pool_map(MAX_LISTENERS * sizeof(*s->listeners), e);
	s->scratch = s->listeners ? pool_map(BLOCK_BYTES, e) : NULL;
	return s->scratch ? 0 : err_result(e);
}

static int make_parts(struct server *s, const struct proxy_options *o,
		      const struct rule_place *place, struct err *e)
{
	bool has_upstream = net_allows_upstream_proxy(o->plan->net);

	if (map_pools(s, e) < 0 || outbox_make(&s->outbox, e) < 0 ||
	    questions_make(&s->questions, e) < 0 || attributions_make(&s->attributions, e) < 0 ||
	    on_demand_make(&s->on_demand, e) < 0 || pipes_make(&s->pipes, e) < 0 ||
	    http_make(&s->http, s->limits.connections, e) < 0 ||
	    rules_make(&s->rules, o->plan, place, o->has_decider, e) < 0 ||
	    dialer_make(&s->dialer, s->rules, has_upstream, o->environment, MAX_DIALS,
			s->limits.dial_ms, e) < 0 ||
	    sandbox_dns_make(&s->sandbox_dns, s->rules, s->dialer, e) < 0)
		return err_result(e);
	return 0;
}

/* Each client may need a second descriptor, and sometimes a pipe. */
static void fit_to_descriptors(struct proxy_limits *limits)
{
	uint64_t files = fd_limit(), own, fit;

	if (files == 0)
		return;
	/*
	 * If there are few descriptors, look-ups get most: without one a connection is of no use.
	 */
	own = MIN_OF((uint64_t)OWN_DESCRIPTORS, files - files / 4);
	fit = (files - own) / 2;
	fit = MAX_OF(fit, (uint64_t)MIN_CONNECTIONS);
	limits->connections = (uint32_t)MIN_OF((uint64_t)limits->connections, fit);
}

/* NULL if it can't be made; the process exits then, which frees the rest. */
static struct server *make(const struct proxy_options *options, const struct rule_place *place,
			   struct err *e)
{
	size_t token = options->token ? strlen(options->token) : 0;
	struct server *s;

	if (token >= TOKEN_BYTES)
		return FAIL_NULL(e, ERR_LIMIT, "the token of the proxy is longer than %d bytes",
				 TOKEN_BYTES - 1);
	s = pool_map(sizeof(*s), e);
	if (!s)
		return NULL;
	s->limits = options->limits;
	s->loop.queue = -1;
	fit_to_descriptors(&s->limits);
	memcpy(s->token, options->token ? options->token : "", token);
	return make_parts(s, options, place, e) < 0 ? NULL : s;
}

/* ---- Listeners ----------------------------------------------------------------------- */

static const struct protocol *protocol_of(uint8_t role)
{
	return role == PROXY_MIXED ? &protocol_first_byte : &protocol_forward;
}

/* Accepts one connection. False: there is no other now. */
static bool accept_one(struct listener *l)
{
	struct server *s = l->server;
	struct os_address from;
	struct client *c;
	int fd = socket_accept(l->watcher.fd, &from);

	if (fd < 0) {
		/*
		 * SECURITY: stop accepting while no descriptors are left. The listener would stay
		 * ready, and a client could make the proxy spin.
		 */
		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM)
			server_set_accepting(s, false);
		return fd == -ECONNABORTED || fd == -EINTR;
	}
	c = client_begin(s, fd, &from.ip, from.port, protocol_of(l->role));
	if (!c)
		return s->is_accepting;
	c->role = l->role;
	c->port = l->port;
	if (attribution_can_come(c))
		attribution_join(c);
	if (l->role != PROXY_MIXED)
		forward_begin(c);
	return s->is_accepting;
}

static int accept_ready(void *user, uint32_t events, struct err *e)
{
	struct listener *l = user;

	(void)events;
	(void)e;
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++)
		if (!accept_one(l))
			break;
	return 0;
}

void server_set_accepting(struct server *s, bool is_accepting)
{
	if (s->is_accepting == is_accepting)
		return;
	s->is_accepting = is_accepting;
	for (size_t i = 0; i < MAX_LISTENERS; i++) {
		struct listener *l = &s->listeners[i];

		if (!l->role)
			continue;
		if (!is_accepting)
			loop_remove(&s->loop, &l->watcher);
		else if (!l->watcher.is_added &&
			 loop_add(&s->loop, &l->watcher, LOOP_IN, &s->failure) < 0)
			s->is_accepting = false; /* the next tick tries again */
	}
}

/*
 * Accepted connections inherit the options. The dialer never dials a listener on the host, so that
 * no client can make the proxy talk to itself.
 */
static int prepare_listener(struct server *s, int fd, struct err *e)
{
	struct os_address own;

	if (!socket_is_of_host(fd)) {
		socket_prepare_local(fd);
		return 0;
	}
	if (socket_get_address(fd, &own) < 0)
		return FAIL_SYS(e, errno, "can't tell where the proxy listens");
	if (ip_is_loopback(&own.ip))
		socket_prepare_local(fd);
	else
		socket_prepare(fd);
	return dialer_add_own(s->dialer, &own.ip, own.port, e);
}

static int add_listener(struct server *s, const struct proxy_order *o, int fd, struct err *e)
{
	struct listener *l = s->listeners;

	while (l < s->listeners + MAX_LISTENERS && l->role)
		l++;
	if (l == s->listeners + MAX_LISTENERS)
		return FAIL(e, ERR_LIMIT, "more than %d listeners", MAX_LISTENERS);
	*l = (struct listener){ .server = s,
				.watcher = { .fd = fd, .ready = accept_ready, .user = l },
				.role = (uint8_t)o->role,
				.port = o->port };
	if (prepare_listener(s, fd, e) < 0)
		return err_result(e);
	return s->is_accepting ? loop_add(&s->loop, &l->watcher, LOOP_IN, e) : 0;
}

/* ---- Orders ---------------------------------------------------------------------------- */

static int take_descriptor(struct server *s, const struct proxy_order *o, int fd, struct err *e)
{
	switch (o->role) {
	case PROXY_MIXED:
	case PROXY_HOST_PORT:
	case PROXY_PUBLISHED:
		return add_listener(s, o, fd, e);
	case PROXY_NAMES_UDP:
	case PROXY_NAMES_TCP:
		return sandbox_dns_serve(s->sandbox_dns, &s->loop, fd, o->role == PROXY_NAMES_TCP,
					 e);
	case PROXY_SOCKETS_4:
	case PROXY_SOCKETS_6:
		on_demand_take(s, o->role == PROXY_SOCKETS_4, fd);
		return 0;
	default:
		return FAIL(e, ERR_INTERNAL, "descriptors for role %u", o->role);
	}
}

static void add_rule(struct server *s, const struct proxy_order *o)
{
	struct proxy_message m = { .kind = PROXY_RULE_ADDED, .id = o->id, .is_allow = o->is_allow };
	struct str pattern = { o->text, strnlen(o->text, sizeof(o->text)) };
	struct buf text = BUF_OVER(m.text);

	if (rules_add(s->rules, o->is_allow, pattern, &s->failure) < 0) {
		m.os_error = EINVAL;
		buf_add(&text, str_first(err_message(&s->failure), sizeof(m.text) - 1));
	}
	(void)outbox_post(s, &m);
}

/* Every process inside has ended, and may have sent something before. */
static bool has_sent(const struct client *c)
{
	char first;

	return socket_peek(c->watcher.fd, &first, 1) > 0;
}

static void finish_client(struct client *c)
{
	if (c->protocol == &protocol_tunnel)
		tunnel_finish(c);
	else if (c->protocol == &protocol_http)
		http_finish(c);
	else if (c->dial && has_sent(c))
		client_set_deadline(c, FINISH_DIAL_MS);
	else if (c->protocol != &protocol_first_byte || !has_sent(c))
		client_end(c);
}

static void accept_last(struct server *s)
{
	for (size_t i = 0; i < MAX_LISTENERS && s->is_accepting; i++)
		if (s->listeners[i].role)
			(void)accept_ready(&s->listeners[i], LOOP_IN, &s->failure);
	on_demand_accept(s);
}

static void finish(struct server *s)
{
	struct client *next;

	accept_last(s);
	s->is_finishing = true;
	server_set_accepting(s, false);
	for (struct client *c = s->first_client; c; c = next) {
		next = c->next;
		finish_client(c);
	}
}

/*
 * SECURITY: reset the connection, so that the peer sees that the stream is incomplete. Else it
 * could take a part of a file or a message for the whole.
 */
static void cut_client(struct client *c)
{
	if (c->protocol == &protocol_tunnel)
		tunnel_cut(c);
	else if (c->protocol == &protocol_http)
		http_cut(c);
	else
		client_end(c);
}

static int obey(struct server *s, const struct proxy_order *o, const int *fds, size_t count,
		struct err *e)
{
	switch (o->kind) {
	case PROXY_TAKE:
		for (size_t i = 0; i < count; i++)
			if (take_descriptor(s, o, fds[i], e) < 0)
				return err_result(e);
		if (count == 0)
			on_demand_none(s, o->role == PROXY_SOCKETS_4);
		return 0;
	case PROXY_WILL_CONNECT:
		on_demand_order(s, o);
		return 0;
	case PROXY_HAS_CONNECTED:
		attribution_add(s, o);
		return 0;
	case PROXY_ADD_RULE:
		add_rule(s, o);
		return 0;
	case PROXY_DECIDE:
		question_answer(s, o->id, o->is_allow);
		return 0;
	case PROXY_FINISH:
		finish(s);
		return 0;
	case PROXY_STOP:
		s->is_ending = true;
		return 0;
	default:
		return FAIL(e, ERR_INTERNAL, "an order of kind %u", o->kind);
	}
}

/* An order that fails ends the proxy, and with it the run: the parent is trusted. */
static int read_orders(void *user, uint32_t events, struct err *e)
{
	struct server *s = user;

	(void)events;
	for (int i = 0; i < ORDERS_AT_ONCE && outbox_takes_orders(s); i++) {
		struct proxy_order o;
		int fds[FD_PASS_MAX];
		size_t count = FD_PASS_MAX;
		ssize_t n = fd_pass_receive(s->channel, &o, sizeof(o), fds, &count);

		if (n == -EAGAIN)
			break;
		if (n != (ssize_t)sizeof(o)) {
			s->is_ending = true;
			return 0;
		}
		if (obey(s, &o, fds, count, e) < 0)
			return err_result(e);
	}
	if (outbox_flush(s, e) < 0)
		return err_result(e);
	clients_resume(s);
	return 0;
}

static int parent_is_gone(void *user, uint32_t events, struct err *e)
{
	(void)user;
	(void)events;
	(void)e;
	os_exit(0);
	return 0;
}

/* ---- Its life -------------------------------------------------------------------------- */

static _Noreturn void fail(int channel, const struct err *e)
{
	struct proxy_message m = { .kind = PROXY_FAILED,
				   .id = (uint64_t)e->code,
				   .os_error = e->os_error };
	struct buf text = BUF_OVER(m.text);

	buf_add(&text, str_first(err_message(e), sizeof(m.text) - 1));
	(void)fd_pass_tell(channel, &m, sizeof(m), FD_PASS_NO_WAIT);
	for (;;)
		os_exit(1);
}

/*
 * The channel closes when the parent ends, unless a process that the parent forked holds a copy of
 * the other end. So the proxy also watches the parent itself.
 */
static int watch_parent(struct server *s, pid_t parent, struct err *e)
{
	int fd = os_open_parent(parent);

	if (fd < 0)
		return FAIL_SYS(e, errno, "can't watch the parent of the proxy");
	s->parent = (struct watcher){ .fd = fd, .ready = parent_is_gone, .user = s };
	return loop_add(&s->loop, &s->parent, LOOP_IN, e);
}

static void no_address_left(void *user, const struct target *name)
{
	struct server *s = user;
	struct exchange *x = outbox_has_room(s) ? exchange_take(s, PROXY_BY_NAME) : NULL;

	if (!x)
		return;
	x->target = *name;
	exchange_note_target(x);
	exchange_set_reason(x, PROXY_FAILED_RESOURCES, 0);
	exchange_send(s, x);
}

static int prepare(struct server *s, pid_t parent, struct err *e)
{
	const char *at = "";
	int r = lock_begin(&s->channel, &at);

	if (r < 0)
		return FAIL_SYS(e, -r, "the proxy can't %s", at);
	s->orders = (struct watcher){ .fd = s->channel, .ready = read_orders, .user = s };
	s->tick = (struct timer){ .due = clients_check_deadlines, .user = s };
	s->is_accepting = true;
	sandbox_dns_tell(s->sandbox_dns, no_address_left, s);
	if (loop_init(&s->loop, e) < 0 || loop_prepare_timers(&s->loop, e) < 0 ||
	    watch_parent(s, parent, e) < 0 || loop_add(&s->loop, &s->orders, LOOP_IN, e) < 0 ||
	    dialer_run(s->dialer, &s->loop, e) < 0)
		return err_result(e);
	loop_hurry(&s->loop);
	r = lock_finish(&at);
	if (r < 0)
		return FAIL_SYS(e, -r, "the proxy can't %s", at);
	return 0;
}

void server_run(const struct proxy_options *options, const struct rule_place *place, int channel,
		pid_t parent)
{
	const struct proxy_message ready = { .kind = PROXY_READY };
	struct err e = ERR_INIT;
	struct server *s;
	int status;

	/* A cancel of the thread that forked does not concern this process. */
	os_disable_cancel();
	/* In this process and not in the parent, which makes the sandbox in the meantime. */
	s = make(options, place, &e);
	if (!s)
		fail(channel, &e);
	s->channel = channel;
	if (prepare(s, parent, &s->failure) < 0)
		fail(s->channel, &s->failure);
	(void)outbox_post(s, &ready);
	if (outbox_flush(s, &s->failure) < 0)
		os_exit(1);
	while (!s->is_ending && !(s->is_finishing && !s->first_client))
		if (loop_step(&s->loop, -1, &s->failure) < 0)
			fail(s->channel, &s->failure);
	while (s->first_client && s->is_finishing)
		cut_client(s->first_client);
	while (s->first_client)
		client_end(s->first_client);
	status = outbox_drain(s) ? 0 : 1;
	for (;;)
		os_exit(status);
}

void server_limit_buffers(struct server *s, int client, int server)
{
	uint32_t used = s->clients.used;
	uint32_t bytes =
		MAX_OF((uint32_t)BUFFERS_BYTES / MAX_OF(used, 1u), (uint32_t)MIN_BUFFER_BYTES);

	if (used <= UNBOUND_CONNECTIONS)
		return;
	socket_limit_buffers(client, bytes);
	socket_limit_buffers(server, bytes);
}

bool server_is_token(const struct server *s, struct str token)
{
	unsigned difference = token.len == strnlen(s->token, TOKEN_BYTES) ? 0 : 1;

	for (size_t i = 0; i < TOKEN_BYTES; i++) {
		char given = i < token.len ? token.p[i] : '\0';

		difference |= (unsigned char)given ^ (unsigned char)s->token[i];
	}
	return difference == 0 && token.len < TOKEN_BYTES;
}

struct block *block_take(struct server *s)
{
	struct block *b = pool_take(&s->blocks);

	if (b) {
		b->next = NULL;
		b->start = b->end = 0;
	}
	return b;
}

void block_give(struct server *s, struct block **b)
{
	if (*b)
		pool_give(&s->blocks, *b);
	*b = NULL;
}
