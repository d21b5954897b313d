/* SPDX-License-Identifier: MIT */
/*
 * Suggests edits that change whether a command may connect to a socket of the host (P15), as
 * suggest_host.c does for hosts: each verdict has one remedy, after which the socket is judged again.
 */
#include "base/utf8.h"
#include "plan/suggest_edit.h"

struct socket_change {
	struct suggester f;
	struct str path, home;
	enum decision wanted;
};

static int record_socket(struct socket_change *sf, size_t layer, struct str path, const char *value,
			 const struct origin *at)
{
	struct str key, quoted = STR_EMPTY;

	if (suggest_key(&sf->f, path, &key) < 0 ||
	    (value && suggest_string(&sf->f, str_of(value), &quoted) < 0))
		return err_result(sf->f.e);
	return suggest_record(&sf->f, layer, "network.unix_sockets", at, key, quoted);
}

static int add_socket(struct socket_change *sf)
{
	struct policy *p = suggest_copy_sockets(&sf->f, sf->f.policy, 0);
	struct net_rules *net;

	if (!p)
		return err_result(sf->f.e);
	net = &p->layers.items[0].net;
	net->sockets.items[net->sockets.count++] = (struct net_socket){
		.path = sf->path, .is_allow = true, .origin = { .file = "suggestion" }
	};
	if (record_socket(sf, 0, sf->path, "allow", NULL) < 0)
		return err_result(sf->f.e);
	sf->f.policy = p;
	return 0;
}

/* Reverses a line of the profile; removes one of a layer above. */
static int change_socket(struct socket_change *sf, const struct net_verdict *v)
{
	struct policy *p = suggest_copy_sockets(&sf->f, sf->f.policy, v->layer);
	struct net_rules *net;
	struct net_socket *said;
	struct str path;
	size_t i = 0;

	if (!p)
		return err_result(sf->f.e);
	net = &p->layers.items[v->layer].net;
	while (i < net->sockets.count &&
	       !suggest_same_origin(&net->sockets.items[i].origin, &v->origin))
		i++;
	if (i == net->sockets.count)
		return 0;
	said = &net->sockets.items[i];
	path = said->path;
	if (said->below_home && arena_printf(sf->f.a, &path, sf->f.e, "~/%.*s", STR_ALL(path)) < 0)
		return err_result(sf->f.e);
	said->is_allow = !said->is_allow;
	if (record_socket(sf, v->layer, path,
			  v->layer > 0	   ? NULL
			  : said->is_allow ? "allow"
					   : "deny",
			  &v->origin) < 0)
		return err_result(sf->f.e);
	sf->f.policy = p;
	return 0;
}

static int cure(struct socket_change *sf, const struct net_verdict *v)
{
	if (layer_is_fixed(&sf->f.policy->layers.items[v->layer]))
		return 0;
	switch (v->reason) {
	case NET_REASON_OFF:
		return suggest_enable(&sf->f, v->layer);
	case NET_REASON_RULE:
		if (!suggest_is_in_file(&v->origin) || !suggest_is_ours(&sf->f, &v->origin))
			return 0;
		return change_socket(sf, v);
	case NET_REASON_UNMATCHED:
		return add_socket(sf);
	case NET_REASON_PRIVATE:
	case NET_REASON_FULL:
	case NET_REASON_UNSANDBOXED:
		break;
	}
	return 0;
}

static int explain(struct socket_change *sf, const struct net_verdict *v)
{
	struct suggester *f = &sf->f;

	if (v->reason == NET_REASON_FULL)
		return arena_printf(
			f->a, &f->change.why_not, f->e,
			"with the full network a command can reach every socket; with a "
			"managed one, only those that the policy names");
	return suggest_explain_net(f, v);
}

static int suggest_rounds(struct socket_change *sf)
{
	for (;;) {
		const struct policy *before = sf->f.policy;
		const struct net *net = net_build(sf->f.a, before, sf->f.in->has_decider, sf->f.e);
		struct net_verdict v;

		if (!net)
			return err_result(sf->f.e);
		v = net_resolve_socket(net, sf->path, sf->home);
		if (v.decision == sf->wanted)
			return suggest_finish(&sf->f);
		if (suggest_is_granted(&sf->f, &v.origin))
			return explain(sf, &v);
		if (sf->f.change.edit_count < SUGGEST_MAX_EDITS && cure(sf, &v) < 0)
			return err_result(sf->f.e);
		if (sf->f.policy == before)
			return explain(sf, &v);
	}
}

int plan_suggest_socket(struct arena *a, const struct plan_inputs *in, const struct plan *p,
			struct str path, enum decision wanted, struct change *out, struct err *e)
{
	struct socket_change sf = {
		.f = { .a = a, .in = in, .policy = p->policy, .e = e },
		.path = path,
		.home = p->places.home,
		.wanted = wanted,
	};
	int r;

	if (utf8_check(path) < path.len)
		r = arena_printf(a, &sf.f.change.why_not, e,
				 "a configuration file can't hold a path that is not UTF-8");
	else
		r = suggest_rounds(&sf);
	if (r < 0)
		return r;
	if (!sf.f.change.is_possible) {
		sf.f.change.edit_count = 0;
		sf.f.change.needs_own_profile = false;
	}
	*out = sf.f.change;
	return 0;
}
