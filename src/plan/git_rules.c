/* SPDX-License-Identifier: MIT */
/*
 * The rules for git directories.
 *
 * git = "read"    each is capped as a whole (P9), and so are the parts of P10
 * 		that links lead to
 * git = "commit"  writable, except what makes git run something or look
 * 		elsewhere (P10). Git directories outside every writable root are
 * 		raised to write. The *shelves*, modules/ and worktrees/,
 * 		are read-only, and each git directory on one is open
 * git = "write"   no caps; raised likewise
 *
 * Nested repositories get with "read" the same rules as with "commit": whoever works in one commits
 * there, and its git directory is not metadata of a root.
 *
 * SECURITY: raising is the one place where a text in the workspace could widen the policy ("gitdir:
 * /home/me/other/.git"). So a git directory is raised only if it names the root as its worktree
 * itself, and a common directory only if the worktree's git directory lies where the common
 * directory keeps them. So either the directory is writable anyway, or its owner wrote that the
 * root belongs to it.
 */
#include <errno.h>

#include "base/path.h"
#include "plan/git.h"
#include "plan/git_text.h"
#include "plan/index.h"
#include "plan/protect.h"
#include "policy/metadata.h"

static int cap_below(struct git_scan *s, struct str dir, struct str name, struct cap *cap,
		     struct err *e)
{
	struct str path;
	int r = path_join(s->b->a, dir, name, &path, e);

	cap->key = name;
	return r < 0 ? r : protect_path(s->b, path, cap, e);
}

/* ---- Without a .git ----------------------------------------------------- */

static int note_name(void *arg, struct str name, enum host_type type, struct err *e)
{
	(void)name;
	(void)type;
	(void)e;
	*(bool *)arg = true;
	return 1;
}

static int is_empty_dir(struct git_scan *s, struct str path, bool *out, struct err *e)
{
	const struct host *host = s->b->host;
	bool has_names = false;
	int r = host->list(host->user, path, note_name, &has_names, e);

	if (r == -(int)ERR_SYS && e->os_error == EACCES) {
		err_clear(e);
		has_names = true; /* or it has to be treated as if it had some */
		r = builder_refuse_lock(s->b, path, "whether git has something there", e);
	}
	if (r < 0)
		return r;
	*out = !has_names;
	return 0;
}

static bool is_usable(enum host_type type, bool is_dir)
{
	return type == HOST_LINK || type == (is_dir ? HOST_DIR : HOST_FILE);
}

/*
 * The one part of a bare layout that must not be created: the first that is missing, else the first
 * that is something else now and could be replaced. HEAD comes last, because a directory of that
 * name makes `git diff HEAD` ambiguous. An empty directory counts as present: git accepts an empty
 * `refs`. (The placeholder of another run does not: host.h reports it as missing.)
 */
static int find_missing_part(struct git_scan *s, struct str root, struct str *out, struct err *e)
{
	static const char *const parts[] = { "refs", "objects", "HEAD" };
	const char *chosen = NULL;
	bool is_missing = false;

	for (size_t i = 0; !is_missing && i < COUNT_OF(parts); i++) {
		struct host_file file = { .type = HOST_MISSING };
		struct str path;
		int r = path_join(s->b->a, root, str_of(parts[i]), &path, e);

		if (r == 0)
			r = s->b->host->look(s->b->host->user, path, &file, e);
		if (r < 0)
			return r;
		is_missing = file.type == HOST_MISSING;
		if (is_missing || (!chosen && !is_usable(file.type, i < 2)))
			chosen = parts[i];
	}
	*out = chosen ? str_of(chosen) : STR_EMPTY;
	return 0;
}

int git_refuse_bare(struct git_scan *s, struct str root, struct err *e)
{
	struct cap cap = { .kind = RULE_PROTECTED, .access = ACCESS_READ };
	struct str part = STR_EMPTY;
	int r;

	if (s->mode == GIT_WRITE)
		return 0;
	r = arena_printf(s->b->a, &cap.note, e,
			 "the writable root %s has no git directory: a bare one can't be made in "
			 "its place, because git would obey its configuration",
			 SHOWN(root));
	if (r == 0)
		r = cap_below(s, root, STR("commondir"), &cap, e);
	if (r == 0)
		r = find_missing_part(s, root, &part, e);
	if (r < 0 || part.len == 0)
		return r;
	return cap_below(s, root, part, &cap, e);
}

/* ---- Worktrees that are no roots ---------------------------------------- */

/*
 * A submodule that was not fetched is an empty directory. A placeholder for its `.git` would make
 * `git status` fail ("not recognized as a git repository"), so the directory itself is kept empty.
 * If commits are allowed, the command can make a gitlink anywhere, and the report after the run
 * lists those instead.
 */
static int protect_unfetched(struct git_scan *s, struct str worktree, struct cap *cap,
			     struct err *e)
{
	bool is_empty = false;
	int r;

	if (s->mode != GIT_READ || s->is_nested)
		return 0;
	r = is_empty_dir(s, worktree, &is_empty, e);
	if (r < 0 || !is_empty)
		return r;
	cap->key = path_name(worktree);
	return protect_path(s->b, worktree, cap, e);
}

int git_protect_pointer(struct git_scan *s, struct str worktree, enum host_type type,
			bool is_git_dir, struct err *e)
{
	struct cap cap = { .kind = RULE_PROTECTED,
			   .access = ACCESS_READ,
			   .link_itself = is_git_dir,
			   .is_nested = s->is_nested };
	int r;

	/* A git directory gets its own rules. */
	if (s->mode == GIT_WRITE || type == HOST_HIDDEN || (type == HOST_DIR && is_git_dir))
		return 0;
	r = arena_printf(s->b->a, &cap.note, e,
			 "%s is a %s: the file that tells git where its repository is can't be "
			 "changed",
			 SHOWN(worktree),
			 s->is_nested ? "git repository in the workspace"
				      : "submodule or linked worktree of a writable root");
	if (r < 0)
		return r;
	if (type == HOST_MISSING)
		return protect_unfetched(s, worktree, &cap, e);
	if (s->is_nested && !git_can_pin(s, worktree, 0))
		return 0;
	return cap_below(s, worktree, STR(".git"), &cap, e);
}

int git_close(struct git_scan *s, struct str path, const struct err *why, struct err *e)
{
	struct cap cap = { .kind = RULE_PROTECTED,
			   .access = ACCESS_READ,
			   .is_nested = true,
			   .key = path,
			   .note = STR(
				   "part of a git repository in the workspace that could not be "
				   "examined") };
	int r = builder_note(s->b, true, (struct origin){ .file = NULL }, e,
			     "the git repository at %s is read-only as a whole: %s", SHOWN(path),
			     why->text);

	if (r == 0)
		r = protect_path(s->b, path, &cap, e);
	if (r != -(int)ERR_POLICY)
		return r;
	err_clear(e); /* a lock on the way to it; the note mentions it */
	return 0;
}

/* ---- git = "read" ------------------------------------------------------- */

bool git_is_opened(const struct git_scan *s, struct str root)
{
	const struct plan *p = s->b->plan;
	bool is_named = false;

	for (size_t i = 0; !is_named && i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];

		is_named = rule->kind == RULE_ENTRY && rule->layer == 0 &&
			   rule->access == ACCESS_WRITE && str_eq(rule->path, root) &&
			   rule->is_explicit;
	}
	if (!is_named)
		return false;
	/*
	 * SECURITY: only names of P9's table count. If names of `protect` did, a project could open
	 * a git directory by protecting its name.
	 */
	if (str_is(path_name(root), ".git"))
		return true;
	/*
	 * At or below a protected name of another root, an explicit entry lifts the protection
	 * (P9).
	 */
	for (struct str at = root; at.len > 1; at = path_parent(at))
		if (metadata_find(path_name(at)) && roots_has(s->b, path_parent(at)))
			return true;
	return false;
}

static bool is_inside_another(const struct git_scan *s, struct str path)
{
	while (path.len > 1) {
		path = path_parent(path);
		if (git_find(s, path))
			return true;
	}
	return false;
}

/* Caps a git directory, once for each root inside it that belongs to it: see unlock_root(). */
static int cap_for_roots(struct git_scan *s, struct str path, struct cap *cap, struct err *e)
{
	int r = protect_path(s->b, path, cap, e);

	for (size_t i = 0; r == 0 && i < s->dirs.count; i++) {
		const struct git_found *of = &s->dirs.items[i];

		if (of->root.len == 0 || !path_is_under(of->root, path) ||
		    (!str_eq(of->dir.path, path) && !str_eq(of->dir.common_dir, path)))
			continue;
		cap->root = of->root;
		r = protect_path(s->b, path, cap, e);
	}
	return r;
}

static int cap_whole(struct git_scan *s, const struct git_found *found, struct err *e)
{
	struct cap cap = { .kind = RULE_PROTECTED, .access = ACCESS_READ, .key = found->dir.path };
	struct str path = found->dir.path;
	bool is_named = str_is(path_name(path), ".git") && roots_has(s->b, path_parent(path));
	int r;

	if (found->is_root)
		/* otherwise the entry that makes it a root would lift the cap at once */
		cap.lift_offset = 1;
	else if (is_named || is_inside_another(s, path))
		/* pass_protect() caps it; or the cap of the outer git directory covers it */
		return 0;
	r = arena_printf(s->b->a, &cap.note, e, "%s",
			 found->is_root ? "this writable root is itself a git directory: git runs "
					  "what is written there"
					: "the git directory of a writable root, or of a "
					  "submodule or linked worktree of one");
	return r < 0 ? r : cap_for_roots(s, path, &cap, e);
}

/* ---- The parts that P10 names ------------------------------------------- */

/* Whether `path` is a link, or leads through one. */
static int is_behind_link(struct git_scan *s, struct str path, bool *out, struct err *e)
{
	struct canon at = { .type = HOST_MISSING };
	int r = builder_canon(s->b, path, true, &at, NULL, e);

	if (r == -(int)ERR_POLICY) {
		err_clear(e); /* a loop */
		r = 0;
		at.crossed_links = true;
	}
	*out = at.crossed_links;
	return r;
}

/* Whether the git directory is writable as a whole, so that its parts need caps. */
static bool is_open(const struct git_scan *s, const struct git_found *found)
{
	return s->mode == GIT_COMMIT || found->dir.is_nested;
}

static int cap_part(struct git_scan *s, const struct git_found *found, struct str name,
		    struct cap *cap, struct err *e)
{
	bool is_wanted = true;
	struct str path;
	int r = path_join(s->b->a, found->dir.path, name, &path, e);

	/* Only a linked worktree has `gitdir`. */
	if (r == 0 && found->dir.is_nested && str_is(name, "gitdir")) {
		struct host_file file = { .type = HOST_MISSING };

		r = s->b->host->look(s->b->host->user, path, &file, e);
		is_wanted = file.type != HOST_MISSING;
	}

	/*
	 * SECURITY: the cap on the whole directory does not cover the target of a link that leads
	 * out of it. Without this cap, the command could change the target, and git would obey it.
	 */
	if (r == 0 && !is_open(s, found))
		r = is_behind_link(s, path, &is_wanted, e);
	cap->key = name;
	return r < 0 || !is_wanted ? r : protect_path(s->b, path, cap, e);
}

/*
 * Remembers as shelves what was capped after the first `before` rules: a shelf, or a link and a
 * shelf.
 */
static int note_shelves(struct git_scan *s, size_t before, struct err *e)
{
	const struct plan *p = s->b->plan;

	for (size_t i = before; i < p->rules.count; i++) {
		struct name_node *node;

		if (name_tree_find(s->shelves, p->rules.items[i].path))
			continue;
		node = ARENA_NEW(s->b->a, struct name_node, e);
		if (!node)
			return err_result(e);
		node->name = p->rules.items[i].path;
		name_tree_add(&s->shelves, node);
	}
	return 0;
}

static int describe_part(struct git_scan *s, const struct git_found *found, struct str *out,
			 struct err *e)
{
	struct str dir = found->dir.path;

	if (found->dir.is_nested)
		return arena_printf(
			s->b->a, out, e,
			"the git directory %s lies in the workspace: files that make git run "
			"something or look elsewhere can't be changed there, unless "
			"nested = \"report\"",
			SHOWN(dir));
	return arena_printf(s->b->a, out, e,
			    s->mode == GIT_READ
				    ? "the git directory %s has it through a link"
				    : "git = \"commit\" makes the git directory %s writable, but "
				      "not the files that make git run something or look elsewhere",
			    SHOWN(dir));
}

/*
 * With git = "commit" it caps all parts. With "read" the directory is capped as a whole, so it caps
 * the parts that lie elsewhere: git obeys what it finds through a link too.
 */
static int cap_parts(struct git_scan *s, const struct git_found *found, struct err *e)
{
	bool is_linked = !str_eq(found->dir.path, found->dir.common_dir);
	/* An entry at the git directory lifts the cap, unless that entry only makes it a root. */
	int32_t lift = found->is_root ? 1 : 0;
	struct cap cap = { .kind = RULE_GIT,
			   .access = ACCESS_READ,
			   .is_nested = found->dir.is_nested,
			   .origin = s->b->plan->policy->profile->git_origin };
	size_t before;
	int r = describe_part(s, found, &cap.note, e);

	for (size_t i = 0; r == 0 && i < GIT_PART_COUNT; i++) {
		cap.lift_offset = lift - (int32_t)path_depth(str_of(git_parts[i]));
		r = cap_part(s, found, str_of(git_parts[i]), &cap, e);
	}
	/* Of a nested repository the report names a git directory that appears on a shelf. */
	if (r < 0 || found->dir.is_nested)
		return r;
	cap.lift_offset = lift - 1;
	/*
	 * SECURITY: remotes of old, which git obeys where the configuration has none of that name: a push would run
	 * the hooks of the repository that one names.
	 */
	r = cap_part(s, found, STR("remotes"), &cap, e);
	if (r == 0)
		r = cap_part(s, found, STR("branches"), &cap, e);
	if (r < 0)
		return r;
	cap.is_shelf = true;
	before = s->b->plan->rules.count;
	r = cap_part(s, found, STR("modules"), &cap, e);
	/* A linked worktree has no worktrees/ of its own. */
	if (r == 0 && !is_linked)
		r = cap_part(s, found, STR("worktrees"), &cap, e);
	return r < 0 ? r : note_shelves(s, before, e);
}

static const char *mode_key(const struct git_scan *s)
{
	return s->mode == GIT_COMMIT ? "git = \"commit\"" : "git = \"write\"";
}

/* ---- What is on the shelves --------------------------------------------- */

static bool is_on_shelf(const struct git_scan *s, struct str path)
{
	while (path.len > 1) {
		path = path_parent(path);
		if (name_tree_find(s->shelves, path))
			return true;
	}
	return false;
}

/*
 * SECURITY: a text in the workspace can name any directory as a git directory. One that has no part
 * of a git directory stays read-only. Otherwise a command could build a git directory of its own in
 * it, and the next git command outside would obey that.
 */
static int open_on_shelf(struct git_scan *s, const struct git_found *found, struct err *e)
{
	struct rule rule = { .kind = RULE_GIT,
			     .access = ACCESS_WRITE,
			     .path = found->dir.path,
			     .glob = STR_EMPTY,
			     .key = str_of(mode_key(s)),
			     .note = STR("a git directory of a submodule or linked worktree: what "
					 "is closed around it ends here"),
			     .origin = s->b->plan->policy->profile->git_origin };
	struct rule_site site = { .type = HOST_DIR };
	bool is_one = false;

	if (found->dir.is_nested || !is_on_shelf(s, found->dir.path))
		return 0;
	if (git_has_parts(s->b, found->dir.path, &is_one, e) < 0)
		return err_result(e);
	if (!is_one)
		return 0;
	return builder_add(s->b, &rule, &site, e) ? 0 : err_result(e);
}

/* ---- Raising ------------------------------------------------------------ */

static int refuse_raise(struct git_scan *s, const struct git_found *found, const char *why,
			struct err *e)
{

	return builder_note(s->b, true, s->b->plan->policy->profile->git_origin, e,
			    "%s can't work in %s: its git directory %s is not made writable, %s",
			    mode_key(s), SHOWN(found->root), SHOWN(found->dir.common_dir), why);
}

/*
 * Whether both sides agree that the root belongs to this git directory; see the top of this file. A
 * git directory that lies in the root, and not behind a link, need not say so.
 */
static bool belongs(const struct git_found *found)
{
	struct str holder = path_parent(found->dir.path);

	if (str_eq(found->dir.path, found->dir.common_dir))
		return found->claims_root || str_eq(holder, found->root);
	return found->claims_root && str_is(path_name(holder), "worktrees") &&
	       str_eq(path_parent(holder), found->dir.common_dir);
}

static int add_raise(struct git_scan *s, const struct git_found *found, struct err *e)
{
	struct rule rule = { .kind = RULE_ENTRY,
			     .access = ACCESS_WRITE,
			     .path = found->dir.common_dir,
			     .glob = STR_EMPTY,
			     .key = str_of(mode_key(s)),
			     .origin = s->b->plan->policy->profile->git_origin };
	struct rule_site site = { .type = HOST_DIR };
	struct git_found *opened = git_find(s, found->dir.common_dir);
	int r = arena_printf(s->b->a, &rule.note, e, "the git directory of the writable root %s",
			     SHOWN(found->root));

	if (r < 0)
		return r;
	if (opened)
		opened->is_raised = true;
	return builder_add(s->b, &rule, &site, e) ? 0 : err_result(e);
}

static int raise_dir(struct git_scan *s, const struct git_found *found, struct err *e)
{
	const struct plan *p = s->b->plan;
	/*
	 * SECURITY: ask the profile alone. Otherwise a project could cause a directory to be raised
	 * by narrowing it.
	 */
	struct verdict common = index_resolve_below(p->index, found->dir.common_dir, 1);
	struct git_found *opened = git_find(s, found->dir.common_dir);
	bool is_git_dir = false;
	int r;

	if (found->root.len == 0 || (opened && opened->is_raised))
		return 0;
	if (common.access == ACCESS_WRITE &&
	    index_resolve_below(p->index, found->dir.path, 1).access == ACCESS_WRITE)
		return 0;
	if (!belongs(found))
		return refuse_raise(s, found,
				    "since it does not itself name that directory as its worktree",
				    e);
	r = git_is_dir(s->b, found->dir.common_dir, &is_git_dir, e);
	if (r < 0)
		return r;
	if (!is_git_dir)
		return refuse_raise(s, found, "since it is not a git directory", e);
	if (common.access == ACCESS_DENY)
		return refuse_raise(s, found, "since the policy denies it", e);
	if (common.access == ACCESS_WRITE ||
	    (common.rule->kind == RULE_ENTRY && str_eq(common.rule->path, found->dir.common_dir)))
		return refuse_raise(s, found, "since an entry for it says otherwise", e);
	return add_raise(s, found, e);
}

/* ---- All ---------------------------------------------------------------- */

/*
 * Caps the parts. If something is in the way, such as a loop of links, a nested repository is
 * closed as a whole. Its pins are counted.
 */
static int cap_or_close(struct git_scan *s, const struct git_found *found, struct err *e)
{
	int r = cap_parts(s, found, e);
	struct err why = *e;

	if (!found->dir.is_nested || !git_can_close(r))
		return r;
	err_clear(e);
	return git_close(s, found->dir.path, &why, e);
}

int git_add_rules(struct git_scan *s, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && s->mode != GIT_READ && i < s->dirs.count; i++)
		r = raise_dir(s, &s->dirs.items[i], e);
	for (size_t i = 0; r == 0 && s->mode != GIT_WRITE && i < s->dirs.count; i++) {
		struct git_found *found = &s->dirs.items[i];

		/* objects/info/alternates needs two more pins. */
		found->is_left = found->dir.is_nested && !git_can_pin(s, found->dir.path, 2);
		if (!found->is_left)
			r = cap_or_close(s, found, e);
	}
	for (size_t i = 0; r == 0 && s->mode == GIT_COMMIT && i < s->dirs.count; i++)
		r = open_on_shelf(s, &s->dirs.items[i], e);
	for (size_t i = 0; r == 0 && s->mode == GIT_READ && i < s->dirs.count; i++)
		if (!s->dirs.items[i].dir.is_nested)
			r = cap_whole(s, &s->dirs.items[i], e);
	return r;
}
