/* SPDX-License-Identifier: MIT */
/*
 * Finds the names that exist now and that a deny glob matches (P6). All globs that start at one
 * directory share one walk. The walk does not follow links: what lies behind one has other names. A
 * link that itself matches is denied together with its target.
 *
 * What lies below a match is masked with it and not listed again. Even so the walk continues there
 * wherever a glob may still match: a link below may lead to a place that no mask covers.
 */
#include <errno.h>

#include "base/path.h"
#include "plan/builder.h"
#include "plan/dir_list.h"

enum {
	MAX_VISITED = 1000000,
	MAX_MATCHES = 100000,
	SCRATCH_BYTES = 512 << 20, /* for the directories of MAX_VISITED names */
};

/*
 * A project may have written the globs, and it has the files, so the cost of a scan is limited, in
 * the units of glob_get_cost(). A dozen globs on half a million names take a quarter of this.
 */
static const uint64_t max_cost = UINT64_C(3000) * 1000 * 1000;
enum {
	COST_OF_NAME = 500,
	COST_OF_DIR = 10000,
	TRIES_OF_MATCH = 4, /* every glob is tried again where its answers are needed */
};

struct match {
	struct str path;
	enum host_type type;
	uint32_t rule;
	/* masked with a directory above it; it is a link, or it would not be here */
	bool is_covered;
};

/* A directory to be listed. */
struct pending {
	struct str path;
	bool is_covered; /* it matched, or lies below a match, and nothing in it is reopened */
};

struct walk {
	struct builder *b;
	struct arena *scratch;
	VEC(struct str) reopened;	  /* sorted paths of entries that are not denies */
	VEC(const struct rule *) lifting; /* entries that lift secrets, by path (P7) */
	VEC(struct match) matches;
	size_t visited;
	uint64_t cost;
	/* The current walk: */
	const uint32_t *globs; /* positions of the rules that start at `start` */
	size_t glob_count;
	struct glob_cost glob_cost; /* of all of them */
	uint32_t dearest;	    /* the one that costs most */
	struct str start;
	VEC(struct pending) pending;
	struct pending dir; /* the directory that is being listed */
};

static const struct rule *rule_at(const struct walk *w, uint32_t number)
{
	return &w->b->plan->rules.items[number];
}

static int fail_limit(const struct walk *w, size_t limit, const char *what, struct err *e)
{
	const struct rule *rule = rule_at(w, w->globs[0]);

	(void)FAIL_CAUSE_AT(e, CAUSE_GLOB_LIMIT, rule->origin,
			    "the glob '%.*s' has more than %zu %s below %s", STR_ARG(rule->key),
			    limit, what, SHOWN(w->start));
	err_add_line(e, "start the glob at a narrower directory");
	return err_result(e);
}

/* Counts the cost of trying all globs on a path of `len` bytes, `tries` times, plus `cost`. */
static int spend(struct walk *w, uint64_t cost, size_t len, unsigned tries, struct err *e)
{
	const struct rule *rule = rule_at(w, w->dearest);

	w->cost += cost + tries * (w->glob_cost.each + w->glob_cost.byte * len);
	if (w->cost <= max_cost)
		return 0;
	(void)FAIL_CAUSE_AT(
		e, CAUSE_GLOB_LIMIT, rule->origin,
		"finding what %zu globs match below %s would take too long, most of it for '%.*s'",
		w->glob_count, SHOWN(w->start), STR_ARG(rule->key));
	err_add_line(e, "start that glob at a narrower directory, or give it fewer alternatives");
	return err_result(e);
}

/* Adds the place where the glob is written to an error. */
static int wrap_glob(const struct rule *rule, struct err *e)
{
	err_wrap_text(e, "\"%.*s\"", STR_ARG(rule->key));
	return err_wrap_place(e, rule->origin);
}

/*
 * SECURITY: a directory of this user's own that is closed by its mode is an error, because a
 * command could open it and read names that a glob denies (P3).
 */
static int refuse_lock(struct walk *w, struct str path, struct err *e)
{
	int r = builder_refuse_lock(w->b, path, "the names that a glob denies", e);

	return r < 0 ? wrap_glob(rule_at(w, w->globs[0]), e) : 0;
}

/* ---- Walking ------------------------------------------------------------ */

/* Whether an entry that is not a deny lies below `path`: it reopens part of it. */
static bool is_reopened_below(const struct walk *w, struct str path)
{
	size_t from = 0;
	size_t to = w->reopened.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (path_cmp(w->reopened.items[middle], path) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from < w->reopened.count && path_is_under(w->reopened.items[from], path);
}

static bool may_match_below(const struct walk *w, struct str below)
{
	for (size_t i = 0; i < w->glob_count; i++)
		if (glob_may_match_below(rule_at(w, w->globs[i])->matcher, below))
			return true;
	return false;
}

/*
 * Whether a listed name counts as missing, because it is the placeholder of another run (P11). Such
 * a placeholder is a directory or, in a git directory, a file with one of these names. No other
 * name needs a second look-up.
 */
static int is_missing(const struct walk *w, struct str path, enum host_type type, bool *out,
		      struct err *e)
{
	static const char *const files[] = { "alternates", "commondir", "config",
					     "config.worktree" };
	const struct host *host = w->b->host;
	struct host_file file = { .type = type };
	bool may_be = type == HOST_DIR;
	int r = 0;

	for (size_t i = 0; type == HOST_FILE && i < COUNT_OF(files); i++)
		may_be = may_be || str_is(path_name(path), files[i]);
	if (may_be)
		r = host->look(host->user, path, &file, e);
	*out = file.type == HOST_MISSING;
	return r;
}

/* SECURITY: the same rule as in index.c, so that every denied name is masked. */
static bool is_lifted(const struct walk *w, const struct rule *rule, struct str path)
{
	size_t from = 0;
	size_t to = w->lifting.count;

	while (rule->secret && from < to) {
		size_t middle = from + (to - from) / 2;

		if (path_cmp(w->lifting.items[middle]->path, path) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	for (; rule->secret && from < w->lifting.count; from++) {
		if (!str_eq(w->lifting.items[from]->path, path))
			break;
		if (rule->secret <= w->lifting.items[from]->lifts)
			return true;
	}
	return false;
}

/*
 * If several globs of one layer match a name, the first stands for all. Each layer has its own:
 * what one layer reopens at a link's target, another may still deny.
 *
 * SECURITY: a glob of ":secrets" stands for no other glob. If the name is a link, an entry at its
 * target may lift the deny of ":secrets" (drop_lifted()), but not the other one.
 */
static int add_matches(struct walk *w, struct str path, enum host_type type, bool *matches,
		       struct err *e)
{
	struct str below = path_below(path, w->start);
	struct str kept = STR_EMPTY;
	uint32_t layer = UINT32_MAX; /* of the last one added; the rules are sorted by layer */
	uint32_t secret = 0;	     /* of the same */
	bool is_nothing = false;

	*matches = false;
	for (size_t i = 0; i < w->glob_count; i++) {
		const struct rule *rule = rule_at(w, w->globs[i]);
		struct match *match;

		if ((rule->layer == layer && rule->secret == secret) ||
		    !glob_match(rule->matcher, below) || is_lifted(w, rule, path))
			continue;
		if (!*matches && is_missing(w, path, type, &is_nothing, e) < 0)
			return err_result(e);
		if (is_nothing)
			return 0;
		*matches = true;
		if (type != HOST_LINK && (w->dir.is_covered || layer != UINT32_MAX))
			return 0;
		layer = rule->layer;
		secret = rule->secret;
		if (w->matches.count == MAX_MATCHES)
			return fail_limit(w, MAX_MATCHES, "matches", e);
		match = VEC_PUSH(w->scratch, &w->matches, e);
		if (!match || (kept.len == 0 && arena_copy(w->b->a, path, &kept, e) < 0))
			return err_result(e);
		if (spend(w, 0, below.len, TRIES_OF_MATCH, e) < 0)
			return err_result(e);
		*match = (struct match){ kept, type, w->globs[i], w->dir.is_covered };
	}
	return 0;
}

static int visit(void *arg, struct str name, enum host_type type, struct err *e)
{
	struct walk *w = arg;
	UNINITIALIZED char space[PATH_MAX_BYTES + 1];
	struct str path = { space, 0 };
	size_t len = w->dir.path.len == 1 ? 0 : w->dir.path.len;
	struct pending *pending;
	bool matches;
	int r;

	if (w->visited++ == MAX_VISITED)
		return fail_limit(w, MAX_VISITED, "names", e);
	if (name.len + 1 >= PATH_MAX_BYTES - len)
		return fail_limit(w, PATH_MAX_BYTES, "bytes in the path of a name", e);
	memcpy(space, w->dir.path.p, len);
	space[len] = '/';
	memcpy(space + len + 1, name.p, name.len);
	path.len = len + 1 + name.len;
	r = spend(w, COST_OF_NAME, path_below(path, w->start).len, type == HOST_DIR ? 2 : 1, e);
	if (r < 0)
		return r;
	r = add_matches(w, path, type, &matches, e);
	if (r == 0 && type == HOST_HIDDEN)
		return refuse_lock(w, path, e);
	/*
	 * SECURITY: the walk continues below a match. Otherwise the targets of links below it would
	 * stay open.
	 */
	if (r < 0 || type != HOST_DIR || path_is_kernel_tree(path) ||
	    !may_match_below(w, path_below(path, w->start)))
		return r;
	pending = VEC_PUSH(w->scratch, &w->pending, e);
	if (!pending)
		return err_result(e);
	pending->is_covered = w->dir.is_covered || (matches && !is_reopened_below(w, path));
	return arena_copy(w->scratch, path, &pending->path, e);
}

/*
 * A directory that was removed meanwhile has no names. One that this user can't list gets a
 * warning.
 */
static int list_dir(struct walk *w, struct err *e)
{
	const struct rule *rule = rule_at(w, w->globs[0]);
	int r = spend(w, COST_OF_DIR, 0, 0, e);

	if (r == 0)
		r = dir_list_each(w->b, w->dir.path, visit, w, e);
	if (r != -(int)ERR_SYS)
		return r;
	if (e->os_error == ENOENT || e->os_error == ENOTDIR) {
		err_clear(e);
		return 0;
	}
	if (e->os_error != EACCES && e->os_error != EPERM)
		return r;
	err_clear(e);
	r = refuse_lock(w, w->dir.path, e);
	if (r < 0)
		return r;
	return builder_note(w->b, true, rule->origin, e,
			    "%s can't be listed by this user: names below it that '%.*s' matches "
			    "are not known",
			    SHOWN(w->dir.path), STR_ARG(rule->key));
}

static int walk_from(struct walk *w, struct err *e)
{
	struct pending *first = VEC_PUSH(w->scratch, &w->pending, e);
	int r = 0;

	if (!first)
		return err_result(e);
	*first = (struct pending){ .path = w->start };
	/*
	 * Level by level, as nested.c goes, so that the directories that it needs first are
	 * remembered.
	 */
	dir_list_begin(w->b);
	for (size_t next = 0; r == 0 && next < w->pending.count; next++) {
		w->dir = w->pending.items[next];
		r = list_dir(w, e);
	}
	w->pending.count = 0;
	return r;
}

/* ---- What to walk ------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
	return path_cmp(*(const struct str *)a, *(const struct str *)b);
}

static int compare_lifting(const void *a, const void *b)
{
	return path_cmp((*(const struct rule *const *)a)->path,
			(*(const struct rule *const *)b)->path);
}

static int add_lifting(struct walk *w, const struct rule *rule, struct err *e)
{
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	const struct rule **added = VEC_PUSH(w->scratch, &w->lifting, e);

	if (!added)
		return err_result(e);
	*added = rule;
	return 0;
}

static int find_reopened(struct walk *w, struct err *e)
{
	const struct plan *p = w->b->plan;

	for (size_t i = 0; i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];
		struct str *added;

		if (rule->lifts && add_lifting(w, rule, e) < 0)
			return err_result(e);
		if (rule->access == ACCESS_DENY)
			continue;
		added = VEC_PUSH(w->scratch, &w->reopened, e);
		if (!added)
			return err_result(e);
		*added = rule->path;
	}
	if (w->reopened.count > 0)
		qsort(w->reopened.items, w->reopened.count, sizeof(w->reopened.items[0]),
		      compare_paths);
	if (w->lifting.count > 0)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
		qsort(w->lifting.items, w->lifting.count, sizeof(w->lifting.items[0]),
		      compare_lifting);
	return 0;
}

struct start {
	struct str path;
	uint32_t rule;
};

static int compare_starts(const void *a, const void *b)
{
	const struct start *x = a;
	const struct start *y = b;
	int c = path_cmp(x->path, y->path);

	return c ? c : (x->rule > y->rule) - (x->rule < y->rule);
}

typedef VEC(struct start) starts;

static int find_starts(struct walk *w, starts *out, struct err *e)
{
	const struct plan *p = w->b->plan;

	for (size_t i = 0; i < p->rules.count; i++) {
		struct start *start;

		if (p->rules.items[i].kind != RULE_GLOB || w->b->sites.items[i].type != HOST_DIR)
			continue;
		start = VEC_PUSH(w->scratch, out, e);
		if (!start)
			return err_result(e);
		*start = (struct start){ p->rules.items[i].path, (uint32_t)i };
	}
	if (out->count > 0)
		qsort(out->items, out->count, sizeof(out->items[0]), compare_starts);
	return 0;
}

/*
 * Every rule is resolved at least once, and each glob may be tried for that, even one that starts
 * where there is nothing to walk.
 */
static int spend_on_rules(struct walk *w, struct err *e)
{
	const struct plan *p = w->b->plan;
	const struct rule *last = NULL;
	uint64_t each = 0;

	for (size_t i = 0; i < p->rules.count; i++) {
		if (p->rules.items[i].kind != RULE_GLOB)
			continue;
		last = &p->rules.items[i];
		each += glob_get_cost(last->matcher).each;
	}
	w->cost += each * p->rules.count;
	if (!last || w->cost <= max_cost)
		return 0;
	(void)FAIL_CAUSE_AT(e, CAUSE_GLOB_LIMIT, last->origin,
			    "'%.*s' is one glob too many for a policy of %zu entries",
			    STR_ARG(last->key), p->rules.count);
	err_add_line(e, "each glob is tried on every entry: write fewer, or join some as {a,b}");
	return err_result(e);
}

static void find_cost(struct walk *w)
{
	uint64_t most = 0;

	w->glob_cost = (struct glob_cost){ .each = 0 };
	for (size_t i = 0; i < w->glob_count; i++) {
		struct glob_cost cost = glob_get_cost(rule_at(w, w->globs[i])->matcher);

		w->glob_cost.each += cost.each;
		w->glob_cost.byte += cost.byte;
		if (cost.each + cost.byte > most) {
			most = cost.each + cost.byte;
			w->dearest = w->globs[i];
		}
	}
}

static int walk_all(struct walk *w, const starts *all, struct err *e)
{
	uint32_t *numbers = arena_array(w->scratch, all->count + 1, sizeof(*numbers), e);
	int r = 0;

	if (!numbers)
		return err_result(e);
	for (size_t i = 0; r == 0 && i < all->count; i += w->glob_count) {
		w->start = all->items[i].path;
		w->globs = numbers + i;
		w->glob_count = 0;
		while (i + w->glob_count < all->count &&
		       str_eq(all->items[i + w->glob_count].path, w->start)) {
			numbers[i + w->glob_count] = all->items[i + w->glob_count].rule;
			w->glob_count++;
		}
		find_cost(w);
		r = walk_from(w, e);
	}
	return r;
}

/* ---- What was found ----------------------------------------------------- */

static int compare_matches(const void *a, const void *b)
{
	const struct match *x = a;
	const struct match *y = b;
	int c = path_cmp(x->path, y->path);

	return c ? c : (x->rule > y->rule) - (x->rule < y->rule);
}

/*
 * Whether the glob denies the target anyway, as an entry there would. Package trees have very many
 * links to each other, and need no rule for each.
 */
static bool is_denied_as_it_is(const struct rule *rule, const struct canon *target,
			       const met_links *links)
{
	return links->count == 1 && target->type != HOST_MISSING && target->type != HOST_HIDDEN &&
	       path_is_under(target->path, rule->path) &&
	       glob_match(rule->matcher, path_below(target->path, rule->path));
}

/* Adds the deny at the target of a matching link; its path is `*out`. */
static int deny_target(struct builder *b, const struct match *m, struct str *out, struct err *e)
{
	struct rule rule = b->plan->rules.items[m->rule];
	met_links links = { .items = NULL };
	struct rule_site site;
	struct canon target;
	bool leads;
	int r = builder_canon_if(b, m->path, true, &target, &links, &leads, e);

	if (r < 0)
		return wrap_glob(&rule, e);
	*out = leads ? target.path : m->path; /* a loop has no target */
	if (!leads || is_denied_as_it_is(&rule, &target, &links))
		return 0;
	site = (struct rule_site){ .type = target.type,
				   .missing_from = target.missing_from,
				   .links = links.items,
				   .link_count = links.count };
	r = arena_printf(b->a, &rule.note, e, "%s, which '%.*s' matches, is a link to it",
			 SHOWN(m->path), STR_ARG(rule.glob));
	rule.kind = RULE_ENTRY;
	rule.path = target.path;
	rule.glob = STR_EMPTY;
	rule.matcher = NULL;
	if (r < 0 || !builder_add(b, &rule, &site, e))
		return err_result(e);
	return 0;
}

static int add_masked(struct builder *b, const struct match *m, struct err *e)
{
	struct masked *masked = VEC_PUSH(b->a, &b->plan->masked, e);
	uint32_t *number = masked ? VEC_PUSH(b->a, &b->masked_rules, e) : NULL;

	if (!number)
		return err_result(e);
	masked->path = m->path;
	masked->type = m->type;
	*number = m->rule;
	return 0;
}

static int add_link(struct builder *b, const struct match *m, struct str target, struct err *e)
{
	struct link *link = VEC_PUSH(b->a, &b->plan->links, e);
	uint32_t *number = link ? VEC_PUSH(b->a, &b->link_rules, e) : NULL;

	if (!number)
		return err_result(e);
	link->path = m->path;
	link->target = target;
	*number = m->rule;
	return 0;
}

static int add_lifted(struct builder *b, const struct match *m, struct err *e)
{
	struct str *link = VEC_PUSH(b->a, &b->plan->lifted, e);

	if (!link)
		return err_result(e);
	*link = m->path;
	return 0;
}

/*
 * For a link, the entry that lifts the deny is at its target. Returns the number of matches that
 * remain.
 */
static int drop_lifted(const struct walk *w, struct match *m, size_t *count, struct err *e)
{
	struct canon target;
	size_t left = 0;
	bool leads;

	if (m->type != HOST_LINK || w->lifting.count == 0)
		return 0;
	if (builder_canon_if(w->b, m->path, true, &target, NULL, &leads, e) < 0)
		return wrap_glob(rule_at(w, m->rule), e);
	for (size_t i = 0; leads && i < *count; i++)
		if (!is_lifted(w, rule_at(w, m[i].rule), target.path))
			m[left++] = m[i];
	if (leads)
		*count = left;
	return 0;
}

/* Records all `count` matches of one path, in the order of their rules. */
static int record_name(const struct walk *w, struct match *m, size_t count, struct err *e)
{
	struct builder *b = w->b;
	const struct match *shown = NULL; /* the first that no directory above covers */
	struct str target = STR_EMPTY;
	uint32_t layer = UINT32_MAX;
	int r = drop_lifted(w, m, &count, e);

	if (r < 0)
		return r;
	if (count == 0)
		return add_lifted(b, m, e);
	for (size_t i = 0; i < count && !shown; i++)
		shown = m[i].is_covered ? NULL : &m[i];
	if (shown)
		r = add_masked(b, shown, e);
	if (m->type != HOST_LINK)
		return r;
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint32_t own = b->plan->rules.items[m[i].rule].layer;

		if (own != layer)
			r = deny_target(b, &m[i], &target, e);
		layer = own;
	}
	return r < 0 || !shown ? r : add_link(b, shown, target, e);
}

static int record(struct walk *w, struct err *e)
{
	size_t count;
	int r = 0;

	if (w->matches.count > 0)
		qsort(w->matches.items, w->matches.count, sizeof(w->matches.items[0]),
		      compare_matches);
	for (size_t i = 0; r == 0 && i < w->matches.count; i += count) {
		struct match *m = &w->matches.items[i];

		for (count = 1; i + count < w->matches.count; count++)
			if (!str_eq(m[count].path, m->path))
				break;
		r = record_name(w, m, count, e);
	}
	return r;
}

static int note_watch(struct builder *b, struct err *e)
{
	const struct plan *p = b->plan;

	if (p->policy->profile->globs_are_strict)
		return 0;
	for (size_t i = 0; i < p->rules.count; i++)
		if (p->rules.items[i].kind == RULE_GLOB)
			return builder_note(b, false, p->rules.items[i].origin, e,
					    "names that match a glob and appear during the run are "
					    "masked when they are seen; globs = \"strict\" demands "
					    "that there is no moment between");
	return 0;
}

int pass_masked(struct builder *b, struct err *e)
{
	scoped_arena scratch = ARENA_INIT(SCRATCH_BYTES);
	struct walk w = { .b = b, .scratch = &scratch };
	starts all = { .items = NULL };
	int r = spend_on_rules(&w, e);

	if (r == 0)
		r = find_starts(&w, &all, e);
	if (r == 0 && all.count > 0)
		r = find_reopened(&w, e);
	if (r == 0 && all.count > 0)
		r = walk_all(&w, &all, e);
	if (r == 0)
		r = record(&w, e);
	return r < 0 ? r : note_watch(b, e);
}
