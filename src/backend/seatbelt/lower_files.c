/* SPDX-License-Identifier: MIT */
/*
 * The files of a plan as filters. An *area* is a place where the answer may change. Each area that
 * opens something (nothing around it does, or a glob denies what is around) becomes one allow: it
 * and all below it, without the areas below that are narrower and without what globs match there.
 * What is wider again below those is an area of its own.
 */
#include "backend/seatbelt/seatbelt.h"

#include "base/fold.h"
#include "base/path.h"
#include "plan/net.h"

struct area {
	struct str path;
	enum access access, above; /* `above`: of the path's parent */
	enum access around;	   /* of the area that it lies in */
	bool is_lifted;		   /* a glob matches the very path */
	struct str regex;	   /* of what is missing where names fold; else "" */
	const struct rule *rule;
};

/* ---- Areas -------------------------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
	return path_cmp(*(const struct str *)a, *(const struct str *)b);
}

static int list_paths(struct lowering *l, struct str **out, size_t *count, struct err *e)
{
	const struct plan *plan = l->plan;
	struct str *paths = arena_array(l->a, plan->rules.count + 1, sizeof(*paths), e);
	size_t n = 0, kept = 1;

	if (!paths)
		return err_result(e);
	paths[n++] = STR("/");
	for (size_t i = 0; i < plan->rules.count; i++)
		if (plan->rules.items[i].kind != RULE_GLOB)
			paths[n++] = plan->rules.items[i].path;
	qsort(paths, n, sizeof(*paths), compare_paths);
	for (size_t i = 1; i < n; i++)
		if (!str_eq(paths[i], paths[i - 1]))
			paths[kept++] = paths[i];
	*out = paths;
	*count = kept;
	return 0;
}

/* Whether a glob matches the path itself, which is open all the same (P7: a secret that was lifted). */
static bool is_lifted(const struct plan *plan, struct str path)
{
	for (size_t i = 0; i < plan->rules.count; i++) {
		const struct rule *rule = &plan->rules.items[i];

		if (rule->kind == RULE_GLOB && path_is_under(path, rule->path) &&
		    glob_match(rule->matcher, path_below(path, rule->path)))
			return true;
	}
	return false;
}

/*
 * A path as a regex. What is missing has no name on the disk yet: where names fold, it is in every
 * spelling.
 */
static int spell(struct lowering *l, struct str path, struct buf *text, bool *is_missing,
		 struct err *e)
{
	const struct host *host = l->plan->host;
	struct host_file file = { .type = HOST_DIR };
	size_t at = 0, known = 0;
	struct str name, folded;

	while (l->spellings && path_next(path, &at, &name)) {
		if (host->look(host->user, str_first(path, at), &file, e) < 0)
			return err_result(e);
		if (file.type == HOST_MISSING)
			break;
		known = at;
	}
	*is_missing = file.type == HOST_MISSING;
	if (!*is_missing)
		known = path.len > 1 ? path.len : 0;
	regex_add_literal(text, str_first(path, known));
	if (!*is_missing)
		return buf_check(text, e);
	if (fold_copy(l->a, str_from(path, known), &folded, e) < 0)
		return err_result(e);
	if (!regex_add_folded(text, l->spellings, folded))
		return lowering_refuse(
			l, G_PROTECT_MISSING, e,
			"%.*s is missing, and a name with two marks on one letter has "
			"spellings that a profile can't list",
			STR_ARG(path));
	if (buf_check(text, e) == 0)
		return 0;
	if (e->code != ERR_LIMIT)
		return err_result(e);
	err_clear(e);
	return lowering_refuse(l, G_PROTECT_MISSING, e,
			       "%.*s is missing, and its spellings are too many", STR_ARG(path));
}

static int spell_missing(struct lowering *l, struct area *area, struct err *e)
{
	scoped_buf text = BUF_INIT(SEATBELT_MAX_REGEX);
	bool is_missing;

	buf_add_char(&text, '^');
	if (spell(l, area->path, &text, &is_missing, e) < 0)
		return err_result(e);
	if (!is_missing)
		return 0;
	buf_add_text(&text, "(/[^/]+)*$");
	return buf_check(&text, e) < 0 ? err_result(e)
				       : arena_copy(l->a, buf_str(&text), &area->regex, e);
}

static int spell_start(struct lowering *l, struct seatbelt_glob *g, struct err *e)
{
	scoped_buf text = BUF_INIT(SEATBELT_MAX_REGEX);
	bool is_missing;

	if (spell(l, g->rule->path, &text, &is_missing, e) < 0)
		return err_result(e);
	return arena_copy(l->a, buf_str(&text), &g->start, e);
}

static int find_areas(struct lowering *l, struct err *e)
{
	struct str *paths = NULL;
	size_t count = 0;
	size_t *around;
	size_t depth = 0;

	if (list_paths(l, &paths, &count, e) < 0)
		return err_result(e);
	l->areas = arena_array(l->a, count, sizeof(*l->areas), e);
	around = arena_array(l->a, count, sizeof(*around), e);
	if (!l->areas || !around)
		return err_result(e);
	for (size_t i = 0; i < count; i++) {
		struct verdict v = plan_resolve(l->plan, paths[i]);
		struct area area = { .path = paths[i],
				     .access = v.access,
				     .above = ACCESS_DENY,
				     .around = ACCESS_DENY,
				     .regex = STR_EMPTY,
				     .rule = v.rule };

		while (depth > 0 && !path_is_under(paths[i], l->areas[around[depth - 1]].path))
			depth--;
		if (depth > 0) {
			area.around = l->areas[around[depth - 1]].access;
			area.above = plan_resolve(l->plan, path_parent(paths[i])).access;
			area.is_lifted = v.access != ACCESS_DENY && l->globs.count &&
					 is_lifted(l->plan, paths[i]);
			if (area.around == v.access && area.above == v.access && !area.is_lifted)
				continue;
		}
		if (l->spellings && i > 0 && spell_missing(l, &area, e) < 0)
			return err_result(e);
		around[depth++] = l->area_count;
		l->areas[l->area_count++] = area;
	}
	return 0;
}

/* ---- Filters ------------------------------------------------------------------------------------- */

static bool opens(const struct area *area, enum access least)
{
	return area->access >= least &&
	       (area->around < least || area->above < least || area->is_lifted);
}

static void begin_exception(struct lowering *l, size_t *count)
{
	buf_add_text(&l->text, (*count)++ ? "\n    " : " (require-not (require-any\n    ");
}

static int add_path(struct lowering *l, const char *filter, struct str path, struct err *e)
{
	buf_printf(&l->text, "(%s ", filter);
	if (lowering_add_param(l, path, e) < 0)
		return err_result(e);
	buf_add_char(&l->text, ')');
	return 0;
}

static void add_regex(struct lowering *l, struct str regex)
{
	buf_add_text(&l->text, "(regex ");
	sbpl_add_string(&l->text, regex, true);
	buf_add_char(&l->text, ')');
}

static bool is_missing(const struct lowering *l, struct str path)
{
	const struct host *host = l->plan->host;
	struct host_file file = { .type = HOST_MISSING };
	struct err e = ERR_INIT;

	return host->look(host->user, path, &file, &e) < 0 || file.type == HOST_MISSING;
}

/* One narrower area. `literal` beside `subpath`: for what is missing, one alone was too little. */
static int except_area(struct lowering *l, const struct area *area, size_t *count, struct err *e)
{
	begin_exception(l, count);
	if (area->regex.len) {
		add_regex(l, area->regex);
		return 0;
	}
	if (is_missing(l, area->path) && add_path(l, "literal", area->path, e) < 0)
		return err_result(e);
	return add_path(l, "subpath", area->path, e);
}

static int except_areas(struct lowering *l, size_t of, enum access least, size_t *count,
			struct err *e)
{
	const struct area *area = &l->areas[of];
	struct str passed = STR_EMPTY;

	for (size_t i = of + 1; i < l->area_count; i++) {
		const struct area *below = &l->areas[i];

		if (!path_is_under(below->path, area->path))
			return 0;
		if (below->access >= least || (passed.len && path_is_under(below->path, passed)))
			continue;
		passed = below->path;
		if (except_area(l, below, count, e) < 0)
			return err_result(e);
	}
	return 0;
}

static int except_globs(struct lowering *l, const struct area *area, size_t *count, struct err *e)
{
	regex_list list = { .items = NULL };

	for (size_t i = 0; i < l->globs.count; i++) {
		const struct seatbelt_glob *g = &l->globs.items[i];

		if (regex_add_glob(l->a, g, l->spellings, area->path, &list, e) == 0)
			continue;
		if (e->code != ERR_LIMIT)
			return err_result(e);
		err_clear(e);
		return lowering_refuse(l, G_FS_READ, e, "the glob '%.*s' is too long for a regex",
				       STR_ARG(g->rule->key));
	}
	for (size_t i = 0; i < list.count; i++) {
		begin_exception(l, count);
		add_regex(l, list.items[i]);
	}
	return 0;
}

static int add_note(struct lowering *l, const struct area *area, struct err *e)
{
	struct str text;

	if (arena_printf(l->a, &text, e, "%.*s%s%.*s", STR_ARG(area->rule->key),
			 area->rule->note.len ? ": " : "", STR_ARG(area->rule->note)) < 0)
		return err_result(e);
	if (text.len)
		lowering_add_comment(l, text.p);
	return 0;
}

/* ---- Reading ------------------------------------------------------------------------------------- */

static int add_reading(struct lowering *l, struct err *e)
{
	buf_add_text(&l->text, "\n; --- What may be read and executed ---\n");
	for (size_t i = 0; i < l->area_count; i++) {
		const struct area *area = &l->areas[i];
		size_t count = 0;

		if (!opens(area, ACCESS_READ))
			continue;
		if (add_note(l, area, e) < 0)
			return err_result(e);
		/* A path filter on an operation of the network is about unix sockets. */
		buf_printf(&l->text,
			   "(allow file-read* file-map-executable process-exec%s\n  (require-all ",
			   net_mode(l->plan->net) == NET_FULL ? " network-outbound" : "");
		if (add_path(l, "subpath", area->path, e) < 0 ||
		    except_areas(l, i, ACCESS_READ, &count, e) < 0 ||
		    except_globs(l, area, &count, e) < 0)
			return err_result(e);
		buf_add_text(&l->text, count ? "))))\n" : "))\n");
	}
	return 0;
}

/* Whoever looks a path up looks at every directory on the way. */
static int add_ways(struct lowering *l, struct err *e)
{
	struct name_node *seen = NULL;
	bool is_first = true;

	for (size_t i = 0; i < l->area_count; i++) {
		const struct area *area = &l->areas[i];

		if (!opens(area, ACCESS_READ))
			continue;
		for (struct str dir = path_parent(area->path); dir.len > 1;
		     dir = path_parent(dir)) {
			struct name_node *node;

			if (name_tree_find(seen, dir))
				break;
			node = ARENA_NEW(l->a, struct name_node, e);
			if (!node)
				return err_result(e);
			node->name = dir;
			name_tree_add(&seen, node);
			if (plan_resolve(l->plan, dir).access != ACCESS_DENY)
				continue;
			if (is_first)
				buf_add_text(&l->text, "\n; --- The ways there: that they are "
						       "there, not what is in them ---\n"
						       "(allow file-read-metadata");
			is_first = false;
			buf_add_text(&l->text, "\n  ");
			if (add_path(l, "literal", dir, e) < 0)
				return err_result(e);
		}
	}
	buf_add_text(&l->text, is_first ? "" : ")\n");
	return 0;
}

/* ---- Writing --------------------------------------------------------------------------------------- */

static bool may_write(const struct lowering *l, struct str path)
{
	return plan_resolve(l->plan, path).access == ACCESS_WRITE;
}

/* What must stay where it is, but may be changed: roots, and directories above what is narrower. */
static int find_fixed(struct lowering *l, struct name_node **out, struct str **list, size_t *count,
		      struct err *e)
{
	const struct plan *plan = l->plan;

	*list = arena_array(l->a, l->area_count + plan->pins.count + 1, sizeof(**list), e);
	if (!*list)
		return err_result(e);
	for (size_t i = 0; i < l->area_count + plan->pins.count; i++) {
		const bool is_pin = i >= l->area_count;
		struct str path = is_pin ? plan->pins.items[i - l->area_count].path
					 : l->areas[i].path;
		struct name_node *node;

		if (!may_write(l, path) || name_tree_find(*out, path) ||
		    (!is_pin && (!opens(&l->areas[i], ACCESS_WRITE) ||
				 (path.len > 1 && l->areas[i].above == ACCESS_WRITE))))
			continue;
		node = ARENA_NEW(l->a, struct name_node, e);
		if (!node)
			return err_result(e);
		node->name = path;
		name_tree_add(out, node);
		(*list)[(*count)++] = path;
	}
	return 0;
}

static int except_fixed(struct lowering *l, const struct area *area, const struct str *fixed,
			size_t fixed_count, size_t *count, struct err *e)
{
	const struct plan *plan = l->plan;

	for (size_t i = 0; i < fixed_count; i++)
		if (path_is_under(fixed[i], area->path)) {
			begin_exception(l, count);
			if (add_path(l, "literal", fixed[i], e) < 0)
				return err_result(e);
		}
	/* P8: a link that a narrower path leads through can't be replaced. */
	for (size_t i = 0; i < plan->links.count; i++)
		if (path_is_under(plan->links.items[i].path, area->path)) {
			begin_exception(l, count);
			if (add_path(l, "literal", plan->links.items[i].path, e) < 0)
				return err_result(e);
		}
	return 0;
}

static int add_fixed(struct lowering *l, const struct str *fixed, size_t count, struct err *e)
{
	if (!count)
		return 0;
	buf_add_text(
		&l->text,
		"; these can be changed, but neither removed nor renamed: whatever is narrower "
		"below\n; them would move with them\n"
		"(allow file-write-acl file-write-create file-write-data file-write-flags\n"
		"  file-write-mode file-write-owner file-write-setugid file-write-times "
		"file-write-xattr");
	for (size_t i = 0; i < count; i++) {
		buf_add_text(&l->text, "\n  ");
		if (add_path(l, "literal", fixed[i], e) < 0)
			return err_result(e);
	}
	buf_add_text(&l->text, ")\n");
	return 0;
}

static int add_writing(struct lowering *l, struct err *e)
{
	struct name_node *seen = NULL;
	struct str *fixed;
	size_t fixed_count = 0;

	if (find_fixed(l, &seen, &fixed, &fixed_count, e) < 0)
		return err_result(e);
	buf_add_text(&l->text,
		     "\n; --- What may be written. There are no hard links: a second name would be "
		     "judged\n; by its own path ---\n");
	for (size_t i = 0; i < l->area_count; i++) {
		const struct area *area = &l->areas[i];
		size_t count = 0;

		if (!opens(area, ACCESS_WRITE))
			continue;
		if (add_note(l, area, e) < 0)
			return err_result(e);
		buf_printf(&l->text, "(allow file-write*%s\n  (require-all ",
			   net_mode(l->plan->net) == NET_FULL ? " network-bind network-inbound"
							      : "");
		if (add_path(l, "subpath", area->path, e) < 0 ||
		    except_fixed(l, area, fixed, fixed_count, &count, e) < 0 ||
		    except_areas(l, i, ACCESS_WRITE, &count, e) < 0 ||
		    except_globs(l, area, &count, e) < 0)
			return err_result(e);
		buf_add_text(&l->text, count ? "))))\n" : "))\n");
	}
	return add_fixed(l, fixed, fixed_count, e);
}

int lower_files(struct lowering *l, struct err *e)
{
	for (size_t i = 0; i < l->plan->rules.count; i++) {
		const struct rule *rule = &l->plan->rules.items[i];

		if (rule->kind != RULE_GLOB ||
		    regex_expand(l->a, rule, l->spellings != NULL, &l->globs, e) == 0)
			continue;
		if (e->code != ERR_LIMIT)
			return err_result(e);
		err_clear(e);
		return lowering_refuse(l, G_FS_READ, e, "the glob '%.*s' has too many alternatives",
				       STR_ARG(rule->key));
	}
	for (size_t i = 0; i < l->globs.count; i++)
		if (spell_start(l, &l->globs.items[i], e) < 0)
			return err_result(e);
	if (find_areas(l, e) < 0 || add_ways(l, e) < 0 || add_reading(l, e) < 0)
		return err_result(e);
	return add_writing(l, e);
}
