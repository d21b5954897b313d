/* SPDX-License-Identifier: MIT */
/*
 * `network` (P12-P15). In a profile, what is not said is closed. In a narrowing
 * layer, what is not said is left as it is, and only what takes something away
 * counts.
 */
#include "policy/decode.h"
#include "policy/fs_key.h"

static const char *const permission_names[] = { "deny", "allow", NULL };

/*
 * Every allow of a narrowing layer is without effect. In a project that is a
 * widening that was cut (P2). But who writes it into the requirements means that
 * only this be allowed: a deny of all the rest, which would be lost (P3).
 */
static int check_narrow_allow(const struct decode *d, struct str name, struct origin origin,
			      struct err *e)
{
	if (d->kind == LAYER_REQUIREMENTS)
		return FAIL_CAUSE_AT(
			e, CAUSE_BAD_VALUE, origin,
			"the allow of '%s' would restrict nothing: %s can only narrow, and "
			"all else would stay as open as before; deny what should be closed, "
			"or set 'network.enabled = false'",
			SHOWN(name), d->where);
	if (!decode_narrows(d))
		return 0;
	return decode_warn(d, origin, e,
			   "the allow of '%s' changes nothing: %s can only narrow, and an allow "
			   "takes nothing away from others",
			   SHOWN(name), d->where);
}

/* Addresses that are closed unless a rule names them: warn of a block that includes one. */
static const struct guarded {
	const char *block, *what;
} guarded[] = {
	{ "127.0.0.0/8", "this machine" }, { "169.254.0.0/16", "link-local, cloud metadata" },
	{ "10.0.0.0/8", "private" },	   { "172.16.0.0/12", "private" },
	{ "192.168.0.0/16", "private" },   { "100.64.0.0/10", "shared" },
	{ "::1", "this machine" },	   { "fe80::/10", "link-local" },
	{ "fc00::/7", "private" },
};

static bool is_wider(const struct ip_block *block, const char *than)
{
	struct ip_block other;

	return ip_block_parse(str_of(than), &other) && block->bits < other.bits &&
	       ip_block_has(block, &other.first);
}

/* P13: an allowed block also allows the private addresses in it. */
static int warn_wide_block(const struct decode *d, const struct net_rule *rule, struct err *e)
{
	scoped_buf opened = BUF_INIT(1024);

	if (!rule->is_allow || rule->domain.kind != DOMAIN_BLOCK || decode_narrows(d))
		return 0;
	for (size_t i = 0; i < COUNT_OF(guarded); i++)
		if (is_wider(&rule->domain.block, guarded[i].block))
			buf_printf(&opened, "%s%s (%s)", opened.len ? ", " : "", guarded[i].block,
				   guarded[i].what);
	if (buf_check(&opened, e) < 0)
		return err_result(e);
	if (opened.len == 0)
		return 0;
	return decode_warn(d, rule->origin, e,
			   "the allow of '%s' opens %.*s too; for all public hosts allow '*', for "
			   "others name narrower blocks",
			   SHOWN(rule->domain.text), STR_ARG(buf_str(&opened)));
}

/* P13: `*` may only allow; a deny of everything is `enabled = false`. */
static int check_domain(const struct decode *d, const struct net_rule *rule, struct err *e)
{
	if (rule->domain.kind == DOMAIN_ANY && !rule->is_allow)
		return FAIL_CAUSE_AT(e, CAUSE_BAD_VALUE, rule->origin,
				     "'%s' can only be allowed; to deny every host set "
				     "'network.enabled = false'",
				     SHOWN(rule->domain.text));
	if (rule->is_allow && decode_narrows(d))
		return check_narrow_allow(d, rule->domain.text, rule->origin, e);
	return warn_wide_block(d, rule, e);
}

int decode_domain(const struct decode *d, struct str pattern, bool is_allow, struct origin origin,
		  struct net_rules *out, struct err *e)
{
	struct net_rule rule = { .origin = origin, .is_allow = is_allow };
	struct net_rule *added;
	int r;

	if (domain_parse(d->a, pattern, &rule.domain, e) < 0)
		return err_wrap_place(e, origin);
	r = check_domain(d, &rule, e);
	if (r < 0)
		return r;
	added = VEC_PUSH(d->a, &out->rules, e);
	if (!added)
		return err_result(e);
	*added = rule;
	return 0;
}

int key_decode_domains(const struct decode *d, const struct toml *table, void *base, struct err *e)
{
	struct net_rules *out = &((struct profile *)base)->net;

	for (size_t i = 0; i < table->table.count; i++) {
		const struct toml_member *m = &table->table.items[i];
		size_t which = 0;
		int r;

		/* An unquoted a.com is a key 'a' with a key 'com' in it. */
		if (m->value.type == TOML_TABLE)
			return FAIL_CAUSE_AT(
				e, CAUSE_BAD_VALUE, m->name_origin,
				"'%s' in 'domains' is a table; quote a name with dots: "
				"domains.\"a.com\" = \"allow\"",
				SHOWN(m->name));
		r = schema_choice(&m->value, "the permission of a domain", permission_names, &which,
				  e);
		if (r == 0)
			r = decode_domain(d, m->name, which == 1, m->name_origin, out, e);
		if (r < 0)
			return r;
	}
	return 0;
}

int key_decode_unix_sockets(const struct decode *d, const struct toml *table, void *base,
			    struct err *e)
{
	struct net_rules *out = &((struct profile *)base)->net;

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
		if (r == 0 && which == 1)
			r = check_narrow_allow(d, m->name, m->name_origin, e);
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
	if (decode_narrows(d)) {
		if (enabled && !enabled->boolean)
			return NET_OFF;
		return takes_away(net) ? NET_MANAGED : NET_FULL;
	}
	if (!enabled || !enabled->boolean)
		return NET_OFF;
	return others > 0 ? NET_MANAGED : NET_FULL;
}

static bool is_built_in(const struct toml *value)
{
	return value->origin.file && strcmp(value->origin.file, "built-in") == 0;
}

/* P12: without `enabled` the network is off. A built-in parent's `enabled` does not count here. */
int decode_warn_off(const struct decode *d, const struct toml *table, struct err *e)
{
	const struct toml *enabled = toml_find(table, "enabled");
	const struct toml_member *m = table->table.items;
	const struct toml_member *end = m + table->table.count;

	if (enabled && (enabled->boolean || !is_built_in(enabled)))
		return 0;
	while (m < end && &m->value == enabled)
		m++;
	if (m == end)
		return 0;
	return decode_warn(d, m->name_origin, e,
			   "'network.%s' has no effect: there is no 'enabled = true' beside it, so "
			   "the network of this profile is off",
			   SHOWN(m->name));
}

int key_decode_network(const struct decode *d, const struct toml *table, void *base, struct err *e)
{
	struct profile *p = base;
	const struct toml *enabled = toml_find(table, "enabled");
	int r = decode_check(d, table, KEYS_NETWORK, e);

	if (r == 0)
		r = decode_keys(d, KEYS_NETWORK, table, p, e);
	if (r < 0)
		return r;
	p->net.access = decide_access(d, enabled, table->table.count - (enabled ? 1 : 0), &p->net);
	p->net.access_origin = enabled ? enabled->origin : table->origin;
	p->net.access_is_set = enabled != NULL;
	return 0;
}
