/* SPDX-License-Identifier: MIT */
/*
 * plan_grant(): over random policies, whatever is granted one after the other, the plan that was derived
 * is the plan that is made from scratch: in every answer, and in all that a backend mounts.
 */
#include "../unit/test.h"
#include "approve/offers.h"
#include "base/path.h"
#include "gen.h"

enum { TEXT_BYTES = 1 << 16, PRINT_BYTES = 1 << 20, ENTRIES = 4, GRANTS = 4 };

/* Directories that are apart from the repository, with what may keep a grant from being so. */
static const char more_host[] = "d /opt/plain/sub/deep\n"
				"f /opt/plain/file\n"
				"d /opt/plain/.vscode\n"
				"l /opt/plain/out -> ../else\n"
				"d /opt/other/.claude\n"
				"d /opt/other/.github/hooks\n"
				"d /opt/else/in\n"
				"d /opt/linked\n"
				"l /opt/linked/.vscode -> ../else\n"
				"d /opt/inner/real\n"
				"l /opt/inner/.vscode -> real\n"
				"f /opt/git/.git/HEAD = ref: refs/heads/main\\n\n"
				"d /opt/git/.git/objects\n"
				"d /opt/git/.git/refs\n"
				"d /opt/half/.git\n"
				"f /opt/deep/a/b/.git/HEAD = ref: refs/heads/main\\n\n"
				"d /opt/deep/a/b/.git/objects\n"
				"d /opt/deep/a/b/.git/refs\n"
				"d /opt/deep/a/b/.git/hooks\n"
				"f /opt/tree/.git = gitdir: ../deep/a/b/.git/worktrees/t\\n\n"
				"f /opt/deep/a/b/.git/worktrees/t/gitdir = /opt/tree/.git\\n\n"
				"f /opt/deep/a/b/.git/worktrees/t/commondir = ../..\\n\n"
				"f /opt/deep/a/b/.git/worktrees/t/HEAD = ref: refs/heads/x\\n\n"
				"f /opt/pointer/.git = gitdir: /opt/git/.git\\n\n"
				"f /opt/lost/.git = gitdir: /nowhere\\n\n"
				"f /opt/modules/.gitmodules = [submodule \"x\"]\\n\\tpath = x\\n\n"
				"d /opt/modules/x\n"
				"w /opt/sealed\n"
				"h /opt/hidden\n"
				"c /opt/closed\n"
				"p /opt/held/.vscode\n"
				"l /opt/link -> plain\n"
				"d /tmp/t/sub\n";

static const char *const more_paths[] = { "/opt",
					  "/opt/plain",
					  "/opt/plain/x",
					  "/opt/plain/sub",
					  "/opt/plain/sub/x",
					  "/opt/plain/sub/deep",
					  "/opt/plain/sub/deep/x",
					  "/opt/plain/sub/.vscode",
					  "/opt/plain/file",
					  "/opt/plain/.vscode",
					  "/opt/plain/.vscode/x",
					  "/opt/plain/.mcp.json",
					  "/opt/plain/.git",
					  "/opt/plain/.git/hooks",
					  "/opt/plain/missing",
					  "/opt/plain/missing/x",
					  "/opt/plain/out",
					  "/opt/other",
					  "/opt/other/.claude/x",
					  "/opt/other/.github",
					  "/opt/other/.github/hooks/x",
					  "/opt/else",
					  "/opt/else/x",
					  "/opt/else/in",
					  "/opt/else/in/x",
					  "/opt/linked",
					  "/opt/linked/x",
					  "/opt/linked/.vscode",
					  "/opt/inner",
					  "/opt/inner/.vscode/x",
					  "/opt/inner/real/x",
					  "/opt/git",
					  "/opt/git/.git",
					  "/opt/git/.git/config",
					  "/opt/deep",
					  "/opt/deep/a/x",
					  "/opt/deep/a/b",
					  "/opt/deep/a/b/.git",
					  "/opt/deep/a/b/.git/hooks/x",
					  "/opt/deep/a/b/.git/index",
					  "/opt/tree",
					  "/opt/tree/x",
					  "/opt/tree/.git",
					  "/opt/half",
					  "/opt/half/.git",
					  "/opt/pointer",
					  "/opt/pointer/.git",
					  "/opt/lost",
					  "/opt/lost/.git",
					  "/opt/modules",
					  "/opt/modules/x",
					  "/opt/modules/x/.git",
					  "/opt/sealed",
					  "/opt/sealed/.vscode",
					  "/opt/hidden",
					  "/opt/hidden/x",
					  "/opt/closed",
					  "/opt/held",
					  "/opt/held/.vscode",
					  "/opt/link",
					  NULL };

static const char *const more_keys[] = { "/opt",
					 "/opt/plain",
					 "/opt/plain/sub",
					 "/opt/plain/sub/deep",
					 "/opt/plain/missing",
					 "/opt/plain/missing/x",
					 "/opt/plain/file",
					 "/opt/plain/.vscode",
					 "/opt/plain/out",
					 "/opt/plain/out/in",
					 "/opt/link",
					 "/opt/link/sub",
					 "/opt/else",
					 "/opt/else/in",
					 "/opt/other",
					 "/opt/linked/.vscode",
					 "/opt/modules/x",
					 "/opt/git/.git",
					 "/opt/*/x",
					 "/opt/plain/**/deep",
					 "/tmp/t/missing",
					 "/tmp/t/sub",
					 NULL };

static const char *const workspaces[] = { GEN_CWD,	GEN_CWD,    "/opt",   "/opt/plain",
					  "/opt/other", "/opt/git", "/tmp/t", NULL };

static const char *const accesses[] = { "read", "read", "write", "deny", NULL };

/* ---- A plan as text --------------------------------------------------------------------------- */

static void print_rule(struct buf *out, const struct rule *r)
{
	buf_printf(out, " (%d %s %u %.*s '%.*s' %u %d%d%d)", (int)r->kind, access_name(r->access),
		   r->layer, STR_ARG(r->path), STR_ARG(r->key), r->lift_depth, r->is_explicit,
		   r->is_shelf, r->is_nested);
}

static void print_answers(struct buf *out, const struct plan *p, const char *const *paths)
{
	for (; *paths; paths++) {
		struct verdict v = plan_resolve(p, str_of(*paths));

		buf_printf(out, "%s = %s", *paths, access_name(v.access));
		print_rule(out, v.rule);
		buf_add_char(out, '\n');
	}
}

static int compare_placeholders(const void *a, const void *b)
{
	const struct placeholder *const *x = a, *const *y = b;

	return str_cmp((*x)->path, (*y)->path);
}

static void print_placeholders(struct buf *out, const struct plan *p)
{
	const struct placeholder *sorted[512];
	size_t count = MIN_OF(p->placeholders.count, COUNT_OF(sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = &p->placeholders.items[i];
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	qsort(sorted, count, sizeof(*sorted), compare_placeholders);
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, "placeholder %.*s %d '%.*s' %d", STR_ARG(sorted[i]->path),
			   (int)sorted[i]->kind, STR_ARG(sorted[i]->content), sorted[i]->may_go);
		print_rule(out, sorted[i]->rule);
		buf_add_char(out, '\n');
	}
}

static int compare_git_dirs(const void *a, const void *b)
{
	const struct git_dir *const *x = a, *const *y = b;

	return str_cmp((*x)->path, (*y)->path);
}

static void print_git_dirs(struct buf *out, const struct plan *p)
{
	const struct git_dir *sorted[64];
	size_t count = MIN_OF(p->git_dirs.count, COUNT_OF(sorted));

	for (size_t i = 0; i < count; i++)
		sorted[i] = &p->git_dirs.items[i];
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the items are pointers. */
	qsort(sorted, count, sizeof(*sorted), compare_git_dirs);
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "git %.*s %.*s %.*s %d\n", STR_ARG(sorted[i]->path),
			   STR_ARG(sorted[i]->common_dir), STR_ARG(sorted[i]->worktree),
			   sorted[i]->is_nested);
}

static void print_lists(struct buf *out, const struct plan *p)
{
	for (size_t i = 0; i < p->regions.count; i++) {
		const struct region *r = &p->regions.items[i];

		buf_printf(out, "region %.*s %s %d", STR_ARG(r->path), access_name(r->access),
			   (int)r->type);
		print_rule(out, r->rule);
		buf_add_char(out, '\n');
	}
	for (size_t i = 0; i < p->pins.count; i++)
		buf_printf(out, "pin %.*s %d\n", STR_ARG(p->pins.items[i].path),
			   p->pins.items[i].is_nested);
	for (size_t i = 0; i < p->links.count; i++)
		buf_printf(out, "link %.*s -> %.*s\n", STR_ARG(p->links.items[i].path),
			   STR_ARG(p->links.items[i].target));
	for (size_t i = 0; i < p->masked.count; i++)
		buf_printf(out, "masked %.*s %d\n", STR_ARG(p->masked.items[i].path),
			   (int)p->masked.items[i].type);
	for (size_t i = 0; i < p->lifted.count; i++)
		buf_printf(out, "lifted %.*s\n", STR_ARG(p->lifted.items[i]));
	for (size_t i = 0; i < p->roots.count; i++) {
		buf_printf(out, "root %.*s", STR_ARG(p->roots.items[i].path));
		print_rule(out, p->roots.items[i].rule);
		buf_add_char(out, '\n');
	}
	print_git_dirs(out, p);
	for (size_t i = 0; i < GUARANTEE_COUNT; i++)
		buf_printf(out, "%d", (p->needs_set & GUARANTEE_BIT(i)) != 0);
	buf_printf(out, "\n");
	print_placeholders(out, p);
}

static void print(struct buf *out, const struct plan *p)
{
	buf_clear(out);
	print_answers(out, p, gen_paths);
	print_answers(out, p, more_paths);
	print_lists(out, p);
}

/* ---- Comparing ---------------------------------------------------------------------------------- */

static bool report(const struct world *w, const struct grant *grants, size_t count,
		   const char *what)
{
	printf("# %s\n", what);
	for (size_t i = 0; i < count; i++)
		printf("# granted %.*s\n", STR_ARG(grants[i].subject));
	test_print_str("profile", w->user);
	test_print_str("project", w->project);
	return test_check(false, __FILE__, __LINE__, what);
}

/* The first line that differs. */
static void show_difference(const char *want, const char *got)
{
	size_t line = 0;

	for (size_t i = 0; want[i] && want[i] == got[i]; i++)
		if (want[i] == '\n')
			line = i + 1;
	printf("# scratch: %.*s\n# derived: %.*s\n", (int)strcspn(want + line, "\n"), want + line,
	       (int)strcspn(got + line, "\n"), got + line);
}

static bool is_same_text(struct buf *want, struct buf *got)
{
	if (want->failed == ERR_OK && got->failed == ERR_OK && str_eq(buf_str(want), buf_str(got)))
		return true;
	show_difference(buf_str(want).p, buf_str(got).p);
	return false;
}

static bool is_promised(const struct plan *want, struct str path, struct str grant)
{
	return path_is_under(path, grant) && !plan_resolve(want, path).rule->is_nested;
}

/* The answers alone, where they are promised. */
static bool has_same_answers(const struct plan *want, const struct plan *got, struct str grant)
{
	const char *const *const lists[] = { gen_paths, more_paths };

	for (size_t i = 0; i < COUNT_OF(lists); i++)
		for (const char *const *path = lists[i]; *path; path++)
			if (is_promised(want, str_of(*path), grant) &&
			    plan_resolve(want, str_of(*path)).access !=
				    plan_resolve(got, str_of(*path)).access) {
				printf("# %s\n", *path);
				return false;
			}
	return true;
}

struct tally {
	size_t tried, derived, refused;
	struct buf want, got;
};

/* One more grant; `*now` becomes the plan with it. False: a test has failed. */
static bool add(struct world *w, const struct grant *grants, size_t count, const struct plan **now,
		struct tally *t)
{
	struct plan_inputs in = w->in;
	const struct plan *want, *got, *answers;
	struct err e = ERR_INIT, other = ERR_INIT;

	if (offers_add_grants(&w->a, w->policy, grants, count, (struct origin){ .file = "granted" },
			      &in.policy, &e) < 0)
		return report(w, grants, count, e.text);
	want = plan_build(&w->a, &in, &e);
	got = plan_grant(&w->a, *now, &in, &other);
	err_clear(&other);
	answers = plan_grant_answers(&w->a, *now, &in, &other);
	if (!want != !got || !want != !answers)
		return report(w, grants, count, "one of them is refused");
	t->tried++;
	t->refused += !want;
	if (!want)
		return true;
	t->derived += got->places.roots == (*now)->places.roots;
	print(&t->want, want);
	print(&t->got, got);
	if (!is_same_text(&t->want, &t->got))
		return report(w, grants, count, "the plans differ");
	if (!has_same_answers(want, answers, grants[count - 1].subject))
		return report(w, grants, count, "the answers differ");
	*now = got;
	return true;
}

static bool run_case(struct gen *g, struct world *w, struct tally *t)
{
	struct grant grants[GRANTS];
	const struct plan *now = w->plan;

	for (size_t i = 0; i < GRANTS; i++) {
		const struct plan *before = now;

		grants[i] = (struct grant){
			.kind = ASK_WRITE,
			.subject = str_of(gen_pick(g, gen_chance(g, 4) ? gen_paths : more_paths))
		};
		if (!add(w, grants, i + 1, &now, t))
			return false;
		/* It was refused. */
		if (now == before)
			return true;
	}
	return true;
}

/* ---- Policies ------------------------------------------------------------------------------------- */

static void add_entries(struct gen *g, struct buf *profile, struct buf *scratch)
{
	for (size_t i = gen_next(g) % ENTRIES; i > 0; i--) {
		const char *key = gen_pick(g, more_keys);
		char line[GEN_LINE_BYTES];

		(void)snprintf(line, sizeof(line), "'%s' =", key);
		if (strstr(buf_str(profile).p, line))
			continue;
		(void)snprintf(line, sizeof(line), "'%s' = '%s'\n", key,
			       strchr(key, '*') ? "deny" : gen_pick(g, accesses));
		buf_clear(scratch);
		g->b = scratch;
		gen_insert(g, buf_str(profile), "[permissions.dev.filesystem]\n", line);
		buf_clear(profile);
		buf_add(profile, buf_str(scratch));
	}
}

TEST(a_plan_with_one_more_grant_is_the_plan_from_scratch)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(500);
	struct tally t = { .want = BUF_INIT(PRINT_BYTES), .got = BUF_INIT(PRINT_BYTES) };
	scoped_buf profile = BUF_INIT(TEXT_BYTES);
	scoped_buf project = BUF_INIT(TEXT_BYTES);
	scoped_buf scratch = BUF_INIT(TEXT_BYTES);
	scoped_world w;
	bool ok = true;

	gen_world(&w);
	fake_host_add(&w.host, more_host);
	for (size_t n = 0; n < cases && ok; n++) {
		scoped_arena grant_memory = ARENA_INIT(1 << 20);
		struct permissions granted;

		buf_clear(&profile);
		buf_clear(&project);
		g.b = &profile;
		gen_profile(&g);
		add_entries(&g, &profile, &scratch);
		g.b = &project;
		gen_narrowing(&g);
		w.cwd = gen_pick(&g, workspaces);
		gen_grants(&g, &grant_memory, &granted);
		w.grants = gen_chance(&g, 3) ? &granted : NULL;
		w.user = buf_str(&profile).p;
		w.project = gen_chance(&g, 2) ? buf_str(&project).p : NULL;
		ok = !world_plan(&w) || run_case(&g, &w, &t);
	}
	printf("# %zu grants: %zu derived, %zu refused\n", t.tried, t.derived, t.refused);
	buf_done(&t.want);
	buf_done(&t.got);
	/* Neither way may be the only one that is tried. */
	CHECK(t.derived > t.tried / 10 && t.derived < t.tried - t.refused);
}
