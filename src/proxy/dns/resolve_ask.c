/* SPDX-License-Identifier: MIT */
/*
 * One query, for a name and a family, to one server after the other. UDP first, each time from a
 * new port; TCP if the answer does not fit, or if somebody sends forged answers. See resolve.h.
 */
#include <errno.h>
#include <string.h>

#include "os/fd.h"
#include "os/random.h"
#include "os/socket.h"
#include "proxy/dns/resolve_parts.h"

enum {
	GRACE_MS = 2000, /* for one family after the other has answered */
	MAX_STRAYS = 32, /* wrong answers, which mean that somebody guesses; over TCP nobody can */
	DATAGRAMS_AT_ONCE = 16,
	PORT_TRIES = 8,
	LOWEST_PORT = 1024,
};

const struct dns_answer ask_unanswered = { .code = DNS_SERVER_FAILURE };

/* ---- Where it goes ----------------------------------------------------------------------- */

void resolver_find_zones(struct resolver *r)
{
	for (size_t i = 0; i < r->conf.server_count; i++) {
		struct zone *z = &r->zones[i];

		memcpy(z->name, r->conf.servers[i].zone, sizeof(z->name));
		z->index = z->name[0] ? socket_find_interface(z->name) : 0;
	}
}

/* 0 for an interface that did not exist at the start: that server can't be used. */
static uint32_t zone_index(const struct resolver *r, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(r->zones); i++)
		if (name[0] && strcmp(r->zones[i].name, name) == 0)
			return r->zones[i].index;
	return 0;
}

static struct os_address server_address(const struct ask *a)
{
	const struct resolver *r = a->search->resolver;
	const struct name_server *server =
		&r->conf.servers[(a->search->first_server + a->tries) % r->conf.server_count];

	return (struct os_address){ .ip = server->ip,
				    .port = r->port,
				    .interface = zone_index(r, server->zone) };
}

/*
 * Lets the kernel choose the port only as a last resort, because a forger has to guess the port
 * too.
 */
static void bind_random_port(int fd, bool is_v4)
{
	static const struct ip any[] = { { .bytes = { 0 } },
					 { .bytes = { [10] = 0xff, [11] = 0xff } } };

	for (unsigned i = 0; i < PORT_TRIES; i++) {
		struct os_address own = { .ip = any[is_v4] };
		uint16_t port;

		if (os_random(&port, sizeof(port)) < 0)
			return;
		own.port = (uint16_t)(LOWEST_PORT + port % (65536 - LOWEST_PORT));
		if (socket_bind(fd, &own) == 0)
			return;
	}
}

/* ---- How it ends ------------------------------------------------------------------------- */

void ask_stop(struct ask *a)
{
	struct resolver *r = a->search->resolver;

	if (a->watcher.fd >= 0) {
		loop_remove(r->loop, &a->watcher);
		fd_close(&a->watcher.fd);
	}
	if (a->stream)
		pool_give(&r->streams, a->stream);
	a->stream = NULL;
}

/* Tries the next server, from the timer, because the caller may still use the ask. */
static void pause_ask(struct ask *a)
{
	ask_stop(a);
	a->state = ASK_PAUSED;
	a->deadline_ms = loop_now();
	resolver_wake_by(a->search->resolver, a->deadline_ms);
}

void ask_finish(struct ask *a, const struct dns_answer *answer)
{
	struct search *s = a->search;

	ask_stop(a);
	a->state = ASK_DONE;
	a->answer = *answer;
	if (answer->count > 0) {
		s->give_up_ms = loop_now() + GRACE_MS;
		resolver_wake_by(s->resolver, s->give_up_ms);
	}
	search_conclude(s);
}

/* ---- What is said ------------------------------------------------------------------------ */

static bool watch(struct ask *a, uint32_t events)
{
	struct err e = ERR_INIT;

	return loop_add(a->search->resolver->loop, &a->watcher, events, &e) == 0;
}

static size_t write_ask(struct ask *a, uint8_t *out)
{
	return dns_write_question(out, a->id, str_of(a->search->candidate), a->type);
}

static bool send_datagram(struct ask *a)
{
	const struct os_address server = server_address(a);
	bool is_v4 = ip_is_v4(&server.ip);
	uint8_t question[DNS_ASK_BYTES];
	size_t len = write_ask(a, question);

	a->watcher.fd = socket_open(is_v4, false);
	if (a->watcher.fd < 0)
		return false;
	bind_random_port(a->watcher.fd, is_v4);
	/*
	 * SECURITY: connect the socket, so that the kernel drops datagrams from all other
	 * addresses. Else anybody could send forged answers.
	 */
	return socket_connect(a->watcher.fd, &server) == 0 &&
	       socket_send(a->watcher.fd, question, len) == (ssize_t)len && watch(a, LOOP_IN);
}

static bool open_stream(struct ask *a)
{
	struct resolver *r = a->search->resolver;
	const struct os_address server = server_address(a);

	a->stream = pool_take(&r->streams);
	if (!a->stream)
		return false;
	a->stream->done = 0;
	a->watcher.fd = socket_open(ip_is_v4(&server.ip), true);
	return a->watcher.fd >= 0 &&
	       (socket_connect(a->watcher.fd, &server) == 0 || errno == EINPROGRESS) &&
	       watch(a, LOOP_OUT);
}

static void ask_server(struct ask *a, bool by_stream)
{
	struct resolver *r = a->search->resolver;

	ask_stop(a);
	a->strays = 0;
	a->state = by_stream ? ASK_CONNECTING : ASK_DATAGRAM;
	a->deadline_ms = loop_now() + r->conf.timeout_ms;
	if (os_random(&a->id, sizeof(a->id)) < 0 ||
	    !(by_stream ? open_stream(a) : send_datagram(a))) {
		pause_ask(a);
		return;
	}
	resolver_wake_by(r, a->deadline_ms);
}

void ask_next_server(struct ask *a)
{
	const struct resolv_conf *conf = &a->search->resolver->conf;

	a->tries++;
	if (a->tries >= conf->attempts * conf->server_count)
		ask_finish(a, &ask_unanswered);
	else
		ask_server(a, conf->uses_tcp);
}

/* An answer to this query. If the server failed, tries the next one. */
static void take_answer(struct ask *a, const struct dns_answer *answer)
{
	if (answer->is_truncated && a->state == ASK_DATAGRAM)
		ask_server(a, true);
	else if (answer->is_truncated ||
		 (answer->code != DNS_FINE && answer->code != DNS_NO_SUCH_NAME))
		pause_ask(a);
	else
		ask_finish(a, answer);
}

/* True: there may be more. */
static bool read_datagram(struct ask *a)
{
	struct resolver *r = a->search->resolver;
	ssize_t got = socket_receive(a->watcher.fd, r->scratch, DNS_MESSAGE_BYTES);
	struct dns_answer answer;

	if (got < 0) {
		if (errno != EAGAIN && errno != EINTR)
			pause_ask(a);
		return false;
	}
	if (!dns_read_answer(r->scratch, (size_t)got, a->id, str_of(a->search->candidate), a->type,
			     &answer)) {
		if (++a->strays <= MAX_STRAYS)
			return true;
		ask_server(a, true);
		return false;
	}
	take_answer(a, &answer);
	return false;
}

static void send_stream(struct ask *a)
{
	uint8_t message[2 + DNS_ASK_BYTES];
	size_t len = write_ask(a, message + 2);
	struct err e = ERR_INIT;

	message[0] = (uint8_t)(len >> 8);
	message[1] = (uint8_t)len;
	/*
	 * The first bytes on a connection always fit in the socket's buffer. If not, it is not
	 * connected.
	 */
	if (socket_send(a->watcher.fd, message, len + 2) != (ssize_t)len + 2 ||
	    loop_change(a->search->resolver->loop, &a->watcher, LOOP_IN, &e) < 0)
		pause_ask(a);
	else
		a->state = ASK_STREAM;
}

static void read_stream(struct ask *a)
{
	struct stream *t = a->stream;
	struct dns_answer answer;
	size_t want = 2;
	ssize_t got;

	if (t->done >= 2)
		want += (size_t)t->bytes[0] << 8 | t->bytes[1];
	got = socket_receive(a->watcher.fd, t->bytes + t->done, want - t->done);
	if (got <= 0) {
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			pause_ask(a);
		return;
	}
	t->done += (size_t)got;
	if (t->done < 2 || t->done < 2 + ((size_t)t->bytes[0] << 8 | t->bytes[1]))
		return;
	if (dns_read_answer(t->bytes + 2, t->done - 2, a->id, str_of(a->search->candidate), a->type,
			    &answer))
		take_answer(a, &answer);
	else
		pause_ask(a);
}

static int ask_ready(void *user, uint32_t events, struct err *e)
{
	struct ask *a = user;

	(void)events;
	(void)e;
	if (a->state == ASK_CONNECTING)
		send_stream(a);
	else if (a->state == ASK_STREAM)
		read_stream(a);
	else
		for (unsigned i = 0; i < DATAGRAMS_AT_ONCE && read_datagram(a); i++)
			;
	return 0;
}

void ask_begin(struct ask *a, struct search *s, uint16_t type)
{
	*a = (struct ask){ .search = s,
			   .type = type,
			   .watcher = { .fd = -1, .ready = ask_ready, .user = a } };
	ask_server(a, s->resolver->conf.uses_tcp);
}
