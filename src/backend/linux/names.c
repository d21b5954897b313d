/* SPDX-License-Identifier: MIT */
/*
 * Names that are asked for while the network is off. The name servers of the host are addresses
 * of the sandbox itself then, and each question comes here: it is a denial with a name, and the
 * answer is always that there is no such name, so that nobody waits for one.
 *
 * SECURITY: this is in the supervising process. A question is read as the proxy reads it
 * (dns/message.c), bounded, and nothing is ever asked of anybody because of it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "backend/linux/supervisor.h"
#include "os/os.h"
#include "proxy/dns/message.h"

enum {
	CONF_BYTES = 4096,
	QUESTION_BYTES = 512,
	AT_ONCE = 32, /* before others have their turn */
};

/* ---- Where -------------------------------------------------------------------------------- */

/* What can be an address of the sandbox's own. */
static bool may_be_ours(const struct ip *ip)
{
	return ip_is_v4(ip) && ip->bytes[12] != 0 && ip->bytes[12] < 224;
}

void names_prepare(struct supervisor *s, bool network_is_off, struct launch *out)
{
	char text[CONF_BYTES];
	struct names *n = &s->names;
	ssize_t len;

	n->are_wanted = network_is_off && !out->network;
	if (!network_is_off)
		return;
	len = os_read_small("/etc/resolv.conf", text, sizeof(text));
	resolv_conf_read((struct str){ text, len > 0 ? (size_t)len : 0 }, &n->conf);
	for (size_t i = 0; i < n->conf.server_count; i++) {
		const struct ip *ip = &n->conf.servers[i].ip;

		if (may_be_ours(ip))
			memcpy(&out->name_servers[out->name_server_count++], ip->bytes + 12, 4);
	}
}

/* ---- Questions ------------------------------------------------------------------------------ */

/*
 * What was meant: a resolver tries a name with each domain of its list behind it, with many
 * before the name as it is.
 */
static struct str strip_search(const struct resolv_conf *conf, struct str name)
{
	for (size_t i = 0; i < conf->search_count; i++) {
		struct str domain = str_of(conf->search[i]);
		struct str rest =
			str_first(name, name.len > domain.len ? name.len - domain.len - 1 : 0);

		if (rest.len && str_has_suffix(name, domain) && name.p[rest.len] == '.' &&
		    str_find(rest, '.') < rest.len)
			return rest;
	}
	return name;
}

static void take_question(struct supervisor *s, int fd, const struct sockaddr_in *from,
			  const uint8_t *message, size_t len)
{
	uint8_t reply[DNS_REPLY_BYTES];
	struct dns_query q;
	int code = dns_read_query(message, len, &q);
	size_t bytes;

	if (code < 0)
		return;
	if (code == DNS_FINE && !q.is_odd && q.name[0] && (q.type == DNS_A || q.type == DNS_AAAA) &&
	    s->connects)
		unix_connect_note_name(s->connects, strip_search(&s->names.conf, str_of(q.name)));
	bytes = dns_write_reply(
		reply, &q, code == DNS_FINE ? DNS_NO_SUCH_NAME : (enum dns_code)code, 0, NULL, 0);
	/* Who does not take it asks again. */
	(void)sendto(fd, reply, bytes, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)from,
		     sizeof(*from));
}

static int socket_is_ready(void *user, uint32_t events, struct err *e)
{
	struct names_socket *socket = user;
	uint8_t message[QUESTION_BYTES];

	(void)events;
	(void)e;
	for (int i = 0; i < AT_ONCE; i++) {
		struct sockaddr_in from = { .sin_family = AF_INET };
		socklen_t size = sizeof(from);
		ssize_t n = recvfrom(socket->watcher.fd, message, sizeof(message), MSG_DONTWAIT,
				     (struct sockaddr *)&from, &size);

		if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && size == sizeof(from))
			take_question(socket->supervisor, socket->watcher.fd, &from, message,
				      (size_t)n);
	}
	return 0;
}

int names_begin(struct supervisor *s, struct err *e)
{
	struct sandbox *sandbox = &s->sandbox;
	struct names *n = &s->names;

	if (!n->are_wanted)
		return 0;
	for (size_t i = 0; i < sandbox->socket_count && i < COUNT_OF(n->sockets); i++) {
		struct names_socket *socket = &n->sockets[i];

		socket->supervisor = s;
		socket->watcher = (struct watcher){ .fd = sandbox->sockets[i].fd,
						    .ready = socket_is_ready,
						    .user = socket };
		if (loop_add(s->in.loop, &socket->watcher, LOOP_IN, e) < 0)
			return err_result(e);
		n->count++;
	}
	if (s->connects && n->count)
		unix_connect_hear_names(s->connects);
	return 0;
}

void names_end(struct supervisor *s)
{
	for (size_t i = 0; i < s->names.count; i++)
		loop_remove(s->in.loop, &s->names.sockets[i].watcher);
	s->names.count = 0;
}
