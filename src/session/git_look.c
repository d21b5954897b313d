/* SPDX-License-Identifier: MIT */
/*
 * P9, P10: what a run left where git, used outside of the sandbox afterwards,
 * would take it up. A look around, no guarantee: it is bounded, and says when it
 * was cut.
 *
 * SECURITY: the files are the command's. They are read as data of fixed bounds;
 * no link is followed, nothing is run.
 */
#include <errno.h>

#include "base/path.h"
#include "os/loop.h"
#include "os/os.h"
#include "os/times.h"
#include "plan/git_text.h"
#include "policy/metadata.h"
#include "session/git_index.h"
#include "session/session.h"

enum {
	LOOK_MAX_ENTRIES = 100000,
	LOOK_MAX_MS = 1000,
	LOOK_MAX_BYTES = 64 << 20,
	LOOK_MAX_FINDINGS = 200,
	HEAD_MAX_BYTES = 4096,
};

struct look {
	struct arena *a;   /* of what is found */
	struct arena work; /* of the way there */
	const struct plan *plan;
	const str_list *opened;
	struct timespec started;
	struct git_findings *out;
	VEC(struct str) dirs; /* looked at, and still to be */
	size_t next;	      /* the first of the latter */
	bool has_missed;      /* something that the run closed */
	size_t entries;
	uint64_t end_ms;
};

const char *git_finding_name(enum git_finding_kind kind)
{
	static const char *const texts[] = {
		[GIT_FOUND_REPOSITORY] = "repository",
		[GIT_FOUND_BARE] = "bare",
		[GIT_FOUND_PART] = "part",
		[GIT_FOUND_GITLINK] = "gitlink",
		[GIT_FOUND_STATE] = "state",
		[GIT_FOUND_HEAD] = "head",
		[GIT_FOUND_NAME] = "name",
		[GIT_FOUND_UNWRITTEN] = "unwritten",
	};

	return texts[kind];
}

const char *git_finding_meaning(enum git_finding_kind kind)
{
	static const char *const texts[] = {
		[GIT_FOUND_REPOSITORY] = "a git repository: git used in there obeys its "
					 "configuration and hooks",
		[GIT_FOUND_BARE] = "looks like a bare git repository: git used in there obeys its "
				   "configuration and hooks",
		[GIT_FOUND_PART] = "git used in that repository obeys it: look at it before you do",
		[GIT_FOUND_GITLINK] = "the index names it as a repository of its own, and it is no "
				      "registered submodule",
		[GIT_FOUND_STATE] = "an operation that the next git command goes on with",
		[GIT_FOUND_HEAD] = "this HEAD is none that git writes",
		[GIT_FOUND_NAME] = "agents and editors that are used in that directory obey it: "
				   "look at it before you do",
		[GIT_FOUND_UNWRITTEN] = "git tracks it, and the run could not write it: a commit "
					"of all changes would delete it",
	};

	return texts[kind];
}

/* Whether what lies at `path` was changed since the start; `*is_new`: made since then. */
static bool is_touched(const struct look *l, struct str path, bool *is_new)
{
	struct os_times times;

	if (!os_look_times(path.p, &times))
		return false;
	*is_new = !times.has_birth || os_is_since(times.birth, l->started);
	return os_is_since(times.change, l->started);
}

static int report(struct look *l, enum git_finding_kind kind, struct str path, bool is_new,
		  struct err *e)
{
	struct git_finding *found;

	if (l->out->items.count >= LOOK_MAX_FINDINGS) {
		l->out->is_incomplete = true;
		return 0;
	}
	found = VEC_PUSH(l->a, &l->out->items, e);
	if (!found)
		return err_result(e);
	found->kind = kind;
	found->is_new = is_new;
	return arena_copy(l->a, path, &found->path, e);
}

/* ---- What git obeys in a repository ---------------------------------------------------------- */

static struct os_file look_at(struct str path)
{
	struct err ignored = ERR_INIT;
	struct os_file file = { .type = OS_MISSING };

	return os_look(path, &file, &ignored) < 0 ? (struct os_file){ .type = OS_MISSING } : file;
}

/* What another run, or this one, has put there for as long as it lasts is nobody's. */
static bool is_placeholder(struct str path)
{
	return look_at(path).is_placeholder;
}

static int look_at_part(struct look *l, enum git_finding_kind kind, struct str path,
			bool *is_reported, struct err *e)
{
	bool is_new = false;

	*is_reported = is_touched(l, path, &is_new) && !is_placeholder(path);
	return *is_reported ? report(l, kind, path, is_new, e) : 0;
}

struct hooks {
	struct look *l;
	enum git_finding_kind kind;
	struct str dir;
};

static int see_hook(void *arg, struct str name, enum os_type type, struct err *e)
{
	struct hooks *hooks = arg;
	bool is_reported;
	struct str path;

	(void)type;
	if (++hooks->l->entries > LOOK_MAX_ENTRIES) {
		hooks->l->out->is_incomplete = true;
		return 1;
	}
	if (path_join(&hooks->l->work, hooks->dir, name, &path, e) < 0)
		return err_result(e);
	return look_at_part(hooks->l, hooks->kind, path, &is_reported, e);
}

/* A part that is a directory. A name that is written over does not change its time. */
static int look_below_part(struct hooks *hooks, struct err *e)
{
	if (look_at(hooks->dir).type != OS_DIR || os_list(hooks->dir, see_hook, hooks, e) >= 0)
		return 0;
	if (e->code != ERR_SYS)
		return err_result(e);
	err_clear(e);
	return 0;
}

/*
 * Those of a git directory that nothing protected, or from which the protection was taken
 * (P9). A name that is new changes the time of the directory; one that is written over
 * does not.
 */
static int look_at_parts(struct look *l, struct str dir, struct err *e)
{
	struct hooks hooks = { .l = l, .kind = GIT_FOUND_PART };
	bool is_reported = false;

	for (size_t i = 0; i < GIT_PART_COUNT; i++)
		if (path_join(&l->work, dir, str_of(git_parts[i]), &hooks.dir, e) < 0 ||
		    look_at_part(l, hooks.kind, hooks.dir, &is_reported, e) < 0)
			return err_result(e);
	/* The last one was `hooks`. */
	return is_reported ? 0 : look_below_part(&hooks, e);
}

/* ---- What others obey --------------------------------------------------------------------- */

static bool is_root(const struct look *l, struct str dir)
{
	for (size_t i = 0; i < l->plan->roots.count; i++)
		if (str_eq(l->plan->roots.items[i].path, dir))
			return true;
	return false;
}

/* P9 protects it in a root, and nowhere else. */
static int look_at_name(struct look *l, struct str dir, struct str name, struct err *e)
{
	struct hooks named = { .l = l, .kind = GIT_FOUND_NAME };
	bool is_reported = false;

	if (is_root(l, dir))
		return 0;
	if (path_join(&l->work, dir, name, &named.dir, e) < 0 ||
	    look_at_part(l, named.kind, named.dir, &is_reported, e) < 0)
		return err_result(e);
	return is_reported ? 0 : look_below_part(&named, e);
}

/* ---- Repositories that nobody knew ------------------------------------------------------ */

static bool is_known(const struct look *l, struct str git_dir, struct str worktree)
{
	for (size_t i = 0; i < l->plan->git_dirs.count; i++) {
		const struct git_dir *known = &l->plan->git_dirs.items[i];

		if (str_eq(known->path, git_dir) || str_eq(known->common_dir, git_dir) ||
		    (known->worktree.len && str_eq(known->worktree, worktree)))
			return true;
	}
	return false;
}

struct listing {
	struct look *l;
	struct str dir;
	bool has_git, has_head, has_commondir, has_objects, has_refs;
};

/* As git itself decides whether a directory is one of its own. */
static bool is_git_dir(const struct listing *seen)
{
	return seen->has_head && (seen->has_commondir || (seen->has_objects && seen->has_refs));
}

static int see_name(void *arg, struct str name, enum os_type type, struct err *e)
{
	struct listing *seen = arg;
	struct look *l = seen->l;
	struct str *dir;

	if (++l->entries > LOOK_MAX_ENTRIES) {
		l->out->is_incomplete = true;
		return 1;
	}
	if (str_is(name, ".git")) {
		seen->has_git = true;
		return 0;
	}
	if (metadata_find(name) && look_at_name(l, seen->dir, name, e) < 0)
		return err_result(e);
	seen->has_head |= str_is(name, "HEAD");
	seen->has_commondir |= str_is(name, "commondir");
	if (type != OS_DIR)
		return 0;
	seen->has_objects |= str_is(name, "objects");
	seen->has_refs |= str_is(name, "refs");
	dir = VEC_PUSH(&l->work, &l->dirs, e);
	if (!dir)
		return err_result(e);
	return path_join(&l->work, seen->dir, name, dir, e);
}

/* Where a git directory keeps those of submodules and linked worktrees (P10). */
static int add_shelves(struct look *l, struct str git_dir, struct err *e)
{
	static const char *const shelves[] = { "modules", "worktrees" };

	for (size_t i = 0; i < COUNT_OF(shelves); i++) {
		struct str *dir;
		struct str path;

		if (path_join(&l->work, git_dir, str_of(shelves[i]), &path, e) < 0)
			return err_result(e);
		if (look_at(path).type != OS_DIR)
			continue;
		dir = VEC_PUSH(&l->work, &l->dirs, e);
		if (!dir)
			return err_result(e);
		*dir = path;
	}
	return 0;
}

/* One that the plan does not know: it is new, or lies where nobody looked. */
static int judge_git_dir(struct look *l, enum git_finding_kind kind, struct str path, struct err *e)
{
	bool is_new = false;

	if (is_touched(l, path, &is_new) && !is_placeholder(path) &&
	    report(l, kind, path, is_new, e) < 0)
		return err_result(e);
	if (is_new)
		return 0;
	return look_at_parts(l, path, e) < 0 ? err_result(e) : add_shelves(l, path, e);
}

static int judge_dir(struct look *l, const struct listing *seen, struct err *e)
{
	struct str git;

	if (is_git_dir(seen) && !is_known(l, seen->dir, STR("")) &&
	    judge_git_dir(l, GIT_FOUND_BARE, seen->dir, e) < 0)
		return err_result(e);
	if (!seen->has_git)
		return 0;
	if (path_join(&l->work, seen->dir, STR(".git"), &git, e) < 0)
		return err_result(e);
	return is_known(l, git, seen->dir) ? 0 : judge_git_dir(l, GIT_FOUND_REPOSITORY, git, e);
}

/* The names that the plan has found in it, when it has not changed since. */
static bool is_remembered(const struct look *l, struct str dir, struct host_listing *out)
{
	struct stamp now;

	return host_recall(l->plan->host, dir, out) && os_look_stamp_of(dir.p, &now) &&
	       stamp_eq(&out->stamp, &now);
}

static int list(struct listing *seen, struct err *e)
{
	struct host_listing known;
	int r = 0;

	if (!is_remembered(seen->l, seen->dir, &known))
		return os_list(seen->dir, see_name, seen, e);
	for (size_t i = 0; r == 0 && i < known.count; i++)
		r = see_name(seen, known.items[i].name,
			     known.items[i].type == HOST_DIR ? OS_DIR : OS_OTHER, e);
	return r;
}

/* What can't be listed has nothing for git either, as long as it is so: unless the run closed it. */
static int look_into(struct look *l, struct str dir, struct err *e)
{
	struct listing seen = { .l = l, .dir = dir };
	size_t before = l->dirs.count;

	if (path_is_kernel_tree(dir))
		return 0;
	if (list(&seen, e) < 0) {
		bool is_new = false;

		if (e->code != ERR_SYS)
			return err_result(e);
		l->has_missed |= e->os_error == EACCES && is_touched(l, dir, &is_new);
		err_clear(e);
	}
	/* Inside a git directory lies nothing that was not judged with it. */
	if (is_known(l, dir, STR("")) || is_git_dir(&seen))
		l->dirs.count = before;
	return judge_dir(l, &seen, e);
}

static bool is_covered(const struct plan *plan, size_t at)
{
	for (size_t i = 0; i < plan->roots.count; i++)
		if (i != at &&
		    path_is_under(plan->roots.items[at].path, plan->roots.items[i].path) &&
		    (i < at || plan->roots.items[at].path.len > plan->roots.items[i].path.len))
			return true;
	return false;
}

static bool is_in_root(const struct plan *plan, struct str path)
{
	for (size_t i = 0; i < plan->roots.count; i++)
		if (path_is_under(path, plan->roots.items[i].path))
			return true;
	return false;
}

/* What a grant has opened that is no root (any more). */
static int add_opened(struct look *l, struct err *e)
{
	for (size_t i = 0; i < l->opened->count; i++) {
		struct str path = l->opened->items[i], *dir;

		if (is_in_root(l->plan, path) || look_at(path).type != OS_DIR)
			continue;
		dir = VEC_PUSH(&l->work, &l->dirs, e);
		if (!dir || arena_copy(&l->work, path, dir, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int look_for_repositories(struct look *l, struct err *e)
{
	const struct policy *policy = l->plan->policy;

	for (size_t i = 0; i < l->plan->roots.count; i++) {
		struct str *dir;

		if (is_covered(l->plan, i))
			continue;
		dir = VEC_PUSH(&l->work, &l->dirs, e);
		if (!dir || arena_copy(&l->work, l->plan->roots.items[i].path, dir, e) < 0)
			return err_result(e);
	}
	if (add_opened(l, e) < 0)
		return err_result(e);
	/* A run with git = "write" was meant to make some there. */
	for (size_t i = 0;
	     (!policy || policy->profile->git != GIT_WRITE) && i < l->plan->git_dirs.count; i++)
		if (add_shelves(l, l->plan->git_dirs.items[i].path, e) < 0)
			return err_result(e);
	/* Level by level, so that an incomplete look misses only what lies deep. */
	while (l->next < l->dirs.count && !l->out->is_incomplete) {
		if (look_into(l, l->dirs.items[l->next++], e) < 0)
			return err_result(e);
		if (loop_now() > l->end_ms)
			l->out->is_incomplete = true;
	}
	return 0;
}

/* ---- The repositories that are known ------------------------------------------------------ */

/* A file of a git directory; "", and the look is incomplete, if it can't be read. */
static int read_part(struct look *l, struct str dir, struct str name, size_t max_bytes,
		     struct str *text, struct err *e)
{
	struct os_seen seen = { .is_there = false };

	*text = STR_EMPTY;
	if (os_read_file_beneath(&l->work, dir, name, max_bytes, text, &seen, e) < 0) {
		if (e->code == ERR_NOMEM)
			return err_result(e);
		err_clear(e);
		l->out->is_incomplete = true;
		*text = STR_EMPTY;
	}
	return 0;
}

/* The same when it was changed; "" else. */
static int read_touched(struct look *l, struct str dir, struct str name, size_t max_bytes,
			struct str *path, struct str *text, struct err *e)
{
	bool is_new = false;

	*text = STR_EMPTY;
	if (path_join(&l->work, dir, name, path, e) < 0)
		return err_result(e);
	return is_touched(l, *path, &is_new) ? read_part(l, dir, name, max_bytes, text, e) : 0;
}

static bool is_hex(struct str text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!ascii_is_digit(text.p[i]) && (text.p[i] < 'a' || text.p[i] > 'f'))
			return false;
	return text.len == 40 || text.len == 64;
}

static bool is_head(struct str text)
{
	while (text.len && (text.p[text.len - 1] == '\n' || text.p[text.len - 1] == ' '))
		text.len--;
	if (!str_has_prefix(text, STR("ref: refs/")))
		return is_hex(text);
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
			return false;
	return true;
}

static int look_at_head(struct look *l, struct str dir, struct err *e)
{
	struct str path;
	struct str text;
	bool is_new = false;

	if (read_touched(l, dir, STR("HEAD"), HEAD_MAX_BYTES, &path, &text, e) < 0)
		return err_result(e);
	if (!is_touched(l, path, &is_new) || is_head(text))
		return 0;
	return report(l, GIT_FOUND_HEAD, path, is_new, e);
}

static int look_at_state(struct look *l, struct str dir, struct err *e)
{
	static const char *const states[] = { "rebase-merge",	 "rebase-apply", "sequencer",
					      "MERGE_HEAD",	 "REVERT_HEAD",	 "BISECT_LOG",
					      "CHERRY_PICK_HEAD" };

	for (size_t i = 0; i < COUNT_OF(states); i++) {
		bool is_new = false;
		struct str path;

		if (path_join(&l->work, dir, str_of(states[i]), &path, e) < 0)
			return err_result(e);
		if (is_touched(l, path, &is_new) && report(l, GIT_FOUND_STATE, path, is_new, e) < 0)
			return err_result(e);
	}
	return 0;
}

struct entries {
	struct look *l;
	struct str worktree;
	struct str index; /* its path */
	bool is_shared;	  /* what the shared index says may be outdated */
};

static int see_gitlink(struct entries *in, struct str name, struct err *e)
{
	struct str path;

	if (name.len == 0)
		return report(in->l, GIT_FOUND_GITLINK, in->index, true, e);
	if (path_plain(&in->l->work, in->worktree, name, &path, e) < 0) {
		if (e->code == ERR_NOMEM)
			return err_result(e);
		err_clear(e);
		path = name;
	}
	if (is_known(in->l, STR(""), path))
		return 0;
	return report(in->l, GIT_FOUND_GITLINK, path, true, e);
}

/* A file that was deleted on purpose is none: the index keeps the times it had. */
static int see_unseen(struct entries *in, struct str name, struct err *e)
{
	struct git_findings *out = in->l->out;
	struct os_file file;
	struct str path;

	if (in->is_shared)
		return 0;
	if (loop_now() > in->l->end_ms) {
		out->is_incomplete = true;
		return 0;
	}
	if (path_plain(&in->l->work, in->worktree, name, &path, e) < 0) {
		if (e->code == ERR_NOMEM)
			return err_result(e);
		err_clear(e);
		out->is_incomplete = true;
		return 0;
	}
	if (plan_resolve(in->l->plan, path).access == ACCESS_WRITE)
		return 0;
	file = look_at(path);
	if (file.type != OS_MISSING && !file.is_placeholder)
		return 0;
	/* In a conflict it is there up to three times, one behind the other. */
	if (out->items.count &&
	    out->items.items[out->items.count - 1].kind == GIT_FOUND_UNWRITTEN &&
	    str_eq(out->items.items[out->items.count - 1].path, path))
		return 0;
	return report(in->l, GIT_FOUND_UNWRITTEN, path, false, e);
}

static int see_entry(void *arg, enum git_index_entry kind, struct str name, struct err *e)
{
	return kind == GIT_ENTRY_LINK ? see_gitlink(arg, name, e) : see_unseen(arg, name, e);
}

static int look_at_entries(struct entries *in, struct str text, struct str *shared, struct err *e)
{
	*shared = STR_EMPTY;
	if (text.len == 0)
		return 0;
	if (git_index_look(text, see_entry, in, shared, e) < 0) {
		if (e->code == ERR_NOMEM)
			return err_result(e);
		err_clear(e);
		in->l->out->is_incomplete = true; /* one that git would not read either */
	}
	return 0;
}

/* What the index leaves to a shared one, also where it says that an entry of that is gone. */
static int look_at_shared(struct entries *in, struct str dir, struct str hash, struct err *e)
{
	scoped_buf name = BUF_INIT(128);
	struct str text, none;

	if (hash.len == 0)
		return 0;
	buf_add_text(&name, "sharedindex.");
	for (size_t i = 0; i < hash.len; i++)
		buf_printf(&name, "%02x", (unsigned)(unsigned char)hash.p[i]);
	if (buf_check(&name, e) < 0 ||
	    read_part(in->l, dir, buf_str(&name), LOOK_MAX_BYTES / 4, &text, e) < 0)
		return err_result(e);
	in->l->out->is_incomplete |= text.len == 0;
	in->is_shared = true;
	return look_at_entries(in, text, &none, e);
}

static int look_at_index(struct look *l, const struct git_dir *dir, struct err *e)
{
	struct entries in = { .l = l, .worktree = dir->worktree };
	struct str text, shared;

	if (!dir->worktree.len)
		return 0;
	if (read_touched(l, dir->path, STR("index"), LOOK_MAX_BYTES / 2, &in.index, &text, e) < 0 ||
	    look_at_entries(&in, text, &shared, e) < 0)
		return err_result(e);
	return look_at_shared(&in, dir->path, shared, e);
}

int git_look(struct arena *a, const struct plan *plan, const str_list *opened,
	     struct timespec started, struct git_findings *out, struct err *e)
{
	struct look l = { .a = a,
			  .work = ARENA_INIT(LOOK_MAX_BYTES),
			  .plan = plan,
			  .opened = opened,
			  .started = started,
			  .out = out,
			  .end_ms = loop_now() + LOOK_MAX_MS };
	int status = look_for_repositories(&l, e);

	for (size_t i = 0; i < plan->git_dirs.count && status == 0; i++) {
		const struct git_dir *dir = &plan->git_dirs.items[i];

		if (dir->is_nested && look_at_parts(&l, dir->path, e) < 0)
			status = err_result(e);
		else if (look_at_head(&l, dir->path, e) < 0 ||
			 look_at_state(&l, dir->path, e) < 0 || look_at_index(&l, dir, e) < 0)
			status = err_result(e);
	}
	out->is_incomplete |= l.has_missed;
	arena_done(&l.work);
	if (status < 0 && e->code == ERR_LIMIT) {
		err_clear(e);
		out->is_incomplete = true;
		return 0;
	}
	return status;
}
