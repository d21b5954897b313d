/* SPDX-License-Identifier: MIT */
/*
 * The names that exist now and that a deny glob matches (P6). All globs that
 * start at one directory share one walk. Links are not followed on the way: what
 * lies behind one has other names. A link that itself matches is denied together
 * with what it resolves to.
 */
#include <errno.h>

#include "base/path.h"
#include "plan/builder.h"

enum {
	MAX_VISITED = 1000000,
	MAX_MATCHES = 100000,
	SCRATCH_BYTES = 512 << 20, /* for the directories of MAX_VISITED names */
};

struct match {
	struct str path;
	enum host_type type;
	uint32_t rule;
};

struct walk {
	struct builder *b;
	struct arena *scratch;
	VEC(struct str) reopened; /* paths of entries that are no denies, in order */
	VEC(struct match) matches;
	size_t visited;
	/* Of the walk at hand: */
	const uint32_t *globs; /* positions of the rules that start at `start` */
	size_t glob_count;
	struct str start;
	VEC(struct str) pending; /* directories to be listed */
	struct str dir;		 /* the one that is listed */
};

static const struct rule *rule_at(const struct walk *w, uint32_t number)
{
	return &w->b->plan->rules.items[number];
}

static int fail_limit(const struct walk *w, size_t limit, const char *what, struct err *e)
{
	const struct rule *rule = rule_at(w, w->globs[0]);

	return FAIL(e, ERR_LIMIT,
		    "the glob '%.*s' has more than %zu %s below %s: let it start at a narrower "
		    "directory",
		    STR_ARG(rule->key), limit, what, SHOWN(w->start));
}

/* ---- Walking ------------------------------------------------------------ */

/* Whether an entry that is no deny lies below `path`: such a one reopens part of it. */
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

/* Where the kernel makes up the names as they are asked for. */
static bool is_made_up(struct str path)
{
	return str_is(path, "/proc") || str_is(path, "/sys") || str_is(path, "/dev");
}

static bool may_match_below(const struct walk *w, struct str below)
{
	for (size_t i = 0; i < w->glob_count; i++)
		if (glob_may_match_below(rule_at(w, w->globs[i])->matcher, below))
			return true;
	return false;
}

static int add_match(struct walk *w, struct str path, struct str below, enum host_type type,
		     bool *matches, struct err *e)
{
	*matches = false;
	for (size_t i = 0; i < w->glob_count; i++) {
		struct match *match;

		if (!glob_match(rule_at(w, w->globs[i])->matcher, below))
			continue;
		*matches = true;
		if (w->matches.count == MAX_MATCHES)
			return fail_limit(w, MAX_MATCHES, "matches", e);
		match = VEC_PUSH(w->scratch, &w->matches, e);
		if (!match)
			return err_result(e);
		*match = (struct match){ .type = type, .rule = w->globs[i] };
		return arena_copy(w->b->a, path, &match->path, e);
	}
	return 0;
}

static int visit(void *arg, struct str name, enum host_type type, struct err *e)
{
	struct walk *w = arg;
	UNINITIALIZED char space[PATH_MAX_BYTES + 1];
	struct str path = { space, 0 };
	size_t len = w->dir.len == 1 ? 0 : w->dir.len;
	struct str *pending;
	bool matches;
	int r;

	if (w->visited++ == MAX_VISITED)
		return fail_limit(w, MAX_VISITED, "names", e);
	if (name.len + 1 >= PATH_MAX_BYTES - len)
		return fail_limit(w, PATH_MAX_BYTES, "bytes in the path of a name", e);
	memcpy(space, w->dir.p, len);
	space[len] = '/';
	memcpy(space + len + 1, name.p, name.len);
	path.len = len + 1 + name.len;
	r = add_match(w, path, path_below(path, w->start), type, &matches, e);
	if (r < 0 || type != HOST_DIR || is_made_up(path) ||
	    !may_match_below(w, path_below(path, w->start)))
		return r;
	/* What lies below a match is denied with it, but for what is reopened. */
	if (matches && !is_reopened_below(w, path))
		return 0;
	pending = VEC_PUSH(w->scratch, &w->pending, e);
	return pending ? arena_copy(w->scratch, path, pending, e) : err_result(e);
}

/* One that went away meanwhile holds no names; one that this user can't list is said aloud. */
static int list_dir(struct walk *w, struct err *e)
{
	const struct host *host = w->b->host;
	const struct rule *rule = rule_at(w, w->globs[0]);
	int r = host->list(host->user, w->dir, visit, w, e);

	if (r != -(int)ERR_SYS)
		return r;
	if (e->os_error == ENOENT || e->os_error == ENOTDIR) {
		err_clear(e);
		return 0;
	}
	if (e->os_error != EACCES && e->os_error != EPERM)
		return r;
	err_clear(e);
	return builder_note(w->b, true, rule->origin, e,
			    "%s can't be listed by this user: names below it that '%.*s' matches "
			    "are not known",
			    SHOWN(w->dir), STR_ARG(rule->key));
}

static int walk_from(struct walk *w, struct err *e)
{
	struct str *first = VEC_PUSH(w->scratch, &w->pending, e);
	int r = 0;

	if (!first)
		return err_result(e);
	*first = w->start;
	while (r == 0 && w->pending.count > 0) {
		w->dir = w->pending.items[--w->pending.count];
		r = list_dir(w, e);
	}
	return r;
}

/* ---- What to walk ------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
	return path_cmp(*(const struct str *)a, *(const struct str *)b);
}

static int find_reopened(struct walk *w, struct err *e)
{
	const struct plan *p = w->b->plan;

	for (size_t i = 0; i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];
		struct str *added;

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

/* The deny at what a matching link resolves to. */
static int deny_target(struct builder *b, const struct match *m, struct err *e)
{
	struct rule rule = b->plan->rules.items[m->rule];
	met_links links = { .items = NULL };
	struct rule_site site;
	struct canon target;
	struct link *link;
	uint32_t *number;
	int r = builder_canon(b, m->path, true, &target, &links, e);

	if (r == -(int)ERR_POLICY) {
		err_clear(e); /* a loop has no target */
		target.path = m->path;
	} else if (r < 0) {
		return r;
	} else {
		site = (struct rule_site){ target.type, target.missing_from, links.items,
					   links.count };
		r = arena_printf(b->a, &rule.note, e, "%s, which '%.*s' matches, is a link to it",
				 SHOWN(m->path), STR_ARG(rule.glob));
		rule.kind = RULE_ENTRY;
		rule.path = target.path;
		rule.glob = STR_EMPTY;
		rule.matcher = NULL;
		if (r < 0 || !builder_add(b, &rule, &site, e))
			return err_result(e);
	}
	link = VEC_PUSH(b->a, &b->plan->links, e);
	number = link ? VEC_PUSH(b->a, &b->link_rules, e) : NULL;
	if (!number)
		return err_result(e);
	link->path = m->path;
	link->target = target.path;
	*number = m->rule;
	return 0;
}

static int record(struct walk *w, struct err *e)
{
	struct builder *b = w->b;
	int r = 0;

	if (w->matches.count > 0)
		qsort(w->matches.items, w->matches.count, sizeof(w->matches.items[0]),
		      compare_matches);
	for (size_t i = 0; r == 0 && i < w->matches.count; i++) {
		const struct match *m = &w->matches.items[i];
		struct masked *masked;
		uint32_t *number;

		if (i > 0 && str_eq(m->path, m[-1].path))
			continue;
		masked = VEC_PUSH(b->a, &b->plan->masked, e);
		number = masked ? VEC_PUSH(b->a, &b->masked_rules, e) : NULL;
		if (!number)
			return err_result(e);
		masked->path = m->path;
		masked->type = m->type;
		*number = m->rule;
		if (m->type == HOST_LINK)
			r = deny_target(b, m, e);
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
	int r = find_starts(&w, &all, e);

	if (r == 0 && all.count > 0)
		r = find_reopened(&w, e);
	if (r == 0 && all.count > 0)
		r = walk_all(&w, &all, e);
	if (r == 0)
		r = record(&w, e);
	return r < 0 ? r : note_watch(b, e);
}
