/* SPDX-License-Identifier: MIT */
/*
 * A name server for tests, on 127.0.0.1, UDP and TCP, in the test's own loop: what it says
 * to each name is a table, lies and silence included.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/loop.h"
#include "proxy/dns/message.h"

enum small_dns_manner {
	DNS_HONEST,
	DNS_SILENT,
	DNS_SILENT_6, /* for AAAA */
	DNS_FAILS,
	DNS_MISSING,
	DNS_LONG,	 /* does not fit a datagram: TCP */
	DNS_WRONG_ID,	 /* and nothing else */
	DNS_WRONG_NAME,	 /* and nothing else */
	DNS_LIES_FIRST,	 /* a wrong number with a bad address, then the truth */
	DNS_LIES_LOUDLY, /* a hundred wrong numbers over UDP; the truth over TCP */
	DNS_GARBLED,
};

struct small_dns_entry {
	const char *name;
	const char *a, *aaaa; /* addresses with blanks between */
	const char *alias;
	enum small_dns_manner manner;
	uint32_t ttl;
	unsigned asked; /* how often */
};

struct small_dns {
	struct loop *loop;
	struct watcher udp, tcp, connection;
	uint16_t port;
	struct small_dns_entry *entries;
	size_t count;
	unsigned asked, asked_by_tcp;
	uint16_t last_source, last_id, last_type;
	uint8_t in[2048];
	size_t got;
};

static inline void small_dns_put(uint8_t *out, size_t *at, uint32_t value, size_t bytes)
{
	while (bytes-- > 0)
		out[(*at)++] = (uint8_t)(value >> (8 * bytes));
}

static inline size_t small_dns_name(const uint8_t *p, size_t at, char *out)
{
	size_t len = 0;

	while (p[at]) {
		if (len)
			out[len++] = '.';
		memcpy(out + len, p + at + 1, p[at]);
		len += p[at];
		at += 1u + p[at];
	}
	out[len] = '\0';
	return at + 1;
}

static inline struct small_dns_entry *small_dns_find(struct small_dns *d, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (strcasecmp(d->entries[i].name, name) == 0)
			return &d->entries[i];
	return NULL;
}

static inline void small_dns_record(uint8_t *out, size_t *at, const char *owner, unsigned type,
				    uint32_t ttl, const uint8_t *data, size_t bytes)
{
	uint8_t wire[256];
	size_t len = dns_write_name(wire, str_of(owner));

	memcpy(out + *at, wire, len);
	*at += len;
	small_dns_put(out, at, type, 2);
	small_dns_put(out, at, 1, 2);
	small_dns_put(out, at, ttl, 4);
	small_dns_put(out, at, (uint32_t)bytes, 2);
	memcpy(out + *at, data, bytes);
	*at += bytes;
}

static inline unsigned small_dns_addresses(uint8_t *out, size_t *at,
					   const struct small_dns_entry *n, unsigned type)
{
	const char *list = type == DNS_A ? n->a : n->aaaa;
	unsigned count = 0;

	while (list && *list) {
		struct ip ip = { { 0 } };
		size_t len = strcspn(list, " ");
		bool is_v4;

		(void)!ip_parse((struct str){ list, len }, &ip);
		is_v4 = type == DNS_A;
		small_dns_record(out, at, n->name, type, n->ttl, ip.bytes + (is_v4 ? 12 : 0),
				 is_v4 ? 4 : 16);
		count++;
		list += len + strspn(list + len, " ");
	}
	return count;
}

/* The message that answers; its length. */
static inline size_t small_dns_answer(struct small_dns *d, const uint8_t *q, size_t len,
				      uint8_t *out, struct small_dns_entry **entry, bool by_tcp)
{
	char name[256];
	size_t end = small_dns_name(q, 12, name), at;
	unsigned type = (unsigned)(q[end] << 8 | q[end + 1]), count = 0;
	struct small_dns_entry *n = small_dns_find(d, name);

	d->asked++;
	d->asked_by_tcp += by_tcp;
	*entry = n;
	if (n)
		n->asked++;
	(void)len;
	memcpy(out, q, end + 4);
	at = end + 4;
	memset(out + 8, 0, 4);
	out[2] = 0x81;
	out[3] = !n || n->manner == DNS_MISSING ? 0x83 : n->manner == DNS_FAILS ? 0x82 : 0x80;
	for (unsigned hops = 0; n && hops < 20; hops++) {
		uint8_t wire[256];

		if (!n->alias) {
			count += small_dns_addresses(out, &at, n, type);
			break;
		}
		small_dns_record(out, &at, n->name, DNS_CNAME, n->ttl, wire,
				 dns_write_name(wire, str_of(n->alias)));
		count++;
		n = small_dns_find(d, n->alias);
	}
	out[6] = (uint8_t)(count >> 8);
	out[7] = (uint8_t)count;
	if (*entry && (*entry)->manner == DNS_LONG && !by_tcp) {
		out[2] |= 2;
		memset(out + 6, 0, 2);
		return end + 4;
	}
	if (*entry && (*entry)->manner == DNS_GARBLED)
		return at - 3;
	return at;
}

static inline bool small_dns_is_silent(const struct small_dns_entry *n, const uint8_t *q)
{
	char name[256];
	size_t end = small_dns_name(q, 12, name);

	return n &&
	       (n->manner == DNS_SILENT || (n->manner == DNS_SILENT_6 && q[end + 1] == DNS_AAAA));
}

static inline int small_dns_udp(void *user, uint32_t events, struct err *e)
{
	struct small_dns *d = user;
	uint8_t q[2048], out[65536], lie[65536];
	struct sockaddr_in from;
	socklen_t from_bytes = sizeof(from);
	struct small_dns_entry *n;
	size_t len;
	ssize_t got = recvfrom(d->udp.fd, q, sizeof(q), 0, (struct sockaddr *)&from, &from_bytes);

	(void)events;
	(void)e;
	if (got < 17)
		return 0;
	d->last_source = ntohs(from.sin_port);
	d->last_id = (uint16_t)(q[0] << 8 | q[1]);
	d->last_type = (uint16_t)(q[got - 4] << 8 | q[got - 3]);
	len = small_dns_answer(d, q, (size_t)got, out, &n, false);
	if (small_dns_is_silent(n, q))
		return 0;
	memcpy(lie, out, len);
	lie[0] ^= 0xff;
	for (unsigned i = 0;
	     n && i < (n->manner == DNS_LIES_LOUDLY ? 100 : n->manner == DNS_LIES_FIRST); i++)
		(void)!sendto(d->udp.fd, lie, len, 0, (struct sockaddr *)&from, from_bytes);
	if (n && n->manner == DNS_LIES_LOUDLY)
		return 0;
	if (n && n->manner == DNS_WRONG_ID)
		out[0] ^= 0xff;
	if (n && n->manner == DNS_WRONG_NAME)
		out[13] ^= 1;
	(void)!sendto(d->udp.fd, out, len, 0, (struct sockaddr *)&from, from_bytes);
	return 0;
}

static inline int small_dns_stream(void *user, uint32_t events, struct err *e)
{
	struct small_dns *d = user;
	static uint8_t out[2 + 65536];
	struct small_dns_entry *n;
	ssize_t got = recv(d->connection.fd, d->in + d->got, sizeof(d->in) - d->got, 0);
	size_t len;

	(void)events;
	(void)e;
	if (got <= 0) {
		loop_remove(d->loop, &d->connection);
		(void)close(d->connection.fd);
		d->connection.fd = -1;
		return 0;
	}
	d->got += (size_t)got;
	if (d->got < 2 || d->got < 2u + (size_t)(d->in[0] << 8 | d->in[1]))
		return 0;
	len = small_dns_answer(d, d->in + 2, d->got - 2, out + 2, &n, true);
	d->got = 0;
	if (small_dns_is_silent(n, d->in + 2))
		return 0;
	out[0] = (uint8_t)(len >> 8);
	out[1] = (uint8_t)len;
	/* In two pieces: who reads has to put them together. */
	(void)!send(d->connection.fd, out, 1, MSG_NOSIGNAL);
	(void)!send(d->connection.fd, out + 1, len + 1, MSG_NOSIGNAL);
	return 0;
}

/* One connection at a time: the next waits in the queue of the listener. */
static inline int small_dns_accept(void *user, uint32_t events, struct err *e)
{
	struct small_dns *d = user;

	(void)events;
	if (d->connection.fd >= 0)
		return 0;
	d->connection.fd = accept4(d->tcp.fd, NULL, NULL, SOCK_CLOEXEC);
	d->got = 0;
	return d->connection.fd < 0 ? 0 : loop_add(d->loop, &d->connection, LOOP_IN, e);
}

/* The same port for both: the one that UDP got may be taken for TCP. */
static inline bool small_dns_bind(struct small_dns *d)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t bytes = sizeof(at);
	int one = 1;

	d->udp.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	d->tcp.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (setsockopt(d->tcp.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(d->udp.fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    getsockname(d->udp.fd, (struct sockaddr *)&at, &bytes) == 0 &&
	    bind(d->tcp.fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(d->tcp.fd, 16) == 0) {
		d->port = ntohs(at.sin_port);
		return true;
	}
	(void)close(d->udp.fd);
	(void)close(d->tcp.fd);
	return false;
}

static inline bool small_dns_start(struct small_dns *d, struct loop *loop,
				   struct small_dns_entry *entries, size_t count, struct err *e)
{
	*d = (struct small_dns){
		.loop = loop,
		.entries = entries,
		.count = count,
		.udp = { .fd = -1, .ready = small_dns_udp, .user = d },
		.tcp = { .fd = -1, .ready = small_dns_accept, .user = d },
		.connection = { .fd = -1, .ready = small_dns_stream, .user = d },
	};
	for (unsigned i = 0; i < 100 && !d->port; i++)
		(void)small_dns_bind(d);
	return d->port && loop_add(loop, &d->udp, LOOP_IN, e) == 0 &&
	       loop_add(loop, &d->tcp, LOOP_IN, e) == 0;
}

static inline void small_dns_done(struct small_dns *d)
{
	struct watcher *all[] = { &d->udp, &d->tcp, &d->connection };

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		loop_remove(d->loop, all[i]);
		if (all[i]->fd >= 0)
			(void)close(all[i]->fd);
	}
}
