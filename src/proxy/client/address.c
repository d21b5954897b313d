/* SPDX-License-Identifier: MIT */
/*
 * Programs that do not use a proxy. When one is about to connect somewhere, the supervisor asks
 * here first. The proxy then listens at that very address inside the sandbox, and the supervisor
 * lets the connect() continue. The local address of the accepted connection says where the program
 * wanted to go. Answering the supervisor is only a shortcut: the decision that counts is made on
 * accept, because connections can also come without being announced.
 *
 * The proxy closes a listener as soon as the announced connections have come, because the port
 * belongs to the command's own servers.
 */
#include <errno.h>
#include <string.h>

#include "os/fd.h"
#include "os/socket.h"
#include "proxy/server.h"

enum {
	MAX_PLACES = 4096,
	BUCKETS = 256,
	MAX_PENDING = 512,
	STOCK = 64,
	LOW_STOCK = 4,
	CALLERS = 8,	 /* processes with a connect to this place under way */
	PLACE_MS = 5000, /* how long an announced connect may take; it is a handshake on loopback */
	NONE_MS = 1000,	 /* how long to wait before asking for sockets again */
	BACKLOG = 128,
	ACCEPTS_AT_ONCE = 16,
};

struct caller {
	int32_t pid;
	char program[PROXY_PROGRAM_BYTES];
};

struct spot {
	struct server *server;
	struct watcher watcher;
	struct spot *next; /* of the same bucket */
	struct ip ip;
	uint16_t port;
	uint32_t expected;
	uint64_t until_ms;
	struct caller callers[CALLERS]; /* the oldest first */
	uint32_t caller_count;
};

/* A connect that waits for a socket, or for room. */
struct pending {
	struct pending *next;
	struct proxy_order order;
};

struct stock {
	int fds[STOCK];
	uint32_t count;
	bool is_asked;
	uint64_t ask_ms; /* not before */
};

struct on_demand {
	struct pool places, pending;
	struct spot *buckets[BUCKETS];
	struct pending *first_pending, *last_pending;
	struct stock stocks[2]; /* IPv4, IPv6 */
	struct timer timer;
};

int on_demand_make(struct on_demand **out, struct err *e)
{
	struct on_demand *d = pool_map(sizeof(*d), e);

	if (!d)
		return err_result(e);
	if (pool_make(&d->places, sizeof(struct spot), MAX_PLACES, e) < 0 ||
	    pool_make(&d->pending, sizeof(struct pending), MAX_PENDING, e) < 0)
		return err_result(e);
	*out = d;
	return 0;
}

/* ---- The stock of sockets -------------------------------------------------------------------------- */

static struct stock *stock_of(struct server *s, bool is_v4)
{
	return &s->on_demand->stocks[is_v4 ? 0 : 1];
}

static void ask_for_sockets(struct server *s, bool is_v4)
{
	struct stock *stock = stock_of(s, is_v4);
	const struct proxy_message m = { .kind = PROXY_WANTS_SOCKETS,
					 .role = is_v4 ? PROXY_SOCKETS_4 : PROXY_SOCKETS_6 };

	if (!stock->is_asked && loop_now() >= stock->ask_ms)
		stock->is_asked = outbox_post(s, &m);
}

int on_demand_socket(struct server *s, bool is_v4)
{
	struct stock *stock = stock_of(s, is_v4);
	int fd = stock->count > 0 ? stock->fds[--stock->count] : -1;

	if (stock->count < LOW_STOCK)
		ask_for_sockets(s, is_v4);
	return fd;
}

void on_demand_take(struct server *s, bool is_v4, int fd)
{
	struct stock *stock = stock_of(s, is_v4);

	stock->is_asked = false;
	if (stock->count < STOCK)
		stock->fds[stock->count++] = fd;
	else
		fd_done(&fd);
}

/* on_demand_retry() refuses those that wait; who comes within NONE_MS is refused at once. */
void on_demand_none(struct server *s, bool is_v4)
{
	struct stock *stock = stock_of(s, is_v4);

	stock->is_asked = false;
	stock->ask_ms = loop_now() + NONE_MS;
}

/* ---- Places ------------------------------------------------------------------------------------------ */

static struct spot **bucket_of(struct server *s, const struct ip *ip, uint16_t port)
{
	unsigned hash = port;

	for (size_t i = 0; i < sizeof(ip->bytes); i++)
		hash = hash * 31 + ip->bytes[i];
	return &s->on_demand->buckets[hash % BUCKETS];
}

static struct spot *find_place(struct server *s, const struct ip *ip, uint16_t port)
{
	struct spot *p = *bucket_of(s, ip, port);

	while (p && (p->port != port || memcmp(&p->ip, ip, sizeof(*ip)) != 0))
		p = p->next;
	return p;
}

static void close_place(struct spot *p)
{
	struct server *s = p->server;
	struct spot **at = bucket_of(s, &p->ip, p->port);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	loop_remove(&s->loop, &p->watcher);
	fd_done(&p->watcher.fd);
	pool_give(&s->on_demand->places, p);
}

static struct caller next_caller(struct spot *p)
{
	struct caller first = p->callers[0];

	if (p->caller_count == 0)
		return (struct caller){ .pid = 0 };
	memmove(&p->callers[0], &p->callers[1], (CALLERS - 1) * sizeof(p->callers[0]));
	p->caller_count--;
	return first;
}

static void expect(struct spot *p, const struct proxy_order *o)
{
	struct caller *c = &p->callers[MIN_OF(p->caller_count, (uint32_t)CALLERS - 1)];

	c->pid = o->pid;
	memcpy(c->program, o->program, sizeof(c->program));
	c->program[sizeof(c->program) - 1] = '\0';
	p->caller_count = MIN_OF(p->caller_count + 1, (uint32_t)CALLERS);
	p->expected++;
	p->until_ms = loop_now() + PLACE_MS;
}

static void begin(struct client *c);

/* NULL: no other place is free now. */
static struct client *accept_one(struct spot *p)
{
	struct os_address from;
	struct caller caller;
	struct client *c;
	int fd = socket_accept(p->watcher.fd, &from);

	if (fd < 0) {
		/*
		 * Without a free descriptor, resets the connection, so that the listener does not
		 * stay ready.
		 */
		if (fd != -EAGAIN && fd != -ECONNABORTED && fd != -EINTR)
			p->expected = 0;
		return NULL;
	}
	caller = next_caller(p);
	p->expected -= p->expected > 0;
	c = client_begin(p->server, fd, &from.ip, from.port, &protocol_address);
	if (!c)
		return NULL;
	c->role = PROXY_SOCKETS_4;
	c->pid = caller.pid;
	memcpy(c->program, caller.program, sizeof(c->program));
	return c;
}

/* Frees the port before anything else is done for the connections. */
static int accept_ready(void *user, uint32_t events, struct err *e)
{
	struct client *accepted[ACCEPTS_AT_ONCE];
	struct spot *p = user;
	size_t count = 0;

	(void)events;
	(void)e;
	while (count < ACCEPTS_AT_ONCE && (accepted[count] = accept_one(p)) != NULL)
		count++;
	if (p->expected == 0)
		close_place(p);
	for (size_t i = 0; i < count; i++)
		begin(accepted[i]);
	return 0;
}

void on_demand_accept(struct server *s)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct spot *p = s->on_demand->buckets[i], *next; p; p = next) {
			next = p->next;
			(void)accept_ready(p, LOOP_IN, &s->failure);
		}
}

/* 0 or -errno. */
static int listen_at(int fd, const struct ip *ip, uint16_t port)
{
	const struct os_address address = { .ip = *ip, .port = port };

	socket_allow_reuse(fd);
	socket_allow_any_address(fd, ip_is_v4(ip));
	socket_prepare_local(fd);
	if (socket_bind(fd, &address) < 0 || socket_listen(fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

static int open_place(struct server *s, int fd, const struct proxy_order *o, struct spot **out)
{
	struct spot **bucket = bucket_of(s, &o->address, o->port);
	struct spot *p = pool_take(&s->on_demand->places);
	int r = p ? listen_at(fd, &o->address, o->port) : -ENOBUFS;

	if (r == 0) {
		*p = (struct spot){ .server = s,
				    .watcher = { .fd = fd, .ready = accept_ready, .user = p },
				    .next = *bucket,
				    .ip = o->address,
				    .port = o->port };
		if (loop_add(&s->loop, &p->watcher, LOOP_IN, &s->failure) < 0)
			r = -ENOBUFS;
	}
	if (r < 0) {
		if (p)
			pool_give(&s->on_demand->places, p);
		fd_done(&fd);
		return r;
	}
	*bucket = p;
	*out = p;
	return 0;
}

/* Drops announced connects that never came. */
static int expire_places(void *user, struct err *e)
{
	struct server *s = user;
	uint64_t now = loop_now();
	bool is_any_left = false;

	(void)e;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct spot *p = s->on_demand->buckets[i], *next; p; p = next) {
			next = p->next;
			if (p->until_ms <= now)
				close_place(p);
			else
				is_any_left = true;
		}
	if (is_any_left)
		loop_set_timer(&s->loop, &s->on_demand->timer, now + PLACE_MS);
	return 0;
}

/* ---- Orders ------------------------------------------------------------------------------------------ */

static void answer(struct server *s, const struct proxy_order *o, int os_error)
{
	const struct proxy_message m = { .kind = PROXY_MAY_CONNECT,
					 .id = o->id,
					 .os_error = os_error };

	/* There is room, because the proxy reads orders only while there is. */
	(void)outbox_post(s, &m);
}

static void refuse(struct server *s, const struct proxy_order *o, struct exchange *x, int os_error)
{
	x->record.pid = o->pid;
	memcpy(x->record.program, o->program, sizeof(x->record.program));
	x->record.program[sizeof(x->record.program) - 1] = '\0';
	answer(s, o, os_error);
	exchange_send(s, x);
}

/*
 * The network can't do this. SECURITY: EADDRINUSE means that the command itself listens on that
 * port at every address. If the connect went on, the program would talk to that server, and take it
 * for the one it named.
 */
static void fail(struct server *s, const struct proxy_order *o, struct exchange *x, int os_error)
{
	exchange_set_reason(x, PROXY_FAILED_RESOURCES, os_error);
	refuse(s, o, x, os_error == EADDRINUSE ? ECONNREFUSED : os_error);
}

static void put_place(struct server *s, const struct proxy_order *o, struct exchange *x, int fd)
{
	struct spot *p = NULL;
	int r = open_place(s, fd, o, &p);

	if (r < 0) {
		fail(s, o, x, -r);
		return;
	}
	expect(p, o);
	if (s->on_demand->timer.at_ms == 0) {
		s->on_demand->timer.due = expire_places;
		s->on_demand->timer.user = s;
		loop_set_timer(&s->loop, &s->on_demand->timer, p->until_ms);
	}
	pool_give(&s->exchanges, x);
	answer(s, o, 0);
}

/* False: it has to wait. */
static bool carry_out(struct server *s, const struct proxy_order *o)
{
	struct exchange *x = outbox_has_room(s) ? exchange_take(s, PROXY_BY_ADDRESS) : NULL;
	struct spot *p;
	int fd;

	if (!x)
		return false;
	sandbox_dns_find(s->sandbox_dns, &o->address, o->port, &x->target);
	/* The user is asked on accept and not here, because this connect() may be non-blocking. */
	if (exchange_look(s, x) == DECISION_DENY || !exchange_allows_tunnel(s, x)) {
		refuse(s, o, x, refusal_errno(x->record.reason));
		return true;
	}
	p = find_place(s, &o->address, o->port);
	if (p) {
		expect(p, o);
		pool_give(&s->exchanges, x);
		answer(s, o, 0);
		return true;
	}
	fd = on_demand_socket(s, ip_is_v4(&o->address));
	if (fd >= 0) {
		put_place(s, o, x, fd);
		return true;
	}
	if (loop_now() < stock_of(s, ip_is_v4(&o->address))->ask_ms) {
		fail(s, o, x, ENOBUFS);
		return true;
	}
	pool_give(&s->exchanges, x);
	return false;
}

void on_demand_order(struct server *s, const struct proxy_order *o)
{
	struct on_demand *d = s->on_demand;
	struct pending *waits;

	if (!d->first_pending && carry_out(s, o))
		return;
	waits = pool_take(&d->pending);
	if (!waits) {
		answer(s, o, ENOBUFS);
		return;
	}
	waits->next = NULL;
	waits->order = *o;
	if (d->last_pending)
		d->last_pending->next = waits;
	else
		d->first_pending = waits;
	d->last_pending = waits;
}

void on_demand_retry(struct server *s)
{
	struct on_demand *d = s->on_demand;

	while (d->first_pending && carry_out(s, &d->first_pending->order)) {
		struct pending *done = d->first_pending;

		d->first_pending = done->next;
		if (!done->next)
			d->last_pending = NULL;
		pool_give(&d->pending, done);
	}
}

/* ---- What was accepted ---------------------------------------------------------------------------------- */

static void dial_or_refuse(struct client *c, bool is_allowed)
{
	if (!is_allowed || !exchange_may_tunnel(c) || !exchange_dial(c))
		client_reset(c);
	else
		(void)client_wait(c, LOOP_GONE);
}

static void begin(struct client *c)
{
	struct server *s = c->server;
	struct os_address own;
	enum judged judged;

	if (!exchange_begin(c, PROXY_BY_ADDRESS)) {
		(void)client_wait(c, LOOP_GONE);
		return;
	}
	/*
	 * SECURITY: takes the destination from the kernel. A process could announce one address and
	 * connect to another.
	 */
	if (socket_get_address(c->watcher.fd, &own) < 0) {
		exchange_set_reason(c->exchange, PROXY_FAILED_RESOURCES, errno);
		client_reset(c);
		return;
	}
	sandbox_dns_find(s->sandbox_dns, &own.ip, own.port, &c->exchange->target);
	judged = exchange_judge(c);
	if (judged == JUDGED_LATER)
		(void)client_wait(c, LOOP_GONE);
	else
		dial_or_refuse(c, judged == JUDGED_ALLOWED);
}

const struct protocol protocol_address = {
	.ready = forward_ready,
	.judged = dial_or_refuse,
	.dialled = forward_dialled,
	.resume = begin,
	.expired = client_reset,
};
