/* SPDX-License-Identifier: MIT */
/* plan -> Landlock rules, or why they can't enforce it. Pure. */
#include "backend/landlock/landlock.h"

#include "backend/devices.h"
#include "base/path.h"
#include "base/utf8.h"
#include "plan/net.h"

struct lowering {
	struct arena *a;
	const struct launch *in;
	const struct landlock_facts *facts;
	struct landlock_rules *landlock;
};

/* ---- What is refused -------------------------------------------------------------- */

static int refuse_path(struct str path, const char *before, const char *behind, struct err *e)
{
	scoped_buf shown = BUF_INIT((size_t)4 * PATH_MAX_BYTES);

	utf8_add_shown(&shown, path);
	return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED, "the landlock backend can't %s '%s' %s",
			  before, buf_str(&shown).p, behind);
}

/* Cordon's own files (P25), as plan_build() was given them. */
static int find_own(struct lowering *l, struct plan_inputs *inputs, struct err *e)
{
	const struct plan *p = l->in->plan;
	struct own_file *own = arena_array(l->a, p->rules.count + 1, sizeof(*own), e);

	if (!own)
		return err_result(e);
	for (size_t i = 0; i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];

		if (rule->kind == RULE_OWN)
			own[inputs->own_count++] = (struct own_file){
				.path = rule->path,
				.access = rule->access,
				.what = "a file of Cordon's own",
			};
	}
	inputs->own = own;
	return 0;
}

static int check_mode(struct lowering *l, struct err *e)
{
	const struct plan *p = l->in->plan;
	struct plan_inputs inputs = { .policy = p->policy,
				      .places = p->places,
				      .host = l->in->host };
	struct mode mode;
	struct str why_not;
	bool round_trips;

	if (p->policy->profile->allows_userns)
		return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
				  "the landlock backend can't give the user namespaces of "
				  "isolation.userns; leave it out, or use the native backend");
	if (find_own(l, &inputs, e) < 0 ||
	    plan_round_trips(l->a, &inputs, p, &round_trips, &mode, &why_not, e) < 0)
		return err_result(e);
	if (round_trips)
		return 0;
	return FAIL_CAUSE(
		e, CAUSE_BACKEND_UNSUITED,
		"the landlock backend can enforce only the modes read-only and workspace-write: "
		"%.*s; use --mode, or a backend with namespaces",
		STR_ARG(why_not));
}

static bool is_writable(const struct landlock_rules *landlock, struct str path)
{
	for (size_t i = 0; i < landlock->rules.count; i++)
		if (landlock->rules.items[i].kind == LANDLOCK_MAY_WRITE &&
		    path_is_under(path, str_of(landlock->rules.items[i].path)))
			return true;
	return false;
}

/* Refuses what other backends always protect inside a writable subtree, whatever is accepted. */
static int check_inside(struct lowering *l, struct err *e)
{
	const struct plan *p = l->in->plan;

	for (size_t i = 0; i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];

		if (rule->kind == RULE_OWN && is_writable(l->landlock, rule->path))
			return refuse_path(rule->path, "keep Cordon's own",
					   "read-only inside what is writable; work in "
					   "another directory, or have Cordon's files elsewhere",
					   e);
	}
	for (size_t i = 0; i < l->facts->kernel->count; i++)
		if (is_writable(l->landlock, l->facts->kernel->items[i]))
			return refuse_path(l->facts->kernel->items[i],
					   "hide the kernel's file system that is mounted at",
					   "inside what is writable; unmount it first", e);
	return 0;
}

/* ---- The rules ----------------------------------------------------------------------- */

static int add_rule(struct lowering *l, struct str path, enum landlock_access kind, struct err *e)
{
	struct landlock_rule *rule = VEC_PUSH(l->a, &l->landlock->rules, e);
	struct str copy;

	if (!rule || arena_copy(l->a, path, &copy, e) < 0)
		return err_result(e);
	*rule = (struct landlock_rule){ .path = copy.p, .kind = kind };
	return 0;
}

/* Other backends make these anew; here they are the host's, and no entry opens them (P20). */
static bool is_the_hosts(struct str path)
{
	return path_is_under(path, STR("/proc")) || path_is_under(path, STR("/sys")) ||
	       str_is(path, "/dev");
}

/* P8: the rule names the inode that the plan was made for. */
static int add_writable(struct lowering *l, const struct region *region, struct err *e)
{
	struct landlock_rule *rule;
	struct host_file file;

	if (region->path.len == 1)
		return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED,
				  "the landlock backend can't protect anything if all of '/' is "
				  "writable; use a backend with namespaces");
	if (is_the_hosts(region->path))
		return refuse_path(region->path, "make",
				   "writable: with namespaces it is the sandbox's own, and here it "
				   "would be the host's; is TMPDIR there, or the working "
				   "directory?",
				   e);
	if (l->in->host->look(l->in->host->user, region->path, &file, e) < 0 ||
	    add_rule(l, region->path, LANDLOCK_MAY_WRITE, e) < 0)
		return err_result(e);
	rule = &l->landlock->rules.items[l->landlock->rules.count - 1];
	rule->is_checked = true;
	rule->device = file.device;
	rule->inode = file.inode;
	return 0;
}

static int add_all_writable(struct lowering *l, struct err *e)
{
	const struct plan *p = l->in->plan;

	for (size_t i = 0; i < p->regions.count; i++) {
		const struct region *region = &p->regions.items[i];

		if (region->access == ACCESS_WRITE && region->type != HOST_MISSING &&
		    add_writable(l, region, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int add_top(void *arg, struct str name, enum host_type type, struct err *e)
{
	struct lowering *l = arg;
	struct str path;

	/* A link grants nothing: its target has its own rule. */
	if (type == HOST_LINK || str_is(name, "dev"))
		return 0;
	if (arena_printf(l->a, &path, e, "/%.*s", STR_ALL(name)) < 0)
		return err_result(e);
	return add_rule(l, path, LANDLOCK_MAY_LOOK, e);
}

/*
 * Everything may be read except the host's memory and devices: files in /dev/shm, other terminals,
 * disks. So each name in "/" gets a rule, and of /dev only what every program needs.
 */
static int add_readable(struct lowering *l, struct err *e)
{
	static const char *const devices[] = { HOST_DEVICES };
	const struct host *host = l->in->host;

	if (add_rule(l, STR("/"), LANDLOCK_MAY_LIST, e) < 0 ||
	    host->list(host->user, STR("/"), add_top, l, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < COUNT_OF(devices); i++)
		if (add_rule(l, str_of(devices[i]), LANDLOCK_MAY_USE, e) < 0)
			return err_result(e);
	if (l->facts->terminal_path &&
	    add_rule(l, str_of(l->facts->terminal_path), LANDLOCK_MAY_USE, e) < 0)
		return err_result(e);
	if (l->in->plan->policy->profile->isolates_ipc)
		return 0;
	if (add_rule(l, STR("/dev/shm"), LANDLOCK_MAY_LOOK, e) < 0 ||
	    add_rule(l, STR("/dev/mqueue"), LANDLOCK_MAY_LOOK, e) < 0)
		return err_result(e);
	return 0;
}

int landlock_lower(struct arena *a, const struct launch *in, const struct landlock_facts *facts,
		   struct landlock_rules *out, struct err *e)
{
	struct lowering l = { .a = a, .in = in, .facts = facts, .landlock = out };

	*out = (struct landlock_rules){ .abi = facts->abi,
					.shows_root = true,
					.refuses_network = net_mode(in->plan->net) != NET_FULL };
	if (check_mode(&l, e) < 0 || add_all_writable(&l, e) < 0 || check_inside(&l, e) < 0 ||
	    add_readable(&l, e) < 0)
		return err_result(e);
	return 0;
}

void landlock_describe_rule(const struct landlock_rule *rule, struct buf *out)
{
	static const char *const words[] = {
		[LANDLOCK_MAY_LIST] = "list",	    [LANDLOCK_MAY_LOOK] = "read",
		[LANDLOCK_MAY_READ] = "read",	    [LANDLOCK_MAY_USE] = "use",
		[LANDLOCK_MAY_ARRANGE] = "arrange", [LANDLOCK_MAY_WRITE] = "write",
	};

	buf_printf(out, "%-5s ", words[rule->kind]);
	utf8_add_shown(out, str_of(rule->path));
}
