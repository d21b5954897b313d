/* SPDX-License-Identifier: MIT */
/*
 * SECURITY: what becomes of each path, so that the longest entry of the profile never allows what the lists
 * of the original forbid. Two paths that begin in different places (the workspace, and anywhere) can't be compared
 * here, as nobody knows where the workspace will be. A deny of such a pair is written as a pattern that also
 * counts for each path below; where there is none (what may be read but not written), the whole profile is
 * bound to the directory that it was imported in.
 */
#include "base/glob.h"
#include "base/path.h"
#include "import/rules.h"
#include "policy/metadata.h"

static bool is_allow(const struct path_rule *p)
{
	return p->kind == RULE_WRITE || p->kind == RULE_READ;
}

static int find_places(struct rules *r, struct path_rule *p, struct err *e)
{
	const struct import_host *host = r->host;
	struct import_place place = { STR_EMPTY, false };
	struct str start = p->base == BASE_HOME ? host->home : host->directory;

	if (p->base == BASE_ROOT || p->leaves)
		p->full = p->path;
	else if (path_plain(r->a, start, p->path, &p->full, e) < 0)
		return err_wrap_place(e, p->origin);
	p->real = p->full;
	if (!host->look)
		return 0;
	if (host->look(host->user, r->a, p->full, &place, e) < 0)
		return err_result(e);
	p->real = place.real;
	p->is_file = place.is_file;
	return 0;
}

static bool is_comparable(const struct rules *r, const struct path_rule *x,
			  const struct path_rule *y)
{
	return r->is_anchored || (x->base == BASE_WORKSPACE) == (y->base == BASE_WORKSPACE);
}

/* Whether `p` is at `above` or below it. False where that can't be known. */
static bool is_under(const struct rules *r, const struct path_rule *p,
		     const struct path_rule *above)
{
	if (str_is(above->full, "/"))
		return true;
	if (!is_comparable(r, p, above))
		return false;
	return path_is_under(p->full, above->full) || path_is_under(p->real, above->real) ||
	       path_is_under(p->real, above->full) || path_is_under(p->full, above->real);
}

static bool has_component(struct str path, struct str wanted)
{
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name))
		if (str_eq(name, wanted))
			return true;
	return false;
}

/* Whether `path` could lie at or below the relative `below`, wherever that begins. */
static bool may_be_under(const struct path_rule *p, const struct path_rule *relative)
{
	struct str name = path_name(relative->path);

	return !relative->path.len || !str_eq(relative->full, relative->real) ||
	       has_component(p->full, name) || has_component(p->real, name);
}

/* Whether `p` may lie at `above` or below it, although both begin in different places. */
static bool may_meet(const struct rules *r, const struct path_rule *p,
		     const struct path_rule *above)
{
	if (is_comparable(r, p, above))
		return false;
	return p->base == BASE_WORKSPACE ? !above->is_file : may_be_under(p, above);
}

/* A relative path that may be written, and another above it that may not, or the other way round. */
static bool has_conflict(const struct rules *r, const struct path_rule *no)
{
	for (size_t i = 0; i < r->paths.count && !str_is(no->full, "/"); i++) {
		const struct path_rule *p = &r->paths.items[i];

		if (p->kind != RULE_WRITE || p->is_gone)
			continue;
		if (no->base == BASE_WORKSPACE && p->base != BASE_WORKSPACE && may_be_under(p, no))
			return true;
		if (no->base != BASE_WORKSPACE && p->base == BASE_WORKSPACE && !no->is_file)
			return true;
	}
	return false;
}

static int anchor(struct rules *r, struct err *e)
{
	const struct path_rule *wanted = NULL;

	for (size_t i = 0; i < r->paths.count && !wanted; i++) {
		const struct path_rule *p = &r->paths.items[i];

		if (p->leaves || (p->kind == RULE_NO_WRITE && !p->glob.len && has_conflict(r, p)))
			wanted = p;
	}
	if (!wanted)
		return 0;
	r->is_anchored = true;
	if (rules_note(r, wanted->origin, e,
		       "because of \"%.*s\" relative paths are not those of every workspace, but "
		       "those below %.*s",
		       STR_ARG(wanted->text), STR_ARG(r->host->directory)) < 0)
		return err_result(e);
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *p = &r->paths.items[i];

		if (p->base != BASE_WORKSPACE)
			continue;
		p->base = BASE_ROOT;
		p->path = p->full;
	}
	return 0;
}

static void drop(struct path_rule *p, const char *why)
{
	if (!p->is_gone)
		p->why = why;
	p->is_gone = true;
}

static void drop_needless(struct path_rule *p, const char *why)
{
	p->is_needless = !p->is_gone;
	drop(p, why);
}

static void drop_allows(struct rules *r, const struct path_rule *deny)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *p = &r->paths.items[i];
		bool counts = deny->kind == RULE_NOTHING ? is_allow(p) : p->kind == RULE_WRITE;

		if (counts && is_under(r, p, deny))
			drop(p, deny->kind == RULE_NOTHING
					? "denied all the same by another rule"
					: "not writable all the same because of another rule");
	}
}

/* A link may lead elsewhere tomorrow, and the original does not open what it leads to. */
static void drop_links(struct rules *r)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *p = &r->paths.items[i];

		if (is_allow(p) && !str_eq(p->full, p->real))
			drop(p, "a link leads there; write the path that it leads to");
	}
}

/* The literal rule of the kinds that decide about reading that is nearest above `p`; NULL: none. */
static const struct path_rule *find_cover(const struct rules *r, const struct path_rule *p,
					  bool only_writes)
{
	const struct path_rule *best = NULL;

	for (size_t i = 0; i < r->paths.count; i++) {
		const struct path_rule *above = &r->paths.items[i];
		bool counts =
			above->kind == RULE_WRITE ||
			(!only_writes && (above->kind == RULE_READ || above->kind == RULE_NO_READ));

		if (above == p || above->is_gone || above->glob.len || !counts ||
		    !is_under(r, p, above))
			continue;
		if (!best || path_depth(above->full) > path_depth(best->full) ||
		    (path_depth(above->full) == path_depth(best->full) &&
		     above->kind == RULE_NO_READ))
			best = above;
	}
	return best;
}

/* Whether a pattern that denies reading may match at or above `p`. */
static int is_matched(const struct rules *r, const struct path_rule *p,
		      const struct path_rule *deny, bool *out, struct err *e)
{
	const struct str places[] = { p->full, p->real }, starts[] = { deny->full, deny->real };
	const struct glob *g = glob_parse(r->a, deny->glob, e);

	if (!g)
		return err_result(e);
	*out = !is_comparable(r, p, deny);
	for (size_t i = 0; i < 4; i++) {
		struct str place = places[i / 2], start = starts[i % 2];

		if (path_is_under(place, start) &&
		    glob_match_deepest(g, path_below(place, start)) >= 0)
			*out = true;
	}
	return 0;
}

/* Whether reading may be denied between a directory that may be written and `p` in it. */
static int may_be_closed(const struct rules *r, const struct path_rule *p, bool *out, struct err *e)
{
	*out = false;
	for (size_t i = 0; i < r->paths.count && !*out; i++) {
		const struct path_rule *deny = &r->paths.items[i];

		if (deny->kind != RULE_NO_READ)
			continue;
		if (deny->glob.len) {
			if (is_matched(r, p, deny, out, e) < 0)
				return err_result(e);
		} else if (!is_comparable(r, p, deny)) {
			*out = deny->base == BASE_WORKSPACE
				       ? may_be_under(p, deny)
				       : has_component(p->path, path_name(deny->full)) ||
						 has_component(p->path, path_name(deny->real));
		}
	}
	return 0;
}

static bool has_kind(const struct rules *r, enum rule_kind kind)
{
	for (size_t i = 0; i < r->paths.count; i++)
		if (r->paths.items[i].kind == kind && !r->paths.items[i].is_gone)
			return true;
	return false;
}

/* Whether `p` may lie in a directory that may be written and that begins in another place. */
static bool may_be_writable(const struct rules *r, const struct path_rule *p)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		const struct path_rule *write = &r->paths.items[i];

		/* What the original does by itself does not meet. */
		if (write->kind == RULE_WRITE && !write->is_gone &&
		    (write->origin.file || p->origin.file) && may_meet(r, p, write))
			return true;
	}
	return false;
}

/* Cordon itself keeps these read-only in a directory that may be written. */
static bool is_protected(const struct path_rule *p, const struct path_rule *root)
{
	struct str below = path_below(p->full, root->full);
	struct str first = str_first(below, str_find(below, '/'));

	return str_eq(below, first) ? metadata_find(first) != NULL
				    : str_is(first, ".git") || str_is(first, ".claude");
}

static int resolve_no_write(struct rules *r, struct path_rule *p, struct err *e)
{
	const struct path_rule *root = find_cover(r, p, true);
	const struct path_rule *cover = find_cover(r, p, false);
	bool is_closed = cover && cover->kind == RULE_NO_READ;

	if (!root && !may_be_writable(r, p)) {
		drop_needless(p, "nothing there can be written anyway");
		return 0;
	}
	for (size_t i = 0; i < r->paths.count; i++) {
		const struct path_rule *deny = &r->paths.items[i];

		if (deny->kind == RULE_NOTHING && !deny->glob.len && is_under(r, p, deny) &&
		    path_is_under(p->real, deny->real)) {
			drop_needless(p, "denied anyway");
			return 0;
		}
	}
	if (root && p->origin.file == NULL && is_protected(p, root)) {
		drop(p, NULL);
		return 0;
	}
	/* Nothing that is known to be above it opens it. */
	if (!is_closed && (!cover || !is_comparable(r, p, cover) || !str_eq(p->full, p->real)))
		is_closed = has_kind(r, RULE_NO_READ);
	else if (!is_closed && may_be_closed(r, p, &is_closed, e) < 0)
		return err_result(e);
	if (is_closed)
		p->kind = RULE_NOTHING;
	return 0;
}

static void resolve_read(struct rules *r, struct path_rule *p)
{
	const struct path_rule *cover = find_cover(r, p, false);

	if (cover && cover->kind != RULE_NO_READ)
		drop_needless(p, "can be read anyway");
	else if (!cover && !r->reads_little && !has_kind(r, RULE_NO_READ))
		drop_needless(p, "can be read anyway");
}

/* What the original opens by itself, unless reading is denied there. */
static void resolve_own(struct rules *r, struct path_rule *p)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		const struct path_rule *deny = &r->paths.items[i];

		if (deny->kind == RULE_NO_READ && !deny->glob.len &&
		    (is_under(r, p, deny) || may_meet(r, p, deny)))
			drop(p, NULL);
	}
}

/* What is opened by its very name is open; what is written twice is written once. */
static void resolve_twice(struct rules *r, struct path_rule *p)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *q = &r->paths.items[i];
		bool is_same = q != p && !q->is_gone && !q->glob.len && !p->glob.len &&
			       is_under(r, p, q) && is_under(r, q, p);

		if (is_same && p->kind == RULE_NO_READ && q->kind == RULE_READ &&
		    str_eq(p->full, q->full) && str_eq(p->real, q->real))
			drop(p, "opened again by another rule");
		else if (is_same && p->kind == RULE_WRITE && q->kind == RULE_NO_READ)
			drop(p, "denied by another rule");
	}
}

/* Where a pattern is needed, because an allow of another beginning may lie below. */
static void resolve_nothing(const struct rules *r, struct path_rule *p)
{
	for (size_t i = 0; i < r->paths.count && !p->glob.len; i++) {
		const struct path_rule *q = &r->paths.items[i];

		/* What may only be read is an entry that opens, too. */
		if ((is_allow(q) || q->kind == RULE_NO_WRITE) && !q->is_gone && may_meet(r, q, p))
			p->glob = STR("**");
	}
}

/* Nothing to keep from being written where nothing can be. */
static void resolve_own_pattern(struct rules *r, struct path_rule *p)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		const struct path_rule *q = &r->paths.items[i];

		if (q->kind == RULE_WRITE && q->origin.file && !q->is_gone &&
		    (!is_comparable(r, p, q) || is_under(r, p, q) || is_under(r, q, p)))
			return;
	}
	drop(p, NULL);
}

/* Of a pattern that no entry opens again, each path below counts. */
static int cover_below(struct rules *r, struct path_rule *p, struct err *e)
{
	if (!p->glob.len || p->kind != RULE_NOTHING || str_has_suffix(p->glob, STR("**")))
		return 0;
	return arena_printf(r->a, &p->glob, e, "%.*s/**", (int)p->glob.len, p->glob.p);
}

int rules_resolve(struct rules *r, struct err *e)
{
	for (size_t i = 0; i < r->paths.count; i++)
		if (find_places(r, &r->paths.items[i], e) < 0)
			return err_result(e);
	drop_links(r);
	if (anchor(r, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *p = &r->paths.items[i];

		if ((p->kind == RULE_NO_WRITE || p->kind == RULE_NOTHING) && !p->glob.len)
			drop_allows(r, p);
		/* Here a pattern can't say "read". */
		if (p->kind == RULE_NO_WRITE && p->glob.len)
			p->kind = RULE_NOTHING;
	}
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *p = &r->paths.items[i];

		if (p->kind == RULE_WRITE && !p->origin.file)
			resolve_own(r, p);
		resolve_twice(r, p);
	}
	for (size_t i = 0; i < r->paths.count; i++)
		if (r->paths.items[i].kind == RULE_NO_WRITE &&
		    resolve_no_write(r, &r->paths.items[i], e) < 0)
			return err_result(e);
	for (size_t i = 0; i < r->paths.count; i++)
		if (r->paths.items[i].kind == RULE_READ && !r->paths.items[i].is_gone)
			resolve_read(r, &r->paths.items[i]);
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *p = &r->paths.items[i];

		if (p->kind == RULE_NOTHING && p->glob.len && !p->origin.file)
			resolve_own_pattern(r, p);
		if (p->kind == RULE_NOTHING && !p->is_gone)
			resolve_nothing(r, p);
		if (cover_below(r, p, e) < 0)
			return err_result(e);
	}
	return 0;
}

/* ---- Codex --------------------------------------------------------------------- */

static bool has_write_above(const struct rules *r, const struct path_rule *p,
			    const struct path_rule *below)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		const struct path_rule *write = &r->paths.items[i];

		if (write->kind == RULE_WRITE && is_comparable(r, p, write) &&
		    is_under(r, p, write) && (!below || is_under(r, write, below)))
			return true;
	}
	return false;
}

static void hide_read(struct rules *r, struct path_rule *p)
{
	for (size_t i = 0; i < r->paths.count; i++) {
		struct path_rule *deny = &r->paths.items[i];
		bool meets = false;

		if (deny->kind != RULE_NOTHING || deny->glob.len || str_is(deny->full, "/"))
			continue;
		if (is_comparable(r, p, deny)) {
			if (is_under(r, p, deny) && !str_eq(p->full, deny->full) &&
			    !has_write_above(r, p, deny))
				drop(p,
				     "the original does not open what is below something denied");
		} else if (p->base == BASE_WORKSPACE) {
			meets = !has_write_above(r, p, NULL) ||
				has_component(p->path, path_name(deny->full)) ||
				has_component(p->path, path_name(deny->real));
		} else {
			meets = may_be_under(p, deny);
		}
		if (meets)
			deny->glob = STR("**");
	}
}

int rules_hide_reads(struct rules *r, struct err *e)
{
	for (size_t i = 0; i < r->paths.count; i++)
		if (find_places(r, &r->paths.items[i], e) < 0)
			return err_result(e);
	for (size_t i = 0; i < r->paths.count; i++)
		if (r->paths.items[i].kind == RULE_READ)
			hide_read(r, &r->paths.items[i]);
	for (size_t i = 0; i < r->paths.count; i++)
		if (cover_below(r, &r->paths.items[i], e) < 0)
			return err_result(e);
	return 0;
}
