/* SPDX-License-Identifier: MIT */
/*
 * The network matcher; net.h says what it computes. It works on names and addresses as they are
 * written and never resolves a name.
 */
#include "plan/net.h"

#include "base/path.h"
#include "plan/net_table.h"
#include "policy/keys.h"

/* What one layer says, in a form that is fast to search. */
struct net_layer {
	const struct net_rules *said;
	struct net_table allow; /* of the profile only */
	struct net_table deny;
};

struct net {
	const struct policy *policy;
	struct net_layer *layers; /* at the same positions as policy->layers */
	struct net_table grants;
	enum net_access mode;
	struct net_rules narrowed; /* the profile's, and its keys narrowed by all layers */
	bool has_decider;
	bool is_unsandboxed;
};

const char *decision_name(enum decision d)
{
	switch (d) {
	case DECISION_DENY:
		return "deny";
	case DECISION_ASK:
		return "ask";
	case DECISION_ALLOW:
		return "allow";
	}
	return "?";
}

/* ---- Building ----------------------------------------------------------- */

static bool narrows(const struct policy *p, size_t layer)
{
	return layer > 0 && p->layers.items[layer].has_net;
}

/* Whether a narrowing layer restricts a network that is full. */
static bool has_restriction(const struct net_layer *l)
{
	if (l->said->is_limited || l->deny.name_count || l->deny.block_count || l->deny.any_count)
		return true;
	for (size_t i = 0; i < l->said->sockets.count; i++)
		if (!l->said->sockets.items[i].is_allow)
			return true;
	return false;
}

static enum net_access find_mode(const struct net *n)
{
	const struct policy *p = n->policy;
	enum net_access mode = p->layers.items[0].net.access;

	if (n->is_unsandboxed)
		return NET_FULL;
	if (mode == NET_OFF && (p->net_grants.count || p->socket_grants.count))
		mode = NET_MANAGED;
	for (size_t i = 1; i < p->layers.count; i++) {
		if (!narrows(p, i))
			continue;
		if (p->layers.items[i].net.access == NET_OFF)
			return NET_OFF;
		if (mode == NET_FULL && has_restriction(&n->layers[i]))
			mode = NET_MANAGED;
	}
	return mode;
}

/* The keys of `network` that are the same for all hosts. */
static int meet_keys(struct arena *a, struct net *n, struct err *e)
{
	struct profile met = { .net = *n->layers[0].said };
	int r = 0;

	for (size_t i = 1; i < n->policy->layers.count && r == 0; i++)
		if (narrows(n->policy, i))
			r = keys_meet(a, KEYS_NETWORK, &met,
				      &(struct profile){ .net = *n->layers[i].said }, e);
	n->narrowed = met.net;
	return r;
}

const struct net *net_build(struct arena *a, const struct policy *p, bool has_decider,
			    struct err *e)
{
	struct net *n = ARENA_NEW(a, struct net, e);

	if (!n)
		return NULL;
	if (p->layers.count == 0)
		return FAIL_NULL(e, ERR_INTERNAL, "a policy without layers");
	*n = (struct net){
		.policy = p,
		.layers = arena_array(a, p->layers.count, sizeof(struct net_layer), e),
		.has_decider = has_decider,
		.is_unsandboxed = p->profile->is_unsandboxed,
	};
	if (!n->layers)
		return NULL;
	for (size_t i = 0; i < p->layers.count; i++) {
		struct net_layer *l = &n->layers[i];
		const struct net_rules *said = &p->layers.items[i].net;

		l->said = said;
		if (net_table_build(a, said->rules.items, said->rules.count, false, &l->deny, e) <
		    0)
			return NULL;
		if (i == 0 && net_table_build(a, said->rules.items, said->rules.count, true,
					      &l->allow, e) < 0)
			return NULL;
	}
	if (net_table_build(a, p->net_grants.items, p->net_grants.count, true, &n->grants, e) < 0)
		return NULL;
	n->mode = find_mode(n);
	return meet_keys(a, n, e) < 0 ? NULL : n;
}

enum net_access net_mode(const struct net *n)
{
	return n->mode;
}

bool net_is_for_asking(const struct net *n)
{
	const struct net_rules *said = n->layers[0].said;

	return n->mode == NET_MANAGED && said->access == NET_MANAGED && said->access_origin.file &&
	       strcmp(said->access_origin.file, "--ask") == 0 && n->policy->net_grants.count == 0;
}

bool net_is_limited(const struct net *n)
{
	return n->narrowed.is_limited && !n->is_unsandboxed;
}

const struct net_rules *net_narrowed(const struct net *n)
{
	return &n->narrowed;
}

bool net_allows_local_binding(const struct net *n)
{
	return n->narrowed.allows_local_binding || n->is_unsandboxed;
}

bool net_allows_upstream_proxy(const struct net *n)
{
	return n->narrowed.allows_upstream_proxy || n->is_unsandboxed;
}

bool net_method_passes(const struct net *n, struct str method)
{
	return !net_is_limited(n) || str_is(method, "GET") || str_is(method, "HEAD") ||
	       str_is(method, "OPTIONS");
}

/* ---- One layer's answer ------------------------------------------------- */

static struct net_verdict by_rule(const struct net_rule *rule, size_t layer)
{
	return (struct net_verdict){
		.decision = rule->is_allow ? DECISION_ALLOW : DECISION_DENY,
		.reason = NET_REASON_RULE,
		.rule = rule,
		.layer = (uint32_t)layer,
		.origin = rule->origin,
	};
}

static struct net_verdict by_reason(enum decision decision, enum net_reason reason, size_t layer,
				    struct origin origin)
{
	return (struct net_verdict){
		.decision = decision,
		.reason = reason,
		.layer = (uint32_t)layer,
		.origin = origin,
	};
}

static const struct origin nowhere = { .file = NULL };

/*
 * SECURITY: a packet to an IPv6 address that carries an IPv4 address ends up at the latter, so a
 * deny of the IPv4 address covers both. Otherwise a command could get around the deny with the
 * other spelling.
 */
static const struct net_rule *find_deny(const struct net_table *t, const struct domain *what)
{
	const struct net_rule *found = net_table_find(t, what);
	struct domain inside = *what;

	if (!found && what->kind == DOMAIN_BLOCK &&
	    ip_embedded_v4(&what->block.first, &inside.block.first))
		found = net_table_find(t, &inside);
	return found;
}

static const struct net_rule *find_allow(const struct net *n, const struct domain *what)
{
	const struct net_rule *found = NULL;

	if (n->policy->layers.items[0].net.access != NET_OFF)
		found = net_table_find(&n->layers[0].allow, what);
	return found ? found : net_table_find(&n->grants, what);
}

/* The allow that a non-public address needs: one for that address or its block, never "*". */
static const struct net_rule *find_own_allow(const struct net *n, const struct domain *what)
{
	const struct net_rule *found = find_allow(n, what);

	return found && found->domain.kind == DOMAIN_BLOCK ? found : NULL;
}

/*
 * "localhost" is loopback by definition (RFC 6761, 6.3), the others by what
 * distributions write into /etc/hosts.
 */
static bool is_localhost(const struct domain *what)
{
	static const char *const known[] = {
		"localhost.localdomain",
		"localhost4",
		"localhost4.localdomain4",
		"localhost6",
		"localhost6.localdomain6",
		"ip6-localhost",
		"ip6-loopback",
	};

	if (what->kind != DOMAIN_EXACT)
		return false;
	for (size_t i = 0; i < COUNT_OF(known); i++)
		if (str_is(what->name, known[i]))
			return true;
	return hostname_is_localhost(what->name);
}

static bool is_exact(const struct net_rule *rule)
{
	return rule && rule->domain.kind == DOMAIN_EXACT;
}

static bool allows_loopback(const struct net *n, const struct domain *name)
{
	struct domain address = *name;

	if (!is_exact(find_allow(n, name)) && !is_exact(net_table_find(&n->grants, name)))
		return false;
	address.kind = DOMAIN_BLOCK;
	address.block.bits = 128;
	for (unsigned v6 = 0; v6 < 2; v6++)
		if (ip_parse(v6 ? STR("::1") : STR("127.0.0.1"), &address.block.first) &&
		    find_own_allow(n, &address) && !find_deny(&n->layers[0].deny, &address))
			return true;
	return false;
}

static bool is_guarded(const struct net *n, const struct domain *what)
{
	if (is_localhost(what))
		return !allows_loopback(n, what);
	return what->kind == DOMAIN_BLOCK && !ip_is_public(&what->block.first) &&
	       !find_own_allow(n, what);
}

/*
 * P13's order, except the last steps, which differ for names and for addresses that are about to be
 * dialled.
 */
static bool refuses_early(const struct net *n, const struct domain *what, struct net_verdict *out)
{
	const struct net_rule *deny = find_deny(&n->layers[0].deny, what);

	if (deny)
		*out = by_rule(deny, 0);
	else if (is_guarded(n, what))
		*out = by_reason(DECISION_DENY, NET_REASON_PRIVATE, 0, nowhere);
	else
		return false;
	return true;
}

/* The profile's answer if it is the same for all hosts; false if it depends on the host. */
static bool is_same_for_all(const struct net *n, struct net_verdict *out)
{
	const struct net_rules *said = n->layers[0].said;

	if (n->is_unsandboxed)
		*out = by_reason(DECISION_ALLOW, NET_REASON_UNSANDBOXED, 0, said->access_origin);
	else if (said->access == NET_FULL)
		*out = by_reason(DECISION_ALLOW, NET_REASON_FULL, 0, said->access_origin);
	else if (said->access == NET_OFF && n->policy->net_grants.count == 0)
		*out = by_reason(DECISION_DENY, NET_REASON_OFF, 0, said->access_origin);
	else
		return false;
	return true;
}

static struct net_verdict judge_profile(const struct net *n, const struct domain *what)
{
	const struct net_rules *said = n->layers[0].said;
	const struct net_rule *allow;
	struct net_verdict v;

	if (is_same_for_all(n, &v) || refuses_early(n, what, &v))
		return v;
	allow = find_allow(n, what);
	if (allow)
		return by_rule(allow, 0);
	if (said->access == NET_OFF)
		return by_reason(DECISION_DENY, NET_REASON_OFF, 0, said->access_origin);
	return by_reason(n->has_decider ? DECISION_ASK : DECISION_DENY, NET_REASON_UNMATCHED, 0,
			 nowhere);
}

/* Whether the narrowing layer lowers the answer; if so, its verdict. */
static bool lowers(const struct net *n, size_t layer, const struct domain *what,
		   struct net_verdict *out)
{
	const struct net_layer *l = &n->layers[layer];
	const struct net_rule *deny;

	if (n->is_unsandboxed || !narrows(n->policy, layer))
		return false;
	if (l->said->access == NET_OFF) {
		*out = by_reason(DECISION_DENY, NET_REASON_OFF, layer, l->said->access_origin);
		return true;
	}
	deny = find_deny(&l->deny, what);
	if (deny)
		*out = by_rule(deny, layer);
	return deny != NULL;
}

/*
 * The least of the profile's verdict and those of all layers above; of equals the lowest layer is
 * named.
 */
static struct net_verdict meet_layers(const struct net *n, const struct domain *what,
				      struct net_verdict v)
{
	for (size_t i = 1; i < n->policy->layers.count && v.decision != DECISION_DENY; i++)
		if (lowers(n, i, what, &v))
			break;
	return v;
}

struct net_verdict net_resolve(const struct net *n, const struct hostname *host, uint16_t port)
{
	struct domain what = domain_of_host(host, port);

	return meet_layers(n, &what, judge_profile(n, &what));
}

struct net_verdict net_resolve_address(const struct net *n, const struct ip *ip, uint16_t port)
{
	struct hostname host = { .is_ip = true, .ip = *ip, .name = STR_EMPTY };
	struct domain what = domain_of_host(&host, port);
	struct net_verdict v;

	if (!is_same_for_all(n, &v) && !refuses_early(n, &what, &v)) {
		const struct net_rule *allow = find_allow(n, &what);

		v = allow ? by_rule(allow, 0)
			  : by_reason(DECISION_ALLOW, NET_REASON_UNMATCHED, 0, nowhere);
	}
	return meet_layers(n, &what, v);
}

/* ---- Traces ------------------------------------------------------------- */

static int add_verdict(struct arena *a, net_trace *trace, struct net_verdict v, struct err *e)
{
	struct net_verdict *at;

	/* The deciding rule and the profile's are already first. */
	for (size_t i = 0; i < MIN_OF(trace->count, 2u); i++)
		if (trace->items[i].rule == v.rule && trace->items[i].reason == v.reason &&
		    trace->items[i].layer == v.layer)
			return 0;
	at = VEC_PUSH(a, trace, e);
	if (!at)
		return err_result(e);
	*at = v;
	return 0;
}

/* Rules for another port are left out, unless no port was named. */
static int trace_rules(struct arena *a, const struct net_rule *rules, size_t count, size_t layer,
		       const struct domain *what, net_trace *trace, struct err *e)
{
	bool any_port = what->port_first == 0;

	for (size_t i = 0; i < count; i++) {
		const struct domain *d = &rules[i].domain;

		/* In a narrowing layer an allow has no effect. */
		if (layer > 0 && rules[i].is_allow)
			continue;
		if (!(any_port ? domain_is_host_within(what, d) : domain_is_within(what, d)))
			continue;
		if (add_verdict(a, trace, by_rule(&rules[i], layer), e) < 0)
			return err_result(e);
	}
	return 0;
}

int net_trace_host(struct arena *a, const struct net *n, const struct hostname *host, uint16_t port,
		   struct net_verdict *out, net_trace *trace, struct err *e)
{
	const struct policy *p = n->policy;
	struct domain what = domain_of_host(host, port);
	struct net_verdict v = net_resolve(n, host, port), profile = judge_profile(n, &what);

	trace->count = 0;
	if (add_verdict(a, trace, v, e) < 0 || add_verdict(a, trace, profile, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < p->layers.count && !n->is_unsandboxed; i++) {
		const struct net_rules *said = n->layers[i].said;
		struct net_verdict lowered;

		if (i > 0 && !narrows(p, i))
			continue;
		if (i > 0 && lowers(n, i, &what, &lowered) && !lowered.rule &&
		    add_verdict(a, trace, lowered, e) < 0)
			return err_result(e);
		if (trace_rules(a, said->rules.items, said->rules.count, i, &what, trace, e) < 0)
			return err_result(e);
	}
	if (!n->is_unsandboxed &&
	    trace_rules(a, p->net_grants.items, p->net_grants.count, 0, &what, trace, e) < 0)
		return err_result(e);
	*out = v;
	return 0;
}

/* ---- Unix sockets (P15) ------------------------------------------------- */

static bool is_at(const struct net_socket *s, struct str path, struct str home)
{
	if (!s->below_home)
		return str_eq(s->path, path);
	return home.len > 0 && path_is_under(path, home) && str_eq(path_below(path, home), s->path);
}

/* The layer's entry for the socket, a deny before an allow; NULL if there is none. */
static const struct net_socket *find_socket(const struct net_rules *said, struct str path,
					    struct str home)
{
	const struct net_socket *found = NULL;

	for (size_t i = 0; i < said->sockets.count; i++) {
		const struct net_socket *s = &said->sockets.items[i];

		if (is_at(s, path, home) && (!found || !s->is_allow))
			found = s;
	}
	return found;
}

static const struct net_socket *find_socket_grant(const struct policy *p, struct str path)
{
	for (size_t i = 0; i < p->socket_grants.count; i++) {
		if (str_eq(p->socket_grants.items[i].path, path))
			return &p->socket_grants.items[i];
	}
	return NULL;
}

struct net_verdict net_resolve_socket(const struct net *n, struct str path, struct str home)
{
	const struct net_rules *said = n->layers[0].said;
	const struct net_socket *s = find_socket(said, path, home);
	const struct net_socket *grant = find_socket_grant(n->policy, path);
	struct net_verdict v;

	if (n->is_unsandboxed)
		return by_reason(DECISION_ALLOW, NET_REASON_UNSANDBOXED, 0, said->access_origin);
	for (size_t i = 1; i < n->policy->layers.count; i++) {
		const struct net_rules *narrow = n->layers[i].said;

		if (!narrows(n->policy, i))
			continue;
		if (narrow->access == NET_OFF)
			return by_reason(DECISION_DENY, NET_REASON_OFF, i, narrow->access_origin);
		const struct net_socket *deny = find_socket(narrow, path, home);
		if (deny && !deny->is_allow)
			return by_reason(DECISION_DENY, NET_REASON_RULE, i, deny->origin);
	}
	/* SECURITY: a grant must not override a deny that the profile states, whatever `enabled` says. */
	if (grant && s && !s->is_allow)
		v = by_reason(DECISION_DENY, NET_REASON_RULE, 0, s->origin);
	else if (grant)
		v = by_reason(DECISION_ALLOW, NET_REASON_RULE, 0, grant->origin);
	else if (said->access == NET_OFF)
		v = by_reason(DECISION_DENY, NET_REASON_OFF, 0, said->access_origin);
	else if (n->mode == NET_FULL)
		v = by_reason(DECISION_ALLOW, NET_REASON_FULL, 0, said->access_origin);
	else if (s)
		v = by_reason(s->is_allow ? DECISION_ALLOW : DECISION_DENY, NET_REASON_RULE, 0,
			      s->origin);
	else
		v = by_reason(DECISION_DENY, NET_REASON_UNMATCHED, 0, nowhere);
	return v;
}
