/* SPDX-License-Identifier: MIT */
/*
 * See decide.h. The matcher is plan/net.c, which also answers `cordon why`. Rules that are added
 * while the proxy runs go into a copy of the policy: an allow as a grant (P18); a deny into a
 * narrowing layer above all others, so that it applies whatever the profile says. The matcher's
 * tables are then rebuilt in the other of two arenas. Answers are copied out, so nothing points
 * into the old tables.
 */
#include "proxy/decide.h"

#include <errno.h>

#include "base/utf8.h"
#include "os/memory.h"
#include "plan/suggest.h"
#include "policy/keys.h"

enum {
	LIVE_RULES_MAX = 1024,	 /* of either kind */
	LIVE_TEXT_BYTES = 2048,	 /* of one parsed rule: its name and its whole text */
	TABLE_BYTES_A_RULE = 96, /* pointers in plan/net_table.c, with room to sort them */
	TABLE_BYTES_A_LAYER = 1024,
	PARSE_BYTES = 4096, /* what parsing one host or pattern takes */
};

struct rules {
	size_t bytes; /* of the mapping that holds all of this */
	struct policy policy;
	struct layer *live; /* the last layer of the policy: denies */
	bool has_decider;
	const struct net *net;
	struct arena tables[2];
	unsigned current; /* of the tables */
	size_t added;
	struct arena texts;
	struct rule_place place;
};

/* ---- Targets ----------------------------------------------------------------------- */

/* Copies as much as fits, at whole characters. A file name keeps its end, which tells more. */
static void copy_text(char *out, size_t size, struct str text)
{
	struct str part = str_first(text, size - 1);

	while (part.len < text.len && part.len > 0 &&
	       ((unsigned char)text.p[part.len] & 0xC0) == 0x80)
		part.len--;
	memcpy(out, part.p, part.len);
	out[part.len] = '\0';
}

static void copy_end(char *out, size_t size, struct str text)
{
	size_t from = text.len < size ? 0 : text.len - (size - 1);

	while (from > 0 && from < text.len && ((unsigned char)text.p[from] & 0xC0) == 0x80)
		from++;
	copy_text(out, size, str_from(text, from));
}

struct hostname target_host(const struct target *t)
{
	return (struct hostname){ .is_ip = t->is_ip, .ip = t->ip, .name = str_of(t->name) };
}

/* The text of an address is also its normal form. */
bool target_is_same(const struct target *a, const struct target *b)
{
	return a->port == b->port && a->is_ip == b->is_ip && strcmp(a->name, b->name) == 0;
}

bool target_parse(struct target *out, struct str host, uint16_t port, char *why, size_t why_bytes)
{
	_Alignas(max_align_t) UNINITIALIZED unsigned char block[PARSE_BYTES];
	struct err e = ERR_INIT;
	struct hostname parsed;
	struct arena a;

	arena_over(&a, block, sizeof(block));
	if (hostname_parse(&a, host, &parsed, &e) < 0) {
		if (why_bytes)
			copy_text(why, why_bytes, str_of(e.text));
		return false;
	}
	if (parsed.name.len >= sizeof(out->name)) {
		if (why_bytes)
			copy_text(why, why_bytes, STR("a host name is too long"));
		return false;
	}
	*out = (struct target){ .is_ip = parsed.is_ip, .port = port };
	if (parsed.is_ip)
		out->ip = parsed.ip;
	memcpy(out->name, parsed.name.p, parsed.name.len);
	return true;
}

/* ---- Rules ------------------------------------------------------------------------- */

static size_t count_rules(const struct policy *p)
{
	size_t count = p->net_grants.count;

	for (size_t i = 0; i < p->layers.count; i++)
		count += p->layers.items[i].net.rules.count;
	return count;
}

static size_t table_bytes(const struct policy *p)
{
	return PARSE_BYTES + TABLE_BYTES_A_RULE * (count_rules(p) + (size_t)2 * LIVE_RULES_MAX) +
	       TABLE_BYTES_A_LAYER * (p->layers.count + 1);
}

/* Rebuilds the tables from the policy. If that fails, the old ones stay. */
static int build(struct rules *r, struct err *e)
{
	unsigned next = 1 - r->current;
	const struct net *net;

	arena_rewind(&r->tables[next]);
	net = net_build(&r->tables[next], &r->policy, r->has_decider, e);
	if (!net)
		return err_result(e);
	r->net = net;
	r->current = next;
	return 0;
}

static struct layer live_layer(struct net_rule *room)
{
	struct layer l = {
		.kind = LAYER_REQUIREMENTS,
		.name = STR("rules added while running"),
		.dir = STR_EMPTY,
		.digest = STR_EMPTY,
		.has_net = true,
	};
	struct profile nothing = { .name = STR_EMPTY };

	keys_init_narrowing(&nothing);
	l.net = nothing.net;
	l.net.access = NET_MANAGED;
	l.net.rules.items = room;
	l.net.rules.room = LIVE_RULES_MAX;
	return l;
}

/* Copies the policy with `room` for more rules; the arena `a` holds the rest. */
static int copy_policy(struct rules *r, const struct policy *p, struct net_rule *room,
		       struct arena *a, struct err *e)
{
	size_t layers = p->layers.count, grants = p->net_grants.count;
	struct layer *copy = arena_array(a, layers + 1, sizeof(*copy), e);
	struct net_rule *denies = room, *allows = room + LIVE_RULES_MAX;

	if (!copy)
		return err_result(e);
	memcpy(copy, p->layers.items, layers * sizeof(*copy));
	if (grants)
		memcpy(allows, p->net_grants.items, grants * sizeof(*allows));
	r->policy = *p;
	r->policy.layers.items = copy;
	r->policy.layers.count = r->policy.layers.room = layers + 1;
	r->policy.net_grants.items = allows;
	r->policy.net_grants.room = grants + LIVE_RULES_MAX;
	r->live = &copy[layers];
	*r->live = live_layer(denies);
	return 0;
}

static size_t rule_bytes(const struct policy *p)
{
	return (p->net_grants.count + (size_t)2 * LIVE_RULES_MAX) * sizeof(struct net_rule);
}

static size_t policy_bytes(const struct policy *p)
{
	return PARSE_BYTES + (p->layers.count + 1) * sizeof(struct layer) +
	       (size_t)2 * LIVE_RULES_MAX * LIVE_TEXT_BYTES;
}

/* Rounds up, so that what follows stays aligned. */
static size_t round_up(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Leaves out what is only shown if it does not fit; a character has up to four bytes. */
int rule_place_find(struct rule_place *out, const struct policy *policy, struct err *e)
{
	scoped_arena a = ARENA_INIT((size_t)64 * RULE_PLACE_BYTES);
	struct str prefix, words;

	out->prefix[0] = out->words[0] = '\0';
	if (plan_place_hosts(&a, policy, &prefix, &words, e) < 0)
		return err_result(e);
	if (utf8_shown_width(prefix) < sizeof(out->prefix) / 4 &&
	    utf8_shown_width(words) < sizeof(out->words) / 4) {
		(void)utf8_show(prefix, out->prefix, sizeof(out->prefix));
		(void)utf8_show(words, out->words, sizeof(out->words));
	}
	return 0;
}

int rules_make(struct rules **out, const struct plan *plan, const struct rule_place *place,
	       bool has_decider, struct err *e)
{
	const struct policy *p = plan->policy;
	size_t head = round_up(sizeof(struct rules)), tables = round_up(table_bytes(p));
	size_t texts = round_up(policy_bytes(p)), rules = round_up(rule_bytes(p));
	size_t bytes = head + 2 * tables + texts + rules;
	unsigned char *block = os_map(bytes);
	struct net_rule *room;
	struct rules *r;

	if (!block)
		return FAIL(e, ERR_NOMEM, "%zu bytes for the rules of the network", bytes);
	r = (struct rules *)(void *)block;
	r->bytes = bytes;
	r->has_decider = has_decider;
	r->place = *place;
	arena_over(&r->tables[0], block + head, tables);
	arena_over(&r->tables[1], block + head + tables, tables);
	arena_over(&r->texts, block + head + 2 * tables, texts);
	room = (struct net_rule *)(void *)(block + head + 2 * tables + texts);
	if (copy_policy(r, p, room, &r->texts, e) < 0 || build(r, e) < 0) {
		rules_done(r);
		return err_result(e);
	}
	*out = r;
	return 0;
}

void rules_done(struct rules *r)
{
	os_unmap(r, r->bytes);
}

static bool has_rule(const struct net_rule *rules, size_t count, const struct domain *d)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(rules[i].domain.text, d->text))
			return true;
	return false;
}

static int check_pattern(bool is_allow, struct str pattern, struct domain *d, struct arena *scratch,
			 struct err *e)
{
	if (domain_parse(scratch, pattern, d, e) < 0)
		return err_result(e);
	if (!is_allow && d->kind == DOMAIN_ANY)
		return FAIL(e, ERR_SYNTAX,
			    "'*' can only be allowed: what no rule allows is denied anyway");
	return 0;
}

int rules_add(struct rules *r, bool is_allow, struct str pattern, struct err *e)
{
	_Alignas(max_align_t) UNINITIALIZED unsigned char block[PARSE_BYTES];
	struct net_rules *live = &r->live->net;
	struct net_rule *items = is_allow ? r->policy.net_grants.items : live->rules.items;
	size_t *count = is_allow ? &r->policy.net_grants.count : &live->rules.count;
	size_t room = is_allow ? r->policy.net_grants.room : live->rules.room;
	struct arena scratch;
	struct domain d;

	arena_over(&scratch, block, sizeof(block));
	if (check_pattern(is_allow, pattern, &d, &scratch, e) < 0)
		return err_result(e);
	if (has_rule(items, *count, &d))
		return 0;
	if (*count == room)
		return FAIL(e, ERR_LIMIT, "%d rules were added already, which is the limit",
			    LIVE_RULES_MAX);
	items[*count] = (struct net_rule){
		.is_allow = is_allow,
		.origin = { .file = "added while running" },
	};
	if (domain_parse(&r->texts, d.text, &items[*count].domain, e) < 0)
		return err_result(e);
	(*count)++;
	if (build(r, e) < 0) {
		(*count)--;
		return err_result(e);
	}
	r->added++;
	return 0;
}

size_t rules_added(const struct rules *r)
{
	return r->added;
}

/* ---- Judging ------------------------------------------------------------------------- */

static enum proxy_reason reason_of(const struct net_verdict *v)
{
	if (v->decision == DECISION_ALLOW)
		return PROXY_ALLOWED;
	if (v->reason == NET_REASON_RULE)
		return PROXY_DENIED_RULE;
	if (v->reason == NET_REASON_PRIVATE)
		return PROXY_DENIED_PRIVATE;
	return PROXY_DENIED_UNLISTED;
}

static void set_origin(struct judgement *out, struct origin origin)
{
	if (!origin.file)
		return;
	copy_end(out->rule_file, sizeof(out->rule_file), str_of(origin.file));
	out->rule_line = origin.line;
}

static void set_judgement(const struct rules *r, const struct net_verdict *v, struct judgement *out)
{
	*out = (struct judgement){ .decision = v->decision,
				   .reason = reason_of(v),
				   .place = &r->place };
	if (v->rule)
		copy_text(out->rule, sizeof(out->rule), v->rule->domain.text);
	set_origin(out, v->origin);
	copy_text(out->profile, sizeof(out->profile), r->policy.profile->name);
}

void rules_judge(const struct rules *r, const struct target *t, struct judgement *out)
{
	struct hostname host = target_host(t);
	struct net_verdict v = net_resolve(r->net, &host, t->port);

	set_judgement(r, &v, out);
}

void rules_judge_address(const struct rules *r, const struct ip *ip, uint16_t port,
			 struct judgement *out)
{
	struct net_verdict v = net_resolve_address(r->net, ip, port);

	set_judgement(r, &v, out);
}

static bool passes(const struct rules *r, const struct hostname *host, uint16_t port)
{
	return net_resolve(r->net, host, port).decision == DECISION_ALLOW;
}

/*
 * The answer changes only at the bounds of rules. So the lowest port that is allowed is 1, the
 * first of an allow, or the one after a deny.
 */
static bool passes_at_edge(const struct rules *r, const struct hostname *host,
			   const struct net_rule *rules, size_t count)
{
	struct domain what = domain_of_host(host, 0);

	for (size_t i = 0; i < count; i++) {
		const struct domain *d = &rules[i].domain;
		uint16_t edge = rules[i].is_allow ? d->port_first : (uint16_t)(d->port_last + 1);

		if (edge != 0 && domain_is_host_within(&what, d) && passes(r, host, edge))
			return true;
	}
	return false;
}

bool rules_may_look_up(const struct rules *r, const struct target *t)
{
	const struct policy *p = &r->policy;
	struct hostname host = target_host(t);

	if (passes(r, &host, 443) || passes(r, &host, 1) ||
	    passes_at_edge(r, &host, p->net_grants.items, p->net_grants.count))
		return true;
	for (size_t i = 0; i < p->layers.count; i++)
		if (passes_at_edge(r, &host, p->layers.items[i].net.rules.items,
				   p->layers.items[i].net.rules.count))
			return true;
	return false;
}

/* ---- P14 ------------------------------------------------------------------------------ */

bool rules_pass_method(const struct rules *r, struct str method)
{
	return net_method_passes(r->net, method);
}

bool rules_are_limited(const struct rules *r)
{
	return net_is_limited(r->net);
}

void rules_judge_method(const struct rules *r, struct str method, struct judgement *out)
{
	const struct policy *p = &r->policy;

	*out = (struct judgement){ .decision = DECISION_ALLOW, .reason = PROXY_ALLOWED };
	if (rules_pass_method(r, method))
		return;
	out->decision = DECISION_DENY;
	out->reason = method.len ? PROXY_DENIED_METHOD : PROXY_DENIED_TUNNEL;
	copy_text(out->rule, sizeof(out->rule), STR("mode = \"limited\""));
	copy_text(out->profile, sizeof(out->profile), p->profile->name);
	for (size_t i = 0; i < p->layers.count && !out->rule_file[0]; i++)
		if (p->layers.items[i].net.is_limited && (i == 0 || p->layers.items[i].has_net))
			set_origin(out, p->layers.items[i].net.limited_origin);
}
