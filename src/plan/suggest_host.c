/* SPDX-License-Identifier: MIT */
/*
 * Suggests edits that change the answer for a host. Each verdict has one remedy. It is applied to
 * a copy of the policy, and the host judged again, until the answer is the wanted one.
 */
#include "plan/suggest_edit.h"

struct host_change {
	struct suggester f;
	const struct hostname *host;
	uint16_t port;
	enum decision wanted;
	struct domain own; /* the pattern for just this host and port */
};

static int parse_own(struct host_change *hf)
{
	const struct hostname *host = hf->host;
	bool bracket = host->is_ip && !ip_is_v4(&host->ip) && hf->port;
	struct str text = host->name;

	if (hf->port && arena_printf(hf->f.a, &text, hf->f.e, "%s%.*s%s:%u", bracket ? "[" : "",
				     (int)host->name.len, host->name.p, bracket ? "]" : "",
				     (unsigned)hf->port) < 0)
		return err_result(hf->f.e);
	return domain_parse(hf->f.a, text, &hf->own, hf->f.e);
}

/* ---- Single edits ------------------------------------------------------- */

static int record_domain(struct host_change *hf, size_t layer, struct str pattern,
			 const char *value, const struct origin *at)
{
	struct str key, quoted = STR_EMPTY;

	if (suggest_key(&hf->f, pattern, &key) < 0 ||
	    (value && suggest_string(&hf->f, str_of(value), &quoted) < 0))
		return err_result(hf->f.e);
	return suggest_record(&hf->f, layer, "network.domains", at, key, quoted);
}

static bool has_rule(const struct host_change *hf, struct str pattern)
{
	const struct net_rules *net = &hf->f.policy->layers.items[0].net;

	for (size_t i = 0; i < net->rules.count; i++)
		if (str_eq(net->rules.items[i].domain.text, pattern))
			return true;
	return false;
}

/* Change the line of a pattern that has one: TOML does not allow a second. */
static int add_rule(struct host_change *hf, const struct domain *domain, bool is_allow)
{
	struct policy *p = suggest_copy_rules(&hf->f, hf->f.policy, 0);
	struct net_rules *net;

	if (!p)
		return err_result(hf->f.e);
	if (has_rule(hf, domain->text))
		return 0;
	net = &p->layers.items[0].net;
	net->rules.items[net->rules.count++] = (struct net_rule){
		.domain = *domain, .is_allow = is_allow, .origin = { .file = "suggestion" }
	};
	if (net->access == NET_FULL)
		net->access = NET_MANAGED; /* P12: enabled, and any other key */
	if (record_domain(hf, 0, domain->text, is_allow ? "allow" : "deny", NULL) < 0)
		return err_result(hf->f.e);
	hf->f.policy = p;
	return 0;
}

static int add_text(struct host_change *hf, struct str text, bool is_allow)
{
	struct domain domain;

	if (domain_parse(hf->f.a, text, &domain, hf->f.e) < 0)
		return err_result(hf->f.e);
	return add_rule(hf, &domain, is_allow);
}

/* Reverses a rule for just this host; removes one that covers more. */
static int change_rule(struct host_change *hf, const struct net_verdict *v)
{
	struct policy *p = suggest_copy_rules(&hf->f, hf->f.policy, v->layer);
	bool is_own = str_eq(v->rule->domain.text, hf->own.text) && v->layer == 0;
	struct net_rules *net;
	size_t i = 0;

	if (!p)
		return err_result(hf->f.e);
	net = &p->layers.items[v->layer].net;
	while (i < net->rules.count &&
	       !suggest_same_origin(&net->rules.items[i].origin, &v->origin))
		i++;
	if (i == net->rules.count)
		return 0;
	if (is_own) {
		net->rules.items[i].is_allow = !v->rule->is_allow;
	} else {
		memmove(&net->rules.items[i], &net->rules.items[i + 1],
			(net->rules.count - i - 1) * sizeof(*net->rules.items));
		net->rules.count--;
	}
	if (record_domain(hf, v->layer, v->rule->domain.text,
			  !is_own	      ? NULL
			  : v->rule->is_allow ? "deny"
					      : "allow",
			  &v->origin) < 0)
		return err_result(hf->f.e);
	hf->f.change.edits[hf->f.change.edit_count - 1].is_wide =
		!domain_is_within(&v->rule->domain, &hf->own);
	hf->f.policy = p;
	return 0;
}

static bool is_editable(const struct host_change *hf, const struct origin *origin)
{
	return suggest_is_in_file(origin) && suggest_is_ours(&hf->f, origin);
}

/* A line of a profile overrides what it inherits from one that is built in. */
static bool is_overridable(const struct host_change *hf, const struct net_verdict *v)
{
	return v->rule && v->layer == 0 && str_eq(v->rule->domain.text, hf->own.text) &&
	       v->origin.file && strcmp(v->origin.file, "built-in") == 0;
}

/* ---- Remedies ----------------------------------------------------------- */

static bool has_exact(const struct host_change *hf)
{
	const struct net_rules *net = &hf->f.policy->layers.items[0].net;

	for (size_t i = 0; i < net->rules.count; i++)
		if (net->rules.items[i].is_allow &&
		    net->rules.items[i].domain.kind == DOMAIN_EXACT &&
		    domain_is_within(&hf->own, &net->rules.items[i].domain))
			return true;
	return false;
}

/* A loopback address, with the port in question only. */
static int spell_own_address(struct host_change *hf, bool is_v6, struct str *out)
{
	if (!hf->port)
		return arena_copy(hf->f.a, is_v6 ? STR("::1") : STR("127.0.0.1"), out, hf->f.e);
	return arena_printf(hf->f.a, out, hf->f.e, is_v6 ? "[::1]:%u" : "127.0.0.1:%u",
			    (unsigned)hf->port);
}

/* An address needs an entry of its own; a name for this machine needs itself and both addresses. */
static int pass_guard(struct host_change *hf)
{
	struct str v4, v6;

	if (hf->host->is_ip || !has_exact(hf))
		return add_rule(hf, &hf->own, true);
	if (spell_own_address(hf, false, &v4) < 0 || spell_own_address(hf, true, &v6) < 0)
		return err_result(hf->f.e);
	return add_text(hf, has_rule(hf, v4) ? v6 : v4, true);
}

static int cure_deny(struct host_change *hf, const struct net_verdict *v)
{
	const struct policy *before = hf->f.policy;

	switch (v->reason) {
	case NET_REASON_OFF:
		if (suggest_enable(&hf->f, v->layer) < 0)
			return err_result(hf->f.e);
		/* `enabled` without any rule would allow every host. */
		if (v->layer == 0 && hf->f.policy != before &&
		    hf->f.policy->layers.items[0].net.rules.count == 0)
			return add_rule(hf, &hf->own, true);
		return 0;
	case NET_REASON_RULE:
		return is_editable(hf, &v->origin) || is_overridable(hf, v) ? change_rule(hf, v)
									    : 0;
	case NET_REASON_PRIVATE:
		return pass_guard(hf);
	case NET_REASON_UNMATCHED:
		return add_rule(hf, &hf->own, true);
	case NET_REASON_FULL:
	case NET_REASON_UNSANDBOXED:
		break;
	}
	return 0;
}

static int cure_allow(struct host_change *hf, const struct net_verdict *v)
{
	if (v->reason == NET_REASON_UNSANDBOXED)
		return 0;
	/* Any rule makes the network managed, so the other hosts have to be allowed too. */
	if (v->reason == NET_REASON_FULL && add_text(hf, STR("*"), true) < 0)
		return err_result(hf->f.e);
	if (is_overridable(hf, v) ||
	    (v->rule && str_eq(v->rule->domain.text, hf->own.text) && is_editable(hf, &v->origin)))
		return change_rule(hf, v);
	return add_rule(hf, &hf->own, false);
}

static int explain(struct host_change *hf, const struct net_verdict *v)
{
	struct suggester *f = &hf->f;

	if (hf->wanted == DECISION_ASK && v->reason != NET_REASON_UNSANDBOXED)
		return arena_printf(
			f->a, &f->change.why_not, f->e,
			"a decider is asked about hosts that no rule covers; no line of a "
			"file can require that");
	return suggest_explain_net(f, v);
}

static int cure(struct host_change *hf, const struct net_verdict *v)
{
	if (layer_is_fixed(&hf->f.policy->layers.items[v->layer]) || hf->wanted == DECISION_ASK)
		return 0;
	return hf->wanted == DECISION_ALLOW ? cure_deny(hf, v) : cure_allow(hf, v);
}

static int suggest_rounds(struct host_change *hf)
{
	for (;;) {
		const struct policy *before = hf->f.policy;
		const struct net *net = net_build(hf->f.a, before, hf->f.in->has_decider, hf->f.e);
		struct net_verdict v;

		if (!net)
			return err_result(hf->f.e);
		v = net_resolve(net, hf->host, hf->port);
		if (v.decision == hf->wanted)
			return suggest_finish(&hf->f);
		if (suggest_is_granted(&hf->f, &v.origin))
			return explain(hf, &v);
		/* A remedy takes up to two edits. */
		if (hf->f.change.edit_count + 2 <= SUGGEST_MAX_EDITS && cure(hf, &v) < 0)
			return err_result(hf->f.e);
		if (hf->f.policy == before)
			return explain(hf, &v);
	}
}

int plan_suggest_host(struct arena *a, const struct plan_inputs *in, const struct plan *p,
		      const struct hostname *host, uint16_t port, enum decision wanted,
		      struct change *out, struct err *e)
{
	struct host_change hf = {
		.f = { .a = a, .in = in, .policy = p->policy, .e = e },
		.host = host,
		.port = port,
		.wanted = wanted,
	};

	if (parse_own(&hf) < 0 || suggest_rounds(&hf) < 0)
		return err_result(e);
	if (!hf.f.change.is_possible) {
		hf.f.change.edit_count = 0;
		hf.f.change.needs_own_profile = false;
	}
	*out = hf.f.change;
	return 0;
}
