/* SPDX-License-Identifier: MIT */
/*
 * The writable roots of P9: the directories of write entries and of grants (a grant adds entries,
 * P18), and the workspace roots whose access is write.
 *
 * SECURITY: only the profile and the grants decide what is a root. Otherwise a narrowing layer
 * could lower a root, so that nothing in it is protected, but leave the protected names writable,
 * which would open them.
 *
 * A path that only :tmpdir or :slash_tmp names is not a root: /tmp is nobody's project, and names
 * in it are not metadata. Neither is what a built-in profile lets an agent save in.
 */
#include "base/path.h"
#include "plan/index.h"
#include "plan/protect.h"
#include "policy/agent.h"

bool roots_has(const struct builder *b, struct str path)
{
	size_t from = 0;
	size_t to = b->plan->roots.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int c = path_cmp(path, b->plan->roots.items[middle].path);

		if (c == 0)
			return true;
		if (c < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}

struct candidate {
	struct str path;
	uint32_t rule;
};
typedef VEC(struct candidate) candidates;

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a;
	const struct candidate *y = b;
	int c = path_cmp(x->path, y->path);

	return c ? c : (x->rule > y->rule) - (x->rule < y->rule);
}

static bool is_temporary(struct str key)
{
	return str_is(key, ":tmpdir") || str_is(key, ":slash_tmp");
}

static bool is_of_agent(const struct rule *rule)
{
	const struct agent_file *file = agent_file_find(rule->key);

	return file && rule->kind == RULE_ENTRY && rule->origin.file &&
	       strcmp(rule->origin.file, "built-in") == 0;
}

static int add_candidate(struct builder *b, struct str path, size_t rule, candidates *found,
			 struct err *e)
{
	struct candidate *c = VEC_PUSH(b->a, found, e);

	if (!c)
		return err_result(e);
	*c = (struct candidate){ path, (uint32_t)rule };
	return 0;
}

static bool makes_writable(const struct rule *rule)
{
	return (rule->kind == RULE_ENTRY || rule->kind == RULE_GRANT) && rule->layer == 0 &&
	       rule->access == ACCESS_WRITE;
}

/* The deepest write entry or grant that covers `path`; the number of rules if there is none. */
static size_t find_cover(const struct plan *p, struct str path)
{
	size_t found = p->rules.count;

	for (size_t i = 0; i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];

		if (makes_writable(rule) && path_is_under(path, rule->path) &&
		    (found == p->rules.count || rule->depth > p->rules.items[found].depth))
			found = i;
	}
	return found;
}

/*
 * SECURITY: a root stays a root even if a project or another entry narrows it. Otherwise a deny
 * would end the protection of what belongs to the root but lies elsewhere, such as the git
 * directory that its .git names.
 */
static int find_candidates(struct builder *b, candidates *found, struct err *e)
{
	const struct plan *p = b->plan;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];

		if (makes_writable(rule) && b->sites.items[i].type == HOST_DIR &&
		    !is_temporary(rule->key) && !is_of_agent(rule))
			r = add_candidate(b, rule->path, i, found, e);
	}
	for (size_t i = 0; r == 0 && i < p->places.root_count; i++) {
		size_t cover = find_cover(p, p->places.roots[i]);
		struct host_file file;

		r = b->host->look(b->host->user, p->places.roots[i], &file, e);
		if (r == 0 && file.type == HOST_DIR && cover < p->rules.count)
			r = add_candidate(b, p->places.roots[i], cover, found, e);
	}
	return r;
}

int pass_roots(struct builder *b, struct err *e)
{
	candidates found = { .items = NULL };
	int r = pass_index(b, e);

	if (r == 0)
		r = find_candidates(b, &found, e);
	if (r < 0 || found.count == 0)
		return r;
	qsort(found.items, found.count, sizeof(found.items[0]), compare_candidates);
	for (size_t i = 0; i < found.count; i++) {
		struct writable_root *root;
		uint32_t *number;

		if (i > 0 && str_eq(found.items[i].path, found.items[i - 1].path))
			continue;
		root = VEC_PUSH(b->a, &b->plan->roots, e);
		number = root ? VEC_PUSH(b->a, &b->root_rules, e) : NULL;
		if (!number)
			return err_result(e);
		root->path = found.items[i].path;
		*number = found.items[i].rule;
	}
	return 0;
}
