/* SPDX-License-Identifier: MIT */
/*
 * See dial.h. A dial looks its name up, judges what was found, connects to one address
 * after the other until one answers, and, with an upstream proxy, tells that one where to go
 * on to. What fails ends the dial from the timer, never from within a call.
 */
#include "proxy/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/fd.h"
#include "proxy/pool.h"
#include "proxy/resolve.h"
#include "proxy/upstream.h"

enum { MAX_ASKERS = 1024 };

struct attempt {
	struct dial *dial;
	struct watcher watcher; /* its fd is -1 when it is over */
	struct ip ip;
};

enum dial_state {
	DIAL_LOOKING_UP,
	DIAL_LOOKING_FOR_UPSTREAM,
	DIAL_CONNECTING,
	DIAL_TALKING, /* with the upstream proxy */
	DIAL_ENDING,  /* `result` waits for the timer */
};

struct dial {
	struct dialer *dialer;
	struct dial *next, *previous;
	enum dial_state state;
	struct target target;
	void (*done)(void *user, const struct dial_result *result);
	void *user;
	uint64_t deadline_ms;
	uint64_t next_ms; /* then the next address has its turn; 0: when the last has failed */
	struct lookup *lookup;
	bool is_judged; /* by policy; dial_address() is not */

	uint16_t port; /* that is connected to */
	size_t count, tried, open;
	struct ip addresses[DIAL_MAX_ADDRESSES];
	struct attempt attempts[DIAL_MAX_ADDRESSES];

	const struct upstream *upstream; /* NULL: directly */
	size_t beyond_count, beyond_tried;
	struct ip beyond[DIAL_MAX_ADDRESSES]; /* what it is told to connect to */
	struct upstream_talk talk;
	struct watcher talk_watcher;

	struct dial_result result;
};

/* The resolver inside waits for this. */
struct asker {
	struct dialer *dialer;
	struct asker *next, *previous;
	struct lookup *lookup;
	bool is_known; /* `result` waits for the timer */
	enum lookup_result result;
	uint64_t deadline_ms;
	void (*done)(void *user, enum lookup_result result);
	void *user;
};

struct own {
	struct ip ip;
	uint16_t port;
};

struct dialer {
	const struct rules *rules;
	struct resolver *resolver;
	struct loop *loop;
	struct timer timer;
	uint32_t timeout_ms;
	struct pool dials, askers;
	struct dial *first, *cursor; /* `cursor`: whom the timer looks at next */
	struct asker *first_asker, *asker_cursor;
	struct upstreams upstreams;
	size_t own_count;
	struct own own[DIAL_MAX_OWN];
};

static int run_timer(void *user, struct err *e);
static void connect_next(struct dial *d);

/* ---- Made and ended -------------------------------------------------------------------- */

int dialer_make_from(struct dialer **out, const struct rules *rules, bool allows_upstream,
		     const char *const *environment, size_t max_dials, uint32_t timeout_ms,
		     const struct resolver_sources *sources, struct err *e)
{
	struct dialer *d = pool_map(sizeof(*d), e);

	if (!d)
		return err_result(e);
	d->rules = rules;
	d->timeout_ms = timeout_ms;
	d->timer = (struct timer){ .due = run_timer, .user = d };
	if (pool_make(&d->dials, sizeof(struct dial), (uint32_t)max_dials, e) < 0 ||
	    pool_make(&d->askers, sizeof(struct asker), MAX_ASKERS, e) < 0 ||
	    resolver_make(&d->resolver, sources, (uint32_t)max_dials + MAX_ASKERS, e) < 0 ||
	    (allows_upstream && environment && upstreams_read(&d->upstreams, environment, e) < 0)) {
		dialer_done(d);
		return err_result(e);
	}
	*out = d;
	return 0;
}

int dialer_make(struct dialer **out, const struct rules *rules, bool allows_upstream,
		const char *const *environment, size_t max_dials, uint32_t timeout_ms,
		struct err *e)
{
	static const struct resolver_sources sources = RESOLVER_SOURCES_DEFAULT;

	return dialer_make_from(out, rules, allows_upstream, environment, max_dials, timeout_ms,
				&sources, e);
}

static void close_watched(struct dialer *dialer, struct watcher *w)
{
	if (w->fd < 0)
		return;
	loop_remove(dialer->loop, w);
	fd_close(&w->fd);
}

static void close_attempts(struct dial *d)
{
	for (size_t i = 0; i < d->tried; i++)
		close_watched(d->dialer, &d->attempts[i].watcher);
	d->open = 0;
}

/* All that it holds; it is in nobody's list any more. */
static void release(struct dial *d)
{
	struct dialer *dialer = d->dialer;

	if (d->lookup)
		lookup_cancel(d->lookup);
	close_attempts(d);
	close_watched(dialer, &d->talk_watcher);
	if (dialer->cursor == d)
		dialer->cursor = d->next;
	if (d->previous)
		d->previous->next = d->next;
	else
		dialer->first = d->next;
	if (d->next)
		d->next->previous = d->previous;
	pool_give(&dialer->dials, d);
}

static void release_asker(struct asker *a)
{
	struct dialer *dialer = a->dialer;

	if (a->lookup)
		lookup_cancel(a->lookup);
	if (dialer->asker_cursor == a)
		dialer->asker_cursor = a->next;
	if (a->previous)
		a->previous->next = a->next;
	else
		dialer->first_asker = a->next;
	if (a->next)
		a->next->previous = a->previous;
	pool_give(&dialer->askers, a);
}

void dialer_done(struct dialer *d)
{
	while (d->first)
		release(d->first);
	while (d->first_asker)
		release_asker(d->first_asker);
	if (d->loop)
		loop_drop_timer(d->loop, &d->timer);
	if (d->resolver)
		resolver_done(d->resolver);
	pool_done(&d->dials);
	pool_done(&d->askers);
	explicit_bzero(&d->upstreams, sizeof(d->upstreams));
	pool_unmap(d, sizeof(*d));
}

int dialer_run(struct dialer *d, struct loop *loop, struct err *e)
{
	d->loop = loop;
	if (loop_prepare_timers(loop, e) < 0)
		return err_result(e);
	return resolver_run(d->resolver, loop, e);
}

struct resolver *dialer_resolver(const struct dialer *d)
{
	return d->resolver;
}

int dialer_add_own(struct dialer *d, const struct ip *ip, uint16_t port, struct err *e)
{
	if (d->own_count == DIAL_MAX_OWN)
		return FAIL(e, ERR_LIMIT, "more than %d listeners on the host", DIAL_MAX_OWN);
	d->own[d->own_count++] = (struct own){ *ip, port };
	return 0;
}

static void wake_by(struct dialer *d, uint64_t at_ms)
{
	if (d->timer.at_ms == 0 || at_ms < d->timer.at_ms)
		loop_set_timer(d->loop, &d->timer, at_ms);
}

/* ---- How it ends ----------------------------------------------------------------------- */

static void finish(struct dial *d, const struct dial_result *result)
{
	void (*done)(void *, const struct dial_result *) = d->done;
	void *user = d->user;

	release(d);
	done(user, result);
}

static void end_later(struct dial *d)
{
	d->state = DIAL_ENDING;
	d->deadline_ms = loop_now();
	wake_by(d->dialer, d->deadline_ms);
}

static void fail(struct dial *d, enum proxy_reason reason, int os_error)
{
	d->result.reason = reason;
	d->result.os_error = os_error;
	end_later(d);
}

static enum proxy_reason reason_of(int os_error)
{
	switch (os_error) {
	case ECONNREFUSED:
	case ECONNRESET:
	case ELOOP: /* itself */
		return PROXY_FAILED_REFUSED;
	case ETIMEDOUT:
		return PROXY_FAILED_TIMEOUT;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ENOBUFS:
	case EAGAIN:
		return PROXY_FAILED_RESOURCES;
	default:
		return PROXY_FAILED_UNREACHABLE;
	}
}

/* Of several failures that is told which says most about the host. */
static unsigned weight_of(enum proxy_reason reason)
{
	switch ((unsigned)reason) {
	case PROXY_FAILED_REFUSED:
		return 4;
	case PROXY_FAILED_TIMEOUT:
		return 3;
	case PROXY_FAILED_UNREACHABLE:
		return 2;
	case PROXY_FAILED_RESOURCES:
		return 1;
	default:
		return 0;
	}
}

static void note_failure(struct dial *d, const struct ip *ip, int os_error)
{
	enum proxy_reason reason = reason_of(os_error);

	if (weight_of(reason) <= weight_of(d->result.reason))
		return;
	d->result.reason = reason;
	d->result.os_error = os_error;
	if (!d->upstream) {
		d->result.has_address = true;
		d->result.address = *ip;
	}
}

/* ---- The upstream proxy ---------------------------------------------------------------- */

static void succeed(struct dial *d, int fd)
{
	d->result.fd = fd;
	d->result.reason = PROXY_ALLOWED;
	d->result.os_error = 0;
	/* A copy: the dial is given back before its owner is told. */
	finish(d, &(struct dial_result){ .fd = fd,
					 .reason = PROXY_ALLOWED,
					 .has_address = d->result.has_address,
					 .address = d->result.address });
}

/* Whether another address of the same name may do better. */
static bool is_about_address(int os_error)
{
	return (os_error >= 502 && os_error <= 504) || os_error == ENETUNREACH ||
	       os_error == EHOSTUNREACH || os_error == ECONNREFUSED || os_error == EIO ||
	       os_error == EAFNOSUPPORT;
}

static void begin_connecting(struct dial *d)
{
	d->state = DIAL_CONNECTING;
	d->tried = 0;
	connect_next(d);
}

static void take_refusal(struct dial *d, int os_error)
{
	close_watched(d->dialer, &d->talk_watcher);
	if (is_about_address(os_error) && ++d->beyond_tried < d->beyond_count) {
		d->result.address = d->beyond[d->beyond_tried];
		begin_connecting(d);
		return;
	}
	fail(d, PROXY_FAILED_UPSTREAM, os_error);
}

static void talk(struct dial *d)
{
	struct err e = ERR_INIT;
	int os_error = 0;
	int fd;

	switch (upstream_talk_step(&d->talk, d->talk_watcher.fd, &os_error)) {
	case UPSTREAM_SENDS:
		if (loop_change(d->dialer->loop, &d->talk_watcher, LOOP_OUT, &e) < 0)
			take_refusal(d, EIO);
		break;
	case UPSTREAM_WAITS:
		if (loop_change(d->dialer->loop, &d->talk_watcher, LOOP_IN, &e) < 0)
			take_refusal(d, EIO);
		break;
	case UPSTREAM_CONNECTED:
		fd = d->talk_watcher.fd;
		loop_remove(d->dialer->loop, &d->talk_watcher);
		d->talk_watcher.fd = -1;
		succeed(d, fd);
		break;
	case UPSTREAM_REFUSED:
		take_refusal(d, os_error);
		break;
	}
}

static int talk_ready(void *user, uint32_t events, struct err *e)
{
	(void)events;
	(void)e;
	talk(user);
	return 0;
}

static void begin_talk(struct dial *d, int fd)
{
	struct err e = ERR_INIT;

	d->state = DIAL_TALKING;
	d->next_ms = 0;
	d->talk_watcher = (struct watcher){ .fd = fd, .ready = talk_ready, .user = d };
	upstream_talk_begin(&d->talk, d->upstream, &d->beyond[d->beyond_tried], d->target.port);
	if (loop_add(d->dialer->loop, &d->talk_watcher, LOOP_OUT, &e) < 0)
		take_refusal(d, EMFILE);
}

/* ---- Connecting ------------------------------------------------------------------------ */

static socklen_t socket_address(const struct ip *ip, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };

	*out = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
	if (ip_is_v4(ip)) {
		memcpy(&four.sin_addr, ip->bytes + 12, sizeof(four.sin_addr));
		memcpy(out, &four, sizeof(four));
		return sizeof(four);
	}
	memcpy(&six.sin6_addr, ip->bytes, sizeof(six.sin6_addr));
	memcpy(out, &six, sizeof(six));
	return sizeof(six);
}

/* The address and port of our end. */
static bool own_end(int fd, struct ip *ip, uint16_t *port)
{
	static const uint8_t v4_mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct sockaddr_storage at = { .ss_family = AF_UNSPEC };
	socklen_t bytes = sizeof(at);
	struct sockaddr_in four;
	struct sockaddr_in6 six;

	if (getsockname(fd, (struct sockaddr *)&at, &bytes) < 0)
		return false;
	if (at.ss_family == AF_INET) {
		memcpy(&four, &at, sizeof(four));
		memcpy(ip->bytes, v4_mapped, sizeof(v4_mapped));
		memcpy(ip->bytes + 12, &four.sin_addr, 4);
		*port = ntohs(four.sin_port);
		return true;
	}
	memcpy(&six, &at, sizeof(six));
	memcpy(ip->bytes, &six.sin6_addr, 16);
	*port = ntohs(six.sin6_port);
	return at.ss_family == AF_INET6;
}

static bool is_same_ip(const struct ip *a, const struct ip *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/*
 * A connection that came back to this process: both ends are one socket (TCP allows that),
 * or the other end is a listener of the proxy's own, by whichever address of this host.
 */
static bool is_loop(const struct dial *d, int fd, const struct ip *ip)
{
	struct ip local;
	uint16_t local_port;
	bool is_here;

	if (!own_end(fd, &local, &local_port))
		return true;
	is_here = is_same_ip(&local, ip);
	if (is_here && local_port == d->port)
		return true;
	if (!d->is_judged)
		return false;
	for (size_t i = 0; i < d->dialer->own_count; i++) {
		const struct own *own = &d->dialer->own[i];

		if (own->port == d->port && (is_here || is_same_ip(&own->ip, ip)))
			return true;
	}
	return false;
}

static void set_options(int fd)
{
	int one = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
}

static void take_connection(struct attempt *a)
{
	struct dial *d = a->dial;
	struct ip ip = a->ip;
	int fd = a->watcher.fd;

	loop_remove(d->dialer->loop, &a->watcher);
	a->watcher.fd = -1;
	close_attempts(d);
	set_options(fd);
	if (d->upstream) {
		begin_talk(d, fd);
		return;
	}
	d->result.has_address = true;
	d->result.address = ip;
	succeed(d, fd);
}

static int attempt_ready(void *user, uint32_t events, struct err *e)
{
	struct attempt *a = user;
	struct dial *d = a->dial;
	int os_error = 0;
	socklen_t bytes = sizeof(os_error);

	(void)events;
	(void)e;
	if (getsockopt(a->watcher.fd, SOL_SOCKET, SO_ERROR, &os_error, &bytes) < 0)
		os_error = errno;
	if (os_error == 0 && is_loop(d, a->watcher.fd, &a->ip))
		os_error = ELOOP;
	if (os_error == 0) {
		take_connection(a);
		return 0;
	}
	close_watched(d->dialer, &a->watcher);
	d->open--;
	note_failure(d, &a->ip, os_error);
	/* RFC 8305, 5: who has failed is not waited for. */
	connect_next(d);
	return 0;
}

/* Begins to connect with `fd` (taken over). 0 or an errno. */
static int attempt(struct dial *d, const struct ip *ip, int fd)
{
	struct attempt *a = &d->attempts[d->tried++];
	struct sockaddr_storage to;
	socklen_t bytes = socket_address(ip, d->port, &to);
	struct err e = ERR_INIT;
	int os_error;

	*a = (struct attempt){ .dial = d,
			       .ip = *ip,
			       .watcher = { .fd = fd, .ready = attempt_ready, .user = a } };
	if (fd < 0)
		a->watcher.fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (a->watcher.fd < 0)
		return errno;
	if (connect(a->watcher.fd, (struct sockaddr *)&to, bytes) == 0 || errno == EINPROGRESS)
		os_error = loop_add(d->dialer->loop, &a->watcher, LOOP_OUT, &e) < 0 ? e.os_error
										    : 0;
	else
		os_error = errno;
	if (os_error)
		fd_close(&a->watcher.fd);
	else
		d->open++;
	return os_error;
}

static void give_up(struct dial *d)
{
	if (d->upstream)
		fail(d, PROXY_FAILED_UPSTREAM, d->result.os_error);
	else
		end_later(d);
}

/* To the next address that can be tried at all; the end when there is none, and none is open. */
static void connect_next(struct dial *d)
{
	d->next_ms = 0;
	while (d->tried < d->count) {
		const struct ip *ip = &d->addresses[d->tried];
		int os_error = attempt(d, ip, -1);

		if (os_error == 0) {
			d->next_ms = loop_now() + DIAL_STAGGER_MS;
			if (d->tried < d->count)
				wake_by(d->dialer, d->next_ms);
			return;
		}
		note_failure(d, ip, os_error);
	}
	if (d->open == 0)
		give_up(d);
}

/* ---- Addresses ------------------------------------------------------------------------- */

/* RFC 8305, 4: the families in turns. `found` has those of IPv6 first. */
static size_t put_in_turns(const struct found_addresses *found, bool v4_first,
			   struct ip out[DIAL_MAX_ADDRESSES])
{
	size_t count = 0, six = 0, four = 0;
	bool wants_v4 = v4_first;

	while (count < DIAL_MAX_ADDRESSES) {
		while (six < found->count && ip_is_v4(&found->addresses[six]))
			six++;
		while (four < found->count && !ip_is_v4(&found->addresses[four]))
			four++;
		if (six == found->count && four == found->count)
			break;
		if (six == found->count || (wants_v4 && four < found->count))
			out[count++] = found->addresses[four++];
		else
			out[count++] = found->addresses[six++];
		wants_v4 = !ip_is_v4(&out[count - 1]);
	}
	return count;
}

/*
 * SECURITY: a name one of whose addresses is refused is refused as a whole (P13): whoever
 * runs the name could else have it both ways.
 */
static bool judge_all(struct dial *d, const struct found_addresses *found)
{
	for (size_t i = 0; i < found->count; i++) {
		struct judgement *j = &d->result.judgement;

		rules_judge_address(d->dialer->rules, &found->addresses[i], d->target.port, j);
		if (j->decision == DECISION_ALLOW)
			continue;
		d->result.has_address = true;
		d->result.address = found->addresses[i];
		fail(d, j->reason, 0);
		return false;
	}
	return true;
}

static void take_upstream(void *user, const struct found_addresses *found)
{
	struct dial *d = user;

	d->lookup = NULL;
	if (found->result != LOOKUP_FOUND) {
		fail(d, PROXY_FAILED_UPSTREAM, EHOSTUNREACH);
		return;
	}
	d->count = put_in_turns(found, false, d->addresses);
	begin_connecting(d);
}

/* The proxy was chosen by the user, not by who asks: its own address is not judged. */
static void find_upstream(struct dial *d, const struct found_addresses *found)
{
	const struct target *where = &d->upstream->where;
	struct found_addresses known = { .result = LOOKUP_FOUND, .count = 1 };

	d->state = DIAL_LOOKING_FOR_UPSTREAM;
	d->port = where->port;
	/* Many proxies have no IPv6. */
	d->beyond_count = put_in_turns(found, true, d->beyond);
	d->result.has_address = true;
	d->result.address = d->beyond[0];
	if (where->is_ip)
		known.addresses[0] = where->ip;
	if (where->is_ip || resolver_knows(d->dialer->resolver, str_of(where->name), &known)) {
		take_upstream(d, &known);
		return;
	}
	d->lookup = resolver_look_up(d->dialer->resolver, str_of(where->name), take_upstream, d);
	if (!d->lookup)
		fail(d, PROXY_FAILED_RESOURCES, ENOBUFS);
}

static int lookup_error(enum lookup_result result)
{
	if (result == LOOKUP_NO_SUCH_NAME)
		return ENOENT;
	return result == LOOKUP_NO_ADDRESS ? ENODATA : EAGAIN;
}

static void take_addresses(void *user, const struct found_addresses *found)
{
	struct dial *d = user;

	d->lookup = NULL;
	if (found->result != LOOKUP_FOUND) {
		fail(d, PROXY_FAILED_LOOKUP, lookup_error(found->result));
		return;
	}
	if (!judge_all(d, found))
		return;
	d->upstream =
		upstreams_find(&d->dialer->upstreams, &d->target, found->addresses, found->count);
	if (d->upstream) {
		find_upstream(d, found);
		return;
	}
	d->count = put_in_turns(found, false, d->addresses);
	begin_connecting(d);
}

/* ---- Begun and cancelled --------------------------------------------------------------- */

static struct dial *take_dial(struct dialer *dialer,
			      void (*done)(void *user, const struct dial_result *result),
			      void *user)
{
	struct dial *d = pool_take(&dialer->dials);

	if (!d)
		return NULL;
	*d = (struct dial){
		.dialer = dialer,
		.next = dialer->first,
		.done = done,
		.user = user,
		.deadline_ms = loop_now() + dialer->timeout_ms,
		.talk_watcher = { .fd = -1 },
		.result = { .fd = -1 },
	};
	if (d->next)
		d->next->previous = d;
	dialer->first = d;
	wake_by(dialer, d->deadline_ms);
	return d;
}

struct dial *dial_start(struct dialer *dialer, const struct target *target,
			void (*done)(void *user, const struct dial_result *result), void *user)
{
	struct dial *d = take_dial(dialer, done, user);
	struct found_addresses known = { .result = LOOKUP_FOUND, .count = 1 };

	if (!d)
		return NULL;
	d->target = *target;
	d->port = target->port;
	d->is_judged = true;
	if (target->is_ip)
		known.addresses[0] = target->ip;
	if (target->is_ip || resolver_knows(dialer->resolver, str_of(target->name), &known)) {
		take_addresses(d, &known);
		return d;
	}
	d->lookup = resolver_look_up(dialer->resolver, str_of(target->name), take_addresses, d);
	if (!d->lookup)
		fail(d, PROXY_FAILED_RESOURCES, ENOBUFS);
	return d;
}

struct dial *dial_address(struct dialer *dialer, int fd, const struct ip *ip, uint16_t port,
			  void (*done)(void *user, const struct dial_result *result), void *user)
{
	struct dial *d = take_dial(dialer, done, user);
	int os_error;

	if (!d) {
		fd_close(&fd);
		return NULL;
	}
	d->state = DIAL_CONNECTING;
	d->port = port;
	d->count = 1;
	if (fd >= 0)
		(void)fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
	os_error = attempt(d, ip, fd);
	if (os_error) {
		note_failure(d, ip, os_error);
		give_up(d);
	}
	return d;
}

void dial_cancel(struct dial *d)
{
	release(d);
}

/* ---- Look-ups alone -------------------------------------------------------------------- */

static void answer_asker(struct asker *a, enum lookup_result result)
{
	void (*done)(void *, enum lookup_result) = a->done;
	void *user = a->user;

	release_asker(a);
	done(user, result);
}

static void take_result(void *user, const struct found_addresses *found)
{
	struct asker *a = user;

	a->lookup = NULL;
	answer_asker(a, found->result);
}

bool dialer_look_up(struct dialer *d, const struct target *name,
		    void (*done)(void *user, enum lookup_result result), void *user)
{
	struct asker *a = pool_take(&d->askers);
	struct found_addresses known;

	if (!a)
		return false;
	*a = (struct asker){ .dialer = d,
			     .next = d->first_asker,
			     .deadline_ms = loop_now() + d->timeout_ms,
			     .done = done,
			     .user = user };
	if (a->next)
		a->next->previous = a;
	d->first_asker = a;
	if (resolver_knows(d->resolver, str_of(name->name), &known)) {
		a->is_known = true;
		a->result = known.result;
		a->deadline_ms = loop_now();
	} else {
		a->lookup = resolver_look_up(d->resolver, str_of(name->name), take_result, a);
		if (!a->lookup) {
			release_asker(a);
			return false;
		}
	}
	wake_by(d, a->deadline_ms);
	return true;
}

/* ---- Time ------------------------------------------------------------------------------ */

static void expire(struct dial *d)
{
	if (d->state == DIAL_LOOKING_UP)
		d->result.reason = PROXY_FAILED_LOOKUP;
	else
		d->result.reason = d->upstream ? PROXY_FAILED_UPSTREAM : PROXY_FAILED_TIMEOUT;
	d->result.os_error = ETIMEDOUT;
	if (d->state == DIAL_CONNECTING && !d->upstream && d->tried > 0) {
		d->result.has_address = true;
		d->result.address = d->attempts[d->tried - 1].ip;
	}
}

static void look_at_dial(struct dial *d, uint64_t now)
{
	if (d->deadline_ms <= now) {
		struct dial_result result;

		if (d->state != DIAL_ENDING)
			expire(d);
		result = d->result;
		finish(d, &result);
	} else if (d->state == DIAL_CONNECTING && d->next_ms && d->next_ms <= now) {
		connect_next(d);
	}
}

static void look_at_asker(struct asker *a, uint64_t now)
{
	if (a->deadline_ms <= now)
		answer_asker(a, a->is_known ? a->result : LOOKUP_FAILED);
}

/* Whoever is told of an end may begin or cancel others; the cursors know of it. */
static int run_timer(void *user, struct err *e)
{
	struct dialer *dialer = user;
	uint64_t now = loop_now(), first = UINT64_MAX;

	(void)e;
	for (struct dial *d = dialer->first; d; d = dialer->cursor) {
		dialer->cursor = d->next;
		look_at_dial(d, now);
	}
	for (struct asker *a = dialer->first_asker; a; a = dialer->asker_cursor) {
		dialer->asker_cursor = a->next;
		look_at_asker(a, now);
	}
	for (const struct dial *d = dialer->first; d; d = d->next) {
		first = MIN_OF(first, d->deadline_ms);
		if (d->state == DIAL_CONNECTING && d->next_ms && d->tried < d->count)
			first = MIN_OF(first, d->next_ms);
	}
	for (const struct asker *a = dialer->first_asker; a; a = a->next)
		first = MIN_OF(first, a->deadline_ms);
	if (first != UINT64_MAX)
		wake_by(dialer, first);
	return 0;
}
