/* SPDX-License-Identifier: MIT */
/* See history.h. */
#include "approve/history.h"

#include "approve/broker.h"

#include "base/mem.h"
#include "base/path.h"

/* Where the next string of a block goes; without a block it only counts. */
struct packer {
	char *block;
	size_t used, room;
	bool is_full;
};

static void *take(struct packer *p, size_t bytes)
{
	size_t at = p->used;

	if (p->is_full || bytes > p->room - p->used) {
		p->is_full = true;
		return NULL;
	}
	p->used += bytes;
	return p->block ? p->block + at : NULL;
}

/* With a NUL behind it. */
static void pack(struct packer *p, struct str *s)
{
	char *to = s->len < SIZE_MAX ? take(p, s->len + 1) : NULL;

	if (!to)
		return;
	if (s->len)
		memcpy(to, s->p, s->len);
	to[s->len] = '\0';
	s->p = to;
}

static void pack_argv(struct packer *p, struct ask *ask)
{
	struct str *argv = take(p, ask->argv_count * sizeof(*argv));

	if (argv && ask->argv_count)
		memcpy(argv, ask->argv, ask->argv_count * sizeof(*argv));
	for (size_t i = 0; i < ask->argv_count; i++) {
		struct str word = ask->argv[i];

		pack(p, &word);
		if (argv)
			argv[i] = word;
	}
	if (argv)
		ask->argv = argv;
}

/* argv first, because it has to be aligned. */
static void pack_all(struct packer *p, struct ask *ask, struct str *message)
{
	struct str file = str_of(ask->origin.file ? ask->origin.file : "");

	pack_argv(p, ask);
	pack(p, &ask->subject);
	pack(p, &ask->named);
	pack(p, &ask->program);
	pack(p, &ask->cwd);
	pack(p, &ask->rule);
	pack(p, &ask->reason);
	pack(p, &file);
	if (ask->origin.file)
		ask->origin.file = file.p;
	for (size_t i = 0; i < ask->offer_count; i++)
		pack(p, &ask->offers[i].grant.subject);
	pack(p, message);
}

struct kept *history_keep(struct history *h, const struct ask *ask, struct str message)
{
	struct packer counter = { .room = ASK_MAX_BYTES };
	struct ask copy = *ask;
	struct str text = message;
	struct packer packer;
	struct err e = ERR_INIT;
	struct kept *k;

	if (ask->argv_count > ASK_MAX_ARGV || ask->offer_count > ASK_MAX_OFFERS)
		return NULL;
	pack_all(&counter, &copy, &text);
	if (counter.is_full || h->bytes + sizeof(*k) + counter.used > BROKER_MAX_BYTES)
		return NULL;
	k = mem_new(sizeof(*k) + counter.used, &e);
	if (!k)
		return NULL;
	packer = (struct packer){ .block = (char *)(k + 1), .room = counter.used };
	k->bytes = sizeof(*k) + counter.used;
	k->ask = *ask;
	k->message = message;
	pack_all(&packer, &k->ask, &k->message);
	h->bytes += k->bytes;
	return k;
}

void history_drop(struct history *h, struct kept *k)
{
	if (k)
		h->bytes -= k->bytes;
	mem_free(k);
}

void history_drop_all(struct history *h, struct kept *first)
{
	while (first) {
		struct kept *next = first->next;

		history_drop(h, first);
		first = next;
	}
}

void history_done(struct history *h)
{
	history_drop_all(h, h->denied);
	history_drop_all(h, h->granted);
	h->denied = h->granted = NULL;
	h->denied_count = h->granted_count = 0;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

/* ESCALATE: whether both are for the same program, words and directory. Else it is true. */
static bool is_same_command(const struct ask *a, const struct ask *b)
{
	if (a->kind != ASK_ESCALATE && b->kind != ASK_ESCALATE)
		return true;
	if (a->kind != b->kind || a->argv_count != b->argv_count || !str_eq(a->cwd, b->cwd) ||
	    !str_eq(a->subject, b->subject))
		return false;
	for (size_t i = 0; i < a->argv_count; i++) {
		if (!str_eq(a->argv[i], b->argv[i]))
			return false;
	}
	return true;
}

static bool is_same_grant(const struct grant *a, const struct grant *b)
{
	return grant_covers(a, b) && grant_covers(b, a);
}

/* The next offer from `at` on that can be had for longer than one call. */
static size_t next_lasting(const struct ask *ask, size_t at)
{
	while (at < ask->offer_count && ask->offers[at].scopes == SCOPE_BIT(SCOPE_ONCE))
		at++;
	return at;
}

static bool has_same_offers(const struct ask *a, const struct ask *b)
{
	if (a->offer_count != b->offer_count)
		return false;
	for (size_t i = 0; i < a->offer_count; i++) {
		if (!is_same_grant(&a->offers[i].grant, &b->offers[i].grant))
			return false;
	}
	return true;
}

static bool has_same_lasting_offers(const struct ask *a, const struct ask *b)
{
	size_t i = next_lasting(a, 0);
	size_t k = next_lasting(b, 0);

	while (i < a->offer_count && k < b->offer_count) {
		if (!is_same_grant(&a->offers[i].grant, &b->offers[k].grant))
			return false;
		i = next_lasting(a, i + 1);
		k = next_lasting(b, k + 1);
	}
	return i == a->offer_count && k == b->offer_count;
}

bool ask_is_same(const struct ask *a, const struct ask *b)
{
	if (a->kind != b->kind || !is_same_command(a, b))
		return false;
	if (next_lasting(a, 0) == a->offer_count)
		return has_same_offers(a, b);
	return has_same_lasting_offers(a, b);
}

/* Whether what was granted is enough for the request. */
static bool is_enough(const struct kept *granted, const struct ask *ask)
{
	if (ask->kind == ASK_WRITE &&
	    path_depth(granted->ask.offers[0].grant.subject) < ask->least_depth)
		return false;
	for (size_t i = 0; i < ask->offer_count; i++) {
		const struct offer *offer = &ask->offers[i];

		/* What is offered for one call alone is not open after any grant. */
		if (offer->scopes != SCOPE_BIT(SCOPE_ONCE) &&
		    grant_covers(&granted->ask.offers[0].grant, &offer->grant))
			return is_same_command(&granted->ask, ask);
	}
	return false;
}

/* What of a request says what it is for: not who asked, or how. */
static struct ask take_essence(const struct ask *ask)
{
	struct ask essence = {
		.kind = ask->kind,
		.subject = STR_EMPTY,
		.named = STR_EMPTY,
		.program = STR_EMPTY,
		.cwd = STR_EMPTY,
		.rule = STR_EMPTY,
		.reason = STR_EMPTY,
		.offer_count = ask->offer_count,
	};

	memcpy(essence.offers, ask->offers, sizeof(essence.offers));
	if (ask->kind == ASK_ESCALATE) {
		essence.argv = ask->argv;
		essence.argv_count = ask->argv_count;
		essence.cwd = ask->cwd;
		essence.subject = ask->subject;
	}
	return essence;
}

/* ---- What was denied ------------------------------------------------------------------------- */

const struct kept *history_find_denied(const struct history *h, const struct ask *ask)
{
	const struct kept *k = h->denied;

	while (k && !ask_is_same(&k->ask, ask))
		k = k->next;
	return k;
}

bool history_is_full(const struct history *h)
{
	return h->denied_count >= BROKER_MAX_DENIED;
}

void history_add_denied(struct history *h, const struct ask *ask, struct str message)
{
	struct ask essence = take_essence(ask);
	struct kept *k;

	if (history_is_full(h) || history_find_denied(h, ask))
		return;
	k = history_keep(h, &essence, message);
	if (!k)
		return;
	k->next = h->denied;
	h->denied = k;
	h->denied_count++;
}

static void forget_denied(struct history *h, const struct kept *granted)
{
	struct kept **at = &h->denied;

	while (*at) {
		struct kept *k = *at;

		if (!is_enough(granted, &k->ask)) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		history_drop(h, k);
		h->denied_count--;
	}
}

/* ---- What was granted ------------------------------------------------------------------------ */

static bool has_expired(const struct kept *k, uint64_t now)
{
	return k->expires_ms && k->expires_ms <= now;
}

const struct kept *history_find_granted(const struct history *h, const struct ask *ask,
					uint64_t now)
{
	const struct kept *k = h->granted;

	while (k && (has_expired(k, now) || !is_enough(k, ask)))
		k = k->next;
	return k;
}

/* 0: it has no end. */
static void prolong(struct kept *k, enum grant_scope scope, uint64_t expires_ms)
{
	if (!k->expires_ms && !expires_ms)
		k->scope = MAX_OF(k->scope, scope);
	if (!k->expires_ms || (expires_ms && expires_ms <= k->expires_ms))
		return;
	k->expires_ms = expires_ms;
	k->scope = scope;
}

static struct kept *add_granted(struct history *h, const struct ask *essence)
{
	struct kept *k;

	if (h->granted_count >= BROKER_MAX_GRANTED)
		return NULL;
	k = history_keep(h, essence, STR_EMPTY);
	if (!k)
		return NULL;
	k->next = h->granted;
	h->granted = k;
	h->granted_count++;
	return k;
}

bool history_add_granted(struct history *h, const struct ask *ask, const struct grant *grant,
			 enum grant_scope scope, uint64_t expires_ms)
{
	struct ask essence = take_essence(ask);
	struct kept *k = h->granted;

	essence.offers[0] = (struct offer){ .grant = *grant, .scopes = SCOPE_BIT(scope) };
	essence.offer_count = 1;
	while (k && !ask_is_same(&k->ask, &essence))
		k = k->next;
	if (k) {
		prolong(k, scope, expires_ms);
	} else {
		k = add_granted(h, &essence);
		if (!k)
			return false;
		k->scope = scope;
		k->expires_ms = expires_ms;
	}
	forget_denied(h, k);
	return true;
}

bool history_holds(const struct history *h, const struct grant *grant, uint64_t now)
{
	const struct kept *k = h->granted;

	while (k && (has_expired(k, now) || !is_same_grant(&k->ask.offers[0].grant, grant)))
		k = k->next;
	return k != NULL;
}

void history_forget(struct history *h, const struct grant *grant)
{
	struct kept **at = &h->granted;

	while (*at) {
		struct kept *k = *at;

		if (!is_same_grant(&k->ask.offers[0].grant, grant)) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		history_drop(h, k);
		h->granted_count--;
	}
}

struct kept *history_take_expired(struct history *h, uint64_t now)
{
	struct kept **at = &h->granted;
	struct kept *k;

	while (*at && !has_expired(*at, now))
		at = &(*at)->next;
	k = *at;
	if (k) {
		*at = k->next;
		k->next = NULL;
		h->granted_count--;
	}
	return k;
}

uint64_t history_next_ms(const struct history *h)
{
	uint64_t next = 0;

	for (const struct kept *k = h->granted; k; k = k->next) {
		if (k->expires_ms && (!next || k->expires_ms < next))
			next = k->expires_ms;
	}
	return next;
}
