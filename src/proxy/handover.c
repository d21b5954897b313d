/* SPDX-License-Identifier: MIT */
/* See handover.h. A number is little endian; a text has its length in front, 0xffffffff for NULL, and a NUL behind it. */
#include "proxy/handover.h"

#include <string.h>

#include "plan/net.h"

enum { NO_TEXT = -1, MOST_ITEMS = 1 << 20 };

/* ---- Writing ------------------------------------------------------------------------------------ */

static void add_number(struct buf *b, uint64_t number)
{
	for (size_t i = 0; i < sizeof(number); i++)
		buf_add_char(b, (char)(unsigned char)(number >> 8 * i));
}

static void add_str(struct buf *b, struct str text)
{
	add_number(b, text.len);
	buf_add(b, text);
	buf_add_char(b, '\0');
}

static void add_text(struct buf *b, const char *text)
{
	if (text)
		add_str(b, str_of(text));
	else
		add_number(b, (uint64_t)NO_TEXT);
}

static void add_origin(struct buf *b, struct origin origin)
{
	add_text(b, origin.file);
	add_number(b, origin.line);
	add_number(b, origin.column);
}

static void add_domain(struct buf *b, const struct domain *d)
{
	add_number(b, (uint64_t)d->kind);
	add_str(b, d->name);
	buf_add(b,
		(struct str){ (const char *)d->block.first.bytes, sizeof(d->block.first.bytes) });
	add_number(b, d->block.bits);
	add_number(b, d->port_first);
	add_number(b, d->port_last);
	add_str(b, d->text);
}

static void add_rules(struct buf *b, const struct net_rule *rules, size_t count)
{
	add_number(b, count);
	for (size_t i = 0; i < count; i++) {
		add_domain(b, &rules[i].domain);
		add_number(b, rules[i].is_allow);
		add_origin(b, rules[i].origin);
	}
}

static void add_sockets(struct buf *b, const struct net_socket *sockets, size_t count)
{
	add_number(b, count);
	for (size_t i = 0; i < count; i++) {
		add_str(b, sockets[i].path);
		add_number(b, sockets[i].below_home);
		add_number(b, sockets[i].is_allow);
		add_origin(b, sockets[i].origin);
	}
}

static void add_layer(struct buf *b, const struct layer *l)
{
	const struct net_rules *n = &l->net;

	add_number(b, (uint64_t)l->kind);
	add_number(b, l->has_net);
	add_str(b, l->name);
	add_number(b, (uint64_t)n->access);
	add_origin(b, n->access_origin);
	add_number(b, n->access_is_set);
	add_number(b, n->is_limited);
	add_origin(b, n->limited_origin);
	add_number(b, n->allows_local_binding);
	add_number(b, n->allows_upstream_proxy);
	add_rules(b, n->rules.items, n->rules.count);
	add_sockets(b, n->sockets.items, n->sockets.count);
}

static void add_policy(struct buf *b, const struct policy *p)
{
	add_str(b, p->profile->name);
	add_number(b, p->profile->is_unsandboxed);
	add_number(b, p->layers.count);
	for (size_t i = 0; i < p->layers.count; i++)
		add_layer(b, &p->layers.items[i]);
	add_rules(b, p->net_grants.items, p->net_grants.count);
	add_sockets(b, p->socket_grants.items, p->socket_grants.count);
}

static bool names_proxy(const char *variable)
{
	struct str name = str_first(str_of(variable), str_find(str_of(variable), '='));

	return str_has_suffix(name, STR("_proxy")) || str_has_suffix(name, STR("_PROXY"));
}

static void add_environment(struct buf *b, const char *const *environment)
{
	size_t count = 0;

	for (size_t i = 0; environment && environment[i]; i++)
		count += names_proxy(environment[i]);
	add_number(b, count);
	for (size_t i = 0; environment && environment[i]; i++)
		if (names_proxy(environment[i]))
			add_text(b, environment[i]);
}

int handover_print(const struct proxy_options *options, const struct rule_place *place,
		   struct buf *out, struct err *e)
{
	const struct proxy_limits *l = &options->limits;
	const uint32_t limits[] = { l->connections, l->header_ms, l->idle_ms,
				    l->silence_ms,  l->dial_ms,	  l->ask_ms };

	add_policy(out, options->plan->policy);
	add_number(out, options->has_decider);
	add_text(out, options->token);
	add_environment(out, options->environment);
	for (size_t i = 0; i < COUNT_OF(limits); i++)
		add_number(out, limits[i]);
	add_text(out, place->prefix);
	add_text(out, place->words);
	return buf_check(out, e);
}

/* ---- Reading -------------------------------------------------------------------------------------- */

/* What is left. A failure sticks. */
struct reading {
	struct arena *a;
	struct str rest;
	struct err *e;
};

static bool is_fine(const struct reading *r)
{
	return r->e->code == ERR_OK;
}

static void refuse(struct reading *r, const char *why)
{
	if (is_fine(r))
		(void)FAIL(r->e, ERR_SYNTAX, "what was handed to the proxy is not valid: %s", why);
}

/* NULL: there are not that many bytes. */
static const char *take(struct reading *r, size_t bytes)
{
	const char *at = r->rest.p;

	if (!is_fine(r) || r->rest.len < bytes) {
		refuse(r, "it ends too early");
		return NULL;
	}
	r->rest = str_from(r->rest, bytes);
	return at;
}

static uint64_t take_number(struct reading *r)
{
	const char *bytes = take(r, sizeof(uint64_t));
	uint64_t number = 0;

	for (size_t i = 0; bytes && i < sizeof(number); i++)
		number |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
	return number;
}

static uint64_t take_number_to(struct reading *r, uint64_t most)
{
	uint64_t number = take_number(r);

	if (number <= most)
		return number;
	refuse(r, "a number is too large");
	return 0;
}

static bool take_bool(struct reading *r)
{
	return take_number_to(r, 1) == 1;
}

static struct str take_length(struct reading *r, uint64_t length)
{
	const char *at;

	if (length >= r->rest.len) {
		refuse(r, "it ends too early");
		return STR_EMPTY;
	}
	at = take(r, (size_t)length + 1);
	if (!at)
		return STR_EMPTY;
	if (memchr(at, '\0', (size_t)length + 1) != at + length) {
		refuse(r, "a text has a NUL in it");
		return STR_EMPTY;
	}
	return (struct str){ at, (size_t)length };
}

static struct str take_str(struct reading *r)
{
	return take_length(r, take_number(r));
}

static const char *take_text(struct reading *r)
{
	uint64_t length = take_number(r);

	return length == (uint64_t)NO_TEXT || !is_fine(r) ? NULL : take_length(r, length).p;
}

/* Room for as many; each takes bytes, so a count that no text could have is refused. */
static void *take_items(struct reading *r, size_t size, size_t *count)
{
	uint64_t number = take_number_to(r, MIN_OF((uint64_t)MOST_ITEMS, (uint64_t)r->rest.len));
	void *items = is_fine(r) ? arena_array(r->a, (size_t)number + 1, size, r->e) : NULL;

	*count = items ? (size_t)number : 0;
	return items;
}

static struct origin take_origin(struct reading *r)
{
	struct origin origin = { .file = take_text(r) };

	origin.line = (uint32_t)take_number_to(r, UINT32_MAX);
	origin.column = (uint32_t)take_number_to(r, UINT32_MAX);
	return origin;
}

static void take_domain(struct reading *r, struct domain *d)
{
	const char *bytes;

	d->kind = (enum domain_kind)take_number_to(r, DOMAIN_BLOCK);
	d->name = take_str(r);
	bytes = take(r, sizeof(d->block.first.bytes));
	if (bytes)
		memcpy(d->block.first.bytes, bytes, sizeof(d->block.first.bytes));
	d->block.bits = (uint8_t)take_number_to(r, 128);
	d->port_first = (uint16_t)take_number_to(r, UINT16_MAX);
	d->port_last = (uint16_t)take_number_to(r, UINT16_MAX);
	d->text = take_str(r);
}

static struct net_rule *take_rules(struct reading *r, size_t *count)
{
	struct net_rule *rules = take_items(r, sizeof(*rules), count);

	for (size_t i = 0; i < *count && is_fine(r); i++) {
		take_domain(r, &rules[i].domain);
		rules[i].is_allow = take_bool(r);
		rules[i].origin = take_origin(r);
	}
	return rules;
}

static struct net_socket *take_sockets(struct reading *r, size_t *count)
{
	struct net_socket *sockets = take_items(r, sizeof(*sockets), count);

	for (size_t i = 0; i < *count && is_fine(r); i++) {
		sockets[i].path = take_str(r);
		sockets[i].below_home = take_bool(r);
		sockets[i].is_allow = take_bool(r);
		sockets[i].origin = take_origin(r);
	}
	return sockets;
}

static void take_layer(struct reading *r, struct layer *l)
{
	struct net_rules *n = &l->net;

	l->kind = (enum layer_kind)take_number_to(r, LAYER_CALL);
	l->has_net = take_bool(r);
	l->name = take_str(r);
	l->dir = l->digest = STR_EMPTY;
	n->access = (enum net_access)take_number_to(r, NET_MANAGED);
	n->access_origin = take_origin(r);
	n->access_is_set = take_bool(r);
	n->is_limited = take_bool(r);
	n->limited_origin = take_origin(r);
	n->allows_local_binding = take_bool(r);
	n->allows_upstream_proxy = take_bool(r);
	n->rules.items = take_rules(r, &n->rules.count);
	n->rules.room = n->rules.count;
	n->sockets.items = take_sockets(r, &n->sockets.count);
	n->sockets.room = n->sockets.count;
}

static void take_policy(struct reading *r, struct policy *p)
{
	struct profile *profile = ARENA_NEW(r->a, struct profile, r->e);

	if (!profile)
		return;
	p->profile = profile;
	profile->name = take_str(r);
	profile->is_unsandboxed = take_bool(r);
	p->layers.items = take_items(r, sizeof(*p->layers.items), &p->layers.count);
	p->layers.room = p->layers.count;
	for (size_t i = 0; i < p->layers.count && is_fine(r); i++)
		take_layer(r, &p->layers.items[i]);
	p->net_grants.items = take_rules(r, &p->net_grants.count);
	p->net_grants.room = p->net_grants.count;
	p->socket_grants.items = take_sockets(r, &p->socket_grants.count);
	p->socket_grants.room = p->socket_grants.count;
}

static const char *const *take_environment(struct reading *r)
{
	size_t count;
	const char **words = take_items(r, sizeof(*words), &count);

	for (size_t i = 0; i < count && is_fine(r); i++)
		words[i] = take_text(r);
	return words;
}

static void take_place(struct reading *r, char out[RULE_PLACE_BYTES])
{
	struct str text = take_str(r);

	if (text.len >= RULE_PLACE_BYTES) {
		refuse(r, "a text is too long");
		text = STR_EMPTY;
	}
	memcpy(out, text.p, text.len);
	out[text.len] = '\0';
}

static void take_limits(struct reading *r, struct proxy_limits *l)
{
	uint32_t *const limits[] = { &l->connections, &l->header_ms, &l->idle_ms,
				     &l->silence_ms,  &l->dial_ms,   &l->ask_ms };

	for (size_t i = 0; i < COUNT_OF(limits); i++)
		*limits[i] = (uint32_t)take_number_to(r, UINT32_MAX);
}

int handover_parse(struct arena *a, struct str bytes, struct proxy_options *out,
		   struct rule_place *place, struct err *e)
{
	struct reading r = { .a = a, .rest = bytes, .e = e };
	struct policy *policy = ARENA_NEW(a, struct policy, e);
	struct plan *plan = policy ? ARENA_NEW(a, struct plan, e) : NULL;

	if (!plan)
		return err_result(e);
	*out = (struct proxy_options){ .plan = plan };
	take_policy(&r, policy);
	out->has_decider = take_bool(&r);
	out->token = take_text(&r);
	out->environment = take_environment(&r);
	take_limits(&r, &out->limits);
	take_place(&r, place->prefix);
	take_place(&r, place->words);
	if (r.rest.len)
		refuse(&r, "it does not end where it should");
	if (!is_fine(&r))
		return err_result(e);
	plan->policy = policy;
	plan->net = net_build(a, policy, out->has_decider, e);
	return plan->net ? 0 : err_result(e);
}
