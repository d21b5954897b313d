/* SPDX-License-Identifier: MIT */
/*
 * Which guarantees a plan needs (P16), each with the rule that needs it. Everything is derived from
 * the regions, that is from the answers, not from the entries: an entry that changes no answer
 * needs nothing.
 *
 * Carving and reopening. Follow the answers from "/" down to a path: each region on the way is
 * wider or narrower than the one around it.
 *  - A step down (write to read, read to deny) is a carve: fs_carve.
 *  - A step up needs nothing: any list of allowed subtrees can express it
 *    ("/" read with /repo write, or nothing but /repo read). Only a step up after
 *    a step down needs fs_reopen: a list of exceptions would need exceptions.
 * A deny glob is a carve wherever its names appear.
 */
#include <stdarg.h>

#include "plan/builder.h"
#include "plan/net.h"

#include "base/path.h"

static int add_need(struct builder *b, enum guarantee g, const struct rule *rule, struct err *e,
		    const char *fmt, ...) PRINTF_LIKE(5, 6);

/* The first rule that needs a guarantee is the one that is named. */
static int add_need(struct builder *b, enum guarantee g, const struct rule *rule, struct err *e,
		    const char *fmt, ...)
{
	struct plan *p = b->plan;
	struct need *need;
	UNINITIALIZED char text[1024];
	va_list args;

	if (p->needs_set & GUARANTEE_BIT(g))
		return 0;
	need = VEC_PUSH(b->a, &p->needs, e);
	if (!need)
		return err_result(e);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (arena_copy(b->a, str_of(text), &need->because, e) < 0)
		return err_result(e);
	need->guarantee = g;
	need->rule = rule;
	p->needs_set |= GUARANTEE_BIT(g);
	return 0;
}

/* ---- Files -------------------------------------------------------------- */

/* Of a region: the region around it, and whether there was a step down anywhere above. */
struct nesting {
	size_t around; /* its own position if there is none */
	bool is_carved;
};

/*
 * A place for session secrets (P25) that does not exist hides nothing yet. Only Cordon creates it,
 * and a session whose backend lacks fs_read keeps its secrets off the disk (P19). So it does not
 * make every plan need fs_read.
 */
static bool is_empty_promise(const struct region *r)
{
	return r->rule->kind == RULE_OWN && r->access == ACCESS_DENY && r->type == HOST_MISSING;
}

static int need_region(struct builder *b, const struct region *r, const struct region *around,
		       bool is_inside_carve, struct err *e)
{
	struct str path = r->path;
	/* A glob may have matched between the region around this one and this one. */
	enum access above = plan_resolve(b->plan, path_parent(path)).access;

	if (is_empty_promise(r))
		return 0;
	if (r->access < ACCESS_WRITE &&
	    add_need(b, G_FS_WRITE, r->rule, e, "%.*s may not be written", STR_ARG(path)) < 0)
		return err_result(e);
	if (r->access == ACCESS_DENY &&
	    add_need(b, G_FS_READ, r->rule, e, "%.*s may not be read", STR_ARG(path)) < 0)
		return err_result(e);
	if (r->access < around->access &&
	    add_need(b, G_FS_CARVE, r->rule, e, "%.*s is %s inside %.*s, which is %s",
		     STR_ARG(path), access_name(r->access), STR_ARG(around->path),
		     access_name(around->access)) < 0)
		return err_result(e);
	if ((is_inside_carve || above < around->access) && r->access > above &&
	    add_need(b, G_FS_REOPEN, r->rule, e, "%.*s is %s inside what is only %s", STR_ARG(path),
		     access_name(r->access), access_name(above)) < 0)
		return err_result(e);
	return 0;
}

/* The regions are in path_cmp() order: a region comes after those around it. */
static int need_regions(struct builder *b, struct err *e)
{
	const struct plan *p = b->plan;
	const struct region *regions = p->regions.items;
	struct nesting *n = arena_array(b->a, p->regions.count + 1, sizeof(*n), e);

	if (!n)
		return err_result(e);
	for (size_t i = 0; i < p->regions.count; i++) {
		size_t around = i ? i - 1 : 0;

		while (!path_is_under(regions[i].path, regions[around].path)) {
			if (n[around].around == around) {
				around = i;
				break;
			}
			around = n[around].around;
		}
		n[i].around = around;
		n[i].is_carved = (around != i && n[around].is_carved) ||
				 regions[i].access < regions[around].access;
		if (need_region(b, &regions[i], &regions[around], n[i].is_carved, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int need_glob(struct builder *b, const struct rule *r, struct err *e)
{
	if (add_need(b, G_FS_READ, r, e, "what matches %.*s may not be read", STR_ARG(r->key)) <
		    0 ||
	    add_need(b, G_FS_CARVE, r, e, "what matches %.*s is denied wherever it is",
		     STR_ARG(r->key)) < 0)
		return err_result(e);
	if (b->in->policy->profile->globs_are_strict &&
	    add_need(b, G_DENY_FUTURE, r, e,
		     "globs = \"strict\": what matches %.*s later on is denied from the start",
		     STR_ARG(r->key)) < 0)
		return err_result(e);
	return 0;
}

/*
 * A protected name may exist today and be missing tomorrow. So P9 always needs both guarantees:
 * which of them counts must not depend on what the last run left behind.
 */
static int need_protection(struct builder *b, const struct rule *r, struct err *e)
{
	/* Lifted, or inside something that can't be written anyway. */
	if (plan_resolve(b->plan, r->path).access == ACCESS_WRITE ||
	    plan_resolve(b->plan, path_parent(r->path)).access != ACCESS_WRITE)
		return 0;
	if (add_need(b, G_FS_CARVE, r, e, "%.*s is protected inside a writable root",
		     STR_ARG(r->path)) < 0 ||
	    add_need(b, G_PROTECT_MISSING, r, e, "%.*s may not be created or replaced",
		     STR_ARG(r->path)) < 0)
		return err_result(e);
	return 0;
}

static int need_rules(struct builder *b, struct err *e)
{
	const struct plan *p = b->plan;
	int failed = 0;

	for (size_t i = 0; i < p->rules.count && !failed; i++) {
		const struct rule *r = &p->rules.items[i];

		if (r->kind == RULE_GLOB && r->access == ACCESS_DENY)
			failed = need_glob(b, r, e);
		else if ((r->kind == RULE_PROTECTED || r->kind == RULE_GIT) &&
			 r->access < ACCESS_WRITE)
			failed = need_protection(b, r, e);
	}
	for (size_t i = 0; i < p->placeholders.count && !failed; i++)
		failed = add_need(b, G_PROTECT_MISSING, p->placeholders.items[i].rule, e,
				  "%.*s is missing and may not be created",
				  STR_ARG(p->placeholders.items[i].path));
	return failed;
}

/* ---- Everything else ----------------------------------------------------  */

static int need_net(struct builder *b, struct err *e)
{
	switch (net_mode(b->plan->net)) {
	case NET_OFF:
		return add_need(b, G_NET_OFF, NULL, e, "the network is off");
	case NET_MANAGED:
		/* Where no host can be asked about, none is reached. */
		if (net_is_for_asking(b->plan->net))
			return add_need(b, G_NET_OFF, NULL, e,
					"the network is off until it is asked about");
		return add_need(b, G_NET_MANAGED, NULL, e, "the network is managed");
	case NET_FULL:
		break;
	}
	return 0;
}

static int need_limits(struct builder *b, struct err *e)
{
	static const enum limit in_cgroup[] = { LIMIT_MEMORY, LIMIT_PROCESSES };
	const struct limits *limits = &b->in->policy->profile->limits;

	for (size_t i = 0; i < COUNT_OF(in_cgroup); i++) {
		const struct origin *at = &limits->origin[in_cgroup[i]];

		if (limits->value[in_cgroup[i]] == 0)
			continue;
		return add_need(b, G_LIMITS, NULL, e, "limits.%s is set (%s:%u)",
				limit_name(in_cgroup[i]), at->file ? at->file : "built in",
				at->line);
	}
	return 0;
}

static int need_isolation(struct builder *b, struct err *e)
{
	const struct profile *profile = b->in->policy->profile;

	if (profile->isolates_ipc &&
	    add_need(b, G_IPC, NULL, e, "isolation.ipc is on unless the profile drops it") < 0)
		return err_result(e);
	if (profile->isolates_proc &&
	    add_need(b, G_PROC, NULL, e, "isolation.proc is on unless the profile drops it") < 0)
		return err_result(e);
	if (add_need(b, G_KERNEL, NULL, e, "every sandbox needs it") < 0 ||
	    add_need(b, G_TREE_DEATH, NULL, e, "every sandbox needs it") < 0)
		return err_result(e);
	return 0;
}

int pass_needs(struct builder *b, struct err *e)
{
	if (b->plan->is_unsandboxed)
		return 0;
	if (need_regions(b, e) < 0 || need_rules(b, e) < 0 || need_net(b, e) < 0 ||
	    need_limits(b, e) < 0 || need_isolation(b, e) < 0)
		return err_result(e);
	return 0;
}
