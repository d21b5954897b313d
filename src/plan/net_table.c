/* SPDX-License-Identifier: MIT */
/*
 * The index behind net.c. It only finds rules: net.c knows what an allow or a deny means, and in
 * which order they count.
 *
 * A host that is asked about is itself a pattern that covers a single name or address. So one
 * relation, "lies within", answers both for hosts and for the question whether a project's rule
 * asks for more than its profile gives.
 */
#include "plan/net_table.h"

#include "base/sort.h"

/* ---- Order -------------------------------------------------------------- */

static int cmp_ports(const struct domain *a, const struct domain *b)
{
	int width_a = a->port_last - a->port_first, width_b = b->port_last - b->port_first;

	return width_a - width_b;
}

static int cmp_names(const struct domain *a, const struct domain *b)
{
	int c = str_cmp(a->name, b->name);

	if (c == 0)
		c = (int)a->kind - (int)b->kind;
	return c ? c : cmp_ports(a, b);
}

static int cmp_blocks(const struct domain *a, const struct domain *b)
{
	int c = b->block.bits - a->block.bits;

	if (c == 0)
		c = memcmp(a->block.first.bytes, b->block.first.bytes, sizeof(struct ip));
	return c ? c : cmp_ports(a, b);
}

typedef int (*domain_order)(const struct domain *a, const struct domain *b);

struct rule_order {
	const struct net_rule **rules;
	domain_order order;
};

static int order_rules(const void *context, uint32_t a, uint32_t b)
{
	const struct rule_order *o = context;

	return o->order(&o->rules[a]->domain, &o->rules[b]->domain);
}

/* Stable: of equal rules the first written is named. */
static int sort_rules(struct arena *a, const struct net_rule ***rules, size_t count,
		      domain_order order, struct err *e)
{
	struct rule_order o = { .rules = *rules, .order = order };
	const struct net_rule **sorted;
	uint32_t *numbers;

	if (count < 2)
		return 0;
	sorted = arena_array(a, count, sizeof(const struct net_rule *), e);
	numbers = arena_array(a, 2 * count, sizeof(*numbers), e);
	if (!sorted || !numbers)
		return err_result(e);
	for (size_t i = 0; i < count; i++)
		numbers[i] = (uint32_t)i;
	sort_numbers(numbers, numbers + count, count, order_rules, &o);
	for (size_t i = 0; i < count; i++)
		sorted[i] = o.rules[numbers[i]];
	*rules = sorted;
	return 0;
}

/* ---- Building ----------------------------------------------------------- */

int net_table_build(struct arena *a, const struct net_rule *rules, size_t count, bool is_allow,
		    struct net_table *out, struct err *e)
{
	struct net_table t = { .is_allow = is_allow };

	*out = t;
	if (count == 0)
		return 0;
	t.names = arena_array(a, count, sizeof(const struct net_rule *), e);
	t.blocks = arena_array(a, count, sizeof(const struct net_rule *), e);
	t.any = arena_array(a, count, sizeof(const struct net_rule *), e);
	if (!t.names || !t.blocks || !t.any)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		if (rules[i].is_allow != is_allow)
			continue;
		if (rules[i].domain.kind == DOMAIN_BLOCK)
			t.blocks[t.block_count++] = &rules[i];
		else if (rules[i].domain.kind == DOMAIN_ANY)
			t.any[t.any_count++] = &rules[i];
		else
			t.names[t.name_count++] = &rules[i];
	}
	if (sort_rules(a, &t.names, t.name_count, cmp_names, e) < 0 ||
	    sort_rules(a, &t.blocks, t.block_count, cmp_blocks, e) < 0 ||
	    sort_rules(a, &t.any, t.any_count, cmp_ports, e) < 0)
		return err_result(e);
	*out = t;
	return 0;
}

/* ---- Finding ------------------------------------------------------------ */

/*
 * SECURITY: if the port is unknown, the answer must not be "allowed" while one port is denied, nor
 * because one port is allowed. Otherwise a denied port could be reached.
 */
static bool applies(const struct net_table *t, const struct net_rule *rule,
		    const struct domain *what)
{
	const struct domain *d = &rule->domain;

	if (t->is_allow)
		return domain_is_within(what, d);
	return what->port_first <= d->port_last && what->port_last >= d->port_first &&
	       domain_is_host_within(what, d);
}

/* The first of the sorted rules that is not less than `key`. */
static size_t lower_bound(const struct net_rule *const *rules, size_t count,
			  const struct domain *key, domain_order order)
{
	size_t first = 0, last = count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (order(&rules[middle]->domain, key) < 0)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

static const struct net_rule *find_name(const struct net_table *t, const struct domain *what)
{
	struct domain key = { .kind = DOMAIN_EXACT, .name = what->name };

	for (;;) {
		size_t i = lower_bound(t->names, t->name_count, &key, cmp_names);

		for (; i < t->name_count && str_eq(t->names[i]->domain.name, key.name); i++)
			if (applies(t, t->names[i], what))
				return t->names[i];

		size_t dot = str_find(key.name, '.');
		if (dot == key.name.len)
			return NULL;
		key.name = str_from(key.name, dot + 1);
	}
}

static struct ip mask_ip(struct ip ip, unsigned bits)
{
	for (unsigned i = 0; i < sizeof(ip.bytes); i++) {
		unsigned kept = bits > i * 8 ? MIN_OF(bits - i * 8, 8u) : 0;

		ip.bytes[i] = (uint8_t)(ip.bytes[i] & (0xff00u >> kept));
	}
	return ip;
}

static const struct net_rule *find_block(const struct net_table *t, const struct domain *what)
{
	struct domain key = { .kind = DOMAIN_BLOCK, .block.bits = what->block.bits };

	/* Each iteration tries one prefix length, from the longest possible downwards. */
	for (;;) {
		size_t i;

		key.block.first = (struct ip){ { 0 } };
		i = lower_bound(t->blocks, t->block_count, &key, cmp_blocks);
		if (i == t->block_count)
			return NULL;
		key.block.bits = t->blocks[i]->domain.block.bits;
		key.block.first = mask_ip(what->block.first, key.block.bits);
		i = lower_bound(t->blocks, t->block_count, &key, cmp_blocks);
		for (; i < t->block_count; i++) {
			const struct domain *d = &t->blocks[i]->domain;

			if (d->block.bits != key.block.bits ||
			    memcmp(&d->block.first, &key.block.first, sizeof(struct ip)) != 0)
				break;
			if (applies(t, t->blocks[i], what))
				return t->blocks[i];
		}
		if (key.block.bits == 0)
			return NULL;
		key.block.bits--;
	}
}

const struct net_rule *net_table_find(const struct net_table *t, const struct domain *what)
{
	const struct net_rule *found = NULL;

	if (what->kind == DOMAIN_BLOCK)
		found = find_block(t, what);
	else if (what->kind != DOMAIN_ANY)
		found = find_name(t, what);
	for (size_t i = 0; !found && i < t->any_count; i++)
		if (applies(t, t->any[i], what))
			found = t->any[i];
	return found;
}
