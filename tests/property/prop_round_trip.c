/* SPDX-License-Identifier: MIT */
/*
 * Round trips (P19): where a plan is said to be one that a mode can express, the
 * mode written out as a profile gives the same answers for every path and the
 * same network; and as soon as anything more is denied, it is no longer said.
 */
#include "../unit/test.h"
#include "gen.h"

enum { TEXT_BYTES = 1 << 16 };

/* Profiles near what modes can say, with something odd now and then. */
static void gen_near_mode(struct gen *g)
{
	static const char *const roots[] = { "/other",	 "/srv/data",  "/far",	"/repo/a", "/tmp",
					     "/home/me", "/repo/.git", "/bare", NULL };

	if (gen_chance(g, 8)) {
		gen_profile(g);
		return;
	}
	buf_add_text(g->b, "default_permissions = 'dev'\n[permissions.dev]\n");
	buf_printf(g->b, "network = { enabled = %s }\n", gen_chance(g, 2) ? "true" : "false");
	if (gen_chance(g, 5))
		buf_add_text(g->b, "workspace_roots = { '/other' = true }\n");
	if (gen_chance(g, 10))
		buf_add_text(g->b, "protect = ['mine']\n");
	buf_add_text(g->b, "[permissions.dev.filesystem]\n':root' = 'read'\n");
	if (!gen_chance(g, 3))
		buf_add_text(g->b, "':workspace_roots' = 'write'\n");
	if (gen_chance(g, 2))
		buf_add_text(g->b, "':slash_tmp' = 'write'\n");
	if (gen_chance(g, 2))
		buf_add_text(g->b, "':tmpdir' = 'write'\n");
	for (const char *const *root = roots; *root; root++)
		if (gen_chance(g, 6))
			buf_printf(g->b, "'%s' = '%s'\n", *root,
				   gen_chance(g, 6) ? "read" : "write");
}

/* The mode as a profile, written by hand. */
static void write_mode(struct buf *b, const struct mode *m)
{
	buf_add_text(b, "default_permissions = 'dev'\n[permissions.dev]\n");
	buf_printf(b, "network = { enabled = %s }\n", m->network_access ? "true" : "false");
	buf_add_text(b, "[permissions.dev.filesystem]\n':root' = 'read'\n");
	if (m->kind == MODE_READ_ONLY)
		return;
	buf_add_text(b, "':workspace_roots' = 'write'\n");
	if (!m->exclude_slash_tmp)
		buf_add_text(b, "':slash_tmp' = 'write'\n");
	if (!m->exclude_tmpdir_env_var)
		buf_add_text(b, "':tmpdir' = 'write'\n");
	for (size_t i = 0; i < m->writable_roots.count; i++)
		buf_printf(b, "'%.*s' = 'write'\n", STR_ARG(m->writable_roots.items[i]));
}

struct asked {
	bool round_trips;
	struct mode mode;
	struct str why_not;
};

static bool ask(struct world *w, struct asked *out)
{
	return plan_round_trips(&w->a, &w->in, w->plan, &out->round_trips, &out->mode,
				&out->why_not, &w->e) == 0;
}

static bool report(size_t n, const char *what, const char *where, const struct world *w,
		   const char *mode)
{
	printf("# case %zu: %s\n", n, where);
	test_print_str("profile", w->user);
	test_print_str("mode   ", mode);
	return test_check(false, __FILE__, __LINE__, what);
}

static bool check_mode(size_t n, const struct world *w, struct world *rebuilt,
		       const struct asked *asked, struct buf *text)
{
	buf_clear(text);
	write_mode(text, &asked->mode);
	rebuilt->user = buf_str(text).p;
	if (!world_plan(rebuilt))
		return report(n, "the mode can be planned", rebuilt->e.text, w, rebuilt->user);
	for (const char *const *path = gen_paths; *path; path++)
		if (world_access(w, *path) != world_access(rebuilt, *path))
			return report(n, "answers stay the same", *path, w, rebuilt->user);
	if (net_mode(w->plan->net) != net_mode(rebuilt->plan->net))
		return report(n, "the network stays the same", "", w, rebuilt->user);
	return true;
}

/* With one more deny that makes a difference, no mode will do. */
static bool check_narrowed(size_t n, struct gen *g, const struct world *w, struct world *narrowed)
{
	const char *path = gen_pick(g, gen_paths);
	struct fs_entry deny = {
		.anchor = FS_ABSOLUTE,
		.path = str_of(path),
		.glob = STR_EMPTY,
		.access = ACCESS_DENY,
		.key = str_of(path),
	};
	struct asked asked;

	narrowed->user = w->user;
	narrowed->extra = &deny;
	narrowed->extra_count = 1;
	if (!world_plan(narrowed) || !ask(narrowed, &asked))
		return true;
	if (world_access(narrowed, path) == world_access(w, path))
		return true;
	return !asked.round_trips ||
	       report(n, "a deny is beyond every mode", path, w, "(after a deny of that path)");
}

TEST(what_round_trips_changes_no_answer)
{
	struct gen g = { .state = test_seed() };
	size_t cases = test_cases(3000), tripped = 0;
	scoped_buf text = BUF_INIT(TEXT_BYTES);
	scoped_buf mode = BUF_INIT(TEXT_BYTES);
	scoped_world w;
	scoped_world other;

	gen_world(&w);
	gen_world(&other);
	for (size_t n = 0; n < cases; n++) {
		struct asked asked;

		buf_clear(&text);
		g.b = &text;
		gen_near_mode(&g);
		w.user = buf_str(&text).p;
		if (!world_plan(&w))
			continue;
		REQUIRE(ask(&w, &asked));
		CHECK(asked.round_trips == (asked.why_not.len == 0));
		if (!asked.round_trips)
			continue;
		tripped++;
		other.extra_count = 0;
		if (!check_mode(n, &w, &other, &asked, &mode) || !check_narrowed(n, &g, &w, &other))
			return;
	}
	printf("# %zu of %zu cases round-trip\n", tripped, cases);
	CHECK(tripped > cases / 10);
}
