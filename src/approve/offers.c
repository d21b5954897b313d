/* SPDX-License-Identifier: MIT */
/* See offers.h. */
#include "approve/offers.h"

#include "base/path.h"
#include "plan/homes.h"
#include "plan/obeyed.h"

enum {
	SCOPES_LASTING = SCOPE_BIT(SCOPE_RUN) | SCOPE_BIT(SCOPE_SESSION) |
			 SCOPE_BIT(SCOPE_MINUTES) | SCOPE_BIT(SCOPE_ALWAYS)
};

static const struct origin trial = { .file = "approval" };

/* ---- The policy with grants ------------------------------------------------------------------ */

static int add_permission(struct arena *a, const struct grant *grant, struct permissions *out,
			  struct err *e)
{
	struct permission *path;
	struct str *socket;
	struct domain *domain;
	struct hostname host;
	uint16_t port;

	switch (grant->kind) {
	case ASK_WRITE:
		path = VEC_PUSH(a, &out->paths, e);
		if (!path)
			return err_result(e);
		*path = (struct permission){ grant->subject, ACCESS_WRITE };
		return 0;
	case ASK_UNIX_SOCKET:
		socket = VEC_PUSH(a, &out->sockets, e);
		if (!socket)
			return err_result(e);
		*socket = grant->subject;
		return 0;
	case ASK_CONNECT:
		domain = VEC_PUSH(a, &out->hosts, e);
		/* SECURITY: as one host, never as a pattern. */
		if (!domain || hostname_parse_port(a, grant->subject, &host, &port, e) < 0)
			return err_result(e);
		*domain = domain_of_host(&host, port);
		return domain_limit_ports(a, domain, domain->port_first, domain->port_last, domain,
					  e);
	case ASK_ESCALATE:
		break;
	}
	return 0;
}

/* A list of its own, so that what is added is not seen by the policy that was copied. */
#define COPY_LIST(a, list, e)                                                 \
	copy_list((a), (void **)&(list)->items, (list)->count, &(list)->room, \
		  sizeof(*(list)->items), (e))

static int copy_list(struct arena *a, void **items, size_t count, size_t *room, size_t size,
		     struct err *e)
{
	void *copy = arena_array(a, count + 1, size, e);

	if (!copy)
		return err_result(e);
	if (count)
		memcpy(copy, *items, count * size);
	*items = copy;
	*room = count + 1;
	return 0;
}

int offers_add_grants(struct arena *a, const struct policy *policy, const struct grant *grants,
		      size_t count, struct origin origin, const struct policy **out, struct err *e)
{
	struct policy *copy = ARENA_NEW(a, struct policy, e);
	struct permissions permissions = { .network = false };

	if (!copy)
		return err_result(e);
	*copy = *policy;
	if (COPY_LIST(a, &copy->grants, e) < 0 || COPY_LIST(a, &copy->net_grants, e) < 0 ||
	    COPY_LIST(a, &copy->socket_grants, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		if (add_permission(a, &grants[i], &permissions, e) < 0)
			return err_result(e);
	}
	if (policy_grant(a, copy, &permissions, origin, e) < 0)
		return err_result(e);
	*out = copy;
	return 0;
}

/* ---- Trying ---------------------------------------------------------------------------------- */

struct search {
	struct arena *a;
	const struct plan_inputs *in;
	const struct plan *now; /* of them, or NULL */
	struct ask *ask;
	struct err *e;
	/* The last trial of a path. Its plan is NULL if Cordon refuses such a policy. */
	struct str tried;
	const struct plan *plan;
};

static void add_offer(struct search *s, struct grant grant, scope_set scopes)
{
	s->ask->offers[s->ask->offer_count++] = (struct offer){ grant, scopes };
}

/* s->plan: what is below `path` with write access to it. Two offers may be about the same path. */
static int build_trial(struct search *s, struct str path)
{
	struct grant grant = { .kind = ASK_WRITE, .subject = path };
	struct plan_inputs in = *s->in;

	if (s->tried.len && str_eq(s->tried, path))
		return 0;
	if (offers_add_grants(s->a, s->in->policy, &grant, 1, trial, &in.policy, s->e) < 0)
		return err_result(s->e);
	s->plan = s->now ? plan_grant_answers(s->a, s->now, &in, s->e)
			 : plan_build_answers(s->a, &in, s->e);
	if (!s->plan && s->e->code != ERR_POLICY)
		return err_result(s->e);
	err_clear(s->e);
	s->tried = path;
	return 0;
}

/*
 * Whether the policy with write access to `path` gives it to both; false also where Cordon would
 * refuse such a policy.
 */
static int try_path(struct search *s, struct str path, struct str subject, struct str opens,
		    bool *out)
{
	*out = false;
	if (build_trial(s, path) < 0)
		return err_result(s->e);
	*out = s->plan && plan_resolve(s->plan, subject).access == ACCESS_WRITE &&
	       plan_resolve(s->plan, opens).access == ACCESS_WRITE;
	return 0;
}

/* The network with one more grant. */
static int try_net(struct search *s, const struct grant *grant, const struct net **out)
{
	const struct policy *policy;

	if (offers_add_grants(s->a, s->in->policy, grant, 1, trial, &policy, s->e) < 0)
		return err_result(s->e);
	*out = net_build(s->a, policy, s->in->has_decider, s->e);
	return *out ? 0 : err_result(s->e);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

bool offers_is_kernel_path(struct str path)
{
	for (; path.len > 1; path = path_parent(path)) {
		if (path_is_kernel_tree(path))
			return true;
	}
	return false;
}

static bool contains_own_file(const struct search *s, struct str path)
{
	for (size_t i = 0; i < s->in->own_count; i++) {
		if (path_is_under(s->in->own[i].path, path))
			return true;
	}
	return false;
}

/*
 * SECURITY: P9 protects metadata from the root down that it lies in, and a grant of the metadata
 * itself would make that the root. So nothing of it is granted, wherever it lies.
 */
static int find_obeyed(struct search *s, struct str path, bool is_dir, struct obeyed *out)
{
	const struct profile *profile = s->in->policy->profile;

	obeyed_name(profile, path, is_dir, out);
	return out->path.len ? 0 : obeyed_git_dir(s->a, s->in->host, profile, path, out, s->e);
}

int offers_find_obeyed(struct arena *a, const struct plan_inputs *in, struct str path,
		       struct obeyed *out, struct err *e)
{
	return find_obeyed(&(struct search){ .a = a, .in = in, .e = e }, path, false, out);
}

/* Why no grant may be for `path`, whatever the policy says of it; NULL if one may. */
static int check_place(struct search *s, struct str path, enum host_type *type,
		       const char **why_not)
{
	struct home_match home;
	struct located located;
	struct obeyed obeyed;

	*why_not = NULL;
	if (plan_locate(s->a, s->in, path, &located, s->e) < 0) {
		if (s->e->code != ERR_POLICY)
			return err_result(s->e);
		err_clear(s->e);
		*why_not = "it is a loop of links";
		return 0;
	}
	*type = located.type;
	if (!str_eq(located.path, path))
		*why_not = "it leads through a link";
	else if (located.type != HOST_DIR && located.type != HOST_FILE)
		*why_not = "it is neither a file nor a directory";
	else if (offers_is_kernel_path(path))
		*why_not = "the sandbox has its own";
	else if (contains_own_file(s, path))
		*why_not = "Cordon's own files are there";
	if (*why_not)
		return 0;
	if (homes_match(s->a, s->in->host, &s->in->places, path, &home, s->e) < 0)
		return err_result(s->e);
	/* SECURITY: one answer must not open everything that a person has. */
	if (path.len == 1 || home.home.len)
		*why_not = "it is a home, or contains one";
	else if (find_obeyed(s, path, located.type == HOST_DIR, &obeyed) < 0)
		return err_result(s->e);
	else if (obeyed.path.len)
		*why_not = obeyed.why;
	return 0;
}

/* One file or directory, if a grant of it would be enough. */
static int offer_path(struct search *s, struct str path, const struct attempt_needs *needs)
{
	enum host_type type = HOST_MISSING;
	const char *why_not;
	bool is_enough;

	if (check_place(s, path, &type, &why_not) < 0)
		return err_result(s->e);
	if (why_not)
		return 0;
	if (try_path(s, path, needs->subject, needs->opens, &is_enough) < 0)
		return err_result(s->e);
	if (is_enough)
		add_offer(s,
			  (struct grant){
				  .kind = ASK_WRITE, .subject = path, .is_dir = type == HOST_DIR },
			  SCOPES_LASTING);
	return 0;
}

/* The file alone, that is missing: what its directory would be enough for can be done once. */
static int offer_new_file(struct search *s, const struct attempt_needs *needs)
{
	struct grant file = { .kind = ASK_WRITE, .subject = needs->subject };
	bool is_enough;

	if (offers_is_kernel_path(needs->subject))
		return 0;
	if (try_path(s, needs->opens, needs->subject, needs->opens, &is_enough) < 0)
		return err_result(s->e);
	if (is_enough)
		add_offer(s, file, SCOPE_BIT(SCOPE_ONCE));
	return 0;
}

/* What no grant opens; said without a trial, which would say the same. */
static bool is_final(const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_PROTECTED:
	case RULE_GIT:
	case RULE_OWN:
	case RULE_GLOB:
	case RULE_UNSANDBOXED:
		return true;
	case RULE_ENTRY:
	case RULE_GRANT:
	case RULE_MISSING:
	case RULE_UNCOVERED:
		break;
	}
	return false;
}

/* SECURITY: also below the path of the entry, where a grant would be longer, and so count (P7). */
bool offers_is_denied(const struct plan *plan, struct str path)
{
	struct verdict v = plan_resolve(plan, path);

	return v.access == ACCESS_DENY && v.rule->kind == RULE_ENTRY;
}

static bool is_refused_finally(const struct plan *plan, struct str path)
{
	struct verdict v = plan_resolve(plan, path);

	return offers_is_denied(plan, path) || (v.access < ACCESS_WRITE && is_final(v.rule));
}

/* A shorter grant does not reach below the entry that refuses it now (P7). */
static size_t find_least_depth(const struct plan *plan, struct str path)
{
	const struct rule *rule = plan_resolve(plan, path).rule;

	return rule->kind == RULE_ENTRY ? path_depth(rule->path) : 0;
}

int offers_for_path(struct arena *a, const struct plan_inputs *in, const struct plan *plan,
		    const struct attempt_needs *needs, enum operation operation, bool can_once,
		    struct ask *ask, struct err *e)
{
	struct search s = { .a = a, .in = in, .now = plan, .ask = ask, .e = e };
	enum operation_change change = operation_change(operation);
	bool is_in_file = change == CHANGE_CONTENT || change == CHANGE_METADATA;
	struct str parent = path_parent(needs->opens);
	struct obeyed obeyed;

	ask->offer_count = 0;
	if (needs->access != ACCESS_WRITE || plan->is_unsandboxed ||
	    !path_is_under(needs->subject, needs->opens) ||
	    is_refused_finally(plan, needs->subject) || is_refused_finally(plan, needs->opens))
		return 0;
	if (find_obeyed(&s, needs->subject, false, &obeyed) < 0)
		return err_result(e);
	if (obeyed.path.len)
		return 0;
	ask->least_depth = find_least_depth(plan, needs->subject);
	if (can_once && operation == OPERATION_CREATE && offer_new_file(&s, needs) < 0)
		return err_result(e);
	if (offer_path(&s, needs->opens, needs) < 0 ||
	    (is_in_file && offer_path(&s, parent, needs) < 0))
		return err_result(e);
	if (can_once && operation != OPERATION_CREATE && ask->offer_count)
		ask->offers[0].scopes |= SCOPE_BIT(SCOPE_ONCE);
	return 0;
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

static int offer_host(struct search *s, const struct hostname *host, uint16_t port,
		      uint16_t granted_port)
{
	const struct net *net;
	struct grant grant;

	if (grant_of_host(s->a, host, granted_port, &grant, s->e) < 0 ||
	    try_net(s, &grant, &net) < 0)
		return err_result(s->e);
	if (net_resolve(net, host, port).decision == DECISION_ALLOW)
		add_offer(s, grant, SCOPES_LASTING);
	return 0;
}

int offers_for_host(struct arena *a, const struct plan_inputs *in, const struct hostname *host,
		    uint16_t port, bool can_once, struct ask *ask, struct err *e)
{
	struct search s = { .a = a, .in = in, .ask = ask, .e = e };
	const struct net *net = net_build(a, in->policy, in->has_decider, e);
	struct net_verdict verdict;
	struct grant subject;

	ask->offer_count = 0;
	if (!net || grant_of_host(a, host, port, &subject, e) < 0)
		return err_result(e);
	ask->subject = subject.subject;
	verdict = net_resolve(net, host, port);
	/* What is off was turned off by somebody; a rule and the guard say no to this host. */
	if (verdict.decision == DECISION_ALLOW || verdict.reason != NET_REASON_UNMATCHED)
		return 0;
	/* A grant of one address is an entry for it, and would lift the guard (P13). */
	if (host->is_ip && !ip_is_public(&host->ip))
		return 0;
	if (port && offer_host(&s, host, port, port) < 0)
		return err_result(e);
	if (offer_host(&s, host, port, 0) < 0)
		return err_result(e);
	if (can_once && ask->offer_count)
		ask->offers[0].scopes |= SCOPE_BIT(SCOPE_ONCE);
	return 0;
}

/* ---- Sockets --------------------------------------------------------------------------------- */

/* P5: somebody has said that the file is not to be seen. */
static bool is_denied(const struct plan *plan, struct str path)
{
	struct verdict v = plan_resolve(plan, path);

	return v.access == ACCESS_DENY && v.rule->kind != RULE_UNCOVERED;
}

static int try_socket(struct search *s, const struct plan *plan, struct str path, bool *out)
{
	struct grant grant = { .kind = ASK_UNIX_SOCKET, .subject = path };
	const struct net *net;

	*out = false;
	if (is_denied(plan, path))
		return 0;
	if (try_net(s, &grant, &net) < 0)
		return err_result(s->e);
	*out = net_resolve_socket(net, path, s->in->places.home).decision == DECISION_ALLOW;
	return 0;
}

int offers_for_socket(struct arena *a, const struct plan_inputs *in, const struct plan *plan,
		      struct str path, bool can_once, struct ask *ask, struct err *e)
{
	struct search s = { .a = a, .in = in, .ask = ask, .e = e };
	struct grant grant = { .kind = ASK_UNIX_SOCKET, .subject = path };
	const struct net *net = net_build(a, in->policy, in->has_decider, e);
	struct net_verdict verdict;
	bool is_enough;

	ask->offer_count = 0;
	if (!net)
		return err_result(e);
	verdict = net_resolve_socket(net, path, in->places.home);
	if (verdict.decision == DECISION_ALLOW || verdict.reason != NET_REASON_UNMATCHED)
		return 0;
	if (try_socket(&s, plan, path, &is_enough) < 0)
		return err_result(e);
	if (is_enough)
		add_offer(&s, grant, SCOPES_LASTING | (can_once ? SCOPE_BIT(SCOPE_ONCE) : 0));
	return 0;
}

/* ---- A grant that was given ------------------------------------------------------------------ */

static int check_there(struct search *s, const struct grant *grant, const char **why_not)
{
	enum host_type type = HOST_MISSING;

	if (check_place(s, grant->subject, &type, why_not) < 0)
		return err_result(s->e);
	if (!*why_not && grant->is_dir != (type == HOST_DIR))
		*why_not = grant->is_dir ? "it is no directory" : "it is a directory";
	return 0;
}

static int check_path(struct search *s, const struct grant *grant, const char **why_not)
{
	bool is_enough;

	if (check_there(s, grant, why_not) < 0)
		return err_result(s->e);
	if (*why_not)
		return 0;
	if (try_path(s, grant->subject, grant->subject, grant->subject, &is_enough) < 0)
		return err_result(s->e);
	if (!is_enough)
		*why_not = "the policy does not let it be granted";
	return 0;
}

static int check_host(struct search *s, const struct grant *grant, const char **why_not)
{
	const struct net *net;
	struct hostname host;
	uint16_t port;

	if (hostname_parse_port(s->a, grant->subject, &host, &port, s->e) < 0) {
		if (s->e->code != ERR_SYNTAX)
			return err_result(s->e);
		err_clear(s->e);
		*why_not = "it is no host";
		return 0;
	}
	if (try_net(s, grant, &net) < 0)
		return err_result(s->e);
	/* One port may be denied: then the others are open. */
	if ((host.is_ip && !ip_is_public(&host.ip)) ||
	    (port && net_resolve(net, &host, port).decision != DECISION_ALLOW))
		*why_not = "the policy does not let it be granted";
	return 0;
}

static int check_socket(struct search *s, const struct grant *grant, const char **why_not)
{
	const struct plan *plan = plan_build_answers(s->a, s->in, s->e);
	struct located located;
	bool is_enough;

	if (!plan || plan_locate(s->a, s->in, grant->subject, &located, s->e) < 0 ||
	    try_socket(s, plan, grant->subject, &is_enough) < 0)
		return err_result(s->e);
	if (!str_eq(located.path, grant->subject))
		*why_not = "it leads through a link";
	else if (!is_enough)
		*why_not = "the policy does not let it be granted";
	return 0;
}

int offers_check_path(struct arena *a, const struct plan_inputs *in, const struct grant *grant,
		      const char **why_not, struct err *e)
{
	struct search s = { .a = a, .in = in, .e = e };

	*why_not = NULL;
	if (grant->kind == ASK_WRITE && grant_is_well_formed(grant))
		return check_there(&s, grant, why_not);
	*why_not = "it is not written as a grant";
	return 0;
}

int offers_check(struct arena *a, const struct plan_inputs *in, const struct grant *grant,
		 const char **why_not, struct err *e)
{
	struct search s = { .a = a, .in = in, .e = e };

	*why_not = NULL;
	if (!grant_is_well_formed(grant)) {
		*why_not = "it is not written as a grant";
		return 0;
	}
	switch (grant->kind) {
	case ASK_WRITE:
		return check_path(&s, grant, why_not);
	case ASK_CONNECT:
		return check_host(&s, grant, why_not);
	case ASK_UNIX_SOCKET:
		return check_socket(&s, grant, why_not);
	case ASK_ESCALATE:
		break;
	}
	return 0;
}
