/* SPDX-License-Identifier: MIT */
/*
 * `network` (P12-P15). In a profile, what is not said is closed. In a narrowing
 * layer, what is not said is left as it is, and only what takes something away
 * counts.
 */
#include "policy/decode.h"
#include "policy/fs_key.h"

static const char *const permission_names[] = { "deny", "allow", NULL };

/* Keys of Codex whose job is done in another way here, or not at all. */
static const struct ignored {
	const char *key, *why;
} ignored[] = {
	{ "proxy_url", "the proxy picks its own address inside the sandbox" },
	{ "socks_url", "the proxy picks its own address inside the sandbox" },
	{ "enable_socks5", "the proxy always speaks SOCKS5" },
	{ "enable_socks5_udp", "UDP never passes the proxy" },
};

static int warn_ignored(const struct decode *d, const struct toml_member *m, struct err *e)
{
	for (size_t i = 0; i < COUNT_OF(ignored); i++)
		if (str_is(m->name, ignored[i].key))
			return decode_warn(d, m->name_origin, e, "'network.%s' is ignored: %s",
					   ignored[i].key, ignored[i].why);
	return 0;
}

static int refuse_unsafe(const struct toml_member *m, struct err *e)
{
	if (str_is(m->name, "mitm"))
		return FAIL_AT(
			e, ERR_POLICY, m->name_origin,
			"'network.mitm' is not supported: looking into TLS is not done here, "
			"and without its hooks more would be allowed than this profile says; "
			"remove it and deny those hosts in 'network.domains'");
	if (str_has_prefix(m->name, STR("dangerously_")) && m->value.boolean)
		return FAIL_AT(e, ERR_POLICY, m->name_origin,
			       "'network.%s' is refused: it would open more than any rule here can "
			       "close; remove it and allow the hosts or sockets by name",
			       SHOWN(m->name));
	return 0;
}

/* P13: `*` may only allow; a deny of everything is `enabled = false`. */
static int check_domain(const struct decode *d, const struct net_rule *rule, struct err *e)
{
	if (rule->domain.kind == DOMAIN_ANY && !rule->is_allow)
		return FAIL_AT(e, ERR_POLICY, rule->origin,
			       "'%s' can only be allowed; to deny every host set "
			       "'network.enabled = false'",
			       SHOWN(rule->domain.text));
	if (d->narrows && rule->is_allow)
		return decode_warn(d, rule->origin, e,
				   "the allow of '%s' changes nothing: %s can only narrow, and an "
				   "allow takes nothing away from other hosts",
				   SHOWN(rule->domain.text), d->where);
	return 0;
}

static int decode_domains(const struct decode *d, const struct toml *table, struct net_rules *out,
			  struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		struct net_rule rule = { .origin = m->name_origin };
		struct net_rule *added;
		size_t which = 0;
		int r = schema_choice(&m->value, "the permission of a domain", permission_names,
				      &which, e);

		if (r < 0)
			return r;
		rule.is_allow = which == 1;
		if (domain_parse(d->a, m->name, &rule.domain, e) < 0)
			return err_wrap_place(e, m->name_origin);
		r = check_domain(d, &rule, e);
		if (r < 0)
			return r;
		added = VEC_PUSH(d->a, &out->rules, e);
		if (!added)
			return err_result(e);
		*added = rule;
	}
	return 0;
}

static int decode_sockets(const struct decode *d, const struct toml *table, struct net_rules *out,
			  struct err *e)
{
	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		struct net_socket *added;
		enum fs_anchor anchor = FS_ABSOLUTE;
		struct str path = STR_EMPTY;
		size_t which = 0;
		int r = schema_choice(&m->value, "the permission of a socket", permission_names,
				      &which, e);

		if (r == 0)
			r = fs_literal_parse(d->a, m->name, false, "the socket", m->name_origin,
					     &anchor, &path, e);
		if (r == 0 && d->narrows && which == 1)
			r = decode_warn(d, m->name_origin, e,
					"the allow of '%s' changes nothing: %s can only narrow",
					SHOWN(m->name), d->where);
		if (r < 0)
			return r;
		added = VEC_PUSH(d->a, &out->sockets, e);
		if (!added)
			return err_result(e);
		*added = (struct net_socket){ .path = path,
					      .below_home = anchor == FS_HOME,
					      .is_allow = which == 1,
					      .origin = m->name_origin };
	}
	return 0;
}

static int decode_mode(const struct toml *value, struct net_rules *out, struct err *e)
{
	static const char *const modes[] = { "full", "limited", NULL };
	size_t which;
	int r = schema_choice(value, "'network.mode'", modes, &which, e);

	if (r < 0)
		return r;
	out->is_limited = which == 1;
	out->limited_origin = value->origin;
	return 0;
}

static int decode_key(const struct decode *d, const struct toml_member *m, struct net_rules *out,
		      struct err *e)
{
	int r = refuse_unsafe(m, e);

	if (r == 0)
		r = warn_ignored(d, m, e);
	if (r < 0)
		return r;
	if (str_is(m->name, "mode"))
		return decode_mode(&m->value, out, e);
	if (str_is(m->name, "domains"))
		return decode_domains(d, &m->value, out, e);
	if (str_is(m->name, "unix_sockets"))
		return decode_sockets(d, &m->value, out, e);
	if (str_is(m->name, "allow_local_binding"))
		out->allows_local_binding = m->value.boolean;
	else if (str_is(m->name, "allow_upstream_proxy"))
		out->allows_upstream_proxy = m->value.boolean;
	return 0;
}

static bool takes_away(const struct net_rules *net)
{
	if (net->is_limited)
		return true;
	for (size_t i = 0; i < net->rules.count; i++)
		if (!net->rules.items[i].is_allow)
			return true;
	for (size_t i = 0; i < net->sockets.count; i++)
		if (!net->sockets.items[i].is_allow)
			return true;
	return false;
}

/* P12; `others` are the keys besides `enabled`. */
static enum net_access decide_access(const struct decode *d, const struct toml *enabled,
				     size_t others, const struct net_rules *net)
{
	if (d->narrows) {
		if (enabled && !enabled->boolean)
			return NET_OFF;
		return takes_away(net) ? NET_MANAGED : NET_FULL;
	}
	if (!enabled || !enabled->boolean)
		return NET_OFF;
	return others > 0 ? NET_MANAGED : NET_FULL;
}

int decode_network(const struct decode *d, const struct toml *table, struct net_rules *out,
		   struct err *e)
{
	/* A narrowing layer that is silent on local binding takes it from nobody. */
	struct net_rules net = { .allows_local_binding = d->narrows,
				 .allows_upstream_proxy = true };
	const struct toml *enabled = toml_find(table, "enabled");
	int r = decode_check(d, table, SCHEMA_NETWORK, "network", e);

	for (size_t i = 0; i < table->table.count && r == 0; i++)
		r = decode_key(d, &table->table.items[i], &net, e);
	if (r < 0)
		return r;
	net.access = decide_access(d, enabled, table->table.count - (enabled ? 1 : 0), &net);
	net.access_origin = enabled ? enabled->origin : table->origin;
	net.access_is_said = enabled != NULL;
	*out = net;
	return 0;
}
