/* SPDX-License-Identifier: MIT */
/*
 * Narrower paths that do not exist (P11). If the directory that would hold the first missing
 * component is writable, the command could create it. So a placeholder has to occupy that
 * component: otherwise no mount would cover what the command creates there.
 *
 * SECURITY: whether that directory is writable is asked of the profile alone. Otherwise a narrowing
 * layer could remove the cap by lowering the directory, and so open what is below it. A placeholder
 * is needed only if the directory is writable in the end.
 */
#include "base/name_tree.h"
#include "base/path.h"
#include "plan/builder.h"
#include "plan/index.h"
#include "policy/metadata.h"

/* A first missing component that was dealt with. */
struct placed {
	struct name_node node;
	bool has_holder; /* the command could create it, so it has a placeholder */
	size_t number;	 /* if so, in plan->placeholders */
};

struct placing {
	struct builder *b;
	struct name_node *seen;
	struct name_node *sealed; /* by path: directories that were made read-only as a whole */
};

static bool narrows(const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_ENTRY:
		return rule->access < ACCESS_WRITE;
	case RULE_PROTECTED:
	case RULE_GIT:
	case RULE_MISSING:
	case RULE_OWN:
		return true;
	case RULE_GLOB:
	case RULE_GRANT:
	case RULE_UNCOVERED:
	case RULE_UNSANDBOXED:
		return false;
	}
	return false;
}

/*
 * The files that git tolerates in its own directory when they are empty (tested with git 2.39). As
 * directories, `commondir` makes git fail at once, `config` and `config.worktree` make every
 * command fail that reads the configuration, and `alternates` makes every command warn.
 */
static bool is_file_of_git(const struct rule *rule, struct str path, struct str *content)
{
	if (rule->kind != RULE_GIT || !str_eq(rule->path, path))
		return false;
	*content = str_is(rule->key, "commondir") ? STR(".") : STR_EMPTY;
	return str_is(rule->key, "commondir") || str_is(rule->key, "config") ||
	       str_is(rule->key, "config.worktree") || str_is(rule->key, "objects/info/alternates");
}

/*
 * Whether the name should not be a directory: it is a file's, or programs would take a directory
 * for a repository or for hooks.
 */
static bool is_passed_over(const struct rule *rule, struct str path)
{
	const struct metadata_name *known = metadata_find(rule->key);

	return rule->kind == RULE_PROTECTED && str_eq(rule->path, path) && known &&
	       known->stand_in == STAND_IN_SOCKET;
}

/*
 * `git gc` and `git worktree remove`, used outside, remove an empty worktrees/. To end the run for
 * that would be worse than what a run can then create there, which is reported after the run.
 * Nested repositories come and go as a whole.
 */
static bool may_go(const struct rule *rule, struct str path)
{
	return rule->is_nested || (rule->kind == RULE_GIT && rule->is_shelf &&
				   str_eq(rule->path, path) && str_is(rule->key, "worktrees"));
}

static int add_missing_rule(struct placing *p, uint32_t number, struct str path,
			    enum host_type type, struct err *e)
{
	const struct rule *because = &p->b->plan->rules.items[number];
	struct rule rule = { .kind = RULE_MISSING,
			     .access = ACCESS_READ,
			     .lift_depth = CAP_FIXED,
			     .is_nested = because->is_nested,
			     .path = path,
			     .glob = STR_EMPTY,
			     .key = because->key,
			     .origin = because->origin };
	struct rule_site site = { .type = type,
				  .missing_from = type == HOST_MISSING ? path.len : 0 };
	int r = arena_printf(p->b->a, &rule.note, e, "%s does not exist and can't be created",
			     SHOWN(because->path));

	if (r < 0)
		return r;
	return builder_add(p->b, &rule, &site, e) ? 0 : err_result(e);
}

/* Adds a placeholder at `path`, a directory for now; `number` is the rule that needs it. */
static int add_placeholder(struct placing *p, uint32_t number, struct str path, struct err *e)
{
	struct placeholder *holder = VEC_PUSH(p->b->a, &p->b->plan->placeholders, e);
	uint32_t *slot = holder ? VEC_PUSH(p->b->a, &p->b->placeholder_rules, e) : NULL;

	if (!slot)
		return err_result(e);
	*holder = (struct placeholder){ .path = path,
					.kind = PLACEHOLDER_DIR,
					.content = STR_EMPTY,
					.may_go = may_go(&p->b->plan->rules.items[number], path) };
	*slot = number;
	return 0;
}

/* `path` is the first missing component of a rule's path, seen for the first time. */
static int close_path(struct placing *p, uint32_t number, struct str path, struct err *e)
{
	struct plan *plan = p->b->plan;
	const struct rule *rule = &plan->rules.items[number];
	struct placed *placed = ARENA_NEW(p->b->a, struct placed, e);
	int r = 0;

	if (!placed)
		return err_result(e);
	placed->has_holder = plan_resolve(plan, path_parent(path)).access == ACCESS_WRITE;
	/*
	 * A cap or an entry of the profile at this path already gives the answer, and no entry
	 * below it reopens what is missing. For another layer an entry might.
	 */
	if (rule->layer > 0 || !str_eq(rule->path, path)) {
		r = add_missing_rule(p, number, path, HOST_MISSING, e);
		number = (uint32_t)(plan->rules.count - 1);
	}
	if (r == 0 && placed->has_holder)
		r = add_placeholder(p, number, path, e);
	if (r < 0)
		return r;
	placed->node.name = path;
	placed->number = plan->placeholders.count - 1;
	name_tree_add(&p->seen, &placed->node);
	return 0;
}

/* If rules have the same first missing component, one placeholder serves all of them. */
static int place(struct placing *p, uint32_t number, struct str path, struct err *e)
{
	struct plan *plan = p->b->plan;
	struct str content = STR_EMPTY;
	bool is_file = is_file_of_git(&plan->rules.items[number], path, &content);
	bool is_socket = is_passed_over(&plan->rules.items[number], path);
	const struct placed *placed = (void *)name_tree_find(p->seen, path);
	struct placeholder *holder;

	if (!placed) {
		int r = close_path(p, number, path, e);

		if (r < 0)
			return r;
		placed = (void *)name_tree_find(p->seen, path);
	}
	if (!placed || !placed->has_holder || (!is_file && !is_socket))
		return 0;
	/* Nothing can be created below a file either, so a file serves the others too. */
	holder = &plan->placeholders.items[placed->number];
	if (holder->kind == PLACEHOLDER_FILE)
		return 0;
	holder->kind = is_file ? PLACEHOLDER_FILE : PLACEHOLDER_SOCKET;
	holder->content = content;
	return 0;
}

/*
 * SECURITY: no placeholder can be made in a directory without u+w, but the command runs as the same
 * user and could make the directory writable and create the protected name. A run is not refused
 * because of a nested repository (P9), which an earlier run may have sealed. So the whole directory
 * is made read-only.
 */
static int close_sealed(struct placing *p, uint32_t number, struct str dir, struct err *e)
{
	struct name_node *node;
	int r;

	if (name_tree_find(p->sealed, dir))
		return 0;
	node = ARENA_NEW(p->b->a, struct name_node, e);
	if (!node)
		return err_result(e);
	node->name = dir;
	name_tree_add(&p->sealed, node);
	r = builder_note(p->b, true, (struct origin){ .file = NULL }, e,
			 "%s is read-only as a whole: its mode keeps Cordon from protecting %s in "
			 "it, and the command could change the mode; run 'chmod u+w %s' to open it",
			 SHOWN(dir), SHOWN(p->b->plan->rules.items[number].path), SHOWN(dir));
	return r < 0 ? r : add_missing_rule(p, number, dir, HOST_DIR, e);
}

/*
 * An option is meant for this run, so a path that it denies should exist: otherwise the name is
 * probably wrong, and what it was meant for is open. In a file a deny may be there for other hosts.
 */
static int warn_of_option(struct placing *p, const struct rule *rule, struct str path,
			  struct err *e)
{
	enum access above = plan_resolve(p->b->plan, path_parent(path)).access;

	/* If all around it is denied too, the option changes nothing, which is said elsewhere. */
	if (above == ACCESS_DENY || rule->kind != RULE_ENTRY || rule->access != ACCESS_DENY ||
	    rule->secret > 0 || !rule->origin.file || rule->origin.file[0] != '-')
		return 0;
	return builder_note(p->b, true, rule->origin, e,
			    "%s does not exist, so this denies nothing yet: check the name; %s",
			    SHOWN(rule->path),
			    above == ACCESS_WRITE ? "the command can't create it"
						  : "if another program creates it during the "
						    "run, the command can read it");
}

static int visit_rule(struct placing *p, uint32_t number, struct err *e)
{
	const struct builder *b = p->b;
	const struct rule *rule = &b->plan->rules.items[number];
	const struct rule_site *site = &b->sites.items[number];
	struct str path = str_first(rule->path, site->missing_from);
	struct host_file holder;
	int r;

	if (!narrows(rule) || site->type != HOST_MISSING || site->missing_from == 0)
		return 0;
	if (warn_of_option(p, rule, path, e) < 0)
		return err_result(e);
	/* If an entry lifts it, or nothing can be created there, nothing is needed. */
	if (index_resolve_below(b->plan->index, path_parent(path), 1).access != ACCESS_WRITE ||
	    plan_resolve(b->plan, rule->path).access == ACCESS_WRITE)
		return 0;
	r = b->host->look(b->host->user, path_parent(path), &holder, e);
	if (r < 0)
		return r;
	if (holder.type == HOST_DIR && holder.is_sealed && rule->is_nested)
		return close_sealed(p, number, path_parent(path), e);
	if (holder.type == HOST_DIR)
		return place(p, number, path, e);
	/* Nothing can be created below a file, unless the file is replaced by a directory. */
	return add_missing_rule(p, number, path_parent(path), holder.type, e);
}

int pass_missing(struct builder *b, struct err *e)
{
	struct placing p = { .b = b };
	size_t count = b->plan->rules.count;
	int r = pass_index(b, e);

	for (size_t i = 0; r == 0 && i < count; i++)
		r = visit_rule(&p, (uint32_t)i, e);
	return r;
}
