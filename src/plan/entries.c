/* SPDX-License-Identifier: MIT */
/*
 * The first pass: turns every entry of every layer, and every grant, into rules at canonical paths
 * (P5, P8, P18). P11 decides what happens to missing paths:
 * 	deny, glob	kept: a deny is never lost (P3)
 * 	write, grant	left out: there is nothing to make writable; of ":secrets" it lifts what it names
 * 	read		kept where it narrows, below something writable; else left out
 * Entries of a narrowing layer are always kept: they can only lower the answer.
 *
 * SECURITY: an entry that opens something is followed through a link only if no sandboxed command
 * can have made that link. Otherwise a run could put a link where an entry will look, and the next
 * run would find the link's target writable. So entries of the profile that lead through links wait
 * until all others are known; see check_links().
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/glob.h"
#include "base/name_tree.h"
#include "base/path.h"
#include "plan/builder.h"
#include "plan/index.h"
#include "policy/agent.h"

struct rule *builder_add(struct builder *b, const struct rule *rule, const struct rule_site *site,
			 struct err *e)
{
	struct rule *added = VEC_PUSH(b->a, &b->plan->rules, e);
	struct rule_site *beside;

	if (!added)
		return NULL;
	*added = *rule;
	added->depth = (uint32_t)path_depth(rule->path);
	beside = VEC_PUSH(b->a, &b->sites, e);
	if (!beside)
		return NULL;
	*beside = *site;
	return added;
}

int builder_note(struct builder *b, bool is_warning, struct origin origin, struct err *e,
		 const char *fmt, ...)
{
	struct note *note;
	struct str text;
	UNINITIALIZED char cut[4096];
	UNINITIALIZED char shown[2048];
	va_list args;
	int r;

	va_start(args, fmt);
	(void)vsnprintf(cut, sizeof(cut), fmt, args);
	va_end(args);
	/*
	 * Escape the text, and cut it at a whole character. vsnprintf() may have cut it in the
	 * middle of one, but that end is never shown: escaping makes no text shorter.
	 */
	r = arena_copy(b->a, str_of(utf8_show(str_of(cut), shown, sizeof(shown))), &text, e);
	if (r < 0)
		return r;
	note = VEC_PUSH(b->a, &b->plan->notes, e);
	if (!note)
		return err_result(e);
	*note = (struct note){ .is_warning = is_warning, .origin = origin, .text = text };
	return 0;
}

/* One place that an entry stands for, before it becomes a rule. */
struct candidate {
	const struct fs_entry *entry;
	struct place place;
	struct canon canon;
	met_links links;
	uint32_t layer;
	bool is_grant;
	struct str
		untrusted_link; /* a link on the way that a sandboxed command could replace, or "" */
};

/* P7: what an entry lifts of ":secrets", at a path where there is nothing yet. */
struct lift {
	struct str path;
	uint32_t layer; /* as of a rule */
};

struct entries {
	struct builder *b;
	/* of the current entry; one list, whose memory is reused */
	place_list places;
	VEC(struct candidate) linked; /* entries that open something and lead through links */
	/* reads of the profile that are missing, or lead through untrusted links */
	VEC(struct candidate) undecided;
	/* paths that could not be made writable and were reported */
	struct name_node *missing;
	VEC(struct lift) lifts; /* of entries whose paths are missing */
};

/*
 * Whether the key names a path, by itself or as a subpath of a token.
 *
 * SECURITY: a token alone stands for whatever is the workspace or $TMPDIR at the time, even if that
 * is inside a git directory. If it counted as explicit, starting a run there would open the git
 * directory, though nobody wrote that down.
 */
static bool is_explicit(const struct fs_entry *entry)
{
	return entry->anchor == FS_ABSOLUTE || entry->anchor == FS_HOME || entry->path.len > 0;
}

/*
 * SECURITY: a project's entry never opens a secret. Otherwise a repository could give its commands
 * the user's keys.
 */
static uint32_t lifted_by(const struct candidate *c)
{
	const struct fs_entry *entry = c->entry;

	if (c->is_grant || c->layer > 0 || c->place.matcher || entry->access == ACCESS_DENY ||
	    !is_explicit(entry) || entry->layer == FS_LAYER_PROJECT)
		return 0;
	return 1 + (uint32_t)entry->layer;
}

static int add_rule(struct builder *b, const struct candidate *c, struct err *e)
{
	const struct fs_entry *entry = c->entry;
	bool is_glob = c->place.matcher != NULL;
	struct rule rule = {
		.kind = c->is_grant ? RULE_GRANT
			: is_glob   ? RULE_GLOB
				    : RULE_ENTRY,
		.access = entry->access,
		.layer = c->layer,
		.is_explicit = !c->is_grant && !is_glob && is_explicit(entry),
		.secret = entry->anchor == FS_SECRETS && c->layer == 0 ? 1 + (uint32_t)entry->layer
								       : 0,
		.lifts = lifted_by(c),
		.path = c->canon.path,
		.glob = is_glob ? c->place.glob : STR_EMPTY,
		.matcher = c->place.matcher,
		.key = entry->key,
		.note = STR_EMPTY,
		.origin = entry->origin,
	};
	struct rule_site site = { .type = c->canon.type,
				  .missing_from = c->canon.missing_from,
				  .links = c->links.items,
				  .link_count = c->links.count };

	/*
	 * SECURITY: the resolver treats every glob as a deny, so a glob that allows must not get
	 * there.
	 */
	if (is_glob && (entry->access != ACCESS_DENY || c->is_grant))
		return FAIL_CAUSE(e, CAUSE_BAD_VALUE, "%.*s: a glob may only deny",
				  STR_ARG(entry->key));
	if (is_glob && b->glob_count++ == PLAN_MAX_GLOBS) {
		(void)FAIL_CAUSE(e, CAUSE_GLOB_LIMIT, "the policy has more than %d deny globs",
				 PLAN_MAX_GLOBS);
		err_add_line(e, "a glob below :workspace_roots counts once for each root");
		err_add_line(e, "name several files in one glob, as in '**/{a,b}'");
		return err_result(e);
	}
	if (is_glob && b->host->folds) {
		rule.matcher = glob_parse_folded(b->a, rule.glob, e);
		if (!rule.matcher)
			return err_wrap_place(e, entry->origin);
	}
	return builder_add(b, &rule, &site, e) ? 0 : err_result(e);
}

static bool is_built_in(const struct fs_entry *entry)
{
	return !entry->origin.file || strcmp(entry->origin.file, "built-in") == 0;
}

/*
 * The temporary directories of a built-in profile are an offer, and so is what an agent need not have
 * (policy/agent.h): nobody asked for them, so nobody is told that one is missing.
 */
static bool is_worth_a_note(const struct candidate *c)
{
	const struct fs_entry *entry = c->entry;
	const bool is_tmp = entry->anchor == FS_TMPDIR || entry->anchor == FS_SLASH_TMP;
	const struct agent_file *file = agent_file_find(entry->key);

	if (is_tmp || (file && file->kind != AGENT_SAVED && file->kind != AGENT_SAVED_FILE))
		return !is_built_in(entry);
	return !c->place.is_optional;
}

/* For plan_grant(): with a grant around it, it may count. */
static int note_left_out(struct builder *b, const struct candidate *c, struct err *e)
{
	struct str *path = VEC_PUSH(b->a, &b->plan->left_out, e);

	if (!path)
		return err_result(e);
	*path = c->canon.path;
	return 0;
}

static int leave_out_untrusted(struct builder *b, const struct candidate *c, struct err *e)
{
	if (note_left_out(b, c, e) < 0)
		return err_result(e);
	return builder_note(b, true, c->entry->origin, e,
			    "%s \"%.*s\" = \"%s\" is left out: it leads to %s through the link %s, "
			    "and an earlier run could have made that link; if you mean the target, "
			    "name it instead",
			    c->is_grant ? "the grant" : "the entry", STR_ARG(c->entry->key),
			    access_name(c->entry->access), SHOWN(c->canon.path),
			    SHOWN(c->untrusted_link));
}

/* Where a place was named: a workspace root on its own line, everything else in the entry. */
static int find_origin(struct builder *b, const struct candidate *c, struct origin *out,
		       struct err *e)
{
	const struct profile *profile = b->plan->policy->profile;

	*out = c->entry->origin;
	if (c->entry->anchor != FS_WORKSPACE_ROOTS || c->entry->path.len > 0)
		return 0;
	for (size_t i = 0; i < profile->roots.count; i++) {
		const struct root *root = &profile->roots.items[i];
		struct str path;
		int r = places_root(b->a, &b->in->places, root, &path, e);

		if (r < 0)
			return r;
		if (str_eq(path, c->place.path))
			*out = root->origin;
	}
	return 0;
}

/* Warns once for each missing path, however many keys name it. */
static int is_reported(struct entries *x, struct str path, bool *out, struct err *e)
{
	struct name_node *node;

	*out = name_tree_find(x->missing, path) != NULL;
	if (*out)
		return 0;
	node = ARENA_NEW(x->b->a, struct name_node, e);
	if (!node)
		return err_result(e);
	node->name = path;
	name_tree_add(&x->missing, node);
	return 0;
}

static int keep_lift(struct entries *x, const struct candidate *c, struct err *e)
{
	/* SECURITY: whoever made the link on the way may have meant another secret. */
	uint32_t layer = c->links.count > 0 ? 0 : lifted_by(c);
	struct lift *lift = layer > 0 ? VEC_PUSH(x->b->a, &x->lifts, e) : NULL;

	if (lift)
		*lift = (struct lift){ c->canon.path, layer };
	return layer > 0 && !lift ? err_result(e) : 0;
}

static int leave_out(struct entries *x, const struct candidate *c, struct err *e)
{
	struct builder *b = x->b;
	const struct fs_entry *entry = c->entry;
	bool is_tmp = entry->anchor == FS_TMPDIR || entry->anchor == FS_SLASH_TMP;
	bool is_write = entry->access == ACCESS_WRITE;
	/* An option is meant for this run, so its path should exist. */
	bool is_option = entry->origin.file && entry->origin.file[0] == '-';
	bool is_warning = (is_write && !is_tmp) || is_option;
	struct origin origin;
	bool is_known = false;

	if (note_left_out(b, c, e) < 0)
		return err_result(e);
	if (!is_worth_a_note(c))
		return 0;
	if (find_origin(b, c, &origin, e) < 0 ||
	    (is_warning && is_reported(x, c->canon.path, &is_known, e) < 0))
		return err_result(e);
	if (is_known)
		return 0;
	return builder_note(
		b, is_warning, origin, e, "%s \"%.*s\" = \"%s\" is left out: %.*s does not exist%s",
		c->is_grant ? "the grant" : "the entry", STR_ARG(entry->key),
		access_name(entry->access), STR_ARG(c->canon.path),
		is_write ? ", so nothing there can be made writable; create it first" : "");
}

/*
 * An entry that stands for no place, because the environment does not say where the directory is.
 */
static int leave_out_unknown(struct builder *b, const struct fs_entry *entry, struct err *e)
{
	if (is_built_in(entry))
		return 0;
	return builder_note(
		b, true, entry->origin, e, "the entry \"%.*s\" = \"%s\" is left out: %s",
		STR_ARG(entry->key), access_name(entry->access),
		entry->anchor == FS_TMPDIR ? "TMPDIR is not set to an absolute path"
					   : "the home directory is not known; set HOME");
}

static int wait_undecided(struct entries *x, const struct candidate *c, struct err *e)
{
	struct candidate *undecided = VEC_PUSH(x->b->a, &x->undecided, e);

	if (!undecided)
		return err_result(e);
	*undecided = *c;
	return 0;
}

/* What the grant was given for is not there any more. */
static bool is_replaced(const struct candidate *c)
{
	if (c->entry->only == FS_ANYTHING)
		return false;
	return c->links.count > 0 || (c->entry->only == FS_ONLY_DIR) != (c->canon.type == HOST_DIR);
}

/*
 * SECURITY: a grant that lasts is for one file or directory. By the next run another program may
 * have put a link or a directory there, which would open more.
 */
static int leave_out_replaced(struct builder *b, const struct candidate *c, struct err *e)
{
	if (note_left_out(b, c, e) < 0)
		return err_result(e);
	return builder_note(
		b, true, c->entry->origin, e,
		"the approval of \"%.*s\" is left out: it was given for a %s, and %s is "
		"there now; 'cordon approvals revoke' ends it",
		STR_ARG(c->entry->key), c->entry->only == FS_ONLY_DIR ? "directory" : "file",
		c->links.count		    ? "a link"
		: c->canon.type == HOST_DIR ? "a directory"
					    : "none");
}

static int add_candidate(struct entries *x, const struct candidate *c, struct err *e)
{
	const struct layer *layer = &x->b->plan->policy->layers.items[c->layer];
	struct candidate *linked;

	if (layer->kind != LAYER_PROFILE || c->place.matcher || c->entry->access == ACCESS_DENY)
		return add_rule(x->b, c, e);
	if (c->canon.type != HOST_MISSING && is_replaced(c))
		return leave_out_replaced(x->b, c, e);
	if (c->canon.type != HOST_MISSING && c->links.count == 0)
		return add_rule(x->b, c, e);
	if (c->canon.type == HOST_MISSING && keep_lift(x, c, e) < 0)
		return err_result(e);
	if (c->canon.type == HOST_MISSING)
		return c->is_grant || c->entry->access == ACCESS_WRITE ? leave_out(x, c, e)
								       : wait_undecided(x, c, e);
	linked = VEC_PUSH(x->b->a, &x->linked, e);
	if (!linked)
		return err_result(e);
	*linked = *c;
	return 0;
}

static int add_entry(struct entries *x, const struct fs_entry *entry, uint32_t layer, bool is_grant,
		     struct err *e)
{
	struct builder *b = x->b;
	int r;

	x->places.count = 0;
	r = places_expand(b->a, &b->in->places, entry, &x->places, e);
	if (r == 0 && x->places.count == 0)
		r = leave_out_unknown(b, entry, e);
	for (size_t i = 0; r == 0 && i < x->places.count; i++) {
		struct candidate c = { .entry = entry,
				       .place = x->places.items[i],
				       .layer = layer,
				       .is_grant = is_grant };

		r = builder_canon(b, c.place.path, true, &c.canon, &c.links, e);
		if (r == 0)
			r = add_candidate(x, &c, e);
	}
	if (r < 0 && entry->origin.file) {
		err_wrap_text(e, "\"%.*s\"", STR_ARG(entry->key));
		return err_wrap_place(e, entry->origin);
	}
	return r;
}

static int add_entries(struct entries *x, const fs_entries *fs, uint32_t layer, bool are_grants,
		       struct err *e)
{
	for (size_t i = 0; i < fs->count; i++) {
		int r = add_entry(x, &fs->items[i], layer, are_grants, e);

		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- Links that a command could have made -------------------------------  */

/* The paths that entries make writable, and those that grants do. */
struct written {
	struct name_node *by_entries, *by_grants;
};

static int add_written(struct builder *b, struct written *w, struct str path, bool is_grant,
		       struct err *e)
{
	struct name_node **tree = is_grant ? &w->by_grants : &w->by_entries;
	struct name_node *node;

	if (name_tree_find(*tree, path))
		return 0;
	node = ARENA_NEW(b->a, struct name_node, e);
	if (!node)
		return err_result(e);
	node->name = path;
	name_tree_add(tree, node);
	return 0;
}

/* Whether `path`, or a directory above it, is in there. */
static bool is_written(const struct written *w, struct str path, bool with_grants)
{
	for (;; path = path_parent(path)) {
		if (name_tree_find(w->by_entries, path) ||
		    (with_grants && name_tree_find(w->by_grants, path)))
			return true;
		if (path.len == 1)
			return false;
	}
}

/*
 * SECURITY: a built-in profile names where agents save without knowing what is there. Below a directory of the home
 * (~/.cache) commands may be allowed to write by another profile, and one of those could have made the link. The user's
 * home and what lies in it directly is the user's.
 */
static int find_foreign_link(struct builder *b, struct candidate *c, struct err *e)
{
	const struct agent_file *file = agent_file_find(c->entry->key);
	met_links ignored = { .items = NULL };
	struct canon home;

	if (!file || !agent_file_is_saved(file) || !is_built_in(c->entry))
		return 0;
	if (builder_canon(b, b->in->places.home, true, &home, &ignored, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < c->links.count; i++) {
		struct str path = c->links.items[i].path;

		if (path_is_under(path, home.path) && !str_eq(path_parent(path), home.path))
			c->untrusted_link = path;
	}
	return 0;
}

/* A grant takes nothing away (P18), so what grants open counts only against grants. */
static void find_untrusted_link(struct candidate *c, const struct written *w)
{
	for (size_t i = 0; i < c->links.count && c->untrusted_link.len == 0; i++)
		if (is_written(w, path_parent(c->links.items[i].path), c->is_grant))
			c->untrusted_link = c->links.items[i].path;
}

static int find_written(struct entries *x, struct written *w, struct err *e)
{
	const struct plan *p = x->b->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];

		if (rule->layer == 0 && rule->access == ACCESS_WRITE)
			r = add_written(x->b, w, rule->path, rule->kind == RULE_GRANT, e);
	}
	return r;
}

/*
 * Finds the entries that lead through an untrusted link, one that lies below something writable.
 * First it checks them against the entries that lead through no link; then all at once against
 * those and the ones that passed. So the order does not matter, one that is left out takes no other
 * with it, and in the end none is followed through a link that a command can replace. If two
 * entries open each other's links, both are left out.
 *
 * SECURITY: only write entries count here, whatever a narrower entry says about the place of the
 * link. Otherwise adding a deny could make another entry open more.
 */
static int check_links(struct entries *x, struct err *e)
{
	struct written w = { NULL, NULL };
	int r = find_written(x, &w, e);

	for (size_t i = 0; r == 0 && i < x->linked.count; i++)
		r = find_foreign_link(x->b, &x->linked.items[i], e);
	for (size_t i = 0; r == 0 && i < x->linked.count; i++)
		find_untrusted_link(&x->linked.items[i], &w);
	for (size_t i = 0; r == 0 && i < x->linked.count; i++) {
		const struct candidate *c = &x->linked.items[i];

		if (c->untrusted_link.len == 0 && c->entry->access == ACCESS_WRITE)
			r = add_written(x->b, &w, c->canon.path, c->is_grant, e);
	}
	for (size_t i = 0; r == 0 && i < x->linked.count; i++)
		find_untrusted_link(&x->linked.items[i], &w);
	return r;
}

static int add_linked(struct entries *x, struct err *e)
{
	int r = x->linked.count > 0 ? check_links(x, e) : 0;

	for (size_t i = 0; r == 0 && i < x->linked.count; i++) {
		const struct candidate *c = &x->linked.items[i];

		if (c->untrusted_link.len == 0)
			r = add_rule(x->b, c, e);
		else if (c->is_grant || c->entry->access == ACCESS_WRITE)
			r = leave_out_untrusted(x->b, c, e);
		else
			r = wait_undecided(x, c,
					   /* it may narrow, and a narrowing is never lost (P3) */
					   e);
	}
	return r;
}

/* ---- Reads that may narrow or open -------------------------------------- */

/*
 * A missing read entry counts where its path could be created; one behind an untrusted link counts
 * where it opens nothing.
 */
static int decide_one(struct entries *x, const struct candidate *c, struct err *e)
{
	/*
	 * SECURITY: ask this layer alone. Otherwise a project could decide, by lowering what is
	 * around it, that an entry of the profile is dropped.
	 */
	enum access others = index_resolve_below(x->b->plan->index, c->canon.path, 1).access;

	if (others == ACCESS_WRITE || (c->untrusted_link.len > 0 && others == ACCESS_READ))
		return add_rule(x->b, c, e);
	return c->untrusted_link.len > 0 ? leave_out_untrusted(x->b, c, e) : leave_out(x, c, e);
}

static int decide(struct entries *x, struct err *e)
{
	int r;

	if (x->undecided.count == 0)
		return 0;
	r = pass_index(x->b, e);
	for (size_t i = 0; r == 0 && i < x->undecided.count; i++)
		r = decide_one(x, &x->undecided.items[i], e);
	return r;
}

/* About how many rules an entry may become. */
static size_t guess_places(const struct fs_entry *entry, size_t roots)
{
	if (entry->anchor == FS_SECRETS)
		return 72 + 5 * roots;
	if (entry->anchor == FS_MINIMAL)
		return 12;
	return entry->anchor == FS_WORKSPACE_ROOTS ? roots : 1;
}

/* Makes room for all rules, so that they don't move. Unused room costs only untouched pages. */
static int reserve(struct builder *b, struct err *e)
{
	const struct policy *policy = b->plan->policy;
	size_t roots = b->in->places.root_count;
	size_t room = policy->grants.count + b->in->own_count + 8 * (roots + 1);

	for (size_t i = 0; i < policy->layers.count; i++)
		for (size_t k = 0; k < policy->layers.items[i].fs.count; k++)
			room += guess_places(&policy->layers.items[i].fs.items[k], roots);
	b->plan->rules.items = arena_array(b->a, room, sizeof(*b->plan->rules.items), e);
	if (!b->plan->rules.items)
		return err_result(e);
	b->plan->rules.room = room;
	b->sites.items = arena_array(b->a, room, sizeof(*b->sites.items), e);
	if (!b->sites.items)
		return err_result(e);
	b->sites.room = room;
	return 0;
}

static bool is_lifted(const struct entries *x, const struct rule *rule)
{
	for (size_t i = 0; i < x->lifts.count && rule->secret > 0; i++)
		if (rule->kind == RULE_ENTRY && rule->secret <= x->lifts.items[i].layer &&
		    str_eq(rule->path, x->lifts.items[i].path))
			return true;
	return false;
}

/* Of the denies of ":secrets", those go that an entry for a missing path lifts, rule or not. */
static void drop_lifted(struct entries *x)
{
	struct builder *b = x->b;
	size_t kept = 0;

	for (size_t i = 0; i < b->plan->rules.count && x->lifts.count > 0; i++) {
		if (is_lifted(x, &b->plan->rules.items[i]))
			continue;
		b->plan->rules.items[kept] = b->plan->rules.items[i];
		b->sites.items[kept++] = b->sites.items[i];
	}
	if (x->lifts.count > 0)
		b->plan->rules.count = b->sites.count = kept;
}

int pass_entries(struct builder *b, struct err *e)
{
	const struct policy *policy = b->plan->policy;
	struct entries x = { .b = b };
	int r = reserve(b, e);

	for (size_t i = 0; r == 0 && i < policy->layers.count; i++)
		r = add_entries(&x, &policy->layers.items[i].fs, (uint32_t)i, false, e);
	if (r == 0)
		r = add_entries(&x, &policy->grants, 0, true, e);
	if (r == 0)
		r = add_linked(&x, e);
	if (r < 0)
		return r;
	/* Before a missing read is judged by what is around it. */
	drop_lifted(&x);
	return decide(&x, e);
}

int builder_add_grant(struct builder *b, const struct fs_entry *grant, struct err *e)
{
	struct entries x = { .b = b };

	return add_entry(&x, grant, 0, true, e);
}
