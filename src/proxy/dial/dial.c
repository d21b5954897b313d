/* SPDX-License-Identifier: MIT */
/*
 * See dial.h. A dial looks up its name, checks the addresses against the policy, and connects to
 * one after the other until one answers. With an upstream proxy it then asks that one for the rest
 * of the way. A failing dial ends from the timer, never from within a call.
 */
#include <errno.h>
#include <string.h>

#include "os/fd.h"
#include "os/memory.h"
#include "proxy/dial/parts.h"

enum { MAX_ASKERS = 1024 };

static int run_timer(void *user, struct err *e);

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

/* Frees what it holds. It is in no list any more. */
static void release(struct dial *d)
{
	struct dialer *dialer = d->dialer;

	if (d->lookup)
		lookup_cancel(d->lookup);
	dial_close_all(d);
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
	os_wipe(&d->upstreams, sizeof(d->upstreams));
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

void dial_wake_by(struct dialer *d, uint64_t at_ms)
{
	if (d->timer.at_ms == 0 || at_ms < d->timer.at_ms)
		loop_set_timer(d->loop, &d->timer, at_ms);
}

/* ---- How it ends ----------------------------------------------------------------------- */

void dial_finish(struct dial *d, const struct dial_result *result)
{
	void (*done)(void *, const struct dial_result *) = d->done;
	void *user = d->user;

	release(d);
	done(user, result);
}

void dial_end_later(struct dial *d)
{
	d->state = DIAL_ENDING;
	d->deadline_ms = loop_now();
	dial_wake_by(d->dialer, d->deadline_ms);
}

void dial_fail(struct dial *d, enum proxy_reason reason, int os_error)
{
	d->result.reason = reason;
	d->result.os_error = os_error;
	dial_end_later(d);
}

/* ---- Addresses ------------------------------------------------------------------------- */

/* RFC 8305, 4: alternates the families. `found` has the IPv6 addresses first. */
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
 * SECURITY: refuse a name if the policy refuses any of its addresses (P13). Else whoever runs the
 * name's DNS could mix a public address with a private one, and clients that fall back would reach
 * the private one.
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
		dial_fail(d, j->reason, 0);
		return false;
	}
	return true;
}

static void take_upstream(void *user, const struct found_addresses *found)
{
	struct dial *d = user;

	d->lookup = NULL;
	if (found->result != LOOKUP_FOUND) {
		dial_fail(d, PROXY_FAILED_UPSTREAM, EHOSTUNREACH);
		return;
	}
	d->count = put_in_turns(found, false, d->addresses);
	dial_begin_connecting(d);
}

/* The user chose the upstream proxy, and not the client, so its own address needs no check. */
static void find_upstream(struct dial *d, const struct found_addresses *found)
{
	const struct target *where = &d->upstream->where;
	struct found_addresses known = { .result = LOOKUP_FOUND, .count = 1 };

	d->state = DIAL_LOOKING_FOR_UPSTREAM;
	d->port = where->port;
	/* IPv4 first, because many proxies have no IPv6. */
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
		dial_fail(d, PROXY_FAILED_RESOURCES, ENOBUFS);
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
		dial_fail(d, PROXY_FAILED_LOOKUP, lookup_error(found->result));
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
	dial_begin_connecting(d);
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
	dial_wake_by(dialer, d->deadline_ms);
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
		dial_fail(d, PROXY_FAILED_RESOURCES, ENOBUFS);
	return d;
}

struct dial *dial_address(struct dialer *dialer, int fd, const struct ip *ip, uint16_t port,
			  void (*done)(void *user, const struct dial_result *result), void *user)
{
	struct dial *d = take_dial(dialer, done, user);

	if (!d) {
		fd_close(&fd);
		return NULL;
	}
	d->port = port;
	dial_connect_with(d, ip, fd);
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
	dial_wake_by(d, a->deadline_ms);
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
		dial_finish(d, &result);
	} else if (d->state == DIAL_CONNECTING && d->next_ms && d->next_ms <= now) {
		dial_connect_next(d);
	}
}

static void look_at_asker(struct asker *a, uint64_t now)
{
	if (a->deadline_ms <= now)
		answer_asker(a, a->is_known ? a->result : LOOKUP_FAILED);
}

/* A callback may start or cancel other dials; those calls move the cursors. */
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
		dial_wake_by(dialer, first);
	return 0;
}
