/* SPDX-License-Identifier: MIT */
/*
 * A home is not a workspace (P5). Files in it tell programs outside what to do (~/.bashrc, ~/.ssh,
 * ~/.config), and nothing protects all of them. The working directory and the configured roots must
 * not be enough to open it: only an entry that names the path does.
 *
 * This pass runs before those that search the workspace: a home may be huge.
 */
#include "plan/homes.h"

#include <stdio.h>

#include "base/path.h"
#include "plan/builder.h"
#include "plan/index.h"

/* Whether both are the same directory: a bind mount gives it a second path. */
static bool is_same(const struct host_file *a, const struct host_file *b)
{
	return a->type == HOST_DIR && b->type == HOST_DIR && a->device == b->device &&
	       a->inode == b->inode;
}

/* `home` as the kernel finds it. A loop of links counts as missing: nobody lives there. */
static int find_real(struct arena *a, const struct host *host, struct str home, struct str *out,
		     struct err *e)
{
	struct canon canon;

	if (canon_resolve(a, host, home, true, &canon, NULL, e) < 0) {
		if (e->code != ERR_POLICY)
			return err_result(e);
		err_clear(e);
		*out = home;
		return 0;
	}
	*out = canon.path;
	return 0;
}

static int compare(struct arena *a, const struct host *host, struct str dir, struct str home,
		   struct home_match *out, struct err *e)
{
	struct host_file wanted;
	struct str real;

	if (host->look(host->user, dir, &wanted, e) < 0 || find_real(a, host, home, &real, e) < 0)
		return err_result(e);
	for (struct str at = real;; at = path_parent(at)) {
		struct host_file file;

		if (host->look(host->user, at, &file, e) < 0)
			return err_result(e);
		if (str_eq(at, dir) || is_same(&file, &wanted)) {
			out->home = real;
			out->is_above = at.len != real.len;
			return 0;
		}
		if (at.len == 1)
			return 0;
	}
}

int homes_match(struct arena *a, const struct host *host, const struct places *places,
		struct str dir, struct home_match *out, struct err *e)
{
	*out = (struct home_match){ .home = STR_EMPTY };
	if (places->home.len && compare(a, host, dir, places->home, out, e) < 0)
		return err_result(e);
	for (size_t i = 0; i < places->home_count && !out->home.len; i++)
		if (compare(a, host, dir, places->homes[i], out, e) < 0)
			return err_result(e);
	return 0;
}

/*
 * Whether entries that name a path make `root` writable by themselves, at `root` or above it. Then
 * it is writable from every working directory, and someone wrote that down.
 */
static bool is_named(const struct plan *p, struct str root)
{
	bool is_write = false;
	uint32_t depth = 0;

	for (size_t i = 0; i < p->rules.count; i++) {
		const struct rule *rule = &p->rules.items[i];
		bool gives_write = rule->access == ACCESS_WRITE;

		if (rule->layer != 0 || !(rule->is_explicit || rule->kind == RULE_GRANT) ||
		    rule->depth < depth || !path_is_under(root, rule->path))
			continue;
		is_write = gives_write || (is_write && rule->depth == depth);
		depth = rule->depth;
	}
	return is_write;
}

static int refuse(struct str root, const struct home_match *match, struct err *e)
{
	char what[SHOWN_BYTES + 64] = "is a home directory";

	if (root.len == 1)
		(void)snprintf(what, sizeof(what), "is the whole host");
	else if (match->is_above)
		(void)snprintf(what, sizeof(what), "contains the home directory %s",
			       SHOWN(match->home));
	(void)FAIL_CAUSE(e, CAUSE_HOME_AS_WORKSPACE, "the workspace %s %s", SHOWN(root), what);
	err_add_line(e, "a command that may write it could change ~/.bashrc and other files that "
			"programs outside the sandbox obey");
	err_add_line(e, "to work in another directory: cd there, or use -C DIR or --workspace DIR, "
			"or set CORDON_WORKSPACE=DIR");
	err_add_line(e, "to open all of it: --add-write %s, or in the profile \"%s\" = \"write\"",
		     SHOWN(root), SHOWN(root));
	return err_result(e);
}

static int refuse_unknown(struct str root, struct err *e)
{
	(void)FAIL_CAUSE(e, CAUSE_HOME_UNKNOWN,
			 "the home directory is unknown, so the workspace %s could be it",
			 SHOWN(root));
	err_add_line(e,
		     "set HOME; or open it by name: --add-write %s, or in the profile \"%s\" = "
		     "\"write\"",
		     SHOWN(root), SHOWN(root));
	return err_result(e);
}

static int check_root(struct builder *b, struct str root, struct err *e)
{
	const struct places *places = &b->in->places;
	struct home_match match;

	if (homes_match(b->a, b->host, places, root, &match, e) < 0)
		return err_result(e);
	if (places->home.len && root.len > 1 && !match.home.len)
		return 0;
	if (pass_index(b, e) < 0)
		return err_result(e);
	/* SECURITY: ask the profile alone. A narrowing layer must not decide what is dangerous. */
	if (index_resolve_below(b->plan->index, root, 1).access != ACCESS_WRITE ||
	    is_named(b->plan, root))
		return 0;
	return root.len == 1 || match.home.len ? refuse(root, &match, e) : refuse_unknown(root, e);
}

static bool writes_anything(const struct plan *p)
{
	for (size_t i = 0; i < p->rules.count; i++)
		if (p->rules.items[i].layer == 0 && p->rules.items[i].access == ACCESS_WRITE)
			return true;
	return false;
}

int pass_homes(struct builder *b, struct err *e)
{
	const struct places *places = &b->plan->places;

	if (b->in->allows_home || !writes_anything(b->plan))
		return 0;
	for (size_t i = 0; i < places->root_count; i++)
		if (check_root(b, places->roots[i], e) < 0)
			return err_result(e);
	return 0;
}
