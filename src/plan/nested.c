/* SPDX-License-Identifier: MIT */
/*
 * Nested repositories (P9): those in the workspace, and in what was granted (P18), that no other
 * repository leads to. They are searched from the top down, level by level, because clones are usually near the top, and only so
 * far (dir_list.h). The report after the run names the ones further down and those that the run
 * made (session/git_look.c).
 *
 * No failure here ends a run. The command owns these files now, or did in an earlier run: a
 * directory that can't be listed or is too deep must not keep the next run from starting.
 */
#include <errno.h>

#include "base/path.h"
#include "plan/dir_list.h"
#include "plan/git.h"
#include "plan/protect.h"

struct search {
	struct git_scan *s;
	struct arena *scratch;
	VEC(struct spot {
		struct str path;
		uint64_t device;
		uint64_t stamped_on; /* the device in the stamp of the directory above, or 0 */
		bool is_root;
	}) spots; /* directories that were or will be listed, in order */
	size_t next;
	size_t names_left;
	bool has_warned; /* about a closed directory; one warning is enough */
};

void git_leave_out(struct git_scan *s, struct str path)
{
	if (s->first_left.len == 0)
		s->first_left = path;
}

/* Whether a writable root is one because somebody has granted it (P18). */
static bool is_granted(const struct builder *b, size_t root)
{
	return b->plan->rules.items[b->root_rules.items[root]].kind == RULE_GRANT;
}

bool git_can_pin(struct git_scan *s, struct str path, size_t more)
{
	const struct places *places = &s->b->plan->places;
	const struct plan *p = s->b->plan;
	size_t above = 0;

	for (size_t i = 0; i < places->root_count; i++)
		if (path_is_under(path, places->roots[i]))
			above = MAX_OF(above, path_depth(places->roots[i]));
	for (size_t i = 0; i < p->roots.count; i++)
		if (is_granted(s->b, i) && path_is_under(path, p->roots.items[i].path))
			above = MAX_OF(above, path_depth(p->roots.items[i].path));
	more += path_depth(path) - above;
	if (s->nested_pins + more > GIT_MAX_NESTED_PINS) {
		git_leave_out(s, path);
		return false;
	}
	s->nested_pins += more;
	return true;
}

int git_note_left(struct git_scan *s, struct err *e)
{
	if (s->first_left.len == 0)
		return 0;
	return builder_note(s->b, false, (struct origin){ .file = NULL }, e,
			    "not all git repositories in the workspace are protected: the search "
			    "ended before %s, and perhaps others; the report names what changes in "
			    "those",
			    SHOWN(s->first_left));
}

static int add_spot(struct search *n, struct spot spot, struct err *e)
{
	struct spot *added = VEC_PUSH(n->scratch, &n->spots, e);

	if (!added)
		return err_result(e);
	*added = spot;
	return 0;
}

/* A directory on another file system is skipped, and so is one that can't be examined. */
static int look(struct search *n, struct spot *at, bool *is_usable, bool *has_no_dirs,
		struct err *e)
{
	const struct host *host = n->s->b->host;
	struct host_file file = { .type = HOST_MISSING };
	struct host_listing known;
	int r;

	/* If it was listed before, it is a directory, and its stamp tells its device. */
	*is_usable = at->stamped_on != 0 && host_recall(host, at->path, &known) &&
		     known.stamp.device == at->stamped_on;
	if (*is_usable)
		return 0;
	r = host->look(host->user, at->path, &file, e);
	*is_usable = r == 0 && file.type == HOST_DIR && (at->is_root || file.device == at->device);
	*has_no_dirs = *is_usable && file.has_no_dirs && !file.is_locked && !at->is_root;
	at->device = file.device;
	if (r != -(int)ERR_SYS)
		return r;
	err_clear(e);
	return 0;
}

/*
 * SECURITY: an earlier run may have closed a directory that this user owns, to hide a repository.
 * So the directory is not treated as empty: the user is warned, and the report names what the
 * command changes there.
 */
static int note_closed(struct search *n, struct str path, struct err *e)
{
	struct builder *b = n->s->b;
	struct str lock = STR_EMPTY;
	int code = e->os_error;
	int r;

	err_clear(e);
	if (code == ENOENT || code == ENOTDIR)
		return 0;
	git_leave_out(n->s, path);
	if (n->has_warned || (code != EACCES && code != EPERM))
		return 0;
	r = host_find_lock(b->host, path, &lock, e);
	if (r < 0 || lock.len == 0)
		return r;
	n->has_warned = true;
	return builder_note(b, true, (struct origin){ .file = NULL }, e,
			    "%s is closed by its mode, so git repositories below it are not "
			    "protected; the report names what changes in them",
			    SHOWN(lock));
}

/*
 * In a directory without subdirectories git could use only a `.git` that is not a directory, so
 * most such directories need not be read. If even that can't be told, the directory is read.
 */
static int is_plain_leaf(struct search *n, struct str path, bool *out, struct err *e)
{
	const struct host *host = n->s->b->host;
	struct host_file file = { .type = HOST_HIDDEN };
	struct str git;
	int r = path_join(n->scratch, path, STR(".git"), &git, e);

	if (r == 0)
		r = host->look(host->user, git, &file, e);
	*out = r == 0 && file.type == HOST_MISSING;
	if (r != -(int)ERR_SYS)
		return r;
	err_clear(e);
	return 0;
}

/*
 * SECURITY: the placeholder of another run is listed but counts as missing. If it counted as a
 * `.git`, the protection would vanish with it.
 */
static int add_clone(struct search *n, struct str worktree, struct err *e)
{
	const struct host *host = n->s->b->host;
	struct host_file file = { .type = HOST_MISSING };
	struct str path, kept;
	int r = path_join(n->scratch, worktree, STR(".git"), &path, e);

	if (r == 0)
		r = host->look(host->user, path, &file, e);
	if (r < 0 || file.type == HOST_MISSING)
		return r;
	r = arena_copy(n->s->b->a, worktree, &kept, e);
	return r < 0 ? r : git_add_worktree(n->s, kept, e);
}

static int add_bare(struct search *n, struct str path, bool *is_bare, struct err *e)
{
	struct str kept;
	int r = git_is_dir(n->s->b, path, is_bare, e);

	if (r < 0 || !*is_bare)
		return r;
	r = arena_copy(n->s->b->a, path, &kept, e);
	return r < 0 ? r : git_add_dir(n->s, kept, e);
}

static int add_below(struct search *n, const struct spot *at, const struct listed_dir *listed,
		     struct err *e)
{
	struct host_listing known = { .items = NULL };
	int r = 0;

	(void)host_recall(n->s->b->host, at->path, &known);
	if (!listed->has_dirs)
		git_leave_out(n->s, at->path);
	for (size_t i = 0; r == 0 && i < listed->dirs.count; i++) {
		struct spot below = { .device = at->device, .stamped_on = known.stamp.device };
		struct str name = listed->dirs.items[i];

		if (n->spots.count == DIR_LIST_MAX_DIRS ||
		    at->path.len + name.len + 2 > PATH_MAX_BYTES) {
			git_leave_out(n->s, at->path);
			continue;
		}
		r = path_join(n->scratch, at->path, name, &below.path, e);
		if (r == 0 && !path_is_kernel_tree(below.path))
			r = add_spot(n, below, e);
	}
	return r;
}

static int search_spot(struct search *n, struct spot at, struct err *e)
{
	const struct listed_dir *listed = NULL;
	bool is_usable = false, has_no_dirs = false;
	bool is_bare = false, is_plain = false;
	int r = look(n, &at, &is_usable, &has_no_dirs, e);

	if (r < 0 || !is_usable || git_find(n->s, at.path))
		return r;
	if (has_no_dirs)
		r = is_plain_leaf(n, at.path, &is_plain, e);
	if (r < 0 || is_plain)
		return r;
	r = dir_list_find(n->s->b, at.path, n->names_left, n->spots.count < DIR_LIST_MAX_DIRS,
			  &listed, e);
	if (r == -(int)ERR_SYS)
		return note_closed(n, at.path, e);
	if (r < 0)
		return r;
	if (!listed) {
		n->names_left = 0;
		git_leave_out(n->s, at.path);
		return 0;
	}
	n->names_left -= listed->names;
	if (!at.is_root && listed->has_git)
		r = add_clone(n, at.path, e);
	if (r == 0 && !at.is_root && listed->has_head)
		r = add_bare(n, at.path, &is_bare, e);
	return r < 0 || is_bare ? r : add_below(n, &at, listed, e);
}

static bool is_searched(const struct search *n, struct str path)
{
	for (size_t i = 0; i < n->spots.count; i++)
		if (path_is_under(path, n->spots.items[i].path))
			return true;
	return false;
}

/* Those first that others lie in: the roots are in that order. */
static int add_granted(struct search *n, struct err *e)
{
	const struct plan *p = n->s->b->plan;

	for (size_t i = 0; i < p->roots.count; i++) {
		const struct spot root = { .path = p->roots.items[i].path, .is_root = true };

		if (is_granted(n->s->b, i) && !is_searched(n, root.path) &&
		    add_spot(n, root, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* Adds the writable workspace roots, except those inside others, and what was granted elsewhere. */
static int add_roots(struct search *n, struct err *e)
{
	const struct places *places = &n->s->b->plan->places;

	for (size_t i = 0; i < places->root_count; i++) {
		struct spot root = { .path = places->roots[i], .is_root = true };
		bool is_covered = !roots_has(n->s->b, root.path);

		for (size_t j = 0; j < places->root_count && !is_covered; j++)
			is_covered = j != i && path_is_under(root.path, places->roots[j]) &&
				     roots_has(n->s->b, places->roots[j]) &&
				     (j < i || !str_eq(root.path, places->roots[j]));
		if (!is_covered && add_spot(n, root, e) < 0)
			return err_result(e);
	}
	return add_granted(n, e);
}

int git_find_nested(struct git_scan *s, struct err *e)
{
	scoped_arena scratch = ARENA_INIT((size_t)64 << 20);
	struct search n = { .s = s, .scratch = &scratch, .names_left = DIR_LIST_MAX_NAMES };
	int r = add_roots(&n, e);

	while (r == 0 && n.next < n.spots.count && n.names_left > 0)
		r = search_spot(&n, n.spots.items[n.next++], e);
	if (r < 0)
		return r;
	if (n.next < n.spots.count)
		git_leave_out(s, n.spots.items[n.next].path);
	/* The text is in an arena that ends here. */
	return s->first_left.len > 0 ? arena_copy(s->b->a, s->first_left, &s->first_left, e) : 0;
}
