/* SPDX-License-Identifier: MIT */
/*
 * See windows.h. Goes through the files of the host from the drives down, with what an object inherits
 * from the entries made so far. Where that is not what the plan answers, the object gets
 * entries of its own. Then come the missing paths that have to be made (P11).
 */
#include <stdarg.h>
#include <stdio.h>

#include "backend/windows/sid.h"
#include "backend/windows/windows.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/windows_path.h"
#include "plan/net.h"

/* What an object inherits from the entries above it. */
enum inherited { INHERITS_NONE, INHERITS_ALLOW, INHERITS_DENY };
struct state {
	enum inherited write; /* of a capability SID; that of `root` */
	enum inherited read;  /* of `group` */
	struct str root;      /* the writable root around it; "" for none */
};

enum { ALLOWS, DENIES_WRITE, DENIES_READ, DENIES_DELETE };

/* ---- Entries ------------------------------------------------------------------------------------ */

static int add_ace(struct lowering *l, int which, struct str path, struct str sid, struct err *e)
{
	static const enum windows_access accesses[] = { [ALLOWS] = WINDOWS_WRITE,
							[DENIES_WRITE] = WINDOWS_WRITE,
							[DENIES_READ] = WINDOWS_READ,
							[DENIES_DELETE] = WINDOWS_DELETE };
	struct windows_ace *ace = VEC_PUSH(l->a, &l->acl[which], e);

	if (!ace)
		return err_result(e);
	*ace = (struct windows_ace){ .sid = sid,
				     .is_deny = which != ALLOWS,
				     .access = accesses[which],
				     .inherits = which != DENIES_DELETE };
	return arena_copy(l->a, path, &ace->path, e);
}

/* For what is written: the account and the capability have to be allowed both, and either may deny. */
static int add_both(struct lowering *l, int which, struct str path, struct str sid, struct err *e)
{
	if (l->has_accounts && add_ace(l, which, path, STR("group"), e) < 0)
		return err_result(e);
	return add_ace(l, which, path, sid, e);
}

static struct str find_sid(const struct lowering *l, struct str root)
{
	for (size_t i = 0; i < l->roots.count; i++)
		if (str_eq(l->roots.items[i].path, root))
			return l->roots.items[i].sid;
	return STR_EMPTY;
}

static int add_root(struct lowering *l, struct str path, struct str *kept, struct err *e)
{
	struct windows_root *root = VEC_PUSH(l->a, &l->roots, e);
	scoped_buf name = BUF_INIT((size_t)2 * PATH_MAX_BYTES);
	struct str shown = STR_EMPTY;

	if (!root || arena_copy(l->a, path, &root->path, e) < 0 ||
	    windows_show(l->a, path, &shown, e) < 0)
		return err_result(e);
	*kept = root->path;
	buf_add_text(&name, "cap:write:");
	buf_add(&name, shown);
	if (buf_check(&name, e) < 0)
		return err_result(e);
	return arena_copy(l->a, buf_str(&name), &root->sid, e);
}

static int add_read_root(struct lowering *l, struct str path, struct err *e)
{
	struct str *root = VEC_PUSH(l->a, &l->out->read_roots, e);

	return root ? arena_copy(l->a, path, root, e) : err_result(e);
}

static bool is_known(const struct name_node *tree, struct str path)
{
	return name_tree_find((struct name_node *)(uintptr_t)tree, path) != NULL;
}

static int note(struct lowering *l, struct name_node **tree, struct str path, struct err *e)
{
	struct name_node *node = ARENA_NEW(l->a, struct name_node, e);

	if (!node || arena_copy(l->a, path, &node->name, e) < 0)
		return err_result(e);
	name_tree_add(tree, node);
	return 0;
}

/* Deleting and renaming it is denied, for as long as something below must keep its place. */
static int add_pin(struct lowering *l, struct str path, struct str root, struct err *e)
{
	if (is_known(l->pinned, path))
		return 0;
	if (note(l, &l->pinned, path, e) < 0)
		return err_result(e);
	return add_both(l, DENIES_DELETE, path, find_sid(l, root), e);
}

/* What is above a narrower path, up to the root. */
static int pin_above(struct lowering *l, struct str path, struct str root, struct err *e)
{
	for (struct str at = path_parent(path); path_is_under(at, root); at = path_parent(at)) {
		if (add_pin(l, at, root, e) < 0)
			return err_result(e);
		if (str_eq(at, root))
			break;
	}
	return 0;
}

/* ---- One object ---------------------------------------------------------------------------------- */

static enum access wanted(const struct lowering *l, struct str path)
{
	enum access access = plan_resolve(l->plan, path).access;

	return access == ACCESS_WRITE && is_known(l->links, path) ? ACCESS_READ : access;
}

/*
 * Objects whose access list inherits nothing on any Windows: what entries above say does not reach
 * them. That one of them inherits all the same does no harm.
 */
static bool is_usually_protected(const struct lowering *l, struct str path)
{
	static const char *const usual[] = { "Windows", "Program Files", "Program Files (x86)",
					     "ProgramData", "Users" };
	const struct places *places = &l->plan->places;
	const size_t depth = path_depth(path);

	if (depth == 1 || str_eq(path, places->home))
		return true;
	for (size_t i = 0; depth == 2 && i < COUNT_OF(usual); i++)
		if (str_is(path_name(path), usual[i]))
			return true;
	for (size_t i = 0; i < places->minimal_count; i++)
		if (str_eq(path, places->minimal[i]))
			return true;
	return depth == 3 && str_is(path_name(path_parent(path)), "Users");
}

static int write_state(struct lowering *l, struct str path, enum access want, bool has_own,
		       struct state *s, bool adds, struct err *e)
{
	if (want == ACCESS_WRITE && s->write == INHERITS_DENY)
		return windows_refuse(l, G_FS_REOPEN, e,
				      "%.*s is writable inside what is not, inside the writable "
				      "root %.*s; no access lists of Windows hold that for what is "
				      "made there later",
				      STR_ARG(path), STR_ARG(s->root));
	if (want == ACCESS_WRITE && s->write == INHERITS_NONE) {
		const bool is_root = !s->root.len;

		if (is_root && adds && add_root(l, path, &s->root, e) < 0)
			return err_result(e);
		if (is_root)
			s->root = path;
		if (adds && add_both(l, ALLOWS, path, find_sid(l, s->root), e) < 0)
			return err_result(e);
		if (adds && is_root && add_pin(l, path, s->root, e) < 0)
			return err_result(e);
		s->write = INHERITS_ALLOW;
		s->read = INHERITS_ALLOW; /* which writing includes */
	} else if (want != ACCESS_WRITE && s->root.len && (s->write == INHERITS_ALLOW || has_own)) {
		if (adds && (add_both(l, DENIES_WRITE, path, find_sid(l, s->root), e) < 0 ||
			     pin_above(l, path, s->root, e) < 0))
			return err_result(e);
		s->write = INHERITS_DENY;
	}
	return 0;
}

/* The account of its own may read what `group`, or everybody, may. */
static int read_state(struct lowering *l, struct str path, enum access want, bool has_own,
		      struct state *s, bool adds, struct err *e)
{
	const enum inherited needed = want == ACCESS_DENY ? INHERITS_DENY : INHERITS_ALLOW;

	if (!l->has_accounts || (s->read == needed && (!has_own || want != ACCESS_DENY)))
		return 0;
	s->read = needed;
	if (!adds)
		return 0;
	return want == ACCESS_DENY ? add_ace(l, DENIES_READ, path, STR("group"), e)
				   : add_read_root(l, path, e);
}

/* Makes `*s` what is inherited below `path`; with `adds` the entries too. */
static int step(struct lowering *l, struct str path, const struct host_file *file, struct state *s,
		bool adds, struct err *e)
{
	const enum access want = wanted(l, path);
	const bool is_cut = file->inherits_nothing || is_usually_protected(l, path);
	const bool has_own = is_cut || file->has_own_list;

	if (is_cut) {
		s->read = INHERITS_NONE;
		s->write = s->write == INHERITS_DENY ? INHERITS_DENY : INHERITS_NONE;
	}
	if (write_state(l, path, want, has_own, s, adds, e) < 0)
		return err_result(e);
	return read_state(l, path, want, has_own, s, adds, e);
}

/* ---- All that exists ------------------------------------------------------------------------------ */

struct visit {
	struct lowering *l;
	struct str dir;
	struct state state; /* what is inherited in it */
};

/* NOLINTNEXTLINE(misc-no-recursion): as deep as a path has components */
static int visit(void *arg, struct str name, enum host_type type, struct err *e)
{
	struct visit *v = arg;
	struct lowering *l = v->l;
	const struct host *host = l->plan->host;
	struct visit below = { .l = l, .dir = STR_EMPTY, .state = v->state };
	struct host_file file;

	if (path_join(l->a, v->dir, name, &below.dir, e) < 0 ||
	    host->look(host->user, below.dir, &file, e) < 0 ||
	    step(l, below.dir, &file, &below.state, true, e) < 0)
		return err_result(e);
	return type == HOST_DIR ? host->list(host->user, below.dir, visit, &below, e) : 0;
}

/* ---- What is missing ------------------------------------------------------------------------------- */

/* What `path` passes on, by the entries on the way. */
static int state_at(struct lowering *l, struct str path, struct state *out, struct err *e)
{
	const struct host *host = l->plan->host;
	struct host_file file;
	struct str name;
	size_t at = 0;

	*out = (struct state){ .root = STR_EMPTY };
	while (path_next(path, &at, &name)) {
		struct str prefix = str_first(path, at);

		if (host->look(host->user, prefix, &file, e) < 0)
			return err_result(e);
		if (file.type == HOST_MISSING && !is_known(l->emitted, prefix))
			continue;
		if (step(l, prefix, &file, out, false, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* Whether the entry names the path, so that it is to hold also where the command could not make it. */
static bool is_demanded(const struct lowering *l, const struct region *region)
{
	return l->has_accounts && region->access == ACCESS_DENY &&
	       region->rule->kind == RULE_ENTRY && !region->rule->secret;
}

/* From the first missing component on, where what is inherited is not the answer. */
static int add_missing(struct lowering *l, struct str path, bool is_demanded, struct err *e)
{
	const struct host *host = l->plan->host;
	struct host_file file;
	struct state s;
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name)) {
		struct str prefix = str_first(path, at);
		enum access want = wanted(l, prefix);
		bool is_inside;

		if (host->look(host->user, prefix, &file, e) < 0)
			return err_result(e);
		if (file.type != HOST_MISSING || is_known(l->emitted, prefix))
			continue;
		if (state_at(l, path_parent(prefix), &s, e) < 0)
			return err_result(e);
		is_inside = s.write == INHERITS_ALLOW || is_known(l->emitted, path_parent(prefix));
		if (want == ACCESS_WRITE || (!is_inside && !is_demanded))
			continue;
		if (note(l, &l->emitted, prefix, e) < 0 || step(l, prefix, &file, &s, true, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int add_all_missing(struct lowering *l, struct err *e)
{
	const struct plan *plan = l->plan;

	for (size_t i = 0; i < plan->placeholders.count; i++)
		if (add_missing(l, plan->placeholders.items[i].path, false, e) < 0)
			return err_result(e);
	for (size_t i = 0; i < plan->regions.count; i++) {
		const struct region *region = &plan->regions.items[i];

		/* What a glob will match is denied when it appears (P6). */
		if (region->type == HOST_MISSING && region->rule->kind != RULE_GLOB &&
		    add_missing(l, region->path, is_demanded(l, region), e) < 0)
			return err_result(e);
	}
	return 0;
}

/* ---- Capabilities ----------------------------------------------------------------------------------- */

/*
 * Made from the root, the digest of the policy and the home: what this user has left in access lists for
 * another policy gives nothing, and what somebody else has left neither.
 */
static int add_capability(struct lowering *l, struct str name, struct str digest, struct err *e)
{
	struct windows_capability *capability = VEC_PUSH(l->a, &l->out->capabilities, e);
	struct str *restricting = VEC_PUSH(l->a, &l->out->restricting, e);
	scoped_buf text = BUF_INIT((size_t)4 * PATH_MAX_BYTES);
	unsigned char hash[SHA256_BYTES];

	if (!capability || !restricting)
		return err_result(e);
	buf_add_text(&text, "cordon ");
	buf_add(&text, digest);
	buf_add_char(&text, ' ');
	buf_add(&text, name);
	buf_add_char(&text, ' ');
	buf_add(&text, l->plan->places.home);
	if (buf_check(&text, e) < 0)
		return err_result(e);
	sha256(buf_str(&text), hash);
	capability->name = name;
	*restricting = name;
	return sid_of_capability(l->a, hash, &capability->sid, e);
}

/*
 * SECURITY: never Everyone, Users or the user: each would open what they may write. The logon SID is
 * for the desktop and the console.
 */
static int add_capabilities(struct lowering *l, struct err *e)
{
	struct str digest = STR_EMPTY;
	struct str *logon;

	if (policy_digest(l->a, l->plan->policy, &digest, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < l->roots.count; i++)
		if (add_capability(l, l->roots.items[i].sid, digest, e) < 0)
			return err_result(e);
	if (!l->roots.count && add_capability(l, STR("cap:readonly"), digest, e) < 0)
		return err_result(e);
	logon = VEC_PUSH(l->a, &l->out->restricting, e);
	if (!logon)
		return err_result(e);
	*logon = STR("logon");
	return 0;
}

/* ---- All of it ---------------------------------------------------------------------------------------- */

static int add_plan_pins(struct lowering *l, struct err *e)
{
	for (size_t i = 0; i < l->plan->pins.count; i++) {
		struct str path = l->plan->pins.items[i].path;
		struct state s;

		if (state_at(l, path, &s, e) < 0)
			return err_result(e);
		if (s.write == INHERITS_ALLOW && add_pin(l, path, s.root, e) < 0)
			return err_result(e);
	}
	return 0;
}

int windows_find_acl(struct lowering *l, struct err *e)
{
	const struct plan *plan = l->plan;
	struct visit all = { .l = l, .dir = STR("/"), .state = { .root = STR_EMPTY } };

	for (size_t i = 0; i < plan->links.count; i++)
		if (note(l, &l->links, plan->links.items[i].path, e) < 0)
			return err_result(e);
	if (plan->host->list(plan->host->user, STR("/"), visit, &all, e) < 0 ||
	    add_all_missing(l, e) < 0 || add_plan_pins(l, e) < 0)
		return err_result(e);
	for (size_t which = 0; which < COUNT_OF(l->acl); which++)
		for (size_t i = 0; i < l->acl[which].count; i++) {
			struct windows_ace *ace = VEC_PUSH(l->a, &l->out->acl, e);

			if (!ace)
				return err_result(e);
			*ace = l->acl[which].items[i];
		}
	return add_capabilities(l, e);
}

void lowering_init(struct lowering *l, struct arena *a, const struct plan *plan,
		   const char *backend, const struct windows_guarantee *guarantees,
		   struct windows_lowering *out)
{
	*l = (struct lowering){ .a = a, .plan = plan, .out = out };
	*out = (struct windows_lowering){ .backend = backend,
					  .guarantees = guarantees,
					  .reason = STR_EMPTY };
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		if (!guarantees[g].is_held)
			out->missing |= plan->needs_set & GUARANTEE_BIT(g);
}

int windows_refuse(struct lowering *l, enum guarantee g, struct err *e, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	l->out->is_refused = true;
	l->out->refused = g;
	if (arena_copy(l->a, str_of(text), &l->out->reason, e) < 0)
		return err_result(e);
	return FAIL_CAUSE(e, CAUSE_BACKEND_UNSUITED, "%s", text);
}

int lowering_end(struct lowering *l, int r, struct err *e)
{
	if (r < 0 && l->out->is_refused && e->cause == CAUSE_BACKEND_UNSUITED) {
		err_clear(e);
		return 0;
	}
	return r;
}

int windows_check_policy(struct lowering *l, struct err *e)
{
	const char *limit = limit_of_processes(&l->plan->policy->profile->limits);

	if (limit)
		return windows_refuse(l, G_LIMITS, e,
				      "limits.%s is not built for Windows in this version", limit);
	if (l->plan->policy->profile->tmp_is_private)
		return windows_refuse(
			l, G_FS_READ, e,
			"tmp = \"private\" needs mounts, which Windows does not have");
	return 0;
}

static int add_variable(struct lowering *l, const char *name, struct str value, struct err *e)
{
	struct str *place = VEC_PUSH(l->a, &l->out->environment, e);

	if (!place)
		return err_result(e);
	return arena_printf(l->a, place, e, "%s=%.*s", name, STR_ALL(value));
}

int windows_add_process(struct lowering *l, struct err *e)
{
	const struct limits *limits = &l->plan->policy->profile->limits;
	struct str tmpdir = STR_EMPTY;

	l->out->memory = limits->value[LIMIT_MEMORY];
	l->out->processes = limits->value[LIMIT_PROCESSES];
	if (add_variable(l, "CORDON_SANDBOX", str_of(l->out->backend), e) < 0)
		return err_result(e);
	if (net_mode(l->plan->net) == NET_OFF && l->has_accounts &&
	    (add_variable(l, "CORDON_SANDBOX_NETWORK_DISABLED", STR("1"), e) < 0 ||
	     add_variable(l, "CODEX_SANDBOX_NETWORK_DISABLED", STR("1"), e) < 0))
		return err_result(e);
	if (!l->plan->places.tmpdir.len)
		return 0;
	if (windows_show(l->a, l->plan->places.tmpdir, &tmpdir, e) < 0 ||
	    add_variable(l, "TEMP", tmpdir, e) < 0)
		return err_result(e);
	return add_variable(l, "TMP", tmpdir, e);
}
