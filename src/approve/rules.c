/* SPDX-License-Identifier: MIT */
/*
 * See rules.h. A pattern *covers* a path if it matches the path or a directory above it, as a deny
 * glob does (P6, P7); so what covers a directory covers all of it. It *touches* a directory if it
 * covers it or may match something in it.
 */
#include "approve/rules.h"

#include "base/hostname.h"
#include "base/path.h"
#include "plan/plan.h"

enum { HOST_BYTES = 16 << 10 };

struct compiled {
	const struct approve_rule *rule;
	struct str bases[2]; /* of a path: where it is, and where that leads to */
	size_t base_count;
};

struct approve_rules {
	struct compiled *items;
	size_t count;
};

/* ---- Compiling ------------------------------------------------------------------------------- */

static int add_base(struct arena *a, const struct plan_inputs *in, struct str path,
		    struct compiled *c, struct err *e)
{
	struct located located;

	c->bases[c->base_count++] = path;
	if (c->rule->answer == APPROVE_ALLOW)
		return 0;
	if (plan_locate(a, in, path, &located, e) < 0)
		return err_result(e);
	if (!str_eq(located.path, path))
		c->bases[c->base_count++] = located.path;
	return 0;
}

static int compile_path(struct arena *a, const struct plan_inputs *in, struct compiled *c,
			struct err *e)
{
	const struct approve_rule *rule = c->rule;
	struct located home;
	struct str path;

	if (!rule->below_home)
		return add_base(a, in, rule->path, c, e);
	if (!in->places.home.len) {
		if (rule->answer == APPROVE_ALLOW)
			return 0;
		return FAIL_AT(e, ERR_POLICY, rule->origin,
			       "the home is not known, so '~' has no meaning in 'approve'");
	}
	if (plan_locate(a, in, in->places.home, &home, e) < 0 ||
	    path_join(a, home.path, rule->path, &path, e) < 0)
		return err_result(e);
	return add_base(a, in, path, c, e);
}

static bool holds_for(const struct approve_rule *rule, const struct policy *policy)
{
	return !rule->profile.name.len || str_eq(rule->profile.name, policy->profile->name);
}

int approve_rules_new(struct arena *a, const struct plan_inputs *in,
		      const struct approve_rules **out, struct err *e)
{
	const struct settings *settings = &in->policy->settings;
	struct approve_rules *r = ARENA_NEW(a, struct approve_rules, e);

	if (!r)
		return err_result(e);
	r->items = arena_array(a, settings->approve.count + 1, sizeof(*r->items), e);
	if (!r->items)
		return err_result(e);
	for (size_t i = 0; i < settings->approve.count; i++) {
		struct compiled *c = &r->items[r->count];

		c->rule = &settings->approve.items[i];
		if (!holds_for(c->rule, in->policy))
			continue;
		if (c->rule->subject != APPROVE_HOST && compile_path(a, in, c, e) < 0)
			return err_result(e);
		r->count++;
	}
	*out = r;
	return 0;
}

/* ---- Paths ----------------------------------------------------------------------------------- */

static bool covers_path(const struct compiled *c, struct str path)
{
	for (size_t i = 0; i < c->base_count; i++) {
		if (path_is_under(path, c->bases[i]) &&
		    (!c->rule->matcher ||
		     glob_match_deepest(c->rule->matcher, path_below(path, c->bases[i])) >= 0))
			return true;
	}
	return false;
}

static bool touches_path(const struct compiled *c, struct str dir)
{
	for (size_t i = 0; i < c->base_count; i++) {
		if (path_is_under(c->bases[i], dir) ||
		    (c->rule->matcher && path_is_under(dir, c->bases[i]) &&
		     glob_may_match_below(c->rule->matcher, path_below(dir, c->bases[i]))))
			return true;
	}
	return covers_path(c, dir);
}

/* ---- Too wide ---------------------------------------------------------------------------------- */

/* Whether it covers `dir`, or every name in it. */
static int covers_all_of(struct arena *a, const struct compiled *c, struct str dir, bool *out,
			 struct err *e)
{
	struct str any;

	if (path_join(a, dir, STR(".any-name-at-all"), &any, e) < 0)
		return err_result(e);
	*out = covers_path(c, dir) || covers_path(c, any);
	return 0;
}

/* A home as it is written and as it is found. */
static int covers_home(struct arena *a, const struct plan_inputs *in, const struct compiled *c,
		       struct str home, bool *out, struct err *e)
{
	struct located located;

	*out = false;
	if (!home.len)
		return 0;
	if (covers_all_of(a, c, home, out, e) < 0 || plan_locate(a, in, home, &located, e) < 0)
		return err_result(e);
	return *out ? 0 : covers_all_of(a, c, located.path, out, e);
}

static int refuse_wide(const struct approve_rule *rule, struct str what, struct err *e)
{
	(void)FAIL_CAUSE_AT(
		e, CAUSE_APPROVAL_TOO_WIDE, rule->origin,
		"'%.*s' in 'approve' allows writing to all of '%.*s', which no approval "
		"can open",
		STR_ARG(str_first(rule->text, 256)), STR_ARG(str_first(what, 256)));
	err_add_line(e, "name the directories below it that may be written, such as '~/.cache/**'");
	return err_result(e);
}

static int check_wide(struct arena *a, const struct plan_inputs *in, const struct compiled *c,
		      struct err *e)
{
	bool is_wide;

	if (covers_all_of(a, c, STR("/"), &is_wide, e) < 0)
		return err_result(e);
	if (is_wide)
		return refuse_wide(c->rule, STR("/"), e);
	if (covers_home(a, in, c, in->places.home, &is_wide, e) < 0)
		return err_result(e);
	if (is_wide)
		return refuse_wide(c->rule, in->places.home, e);
	for (size_t i = 0; i < in->places.home_count; i++) {
		if (covers_home(a, in, c, in->places.homes[i], &is_wide, e) < 0)
			return err_result(e);
		if (is_wide)
			return refuse_wide(c->rule, in->places.homes[i], e);
	}
	return 0;
}

int approve_rules_check(struct arena *a, const struct plan_inputs *in, struct err *e)
{
	const struct settings *settings = &in->policy->settings;

	for (size_t i = 0; i < settings->approve.count; i++) {
		struct compiled c = { .rule = &settings->approve.items[i] };

		if (c.rule->answer != APPROVE_ALLOW || c.rule->subject != APPROVE_WRITE)
			continue;
		if (compile_path(a, in, &c, e) < 0 || check_wide(a, in, &c, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

/* False: it is none. */
static bool read_host(struct arena *a, struct str subject, struct domain *out)
{
	struct err e = ERR_INIT;
	struct hostname host;
	uint16_t port;

	if (hostname_parse_port(a, subject, &host, &port, &e) < 0)
		return false;
	*out = domain_of_host(&host, port);
	return true;
}

static bool covers_host(const struct compiled *c, struct str subject)
{
	scoped_arena a = ARENA_INIT(HOST_BYTES);
	struct domain host;

	return read_host(&a, subject, &host) && domain_is_within(&host, &c->rule->domain);
}

static bool overlaps(const struct domain *host, const struct domain *rule)
{
	return domain_is_host_within(host, rule) && host->port_first <= rule->port_last &&
	       rule->port_first <= host->port_last;
}

/* Of an IPv6 address that carries an IPv4 address, both count (net.h). */
static bool touches_host(const struct compiled *c, struct str subject)
{
	scoped_arena a = ARENA_INIT(HOST_BYTES);
	struct domain host, carried;
	struct ip v4;

	if (!read_host(&a, subject, &host))
		return true;
	if (overlaps(&host, &c->rule->domain))
		return true;
	if (host.kind != DOMAIN_BLOCK || !ip_embedded_v4(&host.block.first, &v4))
		return false;
	carried = host;
	carried.block = (struct ip_block){ .first = v4, .bits = 128 };
	return overlaps(&carried, &c->rule->domain);
}

/* ---- Judging --------------------------------------------------------------------------------- */

static bool is_about(const struct approve_rule *rule, enum ask_kind kind)
{
	switch (kind) {
	case ASK_WRITE:
		return rule->subject == APPROVE_WRITE;
	case ASK_CONNECT:
		return rule->subject == APPROVE_HOST;
	case ASK_UNIX_SOCKET:
		return rule->subject == APPROVE_SOCKET;
	case ASK_ESCALATE:
		break;
	}
	return false;
}

static bool covers(const struct compiled *c, struct str subject)
{
	return c->rule->subject == APPROVE_HOST ? covers_host(c, subject) : covers_path(c, subject);
}

/* Whether something of what a grant opens is what the rule is about. */
static bool touches(const struct compiled *c, const struct grant *grant)
{
	if (c->rule->subject == APPROVE_HOST)
		return touches_host(c, grant->subject);
	return grant->is_dir ? touches_path(c, grant->subject) : covers_path(c, grant->subject);
}

static uint32_t find_touched(const struct compiled *c, const struct ask *ask)
{
	uint32_t touched = 0;

	for (size_t i = 0; i < ask->offer_count; i++) {
		if (touches(c, &ask->offers[i].grant))
			touched |= UINT32_C(1) << i;
	}
	return touched;
}

/* False: the offer has none that the rule gives. */
static bool find_scope(enum approve_scope wanted, scope_set scopes, enum grant_scope *out)
{
	if (wanted == APPROVE_SESSION && scopes & SCOPE_BIT(SCOPE_SESSION))
		*out = SCOPE_SESSION;
	else if (wanted == APPROVE_ONCE)
		*out = SCOPE_ONCE;
	else
		*out = SCOPE_RUN;
	return scopes & SCOPE_BIT(*out);
}

/*
 * The narrowest offer that a rule allows as a whole, and in which no other rule denies or asks
 * something: there only the call itself can be allowed.
 */
static bool find_allowed(const struct approve_rules *r, const struct ask *ask, uint32_t closed,
			 bool only_once, struct ruling *out)
{
	for (size_t i = 0; i < ask->offer_count; i++) {
		bool is_closed = closed & UINT32_C(1) << i;
		scope_set scopes = ask->offers[i].scopes &
				   (is_closed ? SCOPE_BIT(SCOPE_ONCE) : ~0U);

		for (size_t k = 0; k < r->count; k++) {
			const struct compiled *c = &r->items[k];
			enum approve_scope wanted = only_once ? APPROVE_ONCE : c->rule->scope;

			if (c->rule->answer != APPROVE_ALLOW || !is_about(c->rule, ask->kind) ||
			    !covers(c, ask->offers[i].grant.subject) || (only_once && is_closed) ||
			    !find_scope(wanted, scopes, &out->scope))
				continue;
			out->answer = RULED_ALLOW;
			out->offer = i;
			out->origin = c->rule->origin;
			return true;
		}
	}
	return false;
}

/* A deny or ask of what the request itself is about. */
static void take(struct ruling *out, const struct compiled *c, const struct grant *subject)
{
	enum ruling_answer answer = c->rule->answer == APPROVE_DENY ? RULED_DENY : RULED_ASK;

	if (answer <= out->answer || !touches(c, subject))
		return;
	out->answer = answer;
	out->origin = c->rule->origin;
}

void approve_rules_judge(const struct approve_rules *r, const struct ask *ask, struct ruling *out)
{
	struct grant subject = { .kind = ask->kind, .subject = ask->subject };
	uint32_t closed = 0;

	*out = (struct ruling){ .answer = RULED_NOT };
	for (size_t i = 0; i < r->count; i++) {
		const struct compiled *c = &r->items[i];
		uint32_t touched;

		if (c->rule->answer == APPROVE_ALLOW || !is_about(c->rule, ask->kind))
			continue;
		take(out, c, &subject);
		touched = find_touched(c, ask);
		closed |= touched;
		if (c->rule->answer == APPROVE_DENY)
			out->denied_offers |= touched;
	}
	/* What may be done during the whole run may be done once, if that is all that can be had. */
	if (out->answer == RULED_NOT && !find_allowed(r, ask, closed, false, out))
		(void)find_allowed(r, ask, closed, true, out);
}
