/* SPDX-License-Identifier: MIT */
/*
 * See scope.h. SECURITY: the worker resolves by plan_resolve() on the rules of the plan that the
 * sandbox enforces, so there is one answer (P20), and no question crosses the line for a file.
 */
#include "tools/scope.h"

#include "base/fold.h"
#include "base/path.h"
#include "base/utf8.h"
#include "plan/index.h"
#include "plan/words.h"

enum { RULES_MAX = 1 << 20, WORDS_MAX_BYTES = 16 << 10 };

/* ---- Answers ---------------------------------------------------------------------------------- */

static bool is_in_kernel_tree(struct str path)
{
	for (; path.len > 1; path = path_parent(path))
		if (path_is_kernel_tree(path))
			return true;
	return false;
}

/* A sandbox shows there what lies in its own project, and nothing of others. */
static bool is_in_private_tmp(const struct scope *s, struct str path)
{
	struct str own = s->roots.count ? s->roots.items[0].path : STR_EMPTY;

	for (size_t i = 0; i < PLACES_TMP_COUNT; i++) {
		struct str tmp = s->private_tmp[i];

		if (tmp.len && path_is_under(path, tmp) &&
		    !(own.len && path_is_under(own, tmp) && path_is_under(path, own)))
			return true;
	}
	return false;
}

bool scope_is_elsewhere(const struct scope *s, struct str path)
{
	return is_in_kernel_tree(path) || is_in_private_tmp(s, path);
}

const struct scope_root *scope_root_of(const struct scope *s, struct str path)
{
	const struct scope_root *best = NULL;

	for (size_t i = 0; i < s->roots.count; i++) {
		const struct scope_root *root = &s->roots.items[i];

		if (path_is_under(path, root->path) && (!best || root->path.len > best->path.len))
			best = root;
	}
	return best;
}

enum access scope_access(const struct scope *s, struct str path)
{
	if (scope_is_elsewhere(s, path))
		return ACCESS_DENY;
	if (s->plan)
		return plan_resolve(s->plan, path).access;
	return scope_root_of(s, path) ? ACCESS_WRITE : ACCESS_DENY;
}

static void add_origin(struct buf *out, struct origin origin)
{
	if (!origin.file)
		return;
	buf_add_text(out, ", ");
	utf8_add_shown(out, str_of(origin.file));
	if (origin.line && strcmp(origin.file, "built-in") != 0)
		buf_printf(out, ":%u", (unsigned)origin.line);
}

static void add_words(struct buf *out, const struct rule *rule)
{
	rule_add_words(out, rule);
	add_origin(out, rule->origin);
}

/* A deny that an entry states, and what is protected, is opened by no approval. */
static bool may_be_granted(const struct rule *rule, enum access access)
{
	if (access == ACCESS_DENY)
		return rule->kind == RULE_UNCOVERED;
	return rule->kind == RULE_ENTRY && rule->layer == 0;
}

int scope_judge(struct arena *a, const struct scope *s, struct str path, struct scope_verdict *out,
		struct err *e)
{
	scoped_buf words = BUF_INIT(WORDS_MAX_BYTES);
	struct scope_verdict v = { .access = scope_access(s, path), .is_fixed = true };

	if (is_in_kernel_tree(path)) {
		buf_add_text(&words, "no tool works in /proc, /sys and /dev");
	} else if (is_in_private_tmp(s, path)) {
		buf_add_text(&words,
			     "the sandbox has a directory of its own there: tmp = \"private\"");
	} else if (!s->plan) {
		buf_add_text(&words, "it is outside of the directory that may be changed");
	} else {
		struct verdict verdict = plan_resolve(s->plan, path);

		add_words(&words, verdict.rule);
		v.is_fixed = !may_be_granted(verdict.rule, verdict.access);
	}
	if (buf_check(&words, e) < 0 || arena_copy(a, buf_str(&words), &v.rule, e) < 0)
		return err_result(e);
	*out = v;
	return 0;
}

/* ---- Guards -------------------------------------------------------------------------------------- */

static bool has_git_component(struct str path)
{
	struct str name;
	size_t at = 0;

	while (path_next(path, &at, &name))
		if (name.len == 4 && ascii_lower(name.p[1]) == 'g' && name.p[0] == '.' &&
		    ascii_lower(name.p[2]) == 'i' && ascii_lower(name.p[3]) == 't')
			return true;
	return false;
}

/* Where names fold, what is denied is denied in every spelling. */
static int as_compared(struct arena *a, const struct scope *s, struct str *path, struct err *e)
{
	return s->folds ? fold_copy(a, *path, path, e) : 0;
}

static const struct glob *parse_deny(struct arena *a, const struct scope *s, struct str pattern,
				     struct err *e)
{
	return (s->folds ? glob_parse_folded : glob_parse)(a, pattern, e);
}

/* Whether it is one of ":secrets". */
static int is_private(struct arena *a, const struct scope *s, struct str path, bool *out,
		      struct err *e)
{
	const struct scope_root *root = scope_root_of(s, path);
	struct str below = root ? path_below(path, root->path) : STR_EMPTY;

	*out = false;
	if (as_compared(a, s, &path, e) < 0 || as_compared(a, s, &below, e) < 0)
		return err_result(e);
	for (size_t i = 0; s->home.len && places_secret_paths[i] && !*out; i++) {
		struct str secret;

		if (path_join(a, s->home, str_of(places_secret_paths[i]), &secret, e) < 0 ||
		    as_compared(a, s, &secret, e) < 0)
			return err_result(e);
		*out = path_is_under(path, secret);
	}
	for (size_t i = 0; root && places_secret_globs[i] && !*out; i++) {
		const struct glob *glob = parse_deny(a, s, str_of(places_secret_globs[i]), e);

		if (!glob)
			return err_result(e);
		*out = glob_match_deepest(glob, below) >= 0;
	}
	return 0;
}

static int is_writable_by_name(struct arena *a, const struct scope *s, struct str path, bool *out,
			       struct err *e)
{
	const struct scope_root *root = scope_root_of(s, path);

	*out = s->guard.writable_count == 0;
	for (size_t i = 0; root && i < s->guard.writable_count && !*out; i++) {
		const struct glob *glob = glob_parse(a, s->guard.writable[i], e);

		if (!glob)
			return err_result(e);
		/* The whole of it: a glob that names a directory opens nothing below that. */
		*out = glob_match(glob, path_below(path, root->path));
	}
	return 0;
}

int scope_guards(struct arena *a, const struct scope *s, struct str path, struct str *out,
		 struct err *e)
{
	const struct scope_root *root = scope_root_of(s, path);
	struct str name = path_name(path);
	bool is_secret, is_writable;

	if (as_compared(a, s, &name, e) < 0 || is_private(a, s, path, &is_secret, e) < 0 ||
	    is_writable_by_name(a, s, path, &is_writable, e) < 0)
		return err_result(e);
	if (has_git_component(path))
		*out = STR("the file tools change nothing in a '.git'");
	else if (str_is(name, EDIT_TEMPORARY))
		*out = STR("this name belongs to the file tools");
	else if (root && root->is_read_only)
		*out = STR("this project was opened for reading");
	else if (!is_writable)
		*out = STR("files.writable does not name it");
	else if (is_secret && !s->guard.allows_ignored)
		*out = STR("it is one of \":secrets\"; files.ignored = \"allow\" opens them for "
			   "the file tools");
	else
		return 0;
	return 1;
}

int scope_set_guard(struct arena *a, const struct settings *settings, struct scope *out,
		    struct err *e)
{
	const names *writable = &settings->files_writable;
	struct str *list = arena_array(a, writable->count + 1, sizeof(*list), e);

	if (!list)
		return err_result(e);
	for (size_t i = 0; i < writable->count; i++)
		list[i] = writable->items[i].name;
	out->guard = (struct scope_guard){ .allows_ignored = settings->files_take_ignored,
					   .writable = list,
					   .writable_count = writable->count };
	return 0;
}

/* ---- A scope without a policy --------------------------------------------------------------------- */

int scope_init_alone(struct arena *a, struct str directory, struct scope *out, struct err *e)
{
	struct scope_root *root;

	*out = (struct scope){ .guard = { .allows_ignored = true },
			       .home = STR_EMPTY,
			       .sandbox = STR_EMPTY };
	for (size_t i = 0; i < PLACES_TMP_COUNT; i++)
		out->private_tmp[i] = STR_EMPTY;
	root = VEC_PUSH(a, &out->roots, e);
	if (!root || arena_copy(a, directory, &root->path, e) < 0)
		return err_result(e);
	return 0;
}

/* ---- For the worker ------------------------------------------------------------------------------ */

static void put_number(struct buf *out, uint64_t number)
{
	struct str bytes = { (const char *)&number, sizeof(number) };

	buf_add(out, bytes);
}

static void put_str(struct buf *out, struct str s)
{
	put_number(out, s.len);
	buf_add(out, s);
}

static void put_rule(struct buf *out, const struct rule *rule)
{
	put_number(out, rule->kind);
	put_number(out, rule->access);
	put_number(out, rule->layer);
	put_number(out, rule->lift_depth);
	put_number(out, rule->depth);
	put_number(out, rule->secret);
	put_number(out, rule->lifts);
	put_number(out, (uint64_t)rule->is_explicit | (uint64_t)rule->is_shelf << 1 |
				(uint64_t)rule->is_nested << 2 |
				(uint64_t)(rule->origin.file != NULL) << 3);
	put_str(out, rule->path);
	put_str(out, rule->glob);
	put_str(out, rule->key);
	put_str(out, rule->note);
	put_str(out, rule->origin.file ? str_of(rule->origin.file) : STR_EMPTY);
	put_number(out, rule->origin.line);
	put_number(out, rule->origin.column);
}

static void put_plan(struct buf *out, const struct plan *plan)
{
	put_number(out, plan->policy->layers.count);
	put_number(out, plan->is_unsandboxed);
	put_number(out, plan->rules.count);
	for (size_t i = 0; i < plan->rules.count; i++)
		put_rule(out, &plan->rules.items[i]);
}

void scope_print(struct buf *out, const struct scope *s)
{
	put_number(out, s->roots.count);
	for (size_t i = 0; i < s->roots.count; i++) {
		const struct scope_root *root = &s->roots.items[i];

		put_str(out, root->path);
		put_number(out, root->device);
		put_number(out, root->inode);
		put_number(out, root->is_read_only);
	}
	put_number(out, s->guard.allows_ignored);
	put_number(out, s->guard.writable_count);
	for (size_t i = 0; i < s->guard.writable_count; i++)
		put_str(out, s->guard.writable[i]);
	put_str(out, s->home);
	for (size_t i = 0; i < PLACES_TMP_COUNT; i++)
		put_str(out, s->private_tmp[i]);
	put_str(out, s->sandbox);
	put_number(out, s->folds);
	put_number(out, s->plan != NULL);
	if (s->plan)
		put_plan(out, s->plan);
}

struct reader {
	struct arena *a;
	struct str rest;
	bool is_short; /* it ended too early, or says what can't be */
};

static uint64_t get_number(struct reader *r, uint64_t most)
{
	uint64_t number = 0;

	if (r->rest.len < sizeof(number)) {
		r->is_short = true;
		return 0;
	}
	memcpy(&number, r->rest.p, sizeof(number));
	r->rest = str_from(r->rest, sizeof(number));
	if (number > most)
		r->is_short = true;
	return r->is_short ? 0 : number;
}

static int get_str(struct reader *r, struct str *out, struct err *e)
{
	size_t len = (size_t)get_number(r, r->rest.len);
	struct str found = str_first(r->rest, len);

	*out = STR_EMPTY;
	if (r->is_short || found.len < len) {
		r->is_short = true;
		return 0;
	}
	r->rest = str_from(r->rest, len);
	return len ? arena_copy(r->a, found, out, e) : 0;
}

static int get_rule(struct reader *r, bool folds, struct rule *rule, struct err *e)
{
	struct str file;
	uint64_t flags;

	rule->kind = (enum rule_kind)get_number(r, RULE_UNSANDBOXED);
	rule->access = (enum access)get_number(r, ACCESS_WRITE);
	rule->layer = (uint32_t)get_number(r, UINT32_MAX);
	rule->lift_depth = (uint32_t)get_number(r, UINT32_MAX);
	rule->depth = (uint32_t)get_number(r, UINT32_MAX);
	rule->secret = (uint32_t)get_number(r, UINT32_MAX);
	rule->lifts = (uint32_t)get_number(r, UINT32_MAX);
	flags = get_number(r, 15);
	rule->is_explicit = flags & 1;
	rule->is_shelf = flags >> 1 & 1;
	rule->is_nested = flags >> 2 & 1;
	if (get_str(r, &rule->path, e) < 0 || get_str(r, &rule->glob, e) < 0 ||
	    get_str(r, &rule->key, e) < 0 || get_str(r, &rule->note, e) < 0 ||
	    get_str(r, &file, e) < 0)
		return err_result(e);
	rule->origin.file = flags >> 3 & 1 ? file.p : NULL;
	rule->origin.line = (uint32_t)get_number(r, UINT32_MAX);
	rule->origin.column = (uint32_t)get_number(r, UINT32_MAX);
	/* SECURITY: a glob is a deny; one that could not be compiled must not be lost. */
	if (!r->is_short && rule->kind == RULE_GLOB) {
		rule->matcher = (folds ? glob_parse_folded : glob_parse)(r->a, rule->glob, e);
		if (!rule->matcher)
			return err_result(e);
	}
	return 0;
}

static int get_plan(struct reader *r, bool folds, const struct plan **out, struct err *e)
{
	struct plan *plan = ARENA_NEW(r->a, struct plan, e);
	struct policy *policy = ARENA_NEW(r->a, struct policy, e);
	struct profile *profile = ARENA_NEW(r->a, struct profile, e);
	size_t count;

	if (!plan || !policy || !profile)
		return err_result(e);
	policy->profile = profile;
	policy->layers.count = (size_t)get_number(r, INDEX_MAX_LAYERS);
	profile->is_unsandboxed = get_number(r, 1) != 0;
	plan->policy = policy;
	plan->is_unsandboxed = profile->is_unsandboxed;
	count = (size_t)get_number(r, RULES_MAX);
	plan->rules.items = arena_array(r->a, count + 1, sizeof(*plan->rules.items), e);
	if (!plan->rules.items)
		return err_result(e);
	for (size_t i = 0; i < count && !r->is_short; i++)
		if (get_rule(r, folds, &plan->rules.items[i], e) < 0)
			return err_result(e);
	plan->rules.count = plan->rules.room = count;
	if (r->is_short)
		return 0;
	/* SECURITY: a name that the volume takes for another one is judged as that one. */
	plan->index = index_build_for(r->a, &(struct host){ .folds = folds }, policy,
				      plan->rules.items, count, e);
	*out = plan;
	return plan->index ? 0 : err_result(e);
}

static int get_guard(struct reader *r, struct scope_guard *out, struct err *e)
{
	struct str *list;
	size_t count;

	out->allows_ignored = get_number(r, 1) != 0;
	count = (size_t)get_number(r, 4096);
	list = arena_array(r->a, count + 1, sizeof(*list), e);
	if (!list)
		return err_result(e);
	for (size_t i = 0; i < count && !r->is_short; i++)
		if (get_str(r, &list[i], e) < 0)
			return err_result(e);
	out->writable = list;
	out->writable_count = count;
	return 0;
}

static int get_roots(struct reader *r, struct scope *out, struct err *e)
{
	size_t count = (size_t)get_number(r, SCOPE_MAX_ROOTS);

	for (size_t i = 0; i < count && !r->is_short; i++) {
		struct scope_root *root = VEC_PUSH(r->a, &out->roots, e);

		if (!root || get_str(r, &root->path, e) < 0)
			return err_result(e);
		root->device = get_number(r, UINT64_MAX);
		root->inode = get_number(r, UINT64_MAX);
		root->is_read_only = get_number(r, 1) != 0;
	}
	return 0;
}

int scope_parse(struct arena *a, struct str bytes, struct scope *out, struct err *e)
{
	struct reader r = { .a = a, .rest = bytes };
	struct scope s = { .plan = NULL };

	if (get_roots(&r, &s, e) < 0 || get_guard(&r, &s.guard, e) < 0 ||
	    get_str(&r, &s.home, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < PLACES_TMP_COUNT; i++)
		if (get_str(&r, &s.private_tmp[i], e) < 0)
			return err_result(e);
	if (get_str(&r, &s.sandbox, e) < 0)
		return err_result(e);
	s.folds = get_number(&r, 1) != 0;
	if (get_number(&r, 1) && get_plan(&r, s.folds, &s.plan, e) < 0)
		return err_result(e);
	if (r.is_short || r.rest.len)
		return FAIL(e, ERR_SYNTAX, "the scope of the tools is damaged");
	*out = s;
	return 0;
}
