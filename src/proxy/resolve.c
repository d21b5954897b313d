/* SPDX-License-Identifier: MIT */
/*
 * See resolve.h. A *search* is a name that is being looked up, for whoever waits for it. It
 * goes through the candidates that the search list makes of the name; for each there are two
 * *asks*, one for each family, that go their own way through the servers: UDP, TCP if need
 * be, the next server when one is silent or can't say.
 */
#include "proxy/resolve.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "proxy/keyed_hash.h"
#include "proxy/pool.h"
#include "proxy/sockets.h"

enum {
	MAX_SEARCHES = 100, /* of two sockets each, which server.c leaves room for */
	TCP_AT_ONCE = 32,
	CACHE_ENTRIES = 1024, /* a power of two */
	CACHE_PLACES = 4,     /* where an entry may be */
	HOSTS_BYTES = 4 << 20,
	CONF_BYTES = 64 << 10,
	LEAST_KEPT_MS = 1000,
	MOST_KEPT_MS = 60000,
	NOTHING_KEPT_MS = 2000, /* that there is nothing */
	GRACE_MS = 2000,	/* for one family when the other has answered */
	MAX_STRAYS = 32,	/* wrong answers: somebody is guessing. TCP can't be guessed */
	DATAGRAMS_AT_ONCE = 16,
	PORT_TRIES = 8,
};

struct stream {
	size_t done;
	uint8_t bytes[2 + DNS_MESSAGE_BYTES];
};

enum ask_state { ASK_DATAGRAM, ASK_CONNECTING, ASK_STREAM, ASK_PAUSED, ASK_DONE };

struct ask {
	struct search *search;
	enum ask_state state;
	uint16_t type, id;
	uint32_t tries; /* that have failed */
	uint32_t strays;
	uint64_t deadline_ms; /* then the next server has its turn */
	struct watcher watcher;
	struct stream *stream;
	struct dns_answer answer; /* of ASK_DONE; DNS_SERVER_FAILURE when nobody could say */
};

struct search {
	struct resolver *resolver;
	struct search *next, *previous;
	struct lookup *waiting;
	uint32_t first_server;
	size_t candidate_number;
	bool has_no_address; /* a candidate exists, without an address */
	uint64_t give_up_ms; /* 0: not before the servers are through */
	struct ask asks[2];
	char name[DNS_NAME_BYTES];
	char candidate[DNS_NAME_BYTES];
};

struct lookup {
	struct search *search;
	struct lookup *next;
	void (*done)(void *user, const struct found_addresses *found);
	void *user;
};

struct cached {
	uint64_t until_ms; /* 0: empty */
	char name[DNS_NAME_BYTES];
	struct found_addresses found;
};

/* An interface, by what resolv.conf calls it. */
struct zone {
	char name[CONF_ZONE_BYTES];
	uint32_t index;
};

struct resolver {
	struct loop *loop;
	struct timer timer;
	uint16_t port;
	uint32_t turn; /* of "rotate" */
	struct name_file conf_file, hosts_file;
	struct resolv_conf conf;
	struct zone zones[CONF_MAX_SERVERS]; /* of the servers at the start */
	struct hash_key key;
	struct pool searches, lookups, streams;
	struct search *first;
	struct cached *cache; /* CACHE_ENTRIES */
	uint8_t *scratch;     /* a datagram */
};

static int run_timer(void *user, struct err *e);
static void conclude(struct search *s);

/* ---- Made and ended -------------------------------------------------------------------- */

static int map_all(struct resolver *r, uint32_t most, struct err *e)
{
	if (hash_key_make(&r->key, e) < 0 ||
	    pool_make(&r->searches, sizeof(struct search), MAX_SEARCHES, e) < 0 ||
	    pool_make(&r->lookups, sizeof(struct lookup), most, e) < 0 ||
	    pool_make(&r->streams, sizeof(struct stream), TCP_AT_ONCE, e) < 0)
		return err_result(e);
	r->cache = pool_map(CACHE_ENTRIES * sizeof(struct cached), e);
	r->scratch = r->cache ? pool_map(DNS_MESSAGE_BYTES, e) : NULL;
	return r->scratch ? 0 : err_result(e);
}

/* Before the lock, which leaves no way to ask for the number of an interface. */
static void find_zones(struct resolver *r)
{
	for (size_t i = 0; i < r->conf.server_count; i++) {
		struct zone *z = &r->zones[i];

		memcpy(z->name, r->conf.servers[i].zone, sizeof(z->name));
		z->index = z->name[0] ? if_nametoindex(z->name) : 0;
	}
}

/* 0 for an interface that was not named then: that server can't be asked. */
static uint32_t zone_index(const struct resolver *r, const char *name)
{
	for (size_t i = 0; i < COUNT_OF(r->zones); i++)
		if (name[0] && strcmp(r->zones[i].name, name) == 0)
			return r->zones[i].index;
	return 0;
}

int resolver_make(struct resolver **out, const struct resolver_sources *sources, uint32_t most,
		  struct err *e)
{
	struct resolver *r = pool_map(sizeof(*r), e);

	if (!r)
		return err_result(e);
	r->port = sources->port;
	r->timer = (struct timer){ .due = run_timer, .user = r };
	if (map_all(r, most, e) < 0 ||
	    name_file_make(&r->conf_file, sources->resolv_conf, CONF_BYTES, e) < 0 ||
	    name_file_make(&r->hosts_file, sources->hosts, HOSTS_BYTES, e) < 0) {
		resolver_done(r);
		return err_result(e);
	}
	resolv_conf_read(name_file_text(&r->conf_file), &r->conf);
	find_zones(r);
	*out = r;
	return 0;
}

static void stop_asking(struct ask *a)
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

void resolver_done(struct resolver *r)
{
	for (struct search *s = r->first; s; s = s->next)
		for (size_t i = 0; i < COUNT_OF(s->asks); i++)
			stop_asking(&s->asks[i]);
	if (r->loop)
		loop_drop_timer(r->loop, &r->timer);
	name_file_done(&r->conf_file);
	name_file_done(&r->hosts_file);
	pool_done(&r->searches);
	pool_done(&r->lookups);
	pool_done(&r->streams);
	pool_unmap(r->cache, CACHE_ENTRIES * sizeof(struct cached));
	pool_unmap(r->scratch, DNS_MESSAGE_BYTES);
	pool_unmap(r, sizeof(*r));
}

int resolver_run(struct resolver *r, struct loop *loop, struct err *e)
{
	r->loop = loop;
	return loop_prepare_timers(loop, e);
}

static void wake_by(struct resolver *r, uint64_t at_ms)
{
	if (r->timer.at_ms == 0 || at_ms < r->timer.at_ms)
		loop_set_timer(r->loop, &r->timer, at_ms);
}

/* ---- What is known --------------------------------------------------------------------- */

static struct cached *cache_place(struct resolver *r, struct str name, size_t i)
{
	return &r->cache[(keyed_hash(&r->key, name) + i) % CACHE_ENTRIES];
}

static bool find_cached(struct resolver *r, struct str name, struct found_addresses *out)
{
	uint64_t now = loop_now();

	for (size_t i = 0; i < CACHE_PLACES; i++) {
		const struct cached *c = cache_place(r, name, i);

		if (c->until_ms > now && str_is(name, c->name)) {
			*out = c->found;
			return true;
		}
	}
	return false;
}

static void keep(struct resolver *r, struct str name, const struct found_addresses *found,
		 uint64_t for_ms)
{
	struct cached *place = NULL;

	for (size_t i = 0; i < CACHE_PLACES; i++) {
		struct cached *c = cache_place(r, name, i);

		if (c->until_ms && str_is(name, c->name)) {
			place = c;
			break;
		}
		if (!place || c->until_ms < place->until_ms)
			place = c;
	}
	place->until_ms = loop_now() + for_ms;
	place->found = *found;
	memcpy(place->name, name.p, name.len);
	place->name[name.len] = '\0';
}

/* RFC 6761, 6.3: no server is asked, and no file. */
static bool is_localhost(struct str name)
{
	return str_is(name, "localhost") || str_has_suffix(name, STR(".localhost"));
}

static void set_loopback(struct found_addresses *out)
{
	*out = (struct found_addresses){ .result = LOOKUP_FOUND, .count = 2 };
	(void)ip_parse(STR("::1"), &out->addresses[0]);
	(void)ip_parse(STR("127.0.0.1"), &out->addresses[1]);
}

struct str resolver_hosts(struct resolver *r)
{
	(void)name_file_look(&r->hosts_file);
	return name_file_text(&r->hosts_file);
}

static bool find_in_hosts(struct resolver *r, struct str name, struct found_addresses *out)
{
	out->result = LOOKUP_FOUND;
	out->count = hosts_find(resolver_hosts(r), name, out->addresses, COUNT_OF(out->addresses));
	return out->count > 0;
}

bool resolver_knows(struct resolver *r, struct str name, struct found_addresses *out)
{
	if (is_localhost(name)) {
		set_loopback(out);
		return true;
	}
	return find_in_hosts(r, name, out) || find_cached(r, name, out);
}

/* What other servers had said says nothing about these. */
static void look_at_conf(struct resolver *r)
{
	if (!name_file_look(&r->conf_file))
		return;
	resolv_conf_read(name_file_text(&r->conf_file), &r->conf);
	for (size_t i = 0; i < CACHE_ENTRIES; i++)
		if (r->cache[i].until_ms)
			r->cache[i].until_ms = 0;
}

/* The name with domain `i` of the search list behind it; false when that is too long. */
static bool add_domain(const struct resolv_conf *conf, struct str name, size_t i,
		       char out[DNS_NAME_BYTES])
{
	struct str domain = str_of(conf->search[i]);
	uint8_t wire[DNS_NAME_BYTES];

	if (name.len + 1 + domain.len >= CONF_DOMAIN_BYTES || dns_write_name(wire, domain) == 0)
		return false;
	memcpy(out, name.p, name.len);
	out[name.len] = '.';
	memcpy(out + name.len + 1, domain.p, domain.len);
	out[name.len + 1 + domain.len] = '\0';
	return true;
}

static bool is_short(const struct resolv_conf *conf, struct str name)
{
	size_t dots = 0;

	for (size_t i = 0; i < name.len; i++)
		dots += name.p[i] == '.';
	return dots < conf->ndots;
}

/* What is left of a name without a domain of the search list; the whole without one. */
static struct str without_domain(const struct resolv_conf *conf, struct str name)
{
	for (size_t i = 0; i < conf->search_count; i++) {
		struct str domain = str_of(conf->search[i]);

		if (name.len > domain.len + 1 && str_has_suffix(name, domain) &&
		    name.p[name.len - domain.len - 1] == '.')
			return str_first(name, name.len - domain.len - 1);
	}
	return name;
}

bool resolver_each_searched(const struct resolver *r, struct str name,
			    bool (*next)(void *user, struct str name), void *user)
{
	struct str host = without_domain(&r->conf, name);
	char candidate[DNS_NAME_BYTES];

	/* A long name is asked for as it is before the list is gone through. */
	if (host.len == name.len && !is_short(&r->conf, name))
		return false;
	if (next(user, host))
		return true;
	for (size_t i = 0; i < r->conf.search_count; i++)
		if (add_domain(&r->conf, host, i, candidate) && next(user, str_of(candidate)))
			return true;
	return false;
}

/* ---- One ask --------------------------------------------------------------------------- */

/* Goes on with the next server, from the timer: whoever calls may be in the middle of something. */
static void pause_ask(struct ask *a)
{
	stop_asking(a);
	a->state = ASK_PAUSED;
	a->deadline_ms = loop_now();
	wake_by(a->search->resolver, a->deadline_ms);
}

static void finish_ask(struct ask *a, const struct dns_answer *answer)
{
	struct search *s = a->search;

	stop_asking(a);
	a->state = ASK_DONE;
	a->answer = *answer;
	if (answer->count > 0) {
		s->give_up_ms = loop_now() + GRACE_MS;
		wake_by(s->resolver, s->give_up_ms);
	}
	conclude(s);
}

static socklen_t server_address(const struct ask *a, union address *out)
{
	const struct resolver *r = a->search->resolver;
	const struct name_server *server =
		&r->conf.servers[(a->search->first_server + a->tries) % r->conf.server_count];
	socklen_t size = address_write(out, &server->ip, r->port);

	if (out->any.sa_family == AF_INET6)
		out->v6.sin6_scope_id = zone_index(r, server->zone);
	return size;
}

/* The kernel's own choice of a port is the last resort: who guesses has to guess this too. */
static void bind_random_port(int fd, bool is_v4)
{
	static const struct ip any[] = { { .bytes = { 0 } },
					 { .bytes = { [10] = 0xff, [11] = 0xff } } };

	for (unsigned i = 0; i < PORT_TRIES; i++) {
		union address own;
		socklen_t size;
		uint16_t port;

		if (getrandom(&port, sizeof(port), 0) != (ssize_t)sizeof(port))
			return;
		size = address_write(&own, &any[is_v4], (uint16_t)(port | 1024));
		if (bind(fd, &own.any, size) == 0)
			return;
	}
}

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
	union address server;
	socklen_t bytes = server_address(a, &server);
	uint8_t question[DNS_ASK_BYTES];
	size_t len = write_ask(a, question);

	a->watcher.fd = socket(server.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->watcher.fd < 0)
		return false;
	bind_random_port(a->watcher.fd, server.any.sa_family == AF_INET);
	/* SECURITY: connected, so that only what this server sends ever comes here. */
	return connect(a->watcher.fd, &server.any, bytes) == 0 &&
	       send(a->watcher.fd, question, len, MSG_NOSIGNAL) == (ssize_t)len &&
	       watch(a, LOOP_IN);
}

static bool open_stream(struct ask *a)
{
	struct resolver *r = a->search->resolver;
	union address server;
	socklen_t bytes = server_address(a, &server);

	a->stream = pool_take(&r->streams);
	if (!a->stream)
		return false;
	a->stream->done = 0;
	a->watcher.fd = socket(server.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return a->watcher.fd >= 0 &&
	       (connect(a->watcher.fd, &server.any, bytes) == 0 || errno == EINPROGRESS) &&
	       watch(a, LOOP_OUT);
}

static void ask_server(struct ask *a, bool by_stream)
{
	struct resolver *r = a->search->resolver;

	stop_asking(a);
	a->strays = 0;
	a->state = by_stream ? ASK_CONNECTING : ASK_DATAGRAM;
	a->deadline_ms = loop_now() + r->conf.timeout_ms;
	if (getrandom(&a->id, sizeof(a->id), 0) != (ssize_t)sizeof(a->id) ||
	    !(by_stream ? open_stream(a) : send_datagram(a))) {
		pause_ask(a);
		return;
	}
	wake_by(r, a->deadline_ms);
}

static void next_server(struct ask *a)
{
	static const struct dns_answer nobody = { .code = DNS_SERVER_FAILURE };
	const struct resolv_conf *conf = &a->search->resolver->conf;

	a->tries++;
	if (a->tries >= conf->attempts * conf->server_count)
		finish_ask(a, &nobody);
	else
		ask_server(a, conf->uses_tcp);
}

/* An answer to what was asked. A server that can't say makes room for the next one. */
static void take_answer(struct ask *a, const struct dns_answer *answer)
{
	if (answer->is_truncated && a->state == ASK_DATAGRAM)
		ask_server(a, true);
	else if (answer->is_truncated ||
		 (answer->code != DNS_FINE && answer->code != DNS_NO_SUCH_NAME))
		pause_ask(a);
	else
		finish_ask(a, answer);
}

/* True: there may be more. */
static bool read_datagram(struct ask *a)
{
	struct resolver *r = a->search->resolver;
	ssize_t got = recv(a->watcher.fd, r->scratch, DNS_MESSAGE_BYTES, 0);
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
	/* The first bytes of a connection always fit; if not, it is not connected. */
	if (send(a->watcher.fd, message, len + 2, MSG_NOSIGNAL) != (ssize_t)len + 2 ||
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
	got = recv(a->watcher.fd, t->bytes + t->done, want - t->done, 0);
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

/* ---- A search -------------------------------------------------------------------------- */

/* The next name to ask for; false when there is none. */
static bool set_candidate(struct search *s)
{
	const struct resolv_conf *conf = &s->resolver->conf;
	struct str name = str_of(s->name);
	size_t domains = is_short(conf, name) ? conf->search_count : 0;

	for (; s->candidate_number < domains; s->candidate_number++)
		if (add_domain(conf, name, s->candidate_number, s->candidate))
			return true;
	if (s->candidate_number > domains)
		return false;
	memcpy(s->candidate, name.p, name.len + 1);
	return true;
}

static void ask_candidate(struct search *s)
{
	static const uint16_t types[] = { DNS_AAAA, DNS_A };

	s->give_up_ms = 0;
	for (size_t i = 0; i < COUNT_OF(s->asks); i++)
		s->asks[i] = (struct ask){
			.search = s,
			.type = types[i],
			.watcher = { .fd = -1, .ready = ask_ready, .user = &s->asks[i] },
		};
	for (size_t i = 0; i < COUNT_OF(s->asks); i++)
		ask_server(&s->asks[i], s->resolver->conf.uses_tcp);
}

static void end_search(struct search *s, const struct found_addresses *found)
{
	struct resolver *r = s->resolver;
	struct lookup *l;

	for (size_t i = 0; i < COUNT_OF(s->asks); i++)
		stop_asking(&s->asks[i]);
	/* Out of the list first: whoever is told may ask for the same name again. */
	if (s->previous)
		s->previous->next = s->next;
	else
		r->first = s->next;
	if (s->next)
		s->next->previous = s->previous;
	while ((l = s->waiting)) {
		void (*done)(void *, const struct found_addresses *) = l->done;
		void *user = l->user;

		s->waiting = l->next;
		pool_give(&r->lookups, l);
		done(user, found);
	}
	pool_give(&r->searches, s);
}

static void end_with_addresses(struct search *s)
{
	struct found_addresses found = { .result = LOOKUP_FOUND };
	uint64_t ttl_ms = MOST_KEPT_MS;

	for (size_t i = 0; i < COUNT_OF(s->asks); i++) {
		const struct dns_answer *a = &s->asks[i].answer;

		for (size_t k = 0; k < a->count; k++)
			found.addresses[found.count++] = a->addresses[k];
		/* Half an answer is better than none, but not for long. */
		if (a->code == DNS_SERVER_FAILURE)
			ttl_ms = LEAST_KEPT_MS;
		else if (a->count > 0)
			ttl_ms = MIN_OF(ttl_ms, (uint64_t)a->ttl * 1000);
	}
	keep(s->resolver, str_of(s->name), &found, MAX_OF(ttl_ms, (uint64_t)LEAST_KEPT_MS));
	end_search(s, &found);
}

static void end_without(struct search *s, enum lookup_result result)
{
	struct found_addresses found = { .result = result };

	if (result != LOOKUP_FAILED)
		keep(s->resolver, str_of(s->name), &found, NOTHING_KEPT_MS);
	end_search(s, &found);
}

static bool is_done(const struct ask *a)
{
	return a->state == ASK_DONE;
}

static bool has_code(const struct search *s, uint16_t code)
{
	return (is_done(&s->asks[0]) && s->asks[0].answer.code == code) ||
	       (is_done(&s->asks[1]) && s->asks[1].answer.code == code);
}

/* After an ask has ended: the end of the search, the next candidate, or nothing yet. */
static void conclude(struct search *s)
{
	bool is_missing = has_code(s, DNS_NO_SUCH_NAME);

	/* A name that does not exist does so for both families. */
	if (!is_missing && !(is_done(&s->asks[0]) && is_done(&s->asks[1])))
		return;
	for (size_t i = 0; i < COUNT_OF(s->asks); i++) {
		stop_asking(&s->asks[i]);
		if (!is_done(&s->asks[i]))
			s->asks[i].answer = (struct dns_answer){ .code = DNS_NO_SUCH_NAME };
		s->asks[i].state = ASK_DONE;
	}
	if (s->asks[0].answer.count + s->asks[1].answer.count > 0) {
		end_with_addresses(s);
		return;
	}
	if (!is_missing && has_code(s, DNS_SERVER_FAILURE)) {
		end_without(s, LOOKUP_FAILED);
		return;
	}
	s->has_no_address |= !is_missing;
	s->candidate_number++;
	if (set_candidate(s))
		ask_candidate(s);
	else
		end_without(s, s->has_no_address ? LOOKUP_NO_ADDRESS : LOOKUP_NO_SUCH_NAME);
}

/* The last ask to end may end the search with it. */
static void run_search(struct search *s, uint64_t now)
{
	static const struct dns_answer nobody = { .code = DNS_SERVER_FAILURE };

	for (size_t i = 0; i < COUNT_OF(s->asks); i++) {
		struct ask *a = &s->asks[i];
		bool is_last = is_done(&s->asks[1 - i]);

		if (is_done(a))
			continue;
		if (s->give_up_ms && s->give_up_ms <= now)
			finish_ask(a, &nobody);
		else if (a->deadline_ms <= now)
			next_server(a);
		else
			continue;
		if (is_last)
			return;
	}
}

static uint64_t first_deadline(const struct search *s)
{
	uint64_t first = s->give_up_ms ? s->give_up_ms : UINT64_MAX;

	for (size_t i = 0; i < COUNT_OF(s->asks); i++)
		if (!is_done(&s->asks[i]))
			first = MIN_OF(first, s->asks[i].deadline_ms);
	return first;
}

static int run_timer(void *user, struct err *e)
{
	struct resolver *r = user;
	uint64_t now = loop_now(), first = UINT64_MAX;

	(void)e;
	/* Whoever is told of an end may begin another search: that is put first, and not seen here. */
	for (struct search *s = r->first, *next; s; s = next) {
		next = s->next;
		run_search(s, now);
	}
	for (const struct search *s = r->first; s; s = s->next)
		first = MIN_OF(first, first_deadline(s));
	if (first != UINT64_MAX)
		wake_by(r, first);
	return 0;
}

/* ---- Those who wait -------------------------------------------------------------------- */

static struct search *find_search(struct resolver *r, struct str name)
{
	struct search *s = r->first;

	while (s && !str_is(name, s->name))
		s = s->next;
	return s;
}

static struct search *begin_search(struct resolver *r, struct str name)
{
	struct search *s = pool_take(&r->searches);

	if (!s)
		return NULL;
	*s = (struct search){ .resolver = r, .next = r->first };
	memcpy(s->name, name.p, name.len);
	look_at_conf(r);
	if (r->conf.rotates)
		s->first_server = r->turn++;
	if (r->first)
		r->first->previous = s;
	r->first = s;
	(void)set_candidate(s);
	ask_candidate(s);
	return s;
}

struct lookup *resolver_look_up(struct resolver *r, struct str name,
				void (*done)(void *user, const struct found_addresses *found),
				void *user)
{
	struct search *s;
	struct lookup *l;

	if (name.len >= CONF_DOMAIN_BYTES)
		return NULL;
	l = pool_take(&r->lookups);
	if (!l)
		return NULL;
	s = find_search(r, name);
	if (!s)
		s = begin_search(r, name);
	if (!s) {
		pool_give(&r->lookups, l);
		return NULL;
	}
	*l = (struct lookup){ .search = s, .next = s->waiting, .done = done, .user = user };
	s->waiting = l;
	return l;
}

/* The search goes on: its answer is kept for the next who asks. */
void lookup_cancel(struct lookup *l)
{
	struct lookup **at = &l->search->waiting;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	pool_give(&l->search->resolver->lookups, l);
}
