/* SPDX-License-Identifier: MIT */
/*
 * Finds the git directories and worktrees that belong to the writable roots; see git.h. A sandboxed
 * command may have written the files that this code reads. If a file makes no sense, Cordon
 * protects that file alone, and notes it.
 */
#include "plan/git.h"

#include <errno.h>

#include "base/path.h"
#include "plan/git_text.h"
#include "plan/protect.h"

/* ---- Looking ------------------------------------------------------------ */

static int look_below(struct builder *b, struct str dir, struct str name, enum host_type *type,
		      struct err *e)
{
	struct host_file file;
	struct str path;
	int r = path_join(b->a, dir, name, &path, e);

	if (r == 0)
		r = b->host->look(b->host->user, path, &file, e);
	if (r == 0 && file.type == HOST_HIDDEN)
		r = builder_refuse_lock(b, path, "what git would read there", e);
	if (r == 0)
		*type = file.type;
	return r;
}

int git_is_dir(struct builder *b, struct str path, bool *out, struct err *e)
{
	enum host_type head = HOST_MISSING;
	enum host_type objects = HOST_MISSING;
	enum host_type refs = HOST_MISSING;
	enum host_type common = HOST_MISSING;
	int r = look_below(b, path, STR("HEAD"), &head, e);

	if (r == 0)
		r = look_below(b, path, STR("objects"), &objects, e);
	if (r == 0)
		r = look_below(b, path, STR("refs"), &refs, e);
	if (r == 0)
		r = look_below(b, path, STR("commondir"), &common, e);
	if (r < 0)
		return r;
	/* A link counts as what it should lead to: git follows it. */
	*out = (head == HOST_FILE || head == HOST_LINK) &&
	       (common == HOST_FILE || common == HOST_LINK ||
		((objects == HOST_DIR || objects == HOST_LINK) &&
		 (refs == HOST_DIR || refs == HOST_LINK)));
	return 0;
}

int git_has_parts(struct builder *b, struct str path, bool *out, struct err *e)
{
	static const char *const parts[] = { "HEAD",  "config",	   "objects", "refs",
					     "hooks", "commondir", "gitdir" };
	enum host_type type = HOST_MISSING;

	for (size_t i = 0; type == HOST_MISSING && i < COUNT_OF(parts); i++) {
		int r = look_below(b, path, str_of(parts[i]), &type, e);

		if (r < 0)
			return r;
	}
	*out = type != HOST_MISSING;
	return 0;
}

/*
 * Where `text`, as git wrote it, leads from `base`, resolved as the kernel would. `*leads` is false
 * if it can't lead anywhere.
 */
static int follow(struct git_scan *s, struct str base, struct str text, bool follow_last,
		  struct canon *out, bool *leads, struct err *e)
{
	bool is_absolute = path_is_absolute(text);
	struct str path;
	int r;

	*leads = false;
	if (text.len == 0 || text.len >= PATH_MAX_BYTES || str_has_nul(text))
		return 0;
	r = arena_printf(s->b->a, &path, e, "%.*s/%.*s", is_absolute ? 0 : (int)base.len, base.p,
			 (int)text.len, text.p);
	return r < 0 ? r : builder_canon_if(s->b, path, follow_last, out, NULL, leads, e);
}

/*
 * Reads the file `name` in `dir`, and follows links. `*is_there` is false if there is no such file.
 */
static int read_below(struct git_scan *s, struct str dir, const char *name, struct buf *out,
		      bool *is_there, struct err *e)
{
	const struct host *host = s->b->host;
	struct canon at;
	int r = follow(s, dir, str_of(name), true, &at, is_there, e);

	*is_there = *is_there && at.type == HOST_FILE;
	if (r < 0 || !*is_there)
		return r;
	r = host->read_file(host->user, at.path, out, e);
	if (r == -(int)ERR_SYS && e->os_error == EACCES) {
		/*
		 * Git runs as this user and can't read it either, unless someone changes its mode.
		 */
		err_clear(e);
		*is_there = false;
		return builder_refuse_lock(s->b, at.path, "what git would read there", e);
	}
	if (r == -(int)ERR_NOTFOUND) {
		err_clear(e); /* removed since it was examined */
		*is_there = false;
		return 0;
	}
	if (r == -(int)ERR_LIMIT)
		return FAIL_CAUSE(e, CAUSE_GIT_LIMIT,
				  "%s has more than %zu bytes, too many for a file of git",
				  SHOWN(at.path), out->max);
	return r;
}

/* ---- The queues --------------------------------------------------------- */

struct dir_node {
	struct name_node node;
	size_t number;
};

struct git_found *git_find(const struct git_scan *s, struct str path)
{
	struct name_node *node = name_tree_find(s->seen_dirs, path);

	return node ? &s->dirs.items[((struct dir_node *)(void *)node)->number] : NULL;
}

static int fail_places(const char *what, struct str path, struct err *e)
{

	return FAIL_CAUSE(e, CAUSE_GIT_LIMIT,
			  "more than %d %s belong to the writable roots, the last is %s",
			  GIT_MAX_PLACES, what, SHOWN(path));
}

/*
 * `worktree` and `root` may be "". If the directory is known already, they are added to what is
 * known.
 */
static int add_dir(struct git_scan *s, struct str path, struct str worktree, struct str root,
		   struct err *e)
{
	struct git_found *found = git_find(s, path);
	struct dir_node *node;

	if (!found) {
		if (s->dirs.count >= GIT_MAX_PLACES + s->b->plan->roots.count)
			return fail_places("git directories", path, e);
		node = ARENA_NEW(s->b->a, struct dir_node, e);
		found = node ? VEC_PUSH(s->b->a, &s->dirs, e) : NULL;
		if (!found)
			return err_result(e);
		node->node.name = path;
		node->number = s->dirs.count - 1;
		name_tree_add(&s->seen_dirs, &node->node);
		found->dir = (struct git_dir){ path, path, STR_EMPTY, s->is_nested };
		found->root = STR_EMPTY;
	}
	if (found->dir.worktree.len == 0)
		found->dir.worktree = worktree;
	if (found->root.len == 0)
		found->root = root;
	return 0;
}

int git_add_dir(struct git_scan *s, struct str path, struct err *e)
{
	return add_dir(s, path, STR_EMPTY, STR_EMPTY, e);
}

int git_add_worktree(struct git_scan *s, struct str path, struct err *e)
{
	struct name_node *node;
	struct str *added;

	if (name_tree_find(s->seen_worktrees, path))
		return 0;
	if (s->worktrees.count >= GIT_MAX_PLACES + s->b->plan->roots.count)
		return fail_places("worktrees", path, e);
	node = ARENA_NEW(s->b->a, struct name_node, e);
	added = node ? VEC_PUSH(s->b->a, &s->worktrees, e) : NULL;
	if (!added)
		return err_result(e);
	node->name = path;
	name_tree_add(&s->seen_worktrees, node);
	*added = path;
	return 0;
}

/*
 * SECURITY: a nested repository can name any directory as its git directory, such as the sources.
 * It is treated as git's only if git would accept it. Otherwise a command could have any directory
 * of the workspace made read-only in the next run.
 */
static int is_accepted(struct git_scan *s, const struct canon *at, bool *out, struct err *e)
{
	enum host_type objects = HOST_MISSING;
	enum host_type refs = HOST_MISSING;
	int r = 0;

	*out = !s->is_nested;
	if (*out || at->type != HOST_DIR)
		return 0;
	r = git_is_dir(s->b, at->path, out, e);
	if (r < 0 || *out)
		return r;
	/* That is enough for a common directory. */
	r = look_below(s->b, at->path, STR("objects"), &objects, e);
	if (r == 0)
		r = look_below(s->b, at->path, STR("refs"), &refs, e);
	*out = r == 0 && (objects == HOST_DIR || objects == HOST_LINK) &&
	       (refs == HOST_DIR || refs == HOST_LINK);
	return r;
}

/* ---- Worktrees ---------------------------------------------------------- */

/* Reads the pointer file of `worktree`, whose text leads to a git directory. */
static int visit_pointer(struct git_scan *s, struct str worktree, struct str root, struct err *e)
{
	scoped_buf text = BUF_INIT(GIT_MAX_POINTER_BYTES);
	struct str target;
	struct canon at;
	bool leads = false;
	int r = read_below(s, worktree, ".git", &text, &leads, e);

	if (r == -(int)ERR_LIMIT) {
		err_clear(e); /* git would not accept it either */
		leads = false;
	} else if (r < 0) {
		return r;
	}
	leads = leads && git_pointer_parse(buf_str(&text), &target);
	if (leads) {
		r = follow(s, worktree, target, true, &at, &leads, e);
		if (r < 0)
			return r;
	}
	if (leads) {
		r = is_accepted(s, &at, &leads, e);
		return r < 0 || !leads ? r : add_dir(s, at.path, worktree, root, e);
	}
	return builder_note(s->b, !s->is_nested, (struct origin){ .file = NULL }, e,
			    "%s/.git is a file, but its text leads to no git directory: it is "
			    "protected, and nothing else with it",
			    SHOWN(worktree));
}

/*
 * Finds the directory that `text` names strictly below `dir`; `*is_there` is false if there is
 * none.
 */
static int find_below(struct git_scan *s, struct str dir, struct str text, struct str *out,
		      bool *is_there, struct err *e)
{
	struct canon at;
	int r;

	*is_there = false;
	if (path_is_absolute(text))
		return 0;
	r = follow(s, dir, text, true, &at, is_there, e);
	*is_there = *is_there && at.type == HOST_DIR && path_is_under(at.path, dir) &&
		    !str_eq(at.path, dir);
	if (r == 0 && *is_there)
		*out = at.path;
	return r;
}

static int add_submodule(struct git_scan *s, struct str worktree, struct str text, struct err *e)
{
	struct str path = STR_EMPTY;
	bool is_there = false;
	int r = find_below(s, worktree, text, &path, &is_there, e);

	return r < 0 || !is_there ? r : git_add_worktree(s, path, e);
}

struct modules_arg {
	struct git_scan *s;
	struct str worktree;
};

static int visit_modules_setting(void *arg, const struct git_setting *setting, struct err *e)
{
	const struct modules_arg *m = arg;
	struct git_setting plain = *setting;

	plain.subsection = STR_EMPTY; /* a submodule of any name */
	if (!git_setting_is(&plain, "submodule", "path"))
		return 0;
	return add_submodule(m->s, m->worktree, setting->value, e);
}

static int visit_modules_file(struct git_scan *s, struct str worktree, struct err *e)
{
	scoped_arena scratch = ARENA_INIT((size_t)8 << 20);
	scoped_buf text = BUF_INIT(GIT_MAX_CONFIG_BYTES);
	struct modules_arg arg = { s, worktree };
	bool is_there;
	int r = read_below(s, worktree, ".gitmodules", &text, &is_there, e);

	if (r < 0 || !is_there)
		return r;
	return git_config_each(&scratch, buf_str(&text), visit_modules_setting, &arg, e);
}

/* Determines what `.git` of `worktree` is, and what it leads to. */
static int look_at_git(struct git_scan *s, struct str worktree, enum host_type *own,
		       struct canon *target, bool *is_git_dir, struct err *e)
{
	bool leads = false;
	int r = look_below(s->b, worktree, STR(".git"), own, e);

	*is_git_dir = false;
	if (r == 0)
		r = follow(s, worktree, STR(".git"), true, target, &leads, e);
	if (r < 0)
		return r;
	if (!leads)
		target->type = HOST_OTHER; /* a link that loops */
	return target->type == HOST_DIR ? git_is_dir(s->b, target->path, is_git_dir, e) : 0;
}

static int visit_root(struct git_scan *s, struct str root, enum host_type target, bool is_git_dir,
		      struct err *e)
{
	bool is_self = false;
	int r = git_is_dir(s->b, root, &is_self, e);

	if (r < 0)
		return r;
	if (is_self) {
		struct git_found *self;

		r = add_dir(s, root, STR_EMPTY, STR_EMPTY, e);
		self = r == 0 ? git_find(s, root) : NULL;
		if (self)
			self->is_root = !git_is_opened(s, root);
		return r;
	}
	/* Git looks for a bare layout also if `.git` is a directory that is not a git directory. */
	if (target == HOST_MISSING || (target == HOST_DIR && !is_git_dir))
		return git_refuse_bare(s, root, e);
	return 0;
}

static int visit_worktree(struct git_scan *s, struct str worktree, struct err *e)
{
	bool is_root = roots_has(s->b, worktree);
	struct str root = is_root ? worktree : STR_EMPTY;
	struct canon target = { .type = HOST_MISSING };
	enum host_type own = HOST_MISSING;
	bool is_git_dir = false;
	int r = look_at_git(s, worktree, &own, &target, &is_git_dir, e);

	if (r == 0)
		r = is_root ? visit_root(s, worktree, target.type, is_git_dir, e)
			    : git_protect_pointer(s, worktree, own, is_git_dir, e);
	if (r < 0)
		return r;
	/*
	 * A directory that git would not accept now is protected as a whole; but it may lead to
	 * others.
	 */
	if (!is_git_dir && target.type == HOST_DIR)
		r = git_has_parts(s->b, target.path, &is_git_dir, e);
	if (r < 0)
		return r;
	if (is_git_dir)
		r = add_dir(s, target.path, worktree, root, e);
	else if (target.type == HOST_FILE)
		r = visit_pointer(s, worktree, root, e);
	return r < 0 ? r : visit_modules_file(s, worktree, e);
}

/* ---- Git directories ---------------------------------------------------- */

/* Records that the git directory with that number names `path` as its worktree. */
static int learn_worktree(struct git_scan *s, size_t number, struct str path, struct err *e)
{
	struct git_found *found = &s->dirs.items[number];

	if (found->dir.worktree.len == 0)
		found->dir.worktree = path;
	if (found->root.len > 0 && str_eq(found->root, path))
		found->claims_root = true;
	return git_add_worktree(s, path, e);
}

static int visit_common(struct git_scan *s, size_t number, struct err *e)
{
	scoped_buf text = BUF_INIT(GIT_MAX_POINTER_BYTES);
	struct str dir = s->dirs.items[number].dir.path;
	struct str target;
	struct canon at;
	bool leads;
	int r = read_below(s, dir, "commondir", &text, &leads, e);

	if (r < 0 || !leads || !git_path_parse(buf_str(&text), &target))
		return r;
	r = follow(s, dir, target, true, &at, &leads, e);
	if (r < 0 || !leads)
		return r;
	r = is_accepted(s, &at, &leads, e);
	if (r < 0 || !leads)
		return r;
	s->dirs.items[number].dir.common_dir = at.path;
	return add_dir(s, at.path, STR_EMPTY, STR_EMPTY, e);
}

/* `gitdir`, in the git directory of a linked worktree, holds the path of its pointer file. */
static int visit_gitdir(struct git_scan *s, size_t number, struct err *e)
{
	scoped_buf text = BUF_INIT(GIT_MAX_POINTER_BYTES);
	struct str dir = s->dirs.items[number].dir.path;
	struct host_file file;
	struct str target;
	struct canon at;
	bool leads;
	int r = read_below(s, dir, "gitdir", &text, &leads, e);

	if (r < 0 || !leads || !git_path_parse(buf_str(&text), &target))
		return r;
	r = follow(s, dir, target, false, &at, &leads, e);
	if (r < 0 || !leads || !str_is(path_name(at.path), ".git"))
		return r;
	r = s->b->host->look(s->b->host->user, path_parent(at.path), &file, e);
	if (r < 0 || file.type != HOST_DIR)
		return r; /* a worktree that was removed and not yet pruned */
	return learn_worktree(s, number, path_parent(at.path), e);
}

struct config_arg {
	struct git_scan *s;
	size_t number;
};

static int visit_setting(void *arg, const struct git_setting *setting, struct err *e)
{
	const struct config_arg *c = arg;
	struct canon at;
	bool leads;
	int r;

	if (!git_setting_is(setting, "core", "worktree"))
		return 0;
	r = follow(c->s, c->s->dirs.items[c->number].dir.path, setting->value, true, &at, &leads,
		   e);
	if (r < 0 || !leads || at.type != HOST_DIR)
		return r;
	return learn_worktree(c->s, c->number, at.path, e);
}

/*
 * A registered submodule, [submodule "NAME"]: its git directory is modules/NAME, and its path is
 * NAME unless .gitmodules says otherwise.
 *
 * SECURITY: a command may change .gitmodules, but not the configuration. If only .gitmodules
 * counted, removing a line there would remove the protection of a submodule.
 */
static int visit_name(void *arg, const struct git_setting *setting, struct err *e)
{
	const struct config_arg *c = arg;
	const struct git_dir *dir = &c->s->dirs.items[c->number].dir;
	struct str worktree = dir->worktree;
	struct str path = STR_EMPTY;
	struct str modules;
	struct canon at = { .path = STR_EMPTY };
	bool is_there;
	int r;

	if (!git_setting_is_of(setting, "submodule") || setting->subsection.len == 0)
		return 0;
	r = follow(c->s, dir->path, STR("modules"), true, &at, &is_there, e);
	modules = r == 0 && is_there ? at.path : STR_EMPTY;
	is_there = false;
	if (r == 0 && modules.len > 0)
		r = find_below(c->s, modules, setting->subsection, &path, &is_there, e);
	if (r == 0 && is_there)
		r = add_dir(c->s, path, STR_EMPTY, STR_EMPTY, e);
	if (r < 0 || worktree.len == 0)
		return r;
	return add_submodule(c->s, worktree, setting->subsection, e);
}

/* Reads the configuration in `dir`, on behalf of the git directory with that number. */
static int visit_config(struct config_arg arg, struct str dir, const char *name,
			int (*each)(void *arg, const struct git_setting *s, struct err *e),
			struct err *e)
{
	scoped_arena scratch = ARENA_INIT((size_t)8 << 20);
	scoped_buf text = BUF_INIT(GIT_MAX_CONFIG_BYTES);
	bool is_there;
	int r = read_below(arg.s, dir, name, &text, &is_there, e);

	if (r < 0 || !is_there)
		return r;
	return git_config_each(&scratch, buf_str(&text), each, &arg, e);
}

/* First finds where the worktree is, then the submodules, which are relative to it. */
static int visit_configs(struct git_scan *s, size_t number, struct err *e)
{
	const struct git_dir dir = s->dirs.items[number].dir;
	struct config_arg arg = { s, number };
	int r = visit_config(arg, dir.path, "config", visit_setting, e);

	if (r == 0)
		r = visit_config(arg, dir.path, "config.worktree", visit_setting, e);
	if (r == 0)
		r = visit_config(arg, dir.path, "config.worktree", visit_name, e);
	return r < 0 ? r : visit_config(arg, dir.common_dir, "config", visit_name, e);
}

struct listing {
	struct arena *a;
	struct str dir;
	VEC(struct str) names; /* of directories, and of links, which may lead to one */
};

static int add_listed(void *arg, struct str name, enum host_type type, struct err *e)
{
	struct listing *l = arg;
	struct str *added;

	if (type != HOST_DIR && type != HOST_LINK)
		return 0;
	if (l->names.count == GIT_MAX_NAMES)
		return FAIL_CAUSE(e, CAUSE_GIT_LIMIT,
				  "more than %d directories in %s, too many to protect",
				  GIT_MAX_NAMES, SHOWN(l->dir));
	added = VEC_PUSH(l->a, &l->names, e);
	if (!added)
		return err_result(e);
	return arena_copy(l->a, name, added, e);
}

static int compare_names(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Lists the directories in `dir` (canonical), sorted; none if `dir` is not a directory. */
static int list_dirs(struct git_scan *s, struct listing *l, struct err *e)
{
	const struct host *host = s->b->host;
	struct host_file file;
	int r = host->look(host->user, l->dir, &file, e);

	if (r < 0 || file.type != HOST_DIR)
		return r;
	r = host->list(host->user, l->dir, add_listed, l, e);
	if (r == -(int)ERR_SYS && e->os_error == EACCES) {
		err_clear(e);
		r = builder_refuse_lock(s->b, l->dir, "git directories in there", e);
	}
	if (r < 0)
		return r;
	if (l->names.count > 0)
		qsort(l->names.items, l->names.count, sizeof(l->names.items[0]), compare_names);
	return 0;
}

/*
 * Names in a git directory that never contain another one; logs/ looks as if it did. visit_name()
 * finds a submodule such as "a/logs/b", and visit_dir() visits modules/ and worktrees/.
 */
static bool is_inner_name(struct str name)
{
	static const char *const inner[] = { "objects", "refs", "logs",	   "hooks",
					     "info",	"lfs",	"modules", "worktrees" };

	for (size_t i = 0; i < COUNT_OF(inner); i++)
		if (str_is(name, inner[i]))
			return true;
	return false;
}

static int visit_modules(struct git_scan *s, struct str dir, bool is_git_dir, int depth,
			 struct err *e);

/*
 * Names of submodules may contain slashes, so every directory may have git directories below it.
 *
 * SECURITY: this includes directories that are git directories themselves. Otherwise a command
 * could hide the git directories below a directory by making it look like one.
 */
static int visit_module(struct git_scan *s, struct str dir, struct str name, int depth,
			struct err *e)
{
	bool is_git_dir = false;
	struct canon at;
	bool leads;
	int r = follow(s, dir, name, true, &at, &leads, e);

	if (r < 0 || !leads || at.type != HOST_DIR)
		return r;
	r = git_has_parts(s->b, at.path, &is_git_dir, e);
	if (r == 0 && is_git_dir)
		r = add_dir(s, at.path, STR_EMPTY, STR_EMPTY, e);
	/* What a link leads to is visited at its own place. */
	if (r < 0 || !str_eq(path_parent(at.path), dir) || !str_eq(path_name(at.path), name))
		return r;
	if (depth == GIT_MAX_DEPTH)
		return FAIL_CAUSE(
			e, CAUSE_GIT_LIMIT,
			"%s has directories more than %d deep, too deep to protect the git "
			"directories in them",
			SHOWN(dir), GIT_MAX_DEPTH);
	return visit_modules(s, at.path, is_git_dir, depth + 1, e);
}

static int visit_modules(struct git_scan *s, struct str dir, bool is_git_dir, int depth,
			 struct err *e)
{
	struct listing l = { .a = s->b->a, .dir = dir };
	int r = list_dirs(s, &l, e);

	for (size_t i = 0; r == 0 && i < l.names.count; i++) {
		struct str name = l.names.items[i];

		if (!is_git_dir || !is_inner_name(name))
			r = visit_module(s, dir, name, depth, e);
	}
	return r;
}

static int visit_linked(struct git_scan *s, struct str dir, struct err *e)
{
	struct listing l = { .a = s->b->a, .dir = dir };
	int r = list_dirs(s, &l, e);

	for (size_t i = 0; r == 0 && i < l.names.count; i++) {
		struct canon at;
		bool leads;

		r = follow(s, dir, l.names.items[i], true, &at, &leads, e);
		if (r == 0 && leads && at.type == HOST_DIR)
			r = add_dir(s, at.path, STR_EMPTY, STR_EMPTY, e);
	}
	return r;
}

static int visit_dir(struct git_scan *s, size_t number, struct err *e)
{
	struct str dir = s->dirs.items[number].dir.path;
	struct canon at;
	bool leads = false;
	int r = visit_common(s, number, e);

	if (r == 0)
		r = visit_gitdir(s, number, e);
	if (r == 0)
		r = visit_configs(s, number, e);
	if (r == 0)
		r = follow(s, dir, STR("modules"), true, &at, &leads, e);
	if (r == 0 && leads)
		r = visit_modules(s, at.path, false, 1, e);
	if (r == 0)
		r = follow(s, dir, STR("worktrees"), true, &at, &leads, e);
	return r < 0 || !leads ? r : visit_linked(s, at.path, e);
}

/* ---- The pass ----------------------------------------------------------- */

static int close_nested(struct git_scan *s, struct str at, bool is_worktree, struct err *e)
{
	struct err why = *e;
	struct str path = at;
	int r = 0;

	err_clear(e);
	if (!git_can_pin(s, at, is_worktree ? 1 : 0))
		return 0;
	if (is_worktree)
		r = path_join(s->b->a, at, STR(".git"), &path, e);
	return r < 0 ? r : git_close(s, path, &why, e);
}

/*
 * All known worktrees come first, so that every root is known before a git directory names one as
 * its worktree.
 */
static int find_all(struct git_scan *s, struct err *e)
{
	size_t dirs = s->visited_dirs;
	size_t worktrees = s->visited_worktrees;
	int r = 0;

	while (r == 0 && (worktrees < s->worktrees.count || dirs < s->dirs.count)) {
		bool is_worktree = worktrees < s->worktrees.count;
		struct str at = is_worktree ? s->worktrees.items[worktrees]
					    : s->dirs.items[dirs].dir.path;

		r = is_worktree ? visit_worktree(s, s->worktrees.items[worktrees++], e)
				: visit_dir(s, dirs++, e);
		if (s->is_nested && git_can_close(r))
			r = close_nested(s, at, is_worktree, e);
		if (r < 0)
			return err_wrap(e, "looking for what git has at %s", SHOWN(at));
	}
	s->visited_dirs = dirs;
	s->visited_worktrees = worktrees;
	return r;
}

/* Then the repositories that no other leads to. A directory that both lead to is not nested. */
static int find_nested(struct git_scan *s, struct err *e)
{
	int r;

	if (s->mode == GIT_WRITE || s->b->plan->policy->profile->nested_is_open ||
	    s->b->skips_nested)
		return 0;
	s->is_nested = true;
	r = git_find_nested(s, e);
	return r < 0 ? r : find_all(s, e);
}

int pass_git(struct builder *b, struct err *e)
{
	struct git_scan s = { .b = b, .mode = b->plan->policy->profile->git };
	int r = 0;

	for (size_t i = 0; r == 0 && i < b->plan->roots.count; i++)
		r = git_add_worktree(&s, b->plan->roots.items[i].path, e);
	if (r == 0)
		r = find_all(&s, e);
	if (r == 0)
		r = find_nested(&s, e);
	if (r == 0)
		r = git_add_rules(&s, e);
	for (size_t i = 0; r == 0 && i < s.dirs.count; i++) {
		struct git_dir *dir;

		if (s.dirs.items[i].is_left)
			continue; /* as if it had not been found: it is compared after the run */
		dir = VEC_PUSH(b->a, &b->plan->git_dirs, e);
		if (!dir)
			return err_result(e);
		*dir = s.dirs.items[i].dir;
	}
	return r < 0 ? r : git_note_left(&s, e);
}
