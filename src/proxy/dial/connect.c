/* SPDX-License-Identifier: MIT */
/*
 * The sockets of a dial: connects by happy eyeballs, talks to an upstream proxy, and refuses
 * connections to the proxy itself. See parts.h.
 */
#include <errno.h>
#include <string.h>

#include "os/fd.h"
#include "os/socket.h"
#include "proxy/dial/parts.h"

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

void dial_close_all(struct dial *d)
{
	close_attempts(d);
	close_watched(d->dialer, &d->talk_watcher);
}

/* ---- Failures --------------------------------------------------------------------------- */

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

/* Of several failures, keeps the one that tells most about the host. */
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
	/* A copy, because the dial is freed before its owner is told. */
	dial_finish(d, &(struct dial_result){ .fd = fd,
					      .reason = PROXY_ALLOWED,
					      .has_address = d->result.has_address,
					      .address = d->result.address });
}

/* Whether another address of the same name may work. */
static bool is_about_address(int os_error)
{
	return (os_error >= 502 && os_error <= 504) || os_error == ENETUNREACH ||
	       os_error == EHOSTUNREACH || os_error == ECONNREFUSED || os_error == EIO ||
	       os_error == EAFNOSUPPORT;
}

static void take_refusal(struct dial *d, int os_error)
{
	close_watched(d->dialer, &d->talk_watcher);
	if (is_about_address(os_error) && ++d->beyond_tried < d->beyond_count) {
		d->result.address = d->beyond[d->beyond_tried];
		dial_begin_connecting(d);
		return;
	}
	dial_fail(d, PROXY_FAILED_UPSTREAM, os_error);
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

static bool is_same_ip(const struct ip *a, const struct ip *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/*
 * A connection that came back to this process: both ends are the same socket (TCP allows that), or
 * the peer is one of the proxy's own listeners, at whichever address of this host.
 */
static bool is_loop(const struct dial *d, int fd, const struct ip *ip)
{
	struct os_address local;
	bool is_here;

	if (socket_get_address(fd, &local) < 0)
		return true;
	is_here = is_same_ip(&local.ip, ip);
	if (is_here && local.port == d->port)
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

static void take_connection(struct attempt *a)
{
	struct dial *d = a->dial;
	struct ip ip = a->ip;
	int fd = a->watcher.fd;

	loop_remove(d->dialer->loop, &a->watcher);
	a->watcher.fd = -1;
	close_attempts(d);
	socket_prepare(fd);
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
	int os_error = socket_take_error(a->watcher.fd);

	(void)events;
	(void)e;
	if (os_error == 0 && is_loop(d, a->watcher.fd, &a->ip))
		os_error = ELOOP;
	if (os_error == 0) {
		take_connection(a);
		return 0;
	}
	close_watched(d->dialer, &a->watcher);
	d->open--;
	note_failure(d, &a->ip, os_error);
	/* RFC 8305, 5: after a failure, try the next address at once. */
	dial_connect_next(d);
	return 0;
}

/* Starts to connect with `fd`, which it takes over. 0 or an errno. */
static int attempt(struct dial *d, const struct ip *ip, int fd)
{
	struct attempt *a = &d->attempts[d->tried++];
	const struct os_address to = { .ip = *ip, .port = d->port };
	struct err e = ERR_INIT;
	int os_error;

	*a = (struct attempt){ .dial = d,
			       .ip = *ip,
			       .watcher = { .fd = fd, .ready = attempt_ready, .user = a } };
	if (fd < 0)
		a->watcher.fd = socket_open(ip_is_v4(ip), true);
	if (a->watcher.fd < 0)
		return errno;
	if (socket_connect(a->watcher.fd, &to) == 0 || errno == EINPROGRESS)
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
		dial_fail(d, PROXY_FAILED_UPSTREAM, d->result.os_error);
	else
		dial_end_later(d);
}

/*
 * Tries the next address that can be tried. Ends the dial if there is none and no attempt is under
 * way.
 */
void dial_connect_next(struct dial *d)
{
	d->next_ms = 0;
	while (d->tried < d->count) {
		const struct ip *ip = &d->addresses[d->tried];
		int os_error = attempt(d, ip, -1);

		if (os_error == 0) {
			d->next_ms = loop_now() + DIAL_STAGGER_MS;
			if (d->tried < d->count)
				dial_wake_by(d->dialer, d->next_ms);
			return;
		}
		note_failure(d, ip, os_error);
	}
	if (d->open == 0)
		give_up(d);
}

void dial_begin_connecting(struct dial *d)
{
	d->state = DIAL_CONNECTING;
	d->tried = 0;
	dial_connect_next(d);
}

void dial_connect_with(struct dial *d, const struct ip *ip, int fd)
{
	int os_error;

	d->state = DIAL_CONNECTING;
	d->count = 1;
	if (fd >= 0)
		socket_set_nonblocking(fd);
	os_error = attempt(d, ip, fd);
	if (os_error) {
		note_failure(d, ip, os_error);
		give_up(d);
	}
}
