/* SPDX-License-Identifier: MIT */
/*
 * Protects names directly under the writable roots (P9), existing or not, and has the one function
 * that puts a cap on a path.
 *
 * SECURITY: a cap on a link's target alone would not be enough: the command could replace the link.
 * So the link's own path is capped too, and pass_links() makes sure that the link can't be removed.
 */
#include "plan/protect.h"

#include "base/path.h"
#include "plan/git.h"
#include "policy/metadata.h"

static int add_cap(struct builder *b, const struct canon *at, const met_links *links,
		   int32_t lift_offset, const struct cap *cap, struct err *e)
{
	struct rule rule = { .kind = cap->kind,
			     .access = cap->access,
			     .lift_depth = CAP_FIXED,
			     .is_shelf = cap->is_shelf,
			     .is_nested = cap->is_nested,
			     .path = at->path,
			     .glob = STR_EMPTY,
			     .key = cap->key,
			     .note = cap->note,
			     .origin = cap->origin };
	struct rule_site site = { .type = at->type,
				  .missing_from = at->missing_from,
				  .links = links->items,
				  .link_count = links->count,
				  .root = cap->root };
	int32_t depth = (int32_t)path_depth(at->path) + lift_offset;

	if (!cap->is_fixed)
		rule.lift_depth = (uint32_t)MAX_OF(depth, 0);
	return builder_add(b, &rule, &site, e) ? 0 : err_result(e);
}

int protect_path(struct builder *b, struct str path, const struct cap *cap, struct err *e)
{
	met_links way = { .items = NULL };
	met_links further = { .items = NULL };
	struct canon own, target;
	bool leads;
	int r = builder_canon(b, path, false, &own, &way, e);

	if (r == 0)
		r = add_cap(b, &own, &way, cap->lift_offset, cap, e);
	if (r < 0 || own.type != HOST_LINK || cap->link_itself)
		return r;
	r = builder_canon_if(b, own.path, true, &target, &further, &leads, e);
	/* A loop leads nowhere, and the cap keeps the link from being replaced. */
	if (r < 0 || !leads)
		return r;
	return add_cap(b, &target, &further, MAX_OF(cap->lift_offset, 0), cap, e);
}

/* Explains why a name is protected, and how to open it. */
static int explain_name(struct arena *a, struct str root, const struct named *name, struct str *out,
			struct err *e)
{
	const struct metadata_name *known = metadata_find(name->name);
	bool can_open = known && !name->origin.file && !str_is(name->name, ".git") &&
			!str_is(name->name, METADATA_OWN);

	return arena_printf(a, out, e,
			    "protected metadata of the writable root %s: it can't be changed, "
			    "moved away or created%s%s%s%s",
			    SHOWN(root), can_open ? " without --unprotect " : "",
			    can_open ? known->name : "", known ? "; " : "",
			    known ? known->reason : "");
}

static int protect_name(struct builder *b, struct str root, const struct named *name,
			bool link_itself, struct err *e)
{
	struct cap cap = { .kind = RULE_PROTECTED,
			   .access = ACCESS_READ,
			   .link_itself = link_itself,
			   .root = root,
			   .key = name->name,
			   .origin = name->origin };
	struct str path;
	int r = path_join(b->a, root, name->name, &path, e);

	if (r == 0)
		r = explain_name(b->a, root, name, &cap.note, e);
	return r < 0 ? r : protect_path(b, path, &cap, e);
}

/*
 * P10 decides about `.git` if the profile may commit and there is a repository to commit to. A link
 * stays protected as a link, and so do pointer files and directories that are not a git directory
 * yet: whoever fills such a directory decides what git runs.
 */
static int protect_git(struct builder *b, struct str root, struct err *e)
{
	struct named name = { .name = STR_INIT(".git") };
	enum git_access mode = b->plan->policy->profile->git;
	struct canon own = { .type = HOST_MISSING };
	struct canon target = { .type = HOST_MISSING };
	bool is_git_dir = false;
	bool leads;
	struct str path;
	int r;

	if (mode == GIT_WRITE)
		return 0;
	if (mode == GIT_READ)
		return protect_name(b, root, &name, false, e);
	r = path_join(b->a, root, name.name, &path, e);
	if (r == 0)
		r = builder_canon(b, path, false, &own, NULL, e);
	if (r < 0)
		return r;
	r = builder_canon_if(b, path, true, &target, NULL, &leads, e);
	if (r == 0 && !leads)
		return protect_name(b, root, &name, true, e);
	if (r == 0 && target.type == HOST_DIR)
		r = git_is_dir(b, target.path, &is_git_dir, e);
	if (r < 0 || (is_git_dir && own.type == HOST_DIR))
		return r;
	return protect_name(b, root, &name, is_git_dir, e);
}

/*
 * Protects the project file of `root`. The protection of .cordon covers it, but Cordon reads it
 * through links too: a command that could write the link's target could write the next run's
 * policy.
 */
static int protect_project_file(struct builder *b, struct str root, struct err *e)
{
	struct cap cap = { .kind = RULE_PROTECTED,
			   .access = ACCESS_READ,
			   /* an entry for .cordon lifts the cap on the link itself */
			   .lift_offset = -1,
			   .root = root,
			   .key = STR(".cordon/config.toml") };
	struct canon at = { .crossed_links = true };
	struct str path;
	int r = path_join(b->a, root, cap.key, &path, e);

	if (r < 0)
		return r;
	r = builder_canon(b, path, true, &at, NULL, e);
	if (r == -(int)ERR_POLICY) {
		err_clear(e); /* a loop: the links are protected as such */
		r = 0;
	}
	if (r < 0 || !at.crossed_links)
		return r;
	r = arena_printf(b->a, &cap.note, e, "the project file of %s is a link to it", SHOWN(root));
	return r < 0 ? r : protect_path(b, path, &cap, e);
}

/*
 * Whether a name with a directory part can be protected. If the directory is missing, the command
 * may create it: to prevent that would prevent everything else in it. What appears there is
 * reported.
 */
static int has_place(struct builder *b, struct str root, struct str name, bool *out, struct err *e)
{
	struct canon at = { .type = HOST_DIR };
	size_t slash = str_find(name, '/');
	struct str path;
	int r = 0;

	if (slash < name.len) {
		bool leads;

		r = path_join(b->a, root, str_first(name, slash), &path, e);
		if (r == 0)
			r = builder_canon_if(b, path, true, &at, NULL, &leads, e);
		if (r == 0 && !leads)
			at.type = HOST_MISSING;
	}
	*out = at.type == HOST_DIR || at.type == HOST_HIDDEN;
	return r;
}

static int protect_known(struct builder *b, struct str root, const struct metadata_name *known,
			 struct err *e)
{
	struct named name = { .name = str_of(known->name) };
	bool has;
	int r;

	if (names_have(&b->plan->policy->profile->unprotect, name.name))
		return 0;
	if (str_is(name.name, ".git"))
		return protect_git(b, root, e);
	r = has_place(b, root, name.name, &has, e);
	return r < 0 || !has ? r : protect_name(b, root, &name, false, e);
}

static int protect_root(struct builder *b, struct str root, struct err *e)
{
	const names *more = &b->plan->policy->profile->protect;
	int r = 0;

	for (size_t i = 0; r == 0 && i < metadata_name_count; i++)
		r = protect_known(b, root, &metadata_names[i], e);
	/*
	 * A name that `protect` lists stays protected whatever `git` says, because the user asked
	 * for it.
	 */
	for (size_t i = 0; r == 0 && i < more->count; i++)
		r = protect_name(b, root, &more->items[i], false, e);
	return r < 0 ? r : protect_project_file(b, root, e);
}

/* ---- Roots inside their own metadata ------------------------------------ */

static bool is_cap_above(const struct builder *b, size_t number, struct str path)
{
	const struct rule *rule = &b->plan->rules.items[number];

	return (rule->kind == RULE_PROTECTED || rule->kind == RULE_GIT) &&
	       rule->access < ACCESS_WRITE && path_is_under(path, rule->path);
}

/* Whether the cap with that number protects metadata of `root`. */
static bool is_own_cap(const struct builder *b, size_t number, struct str root)
{
	const struct rule *rules = b->plan->rules.items;

	for (size_t i = 0; i < b->plan->rules.count; i++)
		if (str_eq(b->sites.items[i].root, root) &&
		    str_eq(rules[i].path, rules[number].path))
			return true;
	return false;
}

/*
 * A worktree may lie inside its own git directory (a bare repository that contains its worktrees),
 * and a link or a pointer may lead to the root or above it. The metadata of a root must not make
 * the root itself read-only, so the root's entry lifts the caps around it, even if its key is only
 * :workspace_roots.
 *
 * SECURITY: no cap is lifted if any of them protects something else, as when the root lies in the
 * hooks of another repository. Otherwise starting a run there would open those hooks.
 */
static void unlock_root(struct builder *b, struct str root)
{
	struct plan *p = b->plan;

	for (size_t i = 0; i < p->rules.count; i++)
		if (is_cap_above(b, i, root) && !is_own_cap(b, i, root))
			return;
	for (size_t i = 0; i < p->rules.count; i++) {
		struct rule *rule = &p->rules.items[i];

		if (rule->kind == RULE_ENTRY && rule->layer == 0 && rule->access == ACCESS_WRITE &&
		    str_eq(rule->path, root))
			rule->is_explicit = true;
	}
}

static void unlock_roots(struct builder *b)
{
	for (size_t i = 0; i < b->plan->rules.count; i++) {
		struct str root = b->sites.items[i].root;

		if (root.len > 0 && is_cap_above(b, i, root))
			unlock_root(b, root);
	}
}

int pass_protect(struct builder *b, struct err *e)
{
	const struct places *places = &b->plan->places;
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->plan->roots.count; i++)
		r = protect_root(b, b->plan->roots.items[i].path, e);
	/* A workspace that is not writable has a project file too. */
	for (size_t i = 0; r == 0 && i < places->root_count; i++)
		if (!roots_has(b, places->roots[i]))
			r = protect_project_file(b, places->roots[i], e);
	if (r < 0)
		return r;
	unlock_roots(b);
	return 0;
}
