/* SPDX-License-Identifier: MIT */
/*
 * Messages that wait for the parent: answers first, then records in the order in which they were
 * finished. None is ever dropped: an exchange keeps its record until it is sent, and while too many
 * wait the proxy accepts no new work.
 *
 * The first of equal refusals goes out at once. Those that follow within a second are counted in
 * one record. SECURITY: after the first ten thousand refusals, send one at a time. Else a command
 * that makes up a new target for each request could fill the audit log, until rotation removes the
 * records of others. While too many wait, the command has to wait too.
 */
#include "os/fd_pass.h"
#include "os/socket.h"
#include "proxy/server.h"

#include <errno.h>
#include <string.h>

enum {
	MAX_POSTS = 1024,
	MAX_POSTS_BEFORE_ORDERS = 512, /* the rest is for answers to orders that were read */
	MAX_WAITING = 512,	       /* records; then the proxy accepts no new work */
	RECENT = 64,
	TOGETHER_MS = 1000,
	FREE_REFUSALS = 10000, /* of a run; then one in a */
	REFUSAL_MS = 50,
	ATTRIBUTION_MS = 50, /* for the parent to say which process connected */
	DRAIN_MS = 10000,
};

struct post {
	struct post *next;
	struct proxy_message message;
};

/* A refusal that was just sent, and the equal ones since. */
struct recent {
	uint64_t hash;
	uint64_t sent_ms;
	struct exchange *waiting;
};

struct outbox {
	struct pool posts;
	struct post *first_post, *last_post;
	struct exchange *first, *last;
	uint32_t waiting;
	struct timer timer;
	bool is_blocked; /* the channel is full */
	uint32_t events; /* that the channel's watcher waits for */
	struct recent recent[RECENT];
	uint64_t refusals;
	uint64_t next_refusal_ms; /* the earliest time for the next one, after FREE_REFUSALS */
};

int outbox_make(struct outbox **out, struct err *e)
{
	struct outbox *o = pool_map(sizeof(*o), e);

	if (!o)
		return err_result(e);
	if (pool_make(&o->posts, sizeof(struct post), MAX_POSTS, e) < 0)
		return err_result(e);
	*out = o;
	return 0;
}

bool outbox_has_room(const struct server *s)
{
	return s->outbox->waiting < MAX_WAITING && !s->is_ending;
}

bool outbox_takes_orders(const struct server *s)
{
	return s->outbox->posts.used < MAX_POSTS_BEFORE_ORDERS;
}

/* ---- Equal refusals -------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}

static uint64_t refusal_hash(const struct proxy_record *r)
{
	uint64_t hash = 0xcbf29ce484222325u;

	hash = mix(hash, &r->protocol, sizeof(r->protocol));
	hash = mix(hash, &r->reason, sizeof(r->reason));
	hash = mix(hash, &r->port, sizeof(r->port));
	hash = mix(hash, &r->pid, sizeof(r->pid));
	hash = mix(hash, r->host, strlen(r->host));
	return mix(hash, r->method, strlen(r->method)) | 1;
}

static bool is_equal(const struct proxy_record *a, const struct proxy_record *b)
{
	return a->protocol == b->protocol && a->reason == b->reason && a->port == b->port &&
	       a->pid == b->pid && a->os_error == b->os_error && a->rule_line == b->rule_line &&
	       a->has_address == b->has_address &&
	       memcmp(&a->address, &b->address, sizeof(a->address)) == 0 &&
	       strcmp(a->host, b->host) == 0 && strcmp(a->method, b->method) == 0 &&
	       strcmp(a->rule, b->rule) == 0 && strcmp(a->rule_file, b->rule_file) == 0 &&
	       strcmp(a->program, b->program) == 0;
}

static bool is_refusal(const struct proxy_record *r)
{
	return proxy_is_denial(r->reason) || r->reason == PROXY_BAD_REQUEST ||
	       r->reason == PROXY_BAD_TOKEN;
}

/* True if a waiting record counts it. */
static bool join_equal(struct server *s, struct exchange *x)
{
	struct recent *slot;
	struct exchange *other;

	x->hash = refusal_hash(&x->record);
	slot = &s->outbox->recent[x->hash % RECENT];
	other = slot->waiting;
	if (slot->hash == x->hash && other && is_equal(&other->record, &x->record)) {
		other->record.count += x->record.count;
		other->record.bytes_up += x->record.bytes_up;
		other->record.bytes_down += x->record.bytes_down;
		return true;
	}
	if (slot->hash == x->hash && x->began_ms < slot->sent_ms + TOGETHER_MS)
		x->send_ms = MAX_OF(x->send_ms, slot->sent_ms + TOGETHER_MS);
	slot->hash = x->hash;
	slot->waiting = x;
	return false;
}

static void hold_back(struct outbox *o, struct exchange *x)
{
	if (o->refusals++ < FREE_REFUSALS)
		return;
	o->next_refusal_ms = MAX_OF(o->next_refusal_ms, loop_now()) + REFUSAL_MS;
	x->send_ms = MAX_OF(x->send_ms, o->next_refusal_ms);
}

static void note_sent(struct server *s, const struct exchange *x)
{
	struct recent *slot = &s->outbox->recent[x->hash % RECENT];

	if (x->hash == 0 || slot->waiting != x)
		return;
	slot->waiting = NULL;
	slot->sent_ms = loop_now();
}

/* ---- In and out ------------------------------------------------------------------------------- */

static int due(void *user, struct err *e)
{
	if (outbox_flush(user, e) < 0)
		return err_result(e);
	clients_resume(user);
	return 0;
}

static void wake_at(struct server *s, uint64_t at_ms)
{
	struct timer *t = &s->outbox->timer;

	t->due = due;
	t->user = s;
	if (t->at_ms == 0 || at_ms < t->at_ms)
		loop_set_timer(&s->loop, t, at_ms);
}

static void flush_soon(struct server *s, uint64_t at_ms)
{
	if (s->outbox->is_blocked || s->is_ending)
		return;
	if (at_ms) {
		wake_at(s, at_ms);
		return;
	}
	/* Never ends the proxy from here: the channel's watcher sees the same error. */
	if (outbox_flush(s, &s->failure) < 0)
		s->is_ending = true;
}

void outbox_add(struct server *s, struct exchange *x)
{
	struct outbox *o = s->outbox;

	if (x->peer_port)
		attribution_find(s, x);
	if (x->peer_port)
		x->send_ms = loop_now() + ATTRIBUTION_MS;
	if (is_refusal(&x->record)) {
		if (join_equal(s, x)) {
			pool_give(&s->exchanges, x);
			return;
		}
		hold_back(o, x);
	}
	x->previous = o->last;
	x->next = NULL;
	if (o->last)
		o->last->next = x;
	else
		o->first = x;
	o->last = x;
	o->waiting++;
	flush_soon(s, x->send_ms);
}

bool outbox_post(struct server *s, const struct proxy_message *m)
{
	struct outbox *o = s->outbox;
	struct post *p = pool_take(&o->posts);

	if (!p)
		return false;
	p->message = *m;
	p->next = NULL;
	if (o->last_post)
		o->last_post->next = p;
	else
		o->first_post = p;
	o->last_post = p;
	flush_soon(s, 0);
	return true;
}

static int send_message(const struct server *s, const struct proxy_message *m)
{
	ssize_t n;

	do
		n = fd_pass_tell(s->channel, m, sizeof(*m), FD_PASS_NO_WAIT);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int send_posts(struct server *s)
{
	struct outbox *o = s->outbox;

	while (o->first_post) {
		struct post *p = o->first_post;
		int r = send_message(s, &p->message);

		if (r < 0)
			return r;
		o->first_post = p->next;
		if (!p->next)
			o->last_post = NULL;
		pool_give(&o->posts, p);
	}
	return 0;
}

static void take_out(struct outbox *o, struct exchange *x)
{
	if (x->previous)
		x->previous->next = x->next;
	else
		o->first = x->next;
	if (x->next)
		x->next->previous = x->previous;
	else
		o->last = x->previous;
	o->waiting--;
}

static int send_record(struct server *s, struct exchange *x)
{
	struct proxy_message m;
	int r;

	if (x->peer_port)
		attribution_find(s, x);
	memset(&m, 0, offsetof(struct proxy_message, record));
	m.kind = PROXY_RECORD;
	m.record = x->record;
	r = send_message(s, &m);
	if (r < 0)
		return r;
	note_sent(s, x);
	take_out(s->outbox, x);
	pool_give(&s->exchanges, x);
	return 0;
}

/* Sends those that are due. `*next_ms`: when the first of the others is. */
static int send_records(struct server *s, bool all, uint64_t *next_ms)
{
	uint64_t now = loop_now();

	for (struct exchange *x = s->outbox->first, *next; x; x = next) {
		int r;

		next = x->next;
		if (x->send_ms > now && !all) {
			*next_ms = *next_ms ? MIN_OF(*next_ms, x->send_ms) : x->send_ms;
			continue;
		}
		r = send_record(s, x);
		if (r < 0)
			return r;
	}
	return 0;
}

static int wait_for_channel(struct server *s, struct err *e)
{
	struct outbox *o = s->outbox;
	uint32_t events = (outbox_takes_orders(s) ? LOOP_IN : 0u) | (o->is_blocked ? LOOP_OUT : 0u);

	if (events == o->events)
		return 0;
	o->events = events;
	return loop_change(&s->loop, &s->orders, events, e);
}

int outbox_flush(struct server *s, struct err *e)
{
	uint64_t next_ms = 0;
	int r = send_posts(s);

	if (r == 0)
		r = send_records(s, false, &next_ms);
	if (r < 0 && r != -EAGAIN) {
		s->is_ending = true; /* the parent is gone */
		return 0;
	}
	if (next_ms)
		wake_at(s, next_ms);
	s->outbox->is_blocked = r == -EAGAIN;
	return wait_for_channel(s, e);
}

bool outbox_drain(struct server *s)
{
	uint64_t until = loop_now() + DRAIN_MS, next_ms = 0, now;

	while ((now = loop_now()) < until) {
		int r = send_posts(s);

		if (r == 0)
			r = send_records(s, true, &next_ms);
		if (r != -EAGAIN)
			return r == 0;
		socket_wait(s->channel, true, (int)(until - now));
	}
	return false;
}
