/* SPDX-License-Identifier: MIT */
/*
 * Finds out which process holds the other end of a connection. The supervisor sees each connect()
 * and sends the pid together with the connection's source and destination; several connections may
 * share a source port. That message may come before or after the proxy accepts the connection, even
 * after it has answered a short request. So the proxy keeps each message for a while.
 */
#include <string.h>

#include "proxy/server.h"

enum {
	BUCKETS = 4096,	 /* of clients, by their port */
	HEARD = 4096,	 /* messages that no client matches yet */
	HEARD_MS = 5000, /* the kernel may reuse the port afterwards */
};

struct heard {
	struct ip ip;
	uint16_t port, host_port;
	int32_t pid;
	char program[PROXY_PROGRAM_BYTES];
	uint64_t at_ms; /* 0: none */
};

struct attributions {
	struct client *clients[BUCKETS];
	struct heard heard[HEARD];
};

int attributions_make(struct attributions **out, struct err *e)
{
	*out = pool_map(sizeof(**out), e);
	return *out ? 0 : err_result(e);
}

static bool is_same(const struct ip *a, const struct ip *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static void name(struct client *c, int32_t pid, const char *program)
{
	c->pid = pid;
	memcpy(c->program, program, sizeof(c->program));
	c->program[sizeof(c->program) - 1] = '\0';
}

/* Finds the message about that peer. */
static struct heard *recall(struct server *s, const struct ip *ip, uint16_t port,
			    uint16_t host_port)
{
	struct heard *h = &s->attributions->heard[port % HEARD];

	if (h->at_ms == 0 || h->port != port || h->host_port != host_port || !is_same(&h->ip, ip))
		return NULL;
	if (loop_now() > h->at_ms + HEARD_MS)
		h->at_ms = 0;
	return h->at_ms ? h : NULL;
}

void attribution_add(struct server *s, const struct proxy_order *o)
{
	struct heard *h = &s->attributions->heard[o->port % HEARD];

	for (struct client *c = s->attributions->clients[o->port % BUCKETS]; c; c = c->same_peer)
		if (c->peer_port == o->port && attribution_host_port(c) == o->host_port &&
		    is_same(&c->peer, &o->address))
			name(c, o->pid, o->program);
	/* The message may be there already while a record of the first request waits for it. */
	*h = (struct heard){ .ip = o->address,
			     .port = o->port,
			     .host_port = o->host_port,
			     .pid = o->pid,
			     .at_ms = loop_now() };
	memcpy(h->program, o->program, sizeof(h->program));
}

void attribution_join(struct client *c)
{
	struct client **bucket = &c->server->attributions->clients[c->peer_port % BUCKETS];
	const struct heard *h = recall(c->server, &c->peer, c->peer_port, attribution_host_port(c));

	c->same_peer = *bucket;
	*bucket = c;
	if (h)
		name(c, h->pid, h->program);
}

void attribution_leave(struct client *c)
{
	struct client **at = &c->server->attributions->clients[c->peer_port % BUCKETS];

	while (*at && *at != c)
		at = &(*at)->same_peer;
	if (*at)
		*at = c->same_peer;
}

void attribution_find(struct server *s, struct exchange *x)
{
	struct heard *h = recall(s, &x->peer, x->peer_port, x->host_port);

	if (!h)
		return;
	x->record.pid = h->pid;
	memcpy(x->record.program, h->program, sizeof(h->program));
	x->record.program[sizeof(x->record.program) - 1] = '\0';
	x->peer_port = 0;
}
