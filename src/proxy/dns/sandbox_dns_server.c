/* SPDX-License-Identifier: MIT */
/*
 * The resolver inside: answers queries over UDP and TCP, from whichever address the query was sent
 * to. It sends queries only through dialer_look_up(), and only for names that the policy allows.
 */
#include <errno.h>
#include <string.h>

#include "os/fd.h"
#include "os/socket.h"
#include "proxy/dns/resolve.h"
#include "proxy/dns/sandbox_dns_parts.h"

enum {
	TTL_SECONDS = 5,
	MAX_QUESTIONS = 1024, /* that wait for a look-up */
	MAX_CONNECTIONS = 128,
	QUESTION_BYTES = 1232, /* a longer query is not one for a host */
	AT_ONCE = 32,	       /* datagrams or connections, before others have their turn */
	IDLE_MS = 10000,
	PAUSE_MS = 1000, /* after descriptors ran out */
};

/* Who sent a datagram, and to which of our addresses. */
struct sender {
	int fd;
	struct socket_sender address;
};

struct question {
	struct sandbox_dns *sandbox_dns;
	struct dns_query query;
	char name[DNS_NAME_BYTES]; /* in its normal form, during the look-up */
	/* NULL: came by datagram, or the connection has closed */
	struct sandbox_dns_connection *connection;
	struct sender sender; /* of a datagram */
};

/* A TCP connection, with one query after the other. */
struct sandbox_dns_connection {
	struct sandbox_dns *sandbox_dns;
	struct sandbox_dns_connection *next, *previous;
	struct watcher watcher;
	uint64_t deadline_ms;
	struct question *question; /* that waits for a look-up */
	size_t got, sent, to_send; /* to_send 0: it reads */
	uint8_t in[2 + QUESTION_BYTES];
	uint8_t out[2 + DNS_REPLY_BYTES];
};

/* ---- Answers --------------------------------------------------------------------------- */

struct reply {
	enum dns_code code;
	size_t bytes;
	uint8_t data[DNS_NAME_BYTES];
};

static void reply_address(const struct dns_query *q, const struct ip *ip, struct reply *out)
{
	bool is_v6 = q->type == DNS_AAAA;

	out->code = DNS_FINE;
	out->bytes = is_v6 ? 16 : 4;
	memcpy(out->data, ip->bytes + (is_v6 ? 0 : 12), out->bytes);
}

static void reply_own_address(struct sandbox_dns *s, const struct dns_query *q, struct str name,
			      struct reply *out)
{
	uint32_t index;
	struct target full = { .is_ip = false };
	struct ip ip;

	if (sandbox_dns_give(s, name, &index)) {
		ip = sandbox_dns_address(s, index, q->type == DNS_AAAA);
		reply_address(q, &ip, out);
		return;
	}
	out->code = DNS_SERVER_FAILURE;
	memcpy(full.name, name.p, name.len);
	if (s->is_full)
		s->is_full(s->user, &full);
}

static void reply_lookup(struct sandbox_dns *s, const struct dns_query *q, struct str name,
			 enum lookup_result result, struct reply *out)
{
	if (result == LOOKUP_FOUND)
		reply_own_address(s, q, name, out);
	else if (result == LOOKUP_NO_SUCH_NAME)
		out->code = DNS_NO_SUCH_NAME;
	else
		out->code = result == LOOKUP_NO_ADDRESS ? DNS_FINE : DNS_SERVER_FAILURE;
}

static void reply_pointer(const struct sandbox_dns *s, const struct dns_query *q, struct reply *out)
{
	struct ip ip;
	const char *name = NULL;

	if (dns_read_reverse(str_of(q->name), &ip))
		name = ip_is_loopback(&ip) ? "localhost" : sandbox_dns_name(s, &ip);
	out->bytes = name ? dns_write_name(out->data, str_of(name)) : 0;
	out->code = out->bytes ? DNS_FINE : DNS_NO_SUCH_NAME;
}

static bool is_allowed(void *user, struct str name)
{
	const struct sandbox_dns *s = user;
	struct target t;
	char why[64];

	return target_parse(&t, name, 0, why, sizeof(why)) && !t.is_ip &&
	       rules_may_look_up(s->rules, &t);
}

/* Whether this name is not allowed itself, but belongs to a search-list series with one that is. */
static bool is_allowed_searched(struct sandbox_dns *s, const struct target *t)
{
	return resolver_each_searched(dialer_resolver(s->dialer), str_of(t->name), is_allowed, s);
}

/* True: `out` is the answer. False: the name `t` has to be looked up first. */
static bool decide(struct sandbox_dns *s, const struct dns_query *q, struct target *t,
		   struct reply *out)
{
	static const struct ip loopback[] = {
		{ .bytes = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 } },
		{ .bytes = { [15] = 1 } },
	};
	char why[64];

	out->code = DNS_FINE;
	if (q->type == DNS_PTR) {
		reply_pointer(s, q, out);
		return true;
	}
	if (q->type != DNS_A && q->type != DNS_AAAA)
		return true; /* such a name may exist, but has no record of this type */
	if (q->is_odd || !target_parse(t, str_of(q->name), 0, why, sizeof(why)) || t->is_ip) {
		out->code = DNS_NO_SUCH_NAME;
		return true;
	}
	if (hostname_is_localhost(str_of(t->name))) {
		reply_address(q, &loopback[q->type == DNS_AAAA], out);
		return true;
	}
	if (rules_may_look_up(s->rules, t)) {
		struct found_addresses known;

		if (!resolver_knows(dialer_resolver(s->dialer), str_of(t->name), &known))
			return false;
		reply_lookup(s, q, str_of(t->name), known.result, out);
		return true;
	}
	if (is_allowed_searched(s, t))
		out->code = DNS_NO_SUCH_NAME;
	else
		reply_own_address(s, q, str_of(t->name), out);
	return true;
}

static size_t write_reply(uint8_t *out, const struct dns_query *q, const struct reply *r)
{
	return dns_write_reply(out, q, r->code, TTL_SECONDS, r->data, r->bytes);
}

/* ---- Datagrams ------------------------------------------------------------------------- */

/*
 * SECURITY: answer from the address that the query was sent to. A client drops answers from another
 * address, and then has no names.
 */
static void send_reply(const struct sender *to, const struct dns_query *q, const struct reply *r)
{
	uint8_t bytes[DNS_REPLY_BYTES];
	size_t len = write_reply(bytes, q, r);

	/* If an answer is lost, the client asks again. */
	(void)socket_send_back(to->fd, bytes, len, &to->address);
}

static void give_question(struct question *w)
{
	pool_give(&w->sandbox_dns->questions, w);
}

static void take_datagram_result(void *user, enum lookup_result result)
{
	struct question *w = user;
	struct reply r = { .bytes = 0 };

	reply_lookup(w->sandbox_dns, &w->query, str_of(w->name), result, &r);
	send_reply(&w->sender, &w->query, &r);
	give_question(w);
}

static struct question *take_question(struct sandbox_dns *s, const struct dns_query *q,
				      const struct target *t)
{
	struct question *w = pool_take(&s->questions);

	if (!w)
		return NULL;
	*w = (struct question){ .sandbox_dns = s, .query = *q };
	memcpy(w->name, t->name, sizeof(w->name));
	return w;
}

static void answer_datagram(struct sandbox_dns *s, const uint8_t *bytes, size_t len,
			    const struct sender *from)
{
	struct reply r = { .bytes = 0 };
	struct dns_query q;
	struct question *w;
	struct target t;
	int code = dns_read_query(bytes, len, &q);

	if (code < 0)
		return;
	r.code = (enum dns_code)code;
	if (code != DNS_FINE || decide(s, &q, &t, &r)) {
		send_reply(from, &q, &r);
		return;
	}
	w = take_question(s, &q, &t);
	if (w)
		w->sender = *from;
	if (!w || !dialer_look_up(s->dialer, &t, take_datagram_result, w)) {
		r.code = DNS_SERVER_FAILURE;
		send_reply(from, &q, &r);
		if (w)
			give_question(w);
	}
}

static int datagrams_ready(void *user, uint32_t events, struct err *e)
{
	struct sandbox_dns_socket *socket = user;
	uint8_t bytes[QUESTION_BYTES];
	struct sender from = { .fd = socket->watcher.fd };

	(void)events;
	(void)e;
	for (unsigned i = 0; i < AT_ONCE; i++) {
		ssize_t got = socket_receive_from(from.fd, bytes, sizeof(bytes), &from.address);

		if (got < 0)
			break;
		answer_datagram(socket->sandbox_dns, bytes, (size_t)got, &from);
	}
	return 0;
}

/* ---- Connections ----------------------------------------------------------------------- */

static void end_connection(struct sandbox_dns_connection *c)
{
	struct sandbox_dns *s = c->sandbox_dns;

	if (c->question)
		c->question->connection = NULL;
	loop_remove(s->loop, &c->watcher);
	fd_close(&c->watcher.fd);
	if (c->previous)
		c->previous->next = c->next;
	else
		s->first = c->next;
	if (c->next)
		c->next->previous = c->previous;
	pool_give(&s->connections, c);
}

static void wake_by(struct sandbox_dns *s, uint64_t at_ms)
{
	if (s->timer.at_ms == 0 || at_ms < s->timer.at_ms)
		loop_set_timer(s->loop, &s->timer, at_ms);
}

static void expect(struct sandbox_dns_connection *c, uint32_t events)
{
	struct err e = ERR_INIT;

	c->deadline_ms = loop_now() + IDLE_MS;
	wake_by(c->sandbox_dns, c->deadline_ms);
	if (loop_change(c->sandbox_dns->loop, &c->watcher, events, &e) < 0)
		end_connection(c);
}

static void write_some(struct sandbox_dns_connection *c)
{
	ssize_t n = socket_send(c->watcher.fd, c->out + c->sent, c->to_send - c->sent);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		end_connection(c);
		return;
	}
	c->sent += n > 0 ? (size_t)n : 0;
	if (c->sent < c->to_send) {
		expect(c, LOOP_OUT);
		return;
	}
	c->got = c->sent = c->to_send = 0;
	expect(c, LOOP_IN);
}

static void write_answer(struct sandbox_dns_connection *c, const struct dns_query *q,
			 const struct reply *r)
{
	size_t len = write_reply(c->out + 2, q, r);

	c->out[0] = (uint8_t)(len >> 8);
	c->out[1] = (uint8_t)len;
	c->to_send = len + 2;
	c->sent = 0;
	write_some(c);
}

static void take_stream_result(void *user, enum lookup_result result)
{
	struct question *w = user;
	struct sandbox_dns_connection *c = w->connection;
	struct reply r = { .bytes = 0 };

	if (c) {
		c->question = NULL;
		reply_lookup(w->sandbox_dns, &w->query, str_of(w->name), result, &r);
		write_answer(c, &w->query, &r);
	}
	give_question(w);
}

static void answer_stream(struct sandbox_dns_connection *c)
{
	struct sandbox_dns *s = c->sandbox_dns;
	struct reply r = { .bytes = 0 };
	struct dns_query q;
	struct question *w;
	struct target t;
	int code = dns_read_query(c->in + 2, c->got - 2, &q);

	if (code < 0) {
		end_connection(c);
		return;
	}
	r.code = (enum dns_code)code;
	if (code != DNS_FINE || decide(s, &q, &t, &r)) {
		write_answer(c, &q, &r);
		return;
	}
	w = take_question(s, &q, &t);
	if (!w || !dialer_look_up(s->dialer, &t, take_stream_result, w)) {
		if (w)
			give_question(w);
		r.code = DNS_SERVER_FAILURE;
		write_answer(c, &q, &r);
		return;
	}
	w->connection = c;
	c->question = w;
	expect(c, 0);
	/* A look-up ends by itself, within the time limit of a dial. */
}

static void read_some(struct sandbox_dns_connection *c)
{
	size_t want = 2;
	ssize_t got;

	if (c->got >= 2)
		want += (size_t)c->in[0] << 8 | c->in[1];
	got = want > sizeof(c->in) ? 0
				   : socket_receive(c->watcher.fd, c->in + c->got, want - c->got);
	if (got <= 0) {
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			end_connection(c);
		return;
	}
	c->got += (size_t)got;
	if (c->got < 2)
		return;
	want = 2 + ((size_t)c->in[0] << 8 | c->in[1]);
	if (want == 2 || want > sizeof(c->in))
		end_connection(c);
	else if (c->got == want)
		answer_stream(c);
}

static int connection_ready(void *user, uint32_t events, struct err *e)
{
	struct sandbox_dns_connection *c = user;

	(void)e;
	if (c->to_send > 0)
		write_some(c);
	else if (c->question && events & LOOP_GONE)
		end_connection(c);
	else if (!c->question)
		read_some(c);
	return 0;
}

static void take_connection(struct sandbox_dns *s, int fd)
{
	struct sandbox_dns_connection *c = pool_take(&s->connections);
	struct err e = ERR_INIT;

	if (!c) {
		fd_close(&fd);
		return;
	}
	c->sandbox_dns = s;
	c->next = s->first;
	c->previous = NULL;
	c->question = NULL;
	c->got = c->sent = c->to_send = 0;
	c->deadline_ms = loop_now() + IDLE_MS;
	c->watcher = (struct watcher){ .fd = fd, .ready = connection_ready, .user = c };
	if (c->next)
		c->next->previous = c;
	s->first = c;
	wake_by(s, c->deadline_ms);
	if (loop_add(s->loop, &c->watcher, LOOP_IN, &e) < 0)
		end_connection(c);
}

/*
 * SECURITY: stop listening while no descriptors are left. The listener would stay ready, and a
 * client could make the proxy spin.
 */
static void pause_listening(struct sandbox_dns_socket *socket)
{
	struct sandbox_dns *s = socket->sandbox_dns;

	loop_remove(s->loop, &socket->watcher);
	wake_by(s, loop_now() + PAUSE_MS);
}

static int connections_ready(void *user, uint32_t events, struct err *e)
{
	struct sandbox_dns_socket *socket = user;

	(void)events;
	(void)e;
	for (unsigned i = 0; i < AT_ONCE; i++) {
		int fd = socket_accept(socket->watcher.fd, NULL);

		if (fd >= 0) {
			take_connection(socket->sandbox_dns, fd);
			continue;
		}
		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM)
			pause_listening(socket);
		break;
	}
	return 0;
}

/* False: one of them still pauses. */
static bool listen_again(struct sandbox_dns *s)
{
	struct err e = ERR_INIT;
	bool is_well = true;

	for (size_t i = 0; i < s->socket_count; i++) {
		struct watcher *w = &s->sockets[i].watcher;

		if (!w->is_added && loop_add(s->loop, w, LOOP_IN, &e) < 0)
			is_well = false;
	}
	return is_well;
}

static int run_timer(void *user, struct err *e)
{
	struct sandbox_dns *s = user;
	uint64_t now = loop_now(), first = UINT64_MAX;

	(void)e;
	for (struct sandbox_dns_connection *c = s->first, *next; c; c = next) {
		next = c->next;
		if (c->question)
			continue;
		if (c->deadline_ms <= now)
			end_connection(c);
		else
			first = MIN_OF(first, c->deadline_ms);
	}
	if (!listen_again(s))
		first = MIN_OF(first, now + PAUSE_MS);
	if (first != UINT64_MAX)
		wake_by(s, first);
	return 0;
}

/* ---- Made and ended -------------------------------------------------------------------- */

int sandbox_dns_server_make(struct sandbox_dns *s, struct err *e)
{
	s->timer = (struct timer){ .due = run_timer, .user = s };
	if (pool_make(&s->questions, sizeof(struct question), MAX_QUESTIONS, e) < 0)
		return err_result(e);
	return pool_make(&s->connections, sizeof(struct sandbox_dns_connection), MAX_CONNECTIONS,
			 e);
}

/* The dialer has ended before, so no look-up calls back. */
void sandbox_dns_server_done(struct sandbox_dns *s)
{
	while (s->first)
		end_connection(s->first);
	for (size_t i = 0; i < s->socket_count; i++) {
		loop_remove(s->loop, &s->sockets[i].watcher);
		fd_close(&s->sockets[i].watcher.fd);
	}
	if (s->loop)
		loop_drop_timer(s->loop, &s->timer);
	pool_done(&s->questions);
	pool_done(&s->connections);
}

int sandbox_dns_serve(struct sandbox_dns *s, struct loop *loop, int fd, bool is_stream,
		      struct err *e)
{
	struct sandbox_dns_socket *socket = &s->sockets[s->socket_count];

	if (s->socket_count == SANDBOX_DNS_SOCKETS)
		return FAIL(e, ERR_LIMIT, "more than %d sockets for names", SANDBOX_DNS_SOCKETS);
	s->loop = loop;
	if (loop_prepare_timers(loop, e) < 0)
		return err_result(e);
	*socket = (struct sandbox_dns_socket){
		.sandbox_dns = s,
		.is_stream = is_stream,
		.watcher = { .fd = fd,
			     .ready = is_stream ? connections_ready : datagrams_ready,
			     .user = socket },
	};
	if (!is_stream)
		socket_note_senders(fd);
	if (loop_add(loop, &socket->watcher, LOOP_IN, e) < 0)
		return err_result(e);
	s->socket_count++;
	return 0;
}
